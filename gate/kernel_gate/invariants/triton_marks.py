"""Marks in a Triton program: each comment becomes a call whose inline PTX takes the elements of its operands.

Operands are tensors of one shape, or of shapes that broadcast, and are compared element by element. A narrow element
fills all of its mark's 32 bits, so that no part of them is without its tag.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernel_gate.invariants.comments import Comment
from kernel_gate.invariants.model import Assertion, Statements

_HEAD = """

import triton as _klineage_triton
import triton.language as _klineage_tl


@_klineage_triton.jit
def _klineage_bits(value):
    width: _klineage_tl.constexpr = value.dtype.primitive_bitwidth
    _klineage_tl.static_assert(width == 8 or width == 16 or width == 32, "tag() takes values of 8, 16 or 32 bits")
    if width == 8:
        bits = value.to(_klineage_tl.uint8, bitcast=True).to(_klineage_tl.uint32) * 0x01010101
    elif width == 16:
        bits = value.to(_klineage_tl.uint16, bitcast=True).to(_klineage_tl.uint32) * 0x00010001
    else:
        bits = value.to(_klineage_tl.uint32, bitcast=True)
    return bits
"""


def with_calls(source: str, statements: Statements, places: Mapping[int, Comment]) -> str:
    """The source with a call in place of each comment, and at its end what is called."""
    wanted = [a for a in statements.assertions if a.binding == "place"]
    if not wanted:
        return source
    for assertion in sorted(wanted, key=lambda a: places[a.number].start, reverse=True):
        place = places[assertion.number]
        begin = source.rfind("\n", 0, place.start) + 1
        behind_code = bool(source[begin : place.start].strip())
        call = f"{'; ' if behind_code else ''}_klineage_{assertion.number}({', '.join(assertion.operands)})"
        source = source[: place.start] + call + source[place.end :]
    return source + _HEAD + "".join(_function(assertion) for assertion in wanted)


def _function(assertion: Assertion) -> str:
    coordinates, amounts = assertion.coordinates, assertion.amounts
    marks, constraints, values = [], ["=r"], []
    for position in range(len(assertion.operands)):
        what = f"{assertion.number}_{position}"
        if position in coordinates:
            constraints.append("r")
            values.append(f"_klineage_bits(v{position})")
            marks.append(_move("b32", f"operand_{what}_0_4", f"${len(values)}"))
        if position in amounts:
            constraints.append("l")
            values.append(f"_klineage_tl.full((), 0, _klineage_tl.int64) + v{position}")
            marks.append(_move("b64", f"number_{what}", f"${len(values)}"))
    marks += [_move("b32", f"check_{assertion.number}", "0"), "mov.b32 $0, 0;"]
    parameters = ", ".join(f"v{position}" for position in range(len(assertion.operands)))
    return f'''

@_klineage_triton.jit
def _klineage_{assertion.number}({parameters}):
    _klineage_tl.inline_asm_elementwise(
        "{" ".join(marks)}", "{",".join(constraints)}", [{", ".join(values)}], dtype=_klineage_tl.int32,
        is_pure=False, pack=1,
    )
'''


def _move(kind: str, name: str, value: str) -> str:
    return f"{{.reg .{kind} klineage_{name}; mov.{kind} klineage_{name}, {value};}}"
