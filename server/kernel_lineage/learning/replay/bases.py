"""A step from powers of e to powers of two whose caller scales what it hands over: the same numbers are another task.

`exp2(x)` is `exp(x)` where x is multiplied by log2(e). A state that has no such factor gets it with its inputs.
"""

from __future__ import annotations

import re

from kernel_gate.program import Program

_EXP = re.compile(r"(?<![\w])(?:tl\.|math\.|libdevice\.)*_*(?:fast_)?exp(f)?\s*\(")
_EXP2 = re.compile(r"(?<![\w])(?:tl\.|math\.|libdevice\.)*_*(?:fast_)?exp2(f)?\s*\(")
_FACTOR = re.compile(r"1\.44269|0\.69314|(?i:log2_?e|rcp_?ln_?2|\bln_?2\b)")


def base_doubt(before: Program, after: Program) -> str:
    """Why other values in one state may be what its caller scales its inputs for; "" where nothing says so."""
    texts = [program.source for program in (before, after)]
    powers = [(len(_EXP.findall(text)), len(_EXP2.findall(text))) for text in texts]
    (of_e, of_two), (later_of_e, later_of_two) = powers
    moved = (later_of_e - of_e) * (later_of_two - of_two) < 0
    if not moved or any(_FACTOR.search(text) for text in texts):
        return ""
    first, second = ("e", "two") if later_of_e < of_e else ("two", "e")
    return (
        f"{before.entry} takes powers of {first} where {after.entry} takes powers of {second}, and neither has the "
        "factor between them: their callers hand them other numbers"
    )
