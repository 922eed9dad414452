"""The code of a product in tiles: shared memory for the operands, registers for the outputs of each thread.

Where the operands are multiplied as they lie in memory, `cp.async` copies a tile while the one before is multiplied.
A copy of one element needs no alignment and puts it anywhere, and zeros stand for what is beyond the edges. Before
compute capability 8.0 the same tiles are copied through registers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kernel_gate.expr.polynomials import polynomial, term_of, times
from kernel_gate.expr.terms import Term, Var, substituted
from kernel_lineage.code.types import DTYPES
from kernel_lineage.rewrite.assists.product_sum import (
    BOTH,
    LOADED,
    Factor,
    SumOfProducts,
    as_float,
    beside_at,
)
from kernel_lineage.rewrite.assists.products import DEPTH, PLACES, Beside, Operand, Product
from kernel_lineage.rewrite.assists.term_text import c_text
from kernel_lineage.rewrite.assists.written import in_brackets


@dataclass(frozen=True, slots=True)
class Tile:
    """The extents of a tile: outputs of a block, rounds that are loaded together, outputs of a thread."""

    rows: int
    columns: int
    depth: int
    high: int
    wide: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.rows // self.high * (self.columns // self.wide)


def condition_of(operand: Operand, places: Iterable[tuple[Term, Term]], rounds: Term) -> str:
    """What holds where the elements at some places and rounds may be read: none lies beyond the last round."""
    tests: dict[str, None] = {}
    for place, depth in places:
        values = {PLACES[operand.axis].name: place, DEPTH.name: depth}
        for bound in operand.bounds:
            test = c_text(substituted(bound, values))
            tests[test if _is_comparison(test) else f"({test})"] = None
        tests[f"{c_text(depth)} < {compared(rounds)}"] = None
    return " && ".join(tests)


def element_of(operand: Operand | Beside, place: Term, depth: Term) -> str:
    """The element as it is read from memory."""
    values = {PLACES[operand.axis].name: place} if operand.axis else {}
    values[DEPTH.name] = depth
    return f"{operand.root}[{c_text(substituted(operand.address, values), wide=True)}]"


def compared(term: Term) -> str:
    """A term that stands on the right of a comparison."""
    return in_brackets(c_text(term))


def _is_comparison(text: str) -> bool:
    return not any(word in text for word in ("&&", "||", "?")) and not text.startswith("!")


NAMES = (
    "first_tile second_tile first second thread row_0 column_0 depth_0 sums row_at column_at i j d n e p copy ahead to "
    "tile from step again"
)


def is_copied(total: SumOfProducts) -> bool:
    """Whether both operands are multiplied as they lie in memory, so that a copy needs no registers."""
    return all(f.text == LOADED and f.dtype == DTYPES.get(total.type) for f in (total.first, total.second))


def tiled_code(
    product: Product,
    total: SumOfProducts,
    tile: Tile,
    n: Mapping[str, str],
    outputs: list[str],
    exactly: list[str] | None = None,
) -> list[str]:
    """The lines of the kernel's new body. `n` are the new names for `NAMES`; `outputs` is the work for one output.

    `exactly` is the same without tiles, where these have zeros for what a condition leaves out: by such a zero, what is
    infinite or no number makes a sum no number.
    """
    kind, rows, columns, depth = total.type, tile.rows, tile.columns, tile.depth
    vector = 16 // _size(kind)
    across, down = product.second.axis, product.first.axis
    groups = columns // tile.wide
    thread, i, j, sums = n["thread"], n["i"], n["j"], n["sums"]
    own_row = _spread(i, f"{thread} / {groups}", min(vector, tile.high), rows // tile.high)
    own_column = _spread(j, f"{thread} % {groups}", min(vector, tile.wide), groups)
    copied = is_copied(total)
    held = ("[2]", f"[{n['tile']}]") if copied else ("", "")
    places = ((n["first_tile"] + held[1], own_row), (n["second_tile"] + held[1], own_column))
    again, number = n["again"], f"({i} * {tile.wide} + {j})"
    value = f"{sums}[{i}][{j}]"
    left_over = (
        [f"if ({value} != {value}) {{", f"    {again} |= 1ull << {number};", "    continue;", "}"]
        if exactly
        else []
    )

    def each(unrolled: str, work: list[str]) -> list[str]:
        return [
            unrolled,
            f"for (int {i} = 0; {i} < {tile.high}; {i}++) {{",
            f"    {unrolled}",
            f"    for (int {j} = 0; {j} < {tile.wide}; {j}++) {{",
            f"        const int {n['row_at']} = {n['row_0']} + {own_row};",
            f"        const int {n['column_at']} = {n['column_0']} + {own_column};",
            *(f"        {line}" if line else "" for line in work),
            "    }",
            "}",
        ]

    return [
        f"// A block computes {rows} x {columns} outputs, a thread {tile.high} x {tile.wide} of them.",
        f"__shared__ __align__(16) {kind} {n['first_tile']}{held[0]}[{depth}][{rows + vector}];",
        f"__shared__ __align__(16) {kind} {n['second_tile']}{held[0]}[{depth}][{columns + vector}];",
        f"const int {thread} = threadIdx.x;",
        f"const int {n['row_0']} = blockIdx.{down} * {rows}, {n['column_0']} = blockIdx.{across} * {columns};",
        f"{kind} {sums}[{tile.high}][{tile.wide}] = {{}};",
        *(_copied_ahead if copied else _one_by_one)(
            product, total, tile, n, _multiplied(total, tile, n, places)
        ),
        *([f"unsigned long long {again} = 0;"] if exactly else []),
        *each("#pragma unroll", [*left_over, *outputs]),
        *(
            each("#pragma unroll 1", [f"if (!({again} >> {number} & 1)) continue;", *exactly])
            if exactly
            else []
        ),
    ]


def _size(kind: str) -> int:
    return 8 if kind in ("double", "long long") else 4


def _one_by_one(
    product: Product, total: SumOfProducts, tile: Tile, n: Mapping[str, str], multiplied: list[str]
) -> list[str]:
    """The loop over tiles where a tile is loaded, then multiplied."""
    depth_0 = n["depth_0"]
    return [
        f"for (int {depth_0} = 0; {depth_0} < {compared(product.rounds)}; {depth_0} += {tile.depth}) {{",
        *_loaded(total.first, product, tile, n, ("first_tile", "row_0", tile.rows), total.type),
        *_loaded(total.second, product, tile, n, ("second_tile", "column_0", tile.columns), total.type),
        "    __syncthreads();",
        *multiplied,
        "    __syncthreads();",
        "}",
    ]


def _copied_ahead(
    product: Product, total: SumOfProducts, tile: Tile, n: Mapping[str, str], multiplied: list[str]
) -> list[str]:
    """The loop over tiles where the next tile is copied while one is multiplied."""
    depth_0, at, rounds = n["depth_0"], n["tile"], compared(product.rounds)
    return [
        f"const auto {n['copy']} = [&](int {n['ahead']}, int {n['to']}) {{",
        *_copied(total.first, product, tile, n, ("first_tile", "row_0", tile.rows), total.type),
        *_copied(total.second, product, tile, n, ("second_tile", "column_0", tile.columns), total.type),
        "};",
        f"{n['copy']}(0, 0);",
        f"for (int {depth_0} = 0, {at} = 0; {depth_0} < {rounds}; {depth_0} += {tile.depth}, {at} ^= 1) {{",
        "#if __CUDA_ARCH__ >= 800",
        '    asm volatile("cp.async.wait_all;" ::: "memory");',
        "#endif",
        "    __syncthreads();",
        f"    if ({depth_0} + {tile.depth} < {rounds}) {n['copy']}({depth_0} + {tile.depth}, {at} ^ 1);",
        *multiplied,
        "}",
    ]


def _multiplied(
    total: SumOfProducts, tile: Tile, n: Mapping[str, str], places: tuple[tuple[str, str], tuple[str, str]]
) -> list[str]:
    """The products of one tile; `places` are the arrays of both operands and where a thread's values lie in them."""
    kind, i, j, d = total.type, n["i"], n["j"], n["d"]
    added = total.of_both or " * ".join(BOTH)
    for value, own in zip(BOTH, (f"{n['first']}[{i}]", f"{n['second']}[{j}]"), strict=True):
        added = added.replace(value, own)
    (first, own_row), (second, own_column) = places
    return [
        "    #pragma unroll",
        f"    for (int {d} = 0; {d} < {tile.depth}; {d}++) {{",
        f"        {kind} {n['first']}[{tile.high}], {n['second']}[{tile.wide}];",
        "        #pragma unroll",
        f"        for (int {i} = 0; {i} < {tile.high}; {i}++) {{",
        f"            {n['first']}[{i}] = {first}[{d}][{own_row}];",
        "        }",
        "        #pragma unroll",
        f"        for (int {j} = 0; {j} < {tile.wide}; {j}++) {{",
        f"            {n['second']}[{j}] = {second}[{d}][{own_column}];",
        "        }",
        "        #pragma unroll",
        f"        for (int {i} = 0; {i} < {tile.high}; {i}++) {{",
        "            #pragma unroll",
        f"            for (int {j} = 0; {j} < {tile.wide}; {j}++) {{",
        f"                {n['sums']}[{i}][{j}] += {added};",
        "            }",
        "        }",
        "    }",
    ]


def _spread(step: str, thread: str, vector: int, threads: int) -> str:
    """Where a thread's step-th value lies: groups of `vector` neighbours, one group from each pass over the tile."""
    return f"{thread} * {vector} + {step} / {vector} * {vector * threads} + {step} % {vector}"


def _copied(
    factor: Factor, product: Product, tile: Tile, n: Mapping[str, str], which: tuple[str, str, int], kind: str
) -> list[str]:
    """Lines that start the copies of a tile's elements, of which a thread takes each so many places or rounds."""
    operand, (array, start, extent) = factor.operand, which
    p, d, thread, nbytes = n["p"], n["d"], n["thread"], _size(kind)
    apart = tile.threads // (tile.depth if operand.along_depth else extent)
    if operand.along_depth:
        first, moved, stride = (f"{thread} / {tile.depth}", f"{thread} % {tile.depth}"), p, operand.outer
        at = f"[{first[1]}][{first[0]} + {n['n']} * {apart}]"
    else:
        first, moved, stride = (f"{thread} % {extent}", f"{thread} / {extent}"), d, operand.inner
        at = f"[{first[1]} + {n['n']} * {apart}][{first[0]}]"
    step = c_text(term_of(times(polynomial(stride), {(): apart})), wide=True)
    begin = f"const {kind}* {n['from']} = &{element_of(operand, Var(p), Var(d))};"
    again = operand.uneven is not None
    may = condition_of(operand, [(Var(p), Var(d))], product.rounds)
    return [
        "    {",
        f"        int {p} = {n[start]} + {first[0]}, {d} = {n['ahead']} + {first[1]};",
        *([] if again else [f"        {begin}"]),
        "        #pragma unroll",
        f"        for (int {n['n']} = 0; {n['n']} < {extent * tile.depth // tile.threads}; {n['n']}++) {{",
        *([f"            {begin}"] if again else []),
        f"            {kind}* {n['step']} = &{n[array]}[{n['to']}]{at};",
        "#if __CUDA_ARCH__ >= 800",
        f'            asm volatile("cp.async.ca.shared.global [%0], [%1], {nbytes}, %2;" ::',
        f'                         "r"((unsigned)__cvta_generic_to_shared({n["step"]})), "l"({n["from"]}),',
        f'                         "r"({may} ? {nbytes} : 0) : "memory");',
        "#else",
        f"            *{n['step']} = {may} ? *{n['from']} : 0;",
        "#endif",
        f"            {moved} += {apart};"
        if again
        else f"            {moved} += {apart}, {n['from']} += {step};",
        "        }",
        "    }",
    ]


def _loaded(
    factor: Factor, product: Product, tile: Tile, n: Mapping[str, str], which: tuple[str, str, int], kind: str
) -> list[str]:
    """A loop over the elements of a tile, so that neighbouring threads read neighbouring elements."""
    operand, (array, start, extent) = factor.operand, which
    p, d, e = n["p"], n["d"], n["e"]
    place, depth = f"{e} / {tile.depth}", f"{e} % {tile.depth}"
    if not operand.along_depth:
        place, depth = f"{e} % {extent}", f"{e} / {extent}"
    load = as_float(factor)
    for one in factor.beside:
        load = load.replace(beside_at(one), element_of(one, Var(p), Var(d)))
    load = load.replace(LOADED, element_of(operand, Var(p), Var(d)))
    may = condition_of(operand, [(Var(p), Var(d))], product.rounds)
    return [
        "    #pragma unroll",
        f"    for (int {n['n']} = 0; {n['n']} < {extent * tile.depth // tile.threads}; {n['n']}++) {{",
        f"        const int {e} = {n['thread']} + {n['n']} * {tile.threads};",
        f"        const int {p} = {n[start]} + {place}, {d} = {n['depth_0']} + {depth};",
        f"        {n[array]}[{depth}][{place}] = {may} ? {load} : {'0.0f' if kind == 'float' else '0'};",
        "    }",
    ]
