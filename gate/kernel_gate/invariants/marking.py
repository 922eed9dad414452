"""A program with its assertions as statements: each comment becomes marks that carry its operands into the PTX.

The compiler then evaluates `tag(As[ty][k])` as it does any expression at that place, and says itself which register
holds it. A mark is inline PTX that changes nothing: a move into a register that nothing reads, whose name says what is
moved. Lines stay what they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kernel_gate.invariants.comments import Comment
from kernel_gate.invariants.model import Assertion, Statements
from kernel_gate.invariants.triton_marks import with_calls
from kernel_gate.program import Program

HEADER_NAME = "klineage_marks.h"
_HEADER = """\
#pragma once
namespace klineage {
template <int Number, int Position, int Size, int Word> struct words {
  static __device__ __forceinline__ void mark(const unsigned char *bytes, int align) {
    unsigned word = 0;
    if (align % 4 == 0 && Size % 4 == 0) {
      word = *(const unsigned *)(bytes + 4 * Word);
    } else if (align % 2 == 0 && Size % 2 == 0) {
      word = *(const unsigned short *)(bytes + 4 * Word);
      if (4 * Word + 2 < Size) word |= (unsigned)*(const unsigned short *)(bytes + 4 * Word + 2) << 16;
    } else {
      for (int k = 0; k < 4; ++k)
        if (4 * Word + k < Size) word |= (unsigned)bytes[4 * Word + k] << 8 * k;
    }
    asm volatile("{.reg .b32 klineage_operand_%0_%1_%2_%3; mov.b32 klineage_operand_%0_%1_%2_%3, %4;}"
                 :: "n"(Number), "n"(Position), "n"(Word), "n"(Size), "r"(word));
    words<Number, Position, Size, (4 * Word + 4 < Size ? Word + 1 : -1)>::mark(bytes, align);
  }
};
template <int Number, int Position, int Size> struct words<Number, Position, Size, -1> {
  static __device__ __forceinline__ void mark(const unsigned char *, int) {}
};
template <int Number, int Position, class Value> __device__ __forceinline__ void operand(const Value &value) {
  words<Number, Position, (int)sizeof(Value), 0>::mark((const unsigned char *)&value, alignof(Value));
}
template <int Number, int Position> __device__ __forceinline__ void number(long long value) {
  asm volatile("{.reg .b64 klineage_number_%0_%1; mov.b64 klineage_number_%0_%1, %2;}"
               :: "n"(Number), "n"(Position), "l"(value));
}
template <int Number> __device__ __forceinline__ void check() {
  asm volatile("{.reg .b32 klineage_check_%0; mov.b32 klineage_check_%0, 0;}" :: "n"(Number));
}
}
"""


def marked(program: Program, statements: Statements, places: Mapping[int, Comment]) -> Program:
    """The program with marks, whose lines are those of the user's file."""
    wanted = [a for a in statements.assertions if a.binding == "place"]
    source = program.source
    if program.language == "triton":
        source = "\n" * (program.first_line - 1) + with_calls(source, statements, places)
        return replace(program, source=source, first_line=1)
    for assertion in sorted(wanted, key=lambda a: places[a.number].start, reverse=True):
        place = places[assertion.number]
        source = source[: place.start] + _cuda_marks(assertion) + source[place.end :]
    source = f'#include "{HEADER_NAME}"\n#line {program.first_line}\n{source}'
    return replace(program, source=source, includes={**program.includes, HEADER_NAME: _HEADER}, first_line=1)


def _cuda_marks(assertion: Assertion) -> str:
    coordinates, amounts = assertion.coordinates, assertion.amounts
    marks = []
    for position, text in enumerate(assertion.operands):
        what = f"{assertion.number}, {position}"
        if position in coordinates:
            marks.append(f"klineage::operand<{what}>(({text}));")
        if position in amounts:
            marks.append(f"klineage::number<{what}>((long long)({text}));")
    return f"{{ {' '.join(marks)} klineage::check<{assertion.number}>(); }}"
