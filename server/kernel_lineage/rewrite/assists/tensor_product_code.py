"""The code of a product on tensor cores: tiles that are copied ahead of their use, fragments, `mma.sync`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from kernel_gate.expr.polynomials import coefficient_of, polynomial
from kernel_gate.expr.terms import Num, Op
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists import tile_copies
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.product_sum import SumOfProducts
from kernel_lineage.rewrite.assists.product_task import ProductTask, task_of
from kernel_lineage.rewrite.assists.products import DEPTH, PLACES, Operand, Product
from kernel_lineage.rewrite.assists.tile_copies import BYTES, ELEMENT, PIECE, Held, alignment, copies
from kernel_lineage.rewrite.assists.tiled_product_code import compared

NAMES = (
    f"{tile_copies.NAMES} first_tiles second_tiles first second lane warp_row warp_column row_0 column_0 depth_0 tile "
    "sums first_aligned second_aligned row_at column_at i j a b c"
)
MMA = {"float16": "f16", "bfloat16": "bf16"}
"""What the instructions call the types that they multiply."""


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

    @property
    def sums(self) -> str:
        """The extents of a thread's sums, which begin as zeros."""
        return f"[{self.high // 16}][{self.wide // 8}][4] = {{}}"

    @property
    def comment(self) -> str:
        """What a block computes, as a line of the code."""
        block, warp = f"{self.rows} x {self.columns}", f"{self.high} x {self.wide}"
        return f"// A block computes {block} outputs, a warp {warp} of them on tensor cores."

    def held(self, total: SumOfProducts, n: Mapping[str, str]) -> tuple[Held, Held]:
        """The tiles of both operands."""
        kind = next(f.dtype for f in (total.first, total.second) if f.dtype in MMA)
        first, second = (
            Held(factor, n[f"{name}_tiles"], n[start], n[f"{name}_aligned"], extent, self.depth, kind)
            for factor, name, start, extent in (
                (total.first, "first", "row_0", self.rows),
                (total.second, "second", "column_0", self.columns),
            )
        )
        return first, second


def check_for_tensor_cores(total: SumOfProducts) -> None:
    """Refuse a product whose operands are not what tensor cores multiply."""
    if total.of_both:
        raise Refusal(f"what is added to `{total.name}` is no product, which is all that tensor cores add up")
    kinds = {f.dtype for f in (total.first, total.second)} - BYTES.keys()
    for factor in (total.first, total.second):
        operand = factor.operand
        if len(kinds) != 1 or not kinds <= MMA.keys():
            raise Refusal(f"`{operand.root}` and the other factor are not both of 16 bits of one kind")
        if not factor.plain:
            raise Refusal(f"something is made of `{operand.root}` before it is multiplied")
        check_straight(operand)
    if total.type != "float":
        raise Refusal(f"`{total.name}` is no float, in which tensor cores add up products of 16 bits")


def check_straight(operand: Operand) -> None:
    """Refuse an operand whose tiles are not lines of neighbours."""
    if Num(1) not in (operand.inner, operand.outer):
        raise Refusal(f"`{operand.root}` does not lie along rows or columns without gaps")
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
            raise Refusal(f"`{operand.root}` is read under a condition that may have gaps")


def task_for_tensor_cores(kernel: Kernel) -> ProductTask:
    """The product of a kernel that tensor cores can compute, or why they cannot."""
    task = task_of(kernel)
    check_for_tensor_cores(task.total)
    return task


def tensor_code(
    product: Product, total: SumOfProducts, tile: TensorTile, n: Mapping[str, str], outputs: list[str]
) -> list[str]:
    """The lines of the kernel's new body. `n` are the new names for `NAMES`; `outputs` is the work for one output."""
    i, j, sums, stages = n["i"], n["j"], n["sums"], tile.stages
    last = compared(product.rounds)
    ahead = (stages - 1) * tile.depth
    held = tile.held(total, n)
    element, _ = ELEMENT[held[0].dtype]
    return [
        tile.comment,
        *(f"__shared__ __align__(128) {element} {h.array}[{stages}][{h.elements}];" for h in held),
        *warp_place(tile, n),
        *block_place(product, tile, n),
        f"float {sums}{tile.sums};",
        f"// The copies of a tile begin {stages - 1} rounds before it is used.",
        (
            f"for (int {n['depth_0']} = {-ahead}, {n['tile']} = 0; {n['depth_0']} < (int){last}; "
            f"{n['depth_0']} += {tile.depth}, "
            f"{n['tile']} = ({n['tile']} + 1) % {stages}) {{"
        ),
        f"    const int {n['ahead']} = {n['depth_0']} + {ahead}, {n['to']} = ({n['tile']} + {stages - 1}) % {stages};",
        f"    if ({n['depth_0']} >= 0) {{",
        f'        asm volatile("cp.async.wait_group {stages - 2};" ::: "memory");',
        "        __syncthreads();",
        "    }",
        f"    if ({n['ahead']} < {last}) {{",
        *(" " * 8 + line for h in held for line in copies(h, product, tile.threads, n)),
        "    }",
        '    asm volatile("cp.async.commit_group;" ::: "memory");',
        f"    if ({n['depth_0']} < 0) continue;",
        *(" " * 4 + line for line in multiplied(held, tile, n, f"{sums}[{i}][{j}]")),
        "}",
        *output_lines(tile, n, outputs),
    ]


def warp_place(tile: TensorTile, n: Mapping[str, str]) -> Iterable[str]:
    """Lines that say which thread one is, and where its warp's outputs begin within the block's."""
    thread, in_row = n["thread"], tile.columns // tile.wide
    return (
        f"const int {thread} = threadIdx.x, {n['lane']} = {thread} % 32;",
        (
            f"const int {n['warp_row']} = {thread} / 32 / {in_row} * {tile.high}, "
            f"{n['warp_column']} = {thread} / 32 % {in_row} * {tile.wide};"
        ),
    )


def output_lines(tile: TensorTile, n: Mapping[str, str], outputs: list[str]) -> list[str]:
    """Lines that do the work of each output, of which `sums` has four for each fragment of 16 x 8."""
    lane, i, j = n["lane"], n["i"], n["j"]
    own_row, own_column = (
        f"{i} * 16 + {lane} / 4 + {n['v']} / 2 * 8",
        f"{j} * 8 + {lane} % 4 * 2 + {n['v']} % 2",
    )
    return [
        "#pragma unroll",
        f"for (int {i} = 0; {i} < {tile.high // 16}; {i}++) {{",
        "    #pragma unroll",
        f"    for (int {j} = 0; {j} < {tile.wide // 8}; {j}++) {{",
        "        #pragma unroll",
        f"        for (int {n['v']} = 0; {n['v']} < 4; {n['v']}++) {{",
        f"            const int {n['row_at']} = {n['row_0']} + {n['warp_row']} + {own_row};",
        f"            const int {n['column_at']} = {n['column_0']} + {n['warp_column']} + {own_column};",
        *(f"            {line}" if line else "" for line in outputs),
        "        }",
        "    }",
        "}",
    ]


def block_place(
    product: Product, tile: TensorTile, n: Mapping[str, str], piece: int = PIECE
) -> Iterable[str]:
    """Lines that say where a block's outputs begin, and whether whole pieces of so many elements may be copied."""
    across, down = product.second.axis, product.first.axis
    return (
        (
            f"const int {n['row_0']} = blockIdx.{down} * {tile.rows}, "
            f"{n['column_0']} = blockIdx.{across} * {tile.columns};"
        ),
        f"const bool {n['first_aligned']} = {alignment(product.first, piece)};",
        f"const bool {n['second_aligned']} = {alignment(product.second, piece)};",
    )


def multiplied(held: tuple[Held, Held], tile: TensorTile, n: Mapping[str, str], sums: str) -> list[str]:
    """The products of one tile. `sums` points to a thread's four sums in the fragment of the numbers `i` and `j`."""
    kind, begin = MMA[held[0].dtype], [partial(_begin, h, n) for h in held]
    instruction = f"m16n8k16.row.col.f32.{kind}.{kind}.f32"
    return each_with_each(tile, n, (tile.depth, 16), begin, instruction, f"float* {n['c']} = {sums}")


def _begin(
    held: Held, n: Mapping[str, str], start: str, number: str, by_place: str, by_depth: str
) -> tuple[list[str], str]:
    """Where a line of a fragment of 16 places by 16 rounds lies, as `each_with_each` asks."""
    lane, d, along = n["lane"], n["d"], held.operand.along_depth
    line, piece = f"{start} + {number} * 16 + {lane} % 8 + {by_place} * 8", f"{d} / {PIECE} + {by_depth}"
    if not along:
        line, piece = f"{d} + {lane} % 8 + {by_depth} * 8", f"{start} / {PIECE} + {number} * 2 + {by_place}"
    element, _ = ELEMENT[held.dtype]
    return [
        f"const int {n['line']} = {line}, {n['piece']} = {piece};",
        f"const {element}* {n['from']} = &{held.array}[{n['tile']}][{held.offset(n['line'], n['piece'])}];",
    ], "" if along else ".trans"


def each_with_each(
    tile: TensorTile,
    n: Mapping[str, str],
    rounds: tuple[int, int],
    begin: Iterable[Callable[[str, str, str, str], tuple[list[str], str]]],
    instruction: str,
    sums: str,
) -> list[str]:
    """The products of one tile: fragments of both operands, each with each.

    `rounds`: those of a tile and of a fragment. `begin`, for each operand: lines that declare where a lane's line of a
    fragment lies, from the warp's first place, the fragment's number and the part of it by places and by rounds, and
    `.trans` where the line goes along the places. `sums` declares what points to a thread's four sums.
    """
    (depth, step), i, j, d = rounds, n["i"], n["j"], n["d"]
    high, wide, halves = tile.high // 16, tile.wide // 16, (f"{n['lane']} / 8 % 2", f"{n['lane']} / 16")
    # The parts of the first factor go by places and then by rounds, those of the second one the other way round.
    loads: list[str] = []
    for (name, start, number, count, parts), begin_of in zip(
        (("first", "warp_row", i, high, halves), ("second", "warp_column", j, wide, halves[::-1])),
        begin,
        strict=True,
    ):
        lines, turned = begin_of(n[start], number, *parts)
        loads += [
            "    #pragma unroll",
            f"    for (int {number} = 0; {number} < {count}; {number}++) {{",
            *(f"        {line}" for line in lines),
            f'        asm volatile("ldmatrix.sync.aligned.m8n8.x4{turned}.shared.b16 {{%0, %1, %2, %3}}, [%4];"',
            f"                     : {_operands('=r', f'{n[name]}[{number}][{{}}]', 4)}",
            f'                     : "r"((unsigned)__cvta_generic_to_shared({n["from"]})));',
            "    }",
        ]
    return [
        "#pragma unroll",
        f"for (int {d} = 0; {d} < {depth}; {d} += {step}) {{",
        f"    unsigned {n['first']}[{high}][4], {n['second']}[{wide}][4];",
        *loads,
        "    #pragma unroll",
        f"    for (int {i} = 0; {i} < {high}; {i}++) {{",
        "        #pragma unroll",
        f"        for (int {j} = 0; {j} < {2 * wide}; {j}++) {{",
        f"            const unsigned *{n['a']} = {n['first']}[{i}], *{n['b']} = &{n['second']}[{j} / 2][{j} % 2 * 2];",
        f"            {sums};",
        f'            asm volatile("mma.sync.aligned.{instruction} "',
        '                         "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"',
        f"                         : {_operands('+f' if sums.startswith('float') else '+r', n['c'] + '[{}]', 4)}",
        f"                         : {_operands('r', n['a'] + '[{}]', 4)}, {_operands('r', n['b'] + '[{}]', 2)});",
        "        }",
        "    }",
        "}",
    ]


def _operands(constraint: str, element: str, count: int) -> str:
    return ", ".join(f'"{constraint}"({element.format(k)})' for k in range(count))
