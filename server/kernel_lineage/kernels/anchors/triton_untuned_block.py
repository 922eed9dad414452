"""A Triton kernel whose block size is fixed at the launch."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.mechanisms.seeing import TRITON_ONLY, triton
from kernel_lineage.kernels.source import Kernel

ID = "triton_untuned_block"


def _find(kernel: Kernel) -> Iterator[Anchor]:
    if "autotune" in kernel.attributes or "heuristics" in kernel.attributes:
        return
    for launch in kernel.launches:
        for parameter, argument in zip(kernel.parameters, launch.arguments, strict=False):
            given = launch.options.get(parameter.name, argument)
            size = launch.definitions.get(given, given)
            if parameter.constexpr and "BLOCK" in parameter.name.upper() and size.isdigit():
                detail = f"{parameter.name} is {size} for every size"
                yield Anchor(
                    ID, launch.span, detail, {"kernel": kernel.name, "block": parameter.name, "size": size}
                )


PATTERN = AnchorPattern(
    id=ID,
    title="Fixed block size",
    names={
        "kernel": "the kernel that is launched",
        "block": "the parameter that is its block size",
        "size": "the number that it is given",
    },
    find=_find,
    languages=TRITON_ONLY,
    present=(
        triton("""
            @triton.jit
            def fill(Y, n, BLOCK: tl.constexpr):
                offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
                tl.store(Y + offs, 1.0, mask=offs < n)

            def run(y):
                fill[(1,)](y, y.numel(), BLOCK=1024)
            """),
        triton("""
            @triton.jit
            def fill(Y, n, BLOCK_SIZE: tl.constexpr):
                tl.store(Y + tl.arange(0, BLOCK_SIZE), 1.0)

            def run(y):
                size = 256
                fill[(1,)](y, 5, size)
            """),
    ),
    absent=(
        triton("""
            @triton.autotune(configs=[triton.Config({"BLOCK": 128})], key=["n"])
            @triton.jit
            def fill(Y, n, BLOCK: tl.constexpr):
                tl.store(Y + tl.arange(0, BLOCK), 1.0)

            def run(y):
                fill[(1,)](y, 8)
            """),
        triton("""
            @triton.jit
            def fill(Y, n, BLOCK: tl.constexpr):
                tl.store(Y + tl.arange(0, BLOCK), 1.0)

            def run(y):
                fill[(1,)](y, 8, BLOCK=triton.next_power_of_2(y.numel()))
            """),
    ),
)
