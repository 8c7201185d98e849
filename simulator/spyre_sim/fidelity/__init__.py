"""What was published about the device, beside what the simulator gives for it.

Each figure is data (its id in the list of facts, the published value, where it was published, what counts as
agreement) with a function that has the simulator produce its own value: by compiling and running, dividing work, laying
out or costing, never by a table. `python -m spyre_sim.fidelity` writes docs/fidelity.md. A figure that does not agree
stays in the table and says why; no setting of the simulator exists for the sake of one figure.
"""

from __future__ import annotations

from .figure import FAMILIES, Family, Figure, Measured, measure
from .page import measure_all, render

__all__ = ["FAMILIES", "Family", "Figure", "Measured", "measure", "measure_all", "render"]
