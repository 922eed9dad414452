"""A mask that a fix adds around code: before, its size had to fit."""

import pytest

from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.preconditions.changes import CodeChange
from kernel_lineage.learning.preconditions.readers import preconditions

CUDA = """__device__ void copy(float* to, const float* from, int at, int rows) {
    PART
}
__global__ void scale(float* out, const float* in, int rows, int columns, int2 size) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    int across = blockIdx.y * blockDim.y + threadIdx.y;
    BODY
}
"""
TILE = ["rows % launch.block.x == 0"]
TRITON = """import triton
import triton.language as tl

@triton.jit
def scale(out, x, rows, columns, TILE: tl.constexpr, STEPS: tl.constexpr):
    lanes = tl.arange(0, TILE)
    at = tl.program_id(0) * TILE + lanes
    BODY
"""
WINDOW = """first = tl.program_id(0) * TILE
    p = tl.make_block_ptr(x, (rows, columns), (columns, 1), (first, 0), (TILE, STEPS), (1, 0))
    """
ADVANCED = (
    WINDOW
    + """for _ in range(0, tl.cdiv(columns, STEPS)):
        tl.store(out + lanes, tl.load(pCHECK))
        p = tl.advance(p, (0, STEPS))"""
)
BRANCHES = """if STEPS:
        n = tl.load(x)
        rows = tl.load(x + 1) - n
    else:
        n = tl.program_id(1)
    """


def learned(template, before, after, language, part=("", "")):
    texts = (
        template.replace("BODY", b).replace("PART", p) for b, p in zip((before, after), part, strict=True)
    )
    old, new = (read(text.encode(), language).kernel("scale") for text in texts)
    return [one.expr for one in preconditions(CodeChange(old, new))]


@pytest.mark.parametrize(
    ("before", "after", "conditions"),
    [
        ("out[at] = in[at];", "if (at < rows) out[at] = in[at];", ["rows % launch.block.x == 0"]),
        ("out[at] = in[at];", "if (rows <= at) return; out[at] = in[at];", ["rows % launch.block.x == 0"]),
        (
            "out[at] = in[at];",
            "const bool inside = at < rows; float v = inside ? in[at] : 0.f; if (inside) { out[at] = v; }",
            ["rows % launch.block.x == 0"],
        ),
        (
            "out[across * columns + at] = 1.f;",
            "if (at >= columns || across >= rows) { return; } out[across * columns + at] = 1.f;",
            ["columns % launch.block.x == 0", "rows % launch.block.y == 0"],
        ),
        (
            "for (int k = 0; k < 8; ++k) out[at * 8 + k] = 0.f;",
            "for (int k = 0; k < 8; ++k) { if (at * 8 + k < rows) out[at * 8 + k] = 0.f; }",
            ["rows % (8 * launch.block.x) == 0"],
        ),
        (
            (
                "for (int i = threadIdx.x; i < rows / 2; i += blockDim.x)"
                " for (int k = 0; k < 2; k++) out[2 * i + k] = 1.f;"
            ),
            (
                "for (int i = threadIdx.x; i < (rows + 1) / 2; i += blockDim.x)"
                " for (int k = 0; k < 2; k++) if (2 * i + k < rows) out[2 * i + k] = 1.f;"
            ),
            ["rows % 2 == 0"],
        ),
        (
            "out[threadIdx.x] = 1.f;",
            "if (threadIdx.x < columns) out[threadIdx.x] = 1.f;",
            ["columns >= launch.block.x"],
        ),
        # What is left of the rows, for each block.
        (
            "out[threadIdx.x] = 1.f;",
            "if (threadIdx.x < rows - blockIdx.x * blockDim.x) out[threadIdx.x] = 1.f;",
            TILE,
        ),
        (
            "for (int i = threadIdx.x; i < 8; i++) out[blockIdx.x * 8 + i] = 1.f;",
            (
                "int end = min(8, rows - (int)blockIdx.x * 8);"
                " for (int i = 0; i < 8; i++) { if (i < end) out[blockIdx.x * 8 + i] = 1.f; }"
            ),
            ["rows % 8 == 0"],
        ),
        ("copy(out, blockIdx.x * 8 + 8);", "copy(out, min(blockIdx.x * 8 + 8, rows));", ["rows % 8 == 0"]),
        # The code was under such a mask before.
        ("if (at < rows) out[at] = in[at];", "if (at >= rows) return; out[at] = in[at];", []),
        # New code with a mask of its own says nothing of the code before it.
        ("out[at] = 1.f;", "out[at] = 1.f; if (at < rows) in[at];", []),
        # Neither a start of its own nor a value from memory runs through whole tiles.
        ("out[at] = 1.f;", "if (at + columns < rows) out[at] = 1.f;", []),
        ("out[at] = 1.f;", "if (in[at] < rows) out[at] = 1.f;", []),
        # It speaks of the launch alone.
        ("out[at] = 1.f;", "if (threadIdx.x < 32) out[at] = 1.f;", []),
    ],
)
def test_in_cuda(before, after, conditions):
    assert learned(CUDA, before, after, Language.CUDA) == conditions


def test_in_a_device_function_by_what_the_kernel_hands_to_it():
    call = "copy(out, in, at, columns);"
    part = ("to[at] = from[at];", "if (at < rows) { to[at] = from[at]; }")
    assert learned(CUDA, call, call, Language.CUDA, part) == ["columns % launch.block.x == 0"]


@pytest.mark.parametrize(
    ("before", "after", "conditions"),
    [
        (
            "tl.store(out + at, tl.load(x + at))",
            "inside = at < rows\n    tl.store(out + at, tl.load(x + at, inside, other=0.0), mask=inside)",
            ["rows % TILE == 0"],
        ),
        (
            "tl.store(out + lanes, 1.0)",
            "tl.store(out + lanes, 1.0, mask=columns > lanes)",
            ["columns >= TILE"],
        ),
        (
            "v = tl.load(x + lanes, mask=lanes < columns)\n    tl.store(out, tl.sum(v - 1.0))",
            (
                "v = tl.load(x + lanes, mask=lanes < columns)\n"
                "    tl.store(out, tl.sum(tl.where(lanes < columns, v - 1.0, 0.0)))"
            ),
            ["columns >= TILE"],
        ),
        (
            "for first in range(0, columns, TILE):\n        tl.store(out + first + lanes, 0.0)",
            (
                "for first in range(0, columns, TILE):\n"
                "        tl.store(out + first + lanes, 0.0, mask=first + lanes < columns)"
            ),
            ["columns % TILE == 0"],
        ),
        # The last element of each tile stands for the tile.
        (
            "last = tl.program_id(0) * TILE + TILE - 1\n    tl.store(out, tl.load(x + last))",
            "last = min(tl.program_id(0) * TILE + TILE, rows) - 1\n    tl.store(out, tl.load(x + last))",
            ["rows % TILE == 0"],
        ),
        (
            "tl.store(out + at, 1.0)",
            "tl.store(out + at, 1.0)\n    tl.store(out + tl.minimum(at, rows - 1), 1.0)",
            [],
        ),
        ("tl.store(out + at, 1.0)", "tl.store(out + tl.minimum(at, rows - 1), 1.0)", ["rows % TILE == 0"]),
        # What is left of a size, and the smaller of two: lanes count STEPS for the programs.
        (
            "tl.store(out + tl.program_id(1) * STEPS + at, 1.0, mask=at < STEPS)",
            (
                "left = tl.minimum(STEPS, columns - tl.program_id(1) * STEPS)\n"
                "    tl.store(out + tl.program_id(1) * STEPS + at, 1.0, mask=at < left)"
            ),
            ["columns % STEPS == 0"],
        ),
        # A block pointer's axes, each by its own size.
        (
            WINDOW + "tl.store(out + lanes, tl.load(p))",
            WINDOW + "tl.store(out + lanes, tl.load(p, boundary_check=(0, 1)))",
            ["rows % TILE == 0", "columns >= STEPS"],
        ),
        (
            ADVANCED.replace("CHECK", ""),
            ADVANCED.replace("CHECK", ", boundary_check=(1,)"),
            ["columns % STEPS == 0"],
        ),
        # A flag's branch whose values come from memory is passed over, and so is the other branch.
        (
            BRANCHES + "tl.store(out + n * rows + at, 1.0)",
            BRANCHES + "tl.store(out + n * rows + at, 1.0, mask=at < rows)",
            ["rows % TILE == 0"],
        ),
        # How often a loop runs need not be read.
        (
            "for i in range(0, tl.cdiv(columns, TILE)):\n        tl.atomic_add(out + i * TILE + lanes, 1.0)",
            (
                "for i in range(0, tl.cdiv(columns, TILE)):\n"
                "        tl.atomic_add(out + i * TILE + lanes, 1.0, mask=i * TILE + lanes < columns)"
            ),
            ["columns % TILE == 0"],
        ),
        # Both sides move, and not with each other.
        ("tl.store(out + at, 1.0)", "tl.store(out + at, 1.0, mask=at < lanes * rows)", []),
        ("tl.store(out + at, 1.0)", "tl.store(out + at, 1.0, mask=at < min(at, lanes))", []),
        (
            "tl.store(out + at, 1.0, mask=at < rows)",
            "tl.store(out + at, tl.load(x + at, mask=at < rows), mask=at < rows)",
            [],
        ),
        ("tl.store(out + at, 1.0)", "tl.store(out + at, 1.0, mask=tl.load(x + at) < rows)", []),
        # It leaves the last lane out of every launch.
        ("tl.store(out + lanes, 1.0)", "tl.store(out + lanes, 1.0, mask=lanes < TILE - 1)", []),
    ],
)
def test_in_triton(before, after, conditions):
    assert learned(TRITON, before, after, Language.TRITON) == conditions
