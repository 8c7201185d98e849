"""Whether a model fits: what its weights need in float32, and what this machine has left."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

from spyre_dsl.models.errors import ModelError

_GIB = 1024**3
# The float32 weights, and the float16 copy that runs on a device.
_COPIES = 1.5
# Room for activations, the graph and the interpreter itself.
_HEADROOM_BYTES = 512 * 1024**2
_FLOAT32_BYTES = 4
_HEADER_LIMIT = 100 * 1024**2


def available_bytes() -> int | None:
    """Memory that a process may still take: the system's figure, or the control group's if that is smaller.

    ``None`` where neither can be read (systems without /proc); the check is then left out.
    """
    figures = [value for value in (_system_available(), _group_available()) if value is not None]
    return min(figures) if figures else None


def _system_available() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) * 1024 if found else None


def _group_available() -> int | None:
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text(encoding="ascii").strip()
        used = (folder / "memory.current").read_text(encoding="ascii").strip()
    except OSError:
        return None
    return None if limit == "max" else max(0, int(limit) - int(used))


def parameters_in(folder: Path) -> int | None:
    """How many numbers the folder's weights hold: from the headers of safetensors files, else from the file sizes.

    Pickled files are not opened; in half precision they hold twice what is assumed, so the figure is a lower bound.
    ``None`` if there are no weights. Raises ModelError for a safetensors file whose header is damaged or whose length
    does not fit its header.
    """
    files = sorted(folder.glob("*.safetensors"))
    if files:
        return sum(map(_numbers_in, files))
    pickled = [file.stat().st_size for file in folder.glob("pytorch_model*.bin")]
    return sum(pickled) // _FLOAT32_BYTES if pickled else None


def _numbers_in(file: Path) -> int:
    header, start = _header(file)
    entries = [entry for name, entry in header.items() if name != "__metadata__"]
    try:
        end = max((entry["data_offsets"][1] for entry in entries), default=0)
        counts = [_product(entry["shape"]) for entry in entries]
    except (KeyError, TypeError, IndexError) as problem:
        raise ModelError(f"{file}: not a safetensors file: its header is malformed") from problem
    size = os.path.getsize(file)
    if size != start + end:
        raise ModelError(f"{file}: damaged: it has {size:,} bytes, its header says {start + end:,}", "fetch it again")
    return sum(counts)


def _header(file: Path) -> tuple[dict[str, Any], int]:
    """The JSON header of a safetensors file and the offset at which its data starts."""
    with file.open("rb") as stream:
        prefix = stream.read(8)
        length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else 0
        if not 0 < length <= _HEADER_LIMIT:
            raise ModelError(f"{file}: not a safetensors file (a pointer file of git-lfs, perhaps)", "fetch it again")
        try:
            header = json.loads(stream.read(length))
        except ValueError as problem:
            raise ModelError(f"{file}: not a safetensors file: its header is not JSON", "fetch it again") from problem
    if not isinstance(header, dict):
        raise ModelError(f"{file}: not a safetensors file: its header is not an object")
    return header, 8 + length


def _product(shape: list[int]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


def require_room(parameters: int, what: str) -> None:
    """Raise ModelError if ``parameters`` float32 numbers and their float16 copy do not fit into memory now."""
    free = available_bytes()
    needed = int(parameters * _FLOAT32_BYTES * _COPIES) + _HEADROOM_BYTES
    if free is not None and needed > free:
        raise ModelError(
            f"{what}: {parameters / 1e9:.1f} billion parameters need {needed / _GIB:.1f} GiB of memory, "
            f"{free / _GIB:.1f} GiB is free",
            "plan it from its config alone, without weights: --config config.json --dry-run",
        )
