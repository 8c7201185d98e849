"""The targets by name."""

from __future__ import annotations

from spyre_dsl.targets.protocol import Target, TargetError

TARGETS = ("sim", "cpu", "spyre")


def choose(name: str) -> Target:
    """The target called ``name``. Raises TargetError for another name, or when the target cannot be used here."""
    if name == "sim":
        from spyre_dsl.targets.sim import SimTarget

        return SimTarget()
    if name == "cpu":
        from spyre_dsl.targets.cpu import CpuTarget

        return CpuTarget()
    if name == "spyre":
        from spyre_dsl.targets.spyre import SpyreTarget

        return SpyreTarget()
    raise TargetError(f"there is no target `{name}`; there are {', '.join(TARGETS)}")
