"""The code of a product on tensor cores: tiles that are copied ahead of their use, fragments, `mma.sync`.

An operand's tile lies as the operand does: lines of `depth` elements for each place where neighbouring rounds are
neighbours in memory, else a line of places for each round. Pieces of 16 bytes are exchanged within a line so that the
eight lines of a fragment lie in different banks; `ldmatrix` turns a tile that lies the other way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernel_gate.expr.polynomials import coefficient_of, polynomial
from kernel_gate.expr.terms import Num, Op, Term, Var, add
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.product_sum import Factor, SumOfProducts
from kernel_lineage.rewrite.assists.products import DEPTH, PLACES, Operand, Product
from kernel_lineage.rewrite.assists.term_text import c_text
from kernel_lineage.rewrite.assists.tiled_product_code import compared, condition_of, element_of

NAMES = (
    "first_tiles second_tiles first second thread lane warp_row warp_column row_0 column_0 depth_0 ahead tile sums "
    "first_aligned second_aligned row_at column_at i j d n e p v a b c to from step line piece"
)
_PIECE = 8
"""Elements of 16 bits in 16 bytes, the most that is copied at once."""
_ELEMENT = {
    "float16": ("half", "__float2half(0.0f)"),
    "bfloat16": ("__nv_bfloat16", "__float2bfloat16(0.0f)"),
}
_MMA = {"float16": "f16", "bfloat16": "bf16"}


@dataclass(frozen=True, slots=True)
class TensorTile:
    """The extents of a tile: outputs of a block and of a warp, rounds, and how many tiles are held at a time."""

    rows: int
    columns: int
    depth: int
    high: int
    wide: int
    stages: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.rows // self.high * (self.columns // self.wide) * 32


def not_for_tensor_cores(total: SumOfProducts) -> Refusal | None:
    """Why a product's operands are not what tensor cores multiply; None when they are."""
    for factor in (total.first, total.second):
        operand = factor.operand
        if factor.dtype not in _MMA or factor.dtype != total.first.dtype:
            return Refusal(f"`{operand.root}` and the other factor are not both of 16 bits of one kind")
        if not factor.plain:
            return Refusal(f"something is made of `{operand.root}` before it is multiplied")
        if Num(1) not in (operand.inner, operand.outer):
            return Refusal(f"`{operand.root}` does not lie along rows or columns without gaps")
        for bound in operand.bounds:
            straight = (
                isinstance(bound, Op)
                and bound.name in ("<", "<=")
                and all(
                    coefficient_of(polynomial(side), v) is not None
                    for side in bound.args
                    for v in (PLACES[operand.axis], DEPTH)
                )
            )
            if not straight:
                return Refusal(f"`{operand.root}` is read under a condition that may have gaps")
    if total.type != "float":
        return Refusal(f"`{total.name}` is no float, in which tensor cores add up products of 16 bits")
    return None


def tensor_code(
    product: Product, total: SumOfProducts, tile: TensorTile, n: Mapping[str, str], outputs: list[str]
) -> list[str]:
    """The lines of the kernel's new body. `n` are the new names for `NAMES`; `outputs` is the work for one output."""
    across, down = product.second.axis, product.first.axis
    element, _ = _ELEMENT[total.first.dtype]
    thread, lane, i, j, sums, stages = n["thread"], n["lane"], n["i"], n["j"], n["sums"], tile.stages
    fragments = (tile.high // 16, tile.wide // 8)
    in_row = tile.columns // tile.wide
    last = compared(product.rounds)
    own_row, own_column = (
        f"{i} * 16 + {lane} / 4 + {n['v']} / 2 * 8",
        f"{j} * 8 + {lane} % 4 * 2 + {n['v']} % 2",
    )
    ahead = (stages - 1) * tile.depth
    return [
        (
            f"// A block computes {tile.rows} x {tile.columns} outputs, "
            f"a warp {tile.high} x {tile.wide} of them on tensor cores."
        ),
        f"__shared__ __align__(128) {element} {n['first_tiles']}[{stages}][{tile.rows * tile.depth}];",
        f"__shared__ __align__(128) {element} {n['second_tiles']}[{stages}][{tile.columns * tile.depth}];",
        f"const int {thread} = threadIdx.x, {lane} = {thread} % 32;",
        (
            f"const int {n['warp_row']} = {thread} / 32 / {in_row} * {tile.high}, "
            f"{n['warp_column']} = {thread} / 32 % {in_row} * {tile.wide};"
        ),
        (
            f"const int {n['row_0']} = blockIdx.{down} * {tile.rows}, "
            f"{n['column_0']} = blockIdx.{across} * {tile.columns};"
        ),
        f"const bool {n['first_aligned']} = {_aligned(product.first)};",
        f"const bool {n['second_aligned']} = {_aligned(product.second)};",
        f"float {sums}[{fragments[0]}][{fragments[1]}][4] = {{}};",
        f"// The copies of a tile begin {stages - 1} rounds before it is used.",
        (
            f"for (int {n['depth_0']} = {-ahead}, {n['tile']} = 0; {n['depth_0']} < {last}; "
            f"{n['depth_0']} += {tile.depth}, "
            f"{n['tile']} = ({n['tile']} + 1) % {stages}) {{"
        ),
        f"    const int {n['ahead']} = {n['depth_0']} + {ahead}, {n['to']} = ({n['tile']} + {stages - 1}) % {stages};",
        f"    if ({n['depth_0']} >= 0) {{",
        f'        asm volatile("cp.async.wait_group {stages - 2};" ::: "memory");',
        "        __syncthreads();",
        "    }",
        f"    if ({n['ahead']} < {last}) {{",
        *_copied(total.first, product, tile, n, ("first_tiles", "row_0", "first_aligned", tile.rows)),
        *_copied(
            total.second, product, tile, n, ("second_tiles", "column_0", "second_aligned", tile.columns)
        ),
        "    }",
        '    asm volatile("cp.async.commit_group;" ::: "memory");',
        f"    if ({n['depth_0']} < 0) continue;",
        *("    " + line for line in _multiplied(total, tile, n)),
        "}",
        "#pragma unroll",
        f"for (int {i} = 0; {i} < {fragments[0]}; {i}++) {{",
        "    #pragma unroll",
        f"    for (int {j} = 0; {j} < {fragments[1]}; {j}++) {{",
        "        #pragma unroll",
        f"        for (int {n['v']} = 0; {n['v']} < 4; {n['v']}++) {{",
        f"            const int {n['row_at']} = {n['row_0']} + {n['warp_row']} + {own_row};",
        f"            const int {n['column_at']} = {n['column_0']} + {n['warp_column']} + {own_column};",
        *(f"            {line}" if line else "" for line in outputs),
        "        }",
        "    }",
        "}",
    ]


def _aligned(operand: Operand) -> str:
    """What holds where each piece of the operand begins at a multiple of 16 bytes."""
    tests = [f"reinterpret_cast<size_t>({operand.root}) % 16 == 0"]
    for term in (operand.inner if operand.inner != Num(1) else operand.outer, operand.base):
        if term != Num(0) and not (isinstance(term, Num) and term.value % _PIECE == 0):
            text = c_text(term, wide=True)
            tests.append(f"{text if text.isidentifier() else f'({text})'} % {_PIECE} == 0")
    return " && ".join(tests)


def _line(along_depth: bool, extent: int, depth: int) -> int:
    return depth if along_depth else extent


def _exchanged(n: Mapping[str, str], pieces: int) -> str:
    """Where a piece of a line lies in its tile, in elements."""
    line, piece = n["line"], n["piece"]
    turned = f"{line} / 2 % 4" if pieces == 4 else f"{line} % 8"
    return f"{line} * {pieces * _PIECE} + ({piece} ^ {turned}) * {_PIECE}"


def _copied(
    factor: Factor, product: Product, tile: TensorTile, n: Mapping[str, str], which: tuple[str, str, str, int]
) -> list[str]:
    operand, (array, start, aligned, extent) = factor.operand, which
    p, d, e, v, line, piece, step = (n[name] for name in ("p", "d", "e", "v", "line", "piece", "step"))
    pieces = _line(operand.along_depth, extent, tile.depth) // _PIECE
    place, depth = (line, f"{piece} * {_PIECE}") if operand.along_depth else (f"{piece} * {_PIECE}", line)
    first: tuple[Term, Term] = (Var(p), Var(d))
    last: tuple[Term, Term] = (Var(p), add(Var(d), Num(_PIECE - 1)))
    each: tuple[Term, Term] = (Var(p), add(Var(d), Var(v)))
    if not operand.along_depth:
        last, each = (add(Var(p), Num(_PIECE - 1)), Var(d)), (add(Var(p), Var(v)), Var(d))
    whole = condition_of(operand, [first, last], product.rounds)
    may = condition_of(operand, [each], product.rounds)
    element, zero = _ELEMENT[factor.dtype]
    return [
        "        #pragma unroll",
        f"        for (int {n['n']} = 0; {n['n']} < {extent * tile.depth // _PIECE // tile.threads}; {n['n']}++) {{",
        f"            const int {e} = {n['thread']} + {n['n']} * {tile.threads};",
        f"            const int {line} = {e} / {pieces}, {piece} = {e} % {pieces};",
        f"            const int {p} = {n[start]} + {place}, {d} = {n['ahead']} + {depth};",
        f"            {element}* {step} = &{n[array]}[{n['to']}][{_exchanged(n, pieces)}];",
        f"            if ({n[aligned]} && {whole}) {{",
        f"                const {element}* {n['from']} = &{element_of(operand, *first)};",
        '                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::',
        f'                             "r"((unsigned)__cvta_generic_to_shared({step})), "l"({n["from"]}) : "memory");',
        "            } else {",
        "                #pragma unroll 1",
        f"                for (int {v} = 0; {v} < {_PIECE}; {v}++) {{",
        f"                    {step}[{v}] = {may} ? {element_of(operand, *each)} : {zero};",
        "                }",
        "            }",
        "        }",
    ]


def _multiplied(total: SumOfProducts, tile: TensorTile, n: Mapping[str, str]) -> list[str]:
    """The products of one tile: fragments of both operands, each with each."""
    i, j, d, a, b, c = (n[name] for name in ("i", "j", "d", "a", "b", "c"))
    kind, high, wide = _MMA[total.first.dtype], tile.high // 16, tile.wide // 16
    return [
        "#pragma unroll",
        f"for (int {d} = 0; {d} < {tile.depth}; {d} += 16) {{",
        f"    unsigned {n['first']}[{high}][4], {n['second']}[{wide}][4];",
        "    #pragma unroll",
        f"    for (int {i} = 0; {i} < {high}; {i}++) {{",
        *_loaded(total.first, tile, n, ("first", i, "first_tiles", tile.rows), rows_first=True),
        "    }",
        "    #pragma unroll",
        f"    for (int {j} = 0; {j} < {wide}; {j}++) {{",
        *_loaded(total.second, tile, n, ("second", j, "second_tiles", tile.columns), rows_first=False),
        "    }",
        "    #pragma unroll",
        f"    for (int {i} = 0; {i} < {high}; {i}++) {{",
        "        #pragma unroll",
        f"        for (int {j} = 0; {j} < {2 * wide}; {j}++) {{",
        f"            const unsigned *{a} = {n['first']}[{i}], *{b} = &{n['second']}[{j} / 2][{j} % 2 * 2];",
        f"            float* {c} = {n['sums']}[{i}][{j}];",
        f'            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.{kind}.{kind}.f32 "',
        '                         "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"',
        f'                         : "+f"({c}[0]), "+f"({c}[1]), "+f"({c}[2]), "+f"({c}[3])',
        f'                         : "r"({a}[0]), "r"({a}[1]), "r"({a}[2]), "r"({a}[3]), "r"({b}[0]), "r"({b}[1]));',
        "        }",
        "    }",
        "}",
    ]


def _loaded(
    factor: Factor,
    tile: TensorTile,
    n: Mapping[str, str],
    which: tuple[str, str, str, int],
    *,
    rows_first: bool,
) -> list[str]:
    """A fragment of 16 places by 16 rounds; each lane says where one of its lines lies.

    The parts of the first factor go by places and then by rounds, those of the second one by rounds and then by places.
    """
    operand, dtype, (name, step, array, extent) = factor.operand, factor.dtype, which
    lane, d, start = n["lane"], n["d"], n["warp_row" if rows_first else "warp_column"]
    by_place, by_depth = f"{lane} / 8 % 2", f"{lane} / 16"
    if not rows_first:
        by_place, by_depth = by_depth, by_place
    line, piece = f"{start} + {step} * 16 + {lane} % 8 + {by_place} * 8", f"{d} / 8 + {by_depth}"
    if not operand.along_depth:
        line, piece = f"{d} + {lane} % 8 + {by_depth} * 8", f"{start} / 8 + {step} * 2 + {by_place}"
    pieces = _line(operand.along_depth, extent, tile.depth) // _PIECE
    turned, into = "" if operand.along_depth else ".trans", f"{n[name]}[{step}]"
    element, _ = _ELEMENT[dtype]
    return [
        f"        const int {n['line']} = {line}, {n['piece']} = {piece};",
        f"        const {element}* {n['from']} = &{n[array]}[{n['tile']}][{_exchanged(n, pieces)}];",
        f'        asm volatile("ldmatrix.sync.aligned.m8n8.x4{turned}.shared.b16 {{%0, %1, %2, %3}}, [%4];"',
        f'                     : "=r"({into}[0]), "=r"({into}[1]), "=r"({into}[2]), "=r"({into}[3])',
        f'                     : "r"((unsigned)__cvta_generic_to_shared({n["from"]})));',
    ]
