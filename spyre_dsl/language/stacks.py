"""The names of the stacks, for ``lint``, which imports no simulator; a test holds them against it."""

from __future__ import annotations

from typing import Final

STACKS: Final = ("2025-11", "2026-04", "2026-06", "2026-08", "2026-09", "ideal")
"""Every stack that a rule file may name."""
