"""The code of a product of bytes on tensor cores: words of four rounds in shared memory, fragments, `mma.sync`.

A word holds the values of one place in four rounds, as the instruction wants them, whichever way an operand lies: four
words of four lines are loaded, and where a line goes along the places, their bytes are turned. The words of the next
tile wait in registers while one is multiplied. Sums are whole numbers, which are the same in every order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from kernel_gate.expr.terms import Num, Term, Var, add
from kernel_lineage.code.types import DTYPES
from kernel_lineage.kernels.words import WORD
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.product_sum import Factor, SumOfProducts
from kernel_lineage.rewrite.assists.products import Product
from kernel_lineage.rewrite.assists.tensor_product_code import (
    TensorTile,
    block_place,
    check_straight,
    each_with_each,
    output_lines,
    warp_place,
)
from kernel_lineage.rewrite.assists.term_text import c_text
from kernel_lineage.rewrite.assists.tile_copies import BYTES
from kernel_lineage.rewrite.assists.tiled_product_code import compared, condition_of, element_of
from kernel_lineage.rewrite.assists.written import in_brackets

NAMES = (
    "first_tile second_tile first_words second_words first second first_aligned second_aligned thread lane warp_row "
    "warp_column row_0 column_0 depth_0 tile sums load store ahead to n e p d v u x group from place word row_at "
    "column_at i j a b c low_0 low_1 high_0 high_1"
)
_PAD = 4
"""Words behind each place, which put eight neighbouring places into different banks."""
_WIDER = {"int", "int32_t", "short", "int16_t", "static_cast", "signed", "std"}
_TURNED = (
    ("__byte_perm({x}[0], {x}[1], 0x5140)", "__byte_perm({x}[2], {x}[3], 0x5140)"),
    ("__byte_perm({x}[0], {x}[1], 0x7362)", "__byte_perm({x}[2], {x}[3], 0x7362)"),
)
"""The bytes of two places, then of the other two: of the first two of four lines, and of the last two."""


def is_of_bytes(total: SumOfProducts) -> bool:
    """Whether bytes are multiplied and added up in 32 bits."""
    return {total.first.dtype, total.second.dtype} <= BYTES.keys() and DTYPES.get(total.type) == "int32"


def check_for_bytes(total: SumOfProducts) -> None:
    """Refuse a product of bytes that is not what tensor cores multiply."""
    if total.of_both:
        raise Refusal(f"what is added to `{total.name}` is no product, which is all that tensor cores add up")
    for factor in (total.first, total.second):
        own = {"int8_t", "char"} if factor.dtype == "int8" else {"uint8_t", "unsigned", "char"}
        if not factor.plain or not set(WORD.findall(factor.text)) <= _WIDER | own:
            raise Refusal(f"something is made of `{factor.operand.root}` before it is multiplied")
        check_straight(factor.operand)


@dataclass(frozen=True, slots=True)
class _Held:
    """The tiles of one operand, by names of the code."""

    factor: Factor
    array: str
    words: str
    start: str
    aligned: str
    extent: int
    depth: int

    def units(self, threads: int) -> int:
        """How often each thread loads four places in four rounds."""
        return self.extent * self.depth // 16 // threads

    def unit(self, n: Mapping[str, str], threads: int) -> list[str]:
        """Lines that tell a thread's n-th four places, numbered within the tile, and their four rounds.

        Neighbouring threads have neighbours in memory, and write to different banks.
        """
        groups, e = self.depth // 4, n["e"]
        place, group = f"{e} / {groups}", f"{e} % {groups}"
        if not self.factor.operand.along_depth:
            place, group = f"{e} / {8 * groups} * 8 + {e} % 8", f"{e} / 8 % {groups}"
        return [
            f"const int {e} = {n['thread']} + {n['n']} * {threads};",
            f"const int {n['place']} = ({place}) * 4, {n['group']} = {group};",
        ]

    def at(self, tile: str, place: str, word: str) -> str:
        """A word of a place. Words change places in groups of four, for the writes of eight neighbouring lines."""
        return f"{self.array}[{tile}][{place}][{in_brackets(word)} ^ {in_brackets(place)} / 8 % 4 * 4]"


def byte_code(
    product: Product, total: SumOfProducts, tile: TensorTile, n: Mapping[str, str], outputs: list[str]
) -> list[str]:
    """The lines of the kernel's new body. `n` are the new names for `NAMES`; `outputs` is the work for one output."""
    first, second = (
        _Held(
            factor, n[f"{name}_tile"], n[f"{name}_words"], n[start], n[f"{name}_aligned"], extent, tile.depth
        )
        for factor, name, start, extent in (
            (total.first, "first", "row_0", tile.rows),
            (total.second, "second", "column_0", tile.columns),
        )
    )
    threads, last, depth_0 = tile.threads, compared(product.rounds), n["depth_0"]
    load, store, to = n["load"], n["store"], n["to"]
    return [
        tile.comment,
        *(
            f"__shared__ __align__(16) unsigned {h.array}[2][{h.extent}][{tile.depth // 4 + _PAD}];"
            for h in (first, second)
        ),
        *warp_place(tile, n),
        *block_place(product, tile, n, 4),
        f"int {n['sums']}{tile.sums};",
        f"unsigned {first.words}[{first.units(threads)}][4], {second.words}[{second.units(threads)}][4];",
        f"const auto {load} = [&](int {n['ahead']}) {{",
        *(f"    {line}" for h in (first, second) for line in _loaded(h, product, threads, n)),
        "};",
        f"const auto {store} = [&](int {to}) {{",
        *(f"    {line}" for h in (first, second) for line in _stored(h, threads, n)),
        "};",
        f"{load}(0);",
        f"{store}(0);",
        "__syncthreads();",
        f"for (int {depth_0} = 0, {n['tile']} = 0; {depth_0} < {last}; {depth_0} += {tile.depth}, {n['tile']} ^= 1) {{",
        f"    if ({depth_0} + {tile.depth} < {last}) {load}({depth_0} + {tile.depth});",
        *(f"    {line}" for line in _multiplied((first, second), tile, n)),
        f"    if ({depth_0} + {tile.depth} < {last}) {store}({n['tile']} ^ 1);",
        "    __syncthreads();",
        "}",
        *output_lines(tile, n, outputs),
    ]


def _loaded(held: _Held, product: Product, threads: int, n: Mapping[str, str]) -> list[str]:
    """Lines that load a thread's words of one operand: zeros stand for what is beyond the edges."""
    operand, own = held.factor.operand, f"{held.words}[{n['n']}]"
    p, d, v, u, x = (n[name] for name in ("p", "d", "v", "u", "x"))
    ends: list[tuple[Term, Term]] = [(place, depth) for place in _ends(p) for depth in _ends(d)]
    inside = condition_of(operand, ends, product.rounds)
    each = (add(Var(p), Var(v)), add(Var(d), Var(u)))
    stride = in_brackets(c_text(operand.outer if operand.along_depth else operand.inner, wide=True))
    lines = own if operand.along_depth else x
    from_ = n["from"]
    wide = [
        f"const {BYTES[held.factor.dtype]}* {from_} = &{element_of(operand, Var(p), Var(d))};",
        *([] if operand.along_depth else [f"unsigned {x}[4];"]),
        "#pragma unroll",
        f"for (int {v} = 0; {v} < 4; {v}++) {{",
        f"    {lines}[{v}] = *reinterpret_cast<const unsigned*>({from_} + (long long){v} * {stride});",
        "}",
        *([] if operand.along_depth else _turned(own, x, n)),
    ]
    return [
        "#pragma unroll",
        f"for (int {n['n']} = 0; {n['n']} < {held.units(threads)}; {n['n']}++) {{",
        *(f"    {line}" for line in held.unit(n, threads)),
        f"    const int {p} = {held.start} + {n['place']}, {d} = {n['ahead']} + {n['group']} * 4;",
        f"    if ({held.aligned} && {inside}) {{",
        *(f"        {line}" for line in wide),
        "    } else {",
        "        #pragma unroll",
        f"        for (int {v} = 0; {v} < 4; {v}++) {{",
        f"            {own}[{v}] = 0;",
        "            #pragma unroll 1",
        f"            for (int {u} = 0; {u} < 4; {u}++) {{",
        f"                if ({condition_of(operand, [each], product.rounds)}) {{",
        f"                    {own}[{v}] |= (unsigned)(unsigned char){element_of(operand, *each)} << {u} * 8;",
        "                }",
        "            }",
        "        }",
        "    }",
        "}",
    ]


def _ends(name: str) -> tuple[Term, Term]:
    return Var(name), add(Var(name), Num(3))


def _turned(own: str, x: str, n: Mapping[str, str]) -> list[str]:
    """Lines that make words of four rounds of four rounds' words of four places."""
    lines = []
    for half, pair in enumerate(_TURNED):
        low, high = n[f"low_{half}"], n[f"high_{half}"]
        two, others = (part.format(x=x) for part in pair)
        lines += [
            f"const unsigned {low} = {two}, {high} = {others};",
            f"{own}[{2 * half}] = __byte_perm({low}, {high}, 0x5410);",
            f"{own}[{2 * half + 1}] = __byte_perm({low}, {high}, 0x7632);",
        ]
    return lines


def _stored(held: _Held, threads: int, n: Mapping[str, str]) -> list[str]:
    v, place = n["v"], n["place"]
    return [
        "#pragma unroll",
        f"for (int {n['n']} = 0; {n['n']} < {held.units(threads)}; {n['n']}++) {{",
        *(f"    {line}" for line in held.unit(n, threads)),
        "    #pragma unroll",
        f"    for (int {v} = 0; {v} < 4; {v}++) {{",
        f"        {held.at(n['to'], f'{place} + {v}', n['group'])} = {held.words}[{n['n']}][{v}];",
        "    }",
        "}",
    ]


def _multiplied(held: tuple[_Held, _Held], tile: TensorTile, n: Mapping[str, str]) -> list[str]:
    """The products of one tile: fragments of 16 x 32 and of 8 x 32 values, each with each."""
    kinds = ".".join(("s8" if h.factor.dtype == "int8" else "u8") for h in held)
    sums = f"int* {n['c']} = {n['sums']}[{n['i']}][{n['j']}]"
    begin = [partial(_begin, h, n) for h in held]
    return each_with_each(tile, n, (tile.depth // 4, 8), begin, f"m16n8k32.row.col.s32.{kinds}.s32", sums)


def _begin(
    held: _Held, n: Mapping[str, str], start: str, number: str, by_place: str, by_depth: str
) -> tuple[list[str], str]:
    """Where a line of a fragment of 16 places by 32 rounds lies, as `each_with_each` asks."""
    place, word = n["place"], n["word"]
    return [
        f"const int {place} = {start} + {number} * 16 + {n['lane']} % 8 + {by_place} * 8;",
        f"const int {word} = {n['d']} + {by_depth} * 4;",
        f"const unsigned* {n['from']} = &{held.at(n['tile'], place, word)};",
    ], ""
