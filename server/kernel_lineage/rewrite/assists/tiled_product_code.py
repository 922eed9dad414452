"""The code of a product in tiles: shared memory for the operands, registers for the outputs of each thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kernel_gate.expr.terms import Term, Var, substituted
from kernel_lineage.rewrite.assists.product_sum import Factor, SumOfProducts, loaded_text
from kernel_lineage.rewrite.assists.products import DEPTH, PLACES, Operand, Product
from kernel_lineage.rewrite.assists.term_text import c_text


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


def element_of(operand: Operand, place: Term, depth: Term) -> str:
    """The element as it is read from memory."""
    values = {PLACES[operand.axis].name: place, DEPTH.name: depth}
    return f"{operand.root}[{c_text(substituted(operand.address, values), wide=True)}]"


def compared(term: Term) -> str:
    """A term that stands on the right of a comparison."""
    text = c_text(term)
    return text if text.isidentifier() else f"({text})"


def _is_comparison(text: str) -> bool:
    return not any(word in text for word in ("&&", "||", "?")) and not text.startswith("!")


NAMES = "first_tile second_tile first second thread row_0 column_0 depth_0 sums row_at column_at i j d n e p"


def tiled_code(
    product: Product, total: SumOfProducts, tile: Tile, n: Mapping[str, str], outputs: list[str]
) -> list[str]:
    """The lines of the kernel's new body. `n` are the new names for `NAMES`; `outputs` is the work for one output."""
    kind, rows, columns, depth = total.type, tile.rows, tile.columns, tile.depth
    vector = 16 // (8 if kind in ("double", "long long") else 4)
    pad = vector
    across, down = product.second.axis, product.first.axis
    groups = columns // tile.wide
    thread, i, j, d, sums = n["thread"], n["i"], n["j"], n["d"], n["sums"]
    own_row = _spread(i, f"{thread} / {groups}", min(vector, tile.high), rows // tile.high)
    own_column = _spread(j, f"{thread} % {groups}", min(vector, tile.wide), groups)
    return [
        f"// A block computes {rows} x {columns} outputs, a thread {tile.high} x {tile.wide} of them.",
        f"__shared__ __align__(16) {kind} {n['first_tile']}[{depth}][{rows + pad}];",
        f"__shared__ __align__(16) {kind} {n['second_tile']}[{depth}][{columns + pad}];",
        f"const int {thread} = threadIdx.x;",
        f"const int {n['row_0']} = blockIdx.{down} * {rows}, {n['column_0']} = blockIdx.{across} * {columns};",
        f"{kind} {sums}[{tile.high}][{tile.wide}] = {{}};",
        f"for (int {n['depth_0']} = 0; {n['depth_0']} < {compared(product.rounds)}; {n['depth_0']} += {depth}) {{",
        *_loaded(total.first, product, tile, n, ("first_tile", "row_0", rows), kind),
        *_loaded(total.second, product, tile, n, ("second_tile", "column_0", columns), kind),
        "    __syncthreads();",
        "    #pragma unroll",
        f"    for (int {d} = 0; {d} < {depth}; {d}++) {{",
        f"        {kind} {n['first']}[{tile.high}], {n['second']}[{tile.wide}];",
        "        #pragma unroll",
        f"        for (int {i} = 0; {i} < {tile.high}; {i}++) {{",
        f"            {n['first']}[{i}] = {n['first_tile']}[{d}][{own_row}];",
        "        }",
        "        #pragma unroll",
        f"        for (int {j} = 0; {j} < {tile.wide}; {j}++) {{",
        f"            {n['second']}[{j}] = {n['second_tile']}[{d}][{own_column}];",
        "        }",
        "        #pragma unroll",
        f"        for (int {i} = 0; {i} < {tile.high}; {i}++) {{",
        "            #pragma unroll",
        f"            for (int {j} = 0; {j} < {tile.wide}; {j}++) {{",
        f"                {sums}[{i}][{j}] += {n['first']}[{i}] * {n['second']}[{j}];",
        "            }",
        "        }",
        "    }",
        "    __syncthreads();",
        "}",
        "#pragma unroll",
        f"for (int {i} = 0; {i} < {tile.high}; {i}++) {{",
        "    #pragma unroll",
        f"    for (int {j} = 0; {j} < {tile.wide}; {j}++) {{",
        f"        const int {n['row_at']} = {n['row_0']} + {own_row};",
        f"        const int {n['column_at']} = {n['column_0']} + {own_column};",
        *(f"        {line}" if line else "" for line in outputs),
        "    }",
        "}",
    ]


def _spread(step: str, thread: str, vector: int, threads: int) -> str:
    """Where a thread's step-th value lies: groups of `vector` neighbours, one group from each pass over the tile."""
    return f"{thread} * {vector} + {step} / {vector} * {vector * threads} + {step} % {vector}"


def _loaded(
    factor: Factor, product: Product, tile: Tile, n: Mapping[str, str], which: tuple[str, str, int], kind: str
) -> list[str]:
    """A loop over the elements of a tile, so that neighbouring threads read neighbouring elements."""
    operand, (array, start, extent) = factor.operand, which
    p, d, e = n["p"], n["d"], n["e"]
    place, depth = f"{e} / {tile.depth}", f"{e} % {tile.depth}"
    if not operand.along_depth:
        place, depth = f"{e} % {extent}", f"{e} / {extent}"
    load = loaded_text(factor, element_of(operand, Var(p), Var(d)))
    may = condition_of(operand, [(Var(p), Var(d))], product.rounds)
    return [
        "    #pragma unroll",
        f"    for (int {n['n']} = 0; {n['n']} < {extent * tile.depth // tile.threads}; {n['n']}++) {{",
        f"        const int {e} = {n['thread']} + {n['n']} * {tile.threads};",
        f"        const int {p} = {n[start]} + {place}, {d} = {n['depth_0']} + {depth};",
        f"        {n[array]}[{depth}][{place}] = {may} ? {load} : {'0.0f' if kind == 'float' else '0'};",
        "    }",
    ]
