"""The registry of checks: each is a function that is decorated where it is defined."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.records import record

if TYPE_CHECKING:
    from spyre_dsl.language.checks.examined import Examined
    from spyre_dsl.language.checks.view import AdapterView

FileCheck = Callable[["AdapterView"], Iterator[Diagnostic]]
SetCheck = Callable[[Sequence["Examined"]], Iterator[Diagnostic]]


@record
class Registered:
    """A check with the codes that it may report; ``deep`` ones look at the installed transformers and torch.

    It looks at ``each`` adapter by itself, or at all of them ``together``: the other of the two is None.
    """

    codes: frozenset[str]
    each: FileCheck | None = None
    together: SetCheck | None = None
    deep: bool = False


CHECKS: list[Registered] = []
"""All checks, in the order in which their modules were imported."""


def file_check(*codes: str, deep: bool = False) -> Callable[[FileCheck], FileCheck]:
    """Registers a check that looks at one adapter at a time."""

    def register(check: FileCheck) -> FileCheck:
        CHECKS.append(Registered(frozenset(codes), each=check, deep=deep))
        return check

    return register


def set_check(*codes: str, deep: bool = False) -> Callable[[SetCheck], SetCheck]:
    """Registers a check that looks at all files together, at what is left of each after it was checked by itself."""

    def register(check: SetCheck) -> SetCheck:
        CHECKS.append(Registered(frozenset(codes), together=check, deep=deep))
        return check

    return register
