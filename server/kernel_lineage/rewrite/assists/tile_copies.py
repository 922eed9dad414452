"""Tiles of 16-bit elements in shared memory: where each piece lies, and copies that run ahead of a tile's use.

An operand's tile lies as the operand does: a line of `depth` elements for each place where neighbouring rounds are
neighbours in memory, else a line of places for each round. A line of more than 128 bytes is cut into panels of 128
bytes, which lie one behind the other. Pieces of 16 bytes are exchanged within a line so that eight neighbouring lines
lie in different banks; for lines of 128 bytes that is the order which the hardware calls a swizzle of 128 bytes.

Bytes become elements of 16 bits on the way, which hold them exactly: they pass through registers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernel_gate.expr.terms import Num, Term, Var, add
from kernel_lineage.rewrite.assists.product_sum import FROM_FLOAT, Factor
from kernel_lineage.rewrite.assists.products import Operand, Product
from kernel_lineage.rewrite.assists.term_text import c_text
from kernel_lineage.rewrite.assists.tiled_product_code import condition_of, element_of

PIECE = 8
"""Elements of 16 bits in 16 bytes, the most that is copied at once."""
PANEL = 8
"""Pieces in 128 bytes, the longest line."""
ELEMENT = {
    "float16": ("half", "__float2half(0.0f)"),
    "bfloat16": ("__nv_bfloat16", "__float2bfloat16(0.0f)"),
}
BYTES = {"int8": "signed char", "uint8": "unsigned char"}
"""Operands of one byte, and their types."""
NAMES = "thread ahead to n e p d v line piece step from"
"""What `copies` writes; the caller declares `thread`, `ahead` (the tile's first round) and `to` (the tile's number)."""


@dataclass(frozen=True, slots=True)
class Held:
    """The tiles of one operand; `array`, `start` and `aligned` are names in the code."""

    factor: Factor
    array: str
    """An array of tiles."""
    start: str
    """The tile's first place."""
    aligned: str
    """Whether each piece begins at a multiple of 16 bytes."""
    extent: int
    """Places."""
    depth: int
    """Rounds."""
    dtype: str
    """The type of 16 bits that the tile holds."""

    @property
    def operand(self) -> Operand:
        """What is copied."""
        return self.factor.operand

    @property
    def elements(self) -> int:
        """How many elements one tile has."""
        return self.extent * self.depth

    @property
    def pieces(self) -> int:
        """Pieces of a line before it is cut into panels."""
        return (self.depth if self.operand.along_depth else self.extent) // PIECE

    def offset(self, line: str, piece: str) -> str:
        """Where a piece of a line lies in its tile, in elements. Both are plain names."""
        if self.pieces < PANEL:
            turned = f"{line} / {PANEL // self.pieces} % {self.pieces}"
            return f"{line} * {self.pieces * PIECE} + ({piece} ^ {turned}) * {PIECE}"
        if self.pieces == PANEL:
            return f"{line} * {PANEL * PIECE} + ({piece} ^ {line} % {PANEL}) * {PIECE}"
        panel = f"{piece} / {PANEL} * {self.depth * PANEL * PIECE}"
        return f"{panel} + {line} * {PANEL * PIECE} + ({piece} % {PANEL} ^ {line} % {PANEL}) * {PIECE}"


def alignment(operand: Operand, piece: int = PIECE) -> str:
    """What holds where each piece of so many elements of the operand begins at a multiple of its bytes."""
    tests = [f"reinterpret_cast<size_t>({operand.root}) % {piece * operand.access.nbytes} == 0"]
    for term in (operand.inner if operand.inner != Num(1) else operand.outer, operand.base):
        if term != Num(0) and not (isinstance(term, Num) and term.value % piece == 0):
            text = c_text(term, wide=True)
            tests.append(f"{text if text.isidentifier() else f'({text})'} % {piece} == 0")
    return " && ".join(tests)


def copies(held: Held, product: Product, threads: int, n: Mapping[str, str]) -> list[str]:
    """Lines that start the copy of one tile: without a test for each piece where the tile lies inside the operand, else
    piece by piece where a piece does, and element by element, with zeros beyond the edges, where it does not.
    """
    p, d, e, v, line, piece = (n[name] for name in ("p", "d", "e", "v", "line", "piece"))
    operand = held.operand
    place, depth = (line, f"{piece} * {PIECE}") if operand.along_depth else (f"{piece} * {PIECE}", line)
    first: tuple[Term, Term] = (Var(p), Var(d))
    last: tuple[Term, Term] = (Var(p), add(Var(d), Num(PIECE - 1)))
    each: tuple[Term, Term] = (Var(p), add(Var(d), Var(v)))
    if not operand.along_depth:
        last, each = (add(Var(p), Num(PIECE - 1)), Var(d)), (add(Var(p), Var(v)), Var(d))
    ends = [Var(held.start), add(Var(held.start), Num(held.extent - 1))]
    rounds = [Var(n["ahead"]), add(Var(n["ahead"]), Num(held.depth - 1))]
    whole = condition_of(operand, [(a, b) for a in ends for b in rounds], product.rounds)
    inside = condition_of(operand, [first, last], product.rounds)
    may = condition_of(operand, [each], product.rounds)
    element, zero = ELEMENT[held.dtype]
    read = BYTES.get(held.factor.dtype)
    converted = f"{FROM_FLOAT[held.dtype]}((float){{}})" if read else "{}"
    piece_at = [
        f"    for (int {n['n']} = 0; {n['n']} < {held.elements // PIECE // threads}; {n['n']}++) {{",
        f"        const int {e} = {n['thread']} + {n['n']} * {threads};",
        f"        const int {line} = {e} / {held.pieces}, {piece} = {e} % {held.pieces};",
        f"        const int {p} = {held.start} + {place}, {d} = {n['ahead']} + {depth};",
        f"        {element}* {n['step']} = &{held.array}[{n['to']}][{held.offset(line, piece)}];",
    ]
    copied = [
        f"const {element}* {n['from']} = &{element_of(operand, *first)};",
        'asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::',
        f'             "r"((unsigned)__cvta_generic_to_shared({n["step"]})), "l"({n["from"]}) : "memory");',
    ]
    if read is not None:
        byte = converted.format(f"reinterpret_cast<const {read}*>(&{n['from']})[{v}]")
        copied = [
            f"const uint2 {n['from']} = *reinterpret_cast<const uint2*>(&{element_of(operand, *first)});",
            "#pragma unroll",
            f"for (int {v} = 0; {v} < {PIECE}; {v}++) {{",
            f"    {n['step']}[{v}] = {byte};",
            "}",
        ]
    return [
        f"if ({held.aligned} && {whole}) {{",
        "    #pragma unroll",
        *piece_at,
        *(" " * 8 + text for text in copied),
        "    }",
        "} else {",
        "    #pragma unroll 1",
        *piece_at,
        f"        if ({held.aligned} && {inside}) {{",
        *(" " * 12 + text for text in copied),
        "        } else {",
        "            #pragma unroll 1",
        f"            for (int {v} = 0; {v} < {PIECE}; {v}++) {{",
        f"                {n['step']}[{v}] = {may} ? {converted.format(element_of(operand, *each))} : {zero};",
        "            }",
        "        }",
        "    }",
        "}",
    ]
