"""All families of figures, in the order of the page: importing this fills the registry."""

from __future__ import annotations

from . import number_formats  # noqa: F401  isort: skip
from . import arrangements, layouts  # noqa: F401  isort: skip
from . import sums, matmuls, norms, attention, rotary, heads, ops  # noqa: F401  isort: skip
from . import division, costs  # noqa: F401  isort: skip
