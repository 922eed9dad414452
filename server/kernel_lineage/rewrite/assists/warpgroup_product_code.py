"""The code of a product by warpgroups: `wgmma`, which reads both tiles from shared memory while copies run.

A tile is 64 rounds deep, so that its lines are 128 bytes long and lie in the order that `wgmma` reads (`tile_copies`).
A tile is overwritten two rounds of the loop after it was used, when every warpgroup has waited for its products. Sums
pass through shared memory, so that neighbouring threads write neighbouring outputs. Code for other devices than sm_90a
multiplies the same tiles by `mma.sync`: a warp of a group has the outputs that `wgmma` gives it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernel_lineage.rewrite.assists import tensor_product_code
from kernel_lineage.rewrite.assists.product_sum import SumOfProducts
from kernel_lineage.rewrite.assists.products import Product
from kernel_lineage.rewrite.assists.tensor_product_code import MMA, TensorTile, block_place, multiplied
from kernel_lineage.rewrite.assists.tile_copies import ELEMENT, Held, copies
from kernel_lineage.rewrite.assists.tiled_product_code import compared

NAMES = f"{tensor_product_code.NAMES} tiles copy tile_sums first_at second_at layout x y"
_DEPTH = 64
_HIGH = 64
"""Rows of outputs of a warpgroup."""
_GROUP = 128
_PAD = 8
"""Floats between the rows of sums in shared memory, against conflicts of banks."""
_PATTERN = 1024
"""Bytes of eight lines, after which their order repeats."""


@dataclass(frozen=True, slots=True)
class WarpgroupTile:
    """The outputs of a block, and how many tiles are held at a time; a warpgroup has 64 rows of outputs."""

    rows: int
    columns: int
    stages: int
    resident: int
    """Blocks that a multiprocessor holds at once."""

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.rows // _HIGH * _GROUP

    @property
    def shared_bytes(self) -> int:
        """Bytes of dynamic shared memory: tiles, and behind the loop sums in their place."""
        return max(
            self.stages * (self.rows + self.columns) * _DEPTH * 2, self.rows * (self.columns + _PAD) * 4
        )


def warpgroup_code(
    product: Product, total: SumOfProducts, tile: WarpgroupTile, n: Mapping[str, str], outputs: list[str]
) -> list[str]:
    """The lines of the kernel's new body. `n` are the new names for `NAMES`; `outputs` is the work for one output."""
    # What a warp has of the outputs by `wgmma`, and multiplies by itself on other devices.
    by_warp = TensorTile(tile.rows, tile.columns, _DEPTH, 16, tile.columns, tile.stages)
    held = by_warp.held(total, n)
    element, _ = ELEMENT[held[0].dtype]
    thread, lane, e, j, stages, sums = n["thread"], n["lane"], n["e"], n["j"], tile.stages, n["sums"]
    last, ahead = compared(product.rounds), stages - 2
    v, stride = n["v"], tile.columns + _PAD
    at_row = f"{n['warp_row']} + {lane} / 4 + {v} / 2 * 8"
    return [
        f"// A block computes {tile.rows} x {tile.columns} outputs, a warpgroup {_HIGH} x {tile.columns} of them.",
        f"extern __shared__ __align__({_PATTERN}) unsigned char {n['tiles']}[];",
        f"auto {held[0].array} = reinterpret_cast<{element} (*)[{held[0].elements}]>({n['tiles']});",
        f"auto {held[1].array} = reinterpret_cast<{element} (*)[{held[1].elements}]>({held[0].array} + {stages});",
        f"const int {thread} = threadIdx.x, {lane} = {thread} % 32, {n['warp_row']} = {thread} / 32 * 16;",
        *block_place(product, by_warp, n),
        f"float {sums}[{tile.columns // 2}] = {{}};",
        f"const auto {n['copy']} = [&](int {n['ahead']}, int {n['to']}) {{",
        f"    if ({n['ahead']} < {last}) {{",
        *(" " * 8 + line for h in held for line in copies(h, product, tile.threads, n)),
        "    }",
        '    asm volatile("cp.async.commit_group;" ::: "memory");',
        "};",
        f"for (int {n['to']} = 0; {n['to']} < {ahead}; {n['to']}++) {n['copy']}({n['to']} * {_DEPTH}, {n['to']});",
        (
            f"for (int {n['depth_0']} = 0, {n['tile']} = 0; {n['depth_0']} < {last}; "
            f"{n['depth_0']} += {_DEPTH}, {n['tile']} = ({n['tile']} + 1) % {stages}) {{"
        ),
        f'    asm volatile("cp.async.wait_group {ahead - 1};" ::: "memory");',
        '    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");',
        "    __syncthreads();",
        "#ifdef __CUDA_ARCH_FEAT_SM90_ALL",
        *(" " * 4 + line for line in _issued(held, tile, n)),
        "#else",
        *(
            " " * 4 + line
            for line in multiplied(held, by_warp, {**n, "warp_column": "0"}, f"&{sums}[{j} * 4]")
        ),
        "#endif",
        f"    {n['copy']}({n['depth_0']} + {ahead * _DEPTH}, ({n['tile']} + {ahead}) % {stages});",
        "#ifdef __CUDA_ARCH_FEAT_SM90_ALL",
        '    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");',
        "#endif",
        "}",
        "#ifdef __CUDA_ARCH_FEAT_SM90_ALL",
        'asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");',
        "#endif",
        'asm volatile("cp.async.wait_group 0;" ::: "memory");',
        "__syncthreads();",
        f"auto {n['tile_sums']} = reinterpret_cast<float (*)[{stride}]>({n['tiles']});",
        "#pragma unroll",
        f"for (int {j} = 0; {j} < {tile.columns // 8}; {j}++) {{",
        "    #pragma unroll",
        f"    for (int {v} = 0; {v} < 4; {v}++) {{",
        f"        {n['tile_sums']}[{at_row}][{j} * 8 + {lane} % 4 * 2 + {v} % 2] = {sums}[{j} * 4 + {v}];",
        "    }",
        "}",
        "__syncthreads();",
        "#pragma unroll 4",
        f"for (int {e} = {thread}; {e} < {tile.rows * tile.columns}; {e} += {tile.threads}) {{",
        f"    const int {n['i']} = {e} / {tile.columns}, {j} = {e} % {tile.columns};",
        f"    const int {n['row_at']} = {n['row_0']} + {n['i']}, {n['column_at']} = {n['column_0']} + {j};",
        *(f"    {line}" if line else "" for line in outputs),
        "}",
    ]


def value_of(n: Mapping[str, str]) -> str:
    """The sum of products of the output whose work is done."""
    return f"{n['tile_sums']}[{n['i']}][{n['j']}]"


def _issued(held: tuple[Held, Held], tile: WarpgroupTile, n: Mapping[str, str]) -> list[str]:
    """Lines that start the products of one tile."""
    d, kind, count = n["d"], MMA[held[0].dtype], tile.columns // 2
    first, second = held
    registers = [f'"+f"({n["sums"]}[{i}])' for i in range(count)]
    start = f"{n['thread']} / {_GROUP} * {_HIGH * _DEPTH}"
    layout = f"{_DEPTH * 128 // 16}ull << 16 | {_PATTERN // 16}ull << 32 | 1ull << 62"
    turned = ", ".join("0" if h.operand.along_depth else "1" for h in held)
    return [
        f"const {ELEMENT[first.dtype][0]}* {n['from']} = {first.array}[{n['tile']}] + {start};",
        f"const unsigned {n['first_at']} = (unsigned)__cvta_generic_to_shared({n['from']});",
        f"const unsigned {n['second_at']} = (unsigned)__cvta_generic_to_shared({second.array}[{n['tile']}]);",
        "// In units of 16 bytes: from panel to panel, from eight lines to the next; lines of 128 bytes are swizzled.",
        f"const unsigned long long {n['layout']} = {layout};",
        'asm volatile("wgmma.fence.sync.aligned;" ::: "memory");',
        "#pragma unroll",
        f"for (int {d} = 0; {d} < {_DEPTH}; {d} += 16) {{",
        f"    const unsigned long long {n['x']} = {n['layout']} | {_start(first, n['first_at'], d)};",
        f"    const unsigned long long {n['y']} = {n['layout']} | {_start(second, n['second_at'], d)};",
        f'    asm volatile("wgmma.mma_async.sync.aligned.m64n{tile.columns}k16.f32.{kind}.{kind} {{"',
        *_wrapped([f"%{i}" for i in range(count)], " " * 17 + '"', ', "', '"'),
        f'                 "}}, %{count}, %{count + 1}, 1, 1, 1, {turned};"',
        *_wrapped(registers, " " * 17 + ": ", ",", "", " " * 19),
        f'                 : "l"({n["x"]}), "l"({n["y"]}));',
        "}",
        'asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");',
    ]


def _start(held: Held, at: str, d: str) -> str:
    """Where 16 rounds of a tile begin, as a descriptor says it."""
    return f"(({at} + {d} * {2 if held.operand.along_depth else 128}) >> 4 & 0x3fff)"


def _wrapped(parts: Sequence[str], head: str, end: str, last: str, then: str = "") -> list[str]:
    """Lines of at most 110 characters that hold the parts with commas between; `end` closes each but the last one."""
    lines, line = [], head
    for number, part in enumerate(parts):
        final = number == len(parts) - 1
        text = part if final else f"{part}, "
        if len(line) + len(text) > 110:
            lines.append(line.rstrip(", ") + end)
            line = then or head
        line += text
    return [*lines, line + last]
