"""Compiled models are bound to the model that they were made of, so they are not copied."""

from __future__ import annotations

from typing import Any, NoReturn

from .errors import RunError, misuse


class NotCopied:
    """Refuses to be copied or pickled, in words: RunError (misuse)."""

    def __copy__(self) -> NoReturn:
        raise _refused()

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        raise _refused()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise _refused()


def _refused() -> RunError:
    text = "a compiled model shares the tensors of its model, so it is not copied: copy the model and compile the copy"
    return RunError(misuse("copy", text, "run"))
