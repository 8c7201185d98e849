"""Which modules are patched: the deepest that hold a site, nested ones merged into the outermost."""

from __future__ import annotations

from collections.abc import Iterable


def outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """``paths`` without those that lie below another one; in the order of their first appearance."""
    unique = list(dict.fromkeys(paths))
    return tuple(path for path in unique if not any(is_inside(path, other) for other in unique if other != path))


def is_inside(path: str, above: str) -> bool:
    """Whether ``path`` is ``above`` or a module below it; ``""`` is the root."""
    return not above or path == above or path.startswith(above + ".")


def parent(path: str) -> str:
    """The module around ``path``."""
    return path.rpartition(".")[0]
