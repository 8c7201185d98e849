"""What lies in memory that nobody has written, as the allocator hands it out (facts L4, N37)."""

from __future__ import annotations

import torch

UNINITIALISED = frozenset({"empty", "new_empty", "empty_like"})  # memory as the allocator hands it out (L4)
ALLOCATOR_FILL = -1431655766  # 0xAAAAAAAA as int32, seen in memory nobody wrote (N37)


def never_written(like: torch.Tensor) -> torch.Tensor:
    """What reading memory gives that nobody wrote: no number, or the pattern that was seen in integers (L4, N37)."""
    if like.is_floating_point():
        return torch.full_like(like, torch.nan)
    return torch.full(like.shape, ALLOCATOR_FILL, dtype=torch.int32).to(like.dtype)
