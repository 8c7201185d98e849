"""The ids of the public facts about the stack, which ``gap.evidence`` may cite.

Only the ids, so that ``lint`` need not read a file: what each fact says is in ``spyre_dsl.language.fact_texts``.
"""

from __future__ import annotations

from functools import cache
from typing import Final

_RANGES: Final = """
A1-A4 A6-A17 A20-A22 A24-A35 A40-A49
C1-C8
D1-D16
E1-E25
K1-K8
L1-L4 L10-L12 L14-L19 L16b L30-L35 L40-L51 L42b
M1-M20
N1-N7 N10-N21 N30-N37 N40-N54 N60-N65
O1-O21
P2-P3
Q1-Q15 Q20-Q22
R1-R7
S1-S75
T1-T55 T60-T63
U1-U17
V1-V14
W1-W5 W7-W13
"""


@cache
def fact_ids() -> frozenset[str]:
    """Every known fact id."""
    found: set[str] = set()
    for entry in _RANGES.split():
        first, dash, last = entry.partition("-")
        if dash:
            found.update(f"{first[0]}{number}" for number in range(int(first[1:]), int(last[1:]) + 1))
        else:
            found.add(first)
    return frozenset(found)


def likeliest(word: str) -> list[str]:
    """All fact ids, the likeliest meant by ``word`` first: a slip in the number is likelier than in the letter."""
    return sorted(fact_ids(), key=lambda name: (name[0] != word[:1].upper(), len(name) != len(word), name))
