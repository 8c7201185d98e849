"""`python -m spyre_sim.fidelity [FILE]`: measure every figure and write the page (docs/fidelity.md)."""

from __future__ import annotations

import argparse
from pathlib import Path

from .page import measure_all, render


def main() -> None:
    """Write the page and list what does not agree."""
    parser = argparse.ArgumentParser(prog="python -m spyre_sim.fidelity", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=Path("docs/fidelity.md"), help="where to write")
    path: Path = parser.parse_args().file
    if not path.parent.is_dir():
        parser.error(f"there is no folder {path.parent}; name a FILE to write")
    measured = measure_all()
    path.write_text(render(measured), encoding="utf-8")
    rows = [row for family in measured.values() for row in family]
    print(f"{path}: {sum(row.agrees for row in rows)} of {len(rows)} figures agree")


if __name__ == "__main__":
    main()
