"""Tell the compiler the block size that the kernel is launched with.

Before: `__global__ void scale(float* x)` launched with 256 threads.
After: `__global__ void __launch_bounds__(256) scale(float* x)`.

Refused when a launch site's block size is not a constant, because a larger block than promised does not launch.
"""

from __future__ import annotations

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import insert_before
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.workloads.constants import block_threads


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    if "launch_bounds" in kernel.attributes or "maxnreg" in kernel.attributes:
        raise Refusal(f"{kernel.name} has launch bounds already")
    if not kernel.launches:
        raise Refusal(f"{kernel.name} is not launched in this file, so nothing tells its block size")
    sizes = []
    for launch in kernel.launches:
        threads = block_threads(launch)
        if threads is None:
            block = ", ".join(launch.block)
            raise Refusal(f"the block size `{block}` in line {launch.span.first_line} is not a constant")
        if not 1 <= threads <= 1024:
            raise Refusal(
                f"{threads} threads in line {launch.span.first_line} is no block size that can be launched"
            )
        sizes.append(threads)
    bound = max(sizes)
    return ASSIST.candidate(
        kernel,
        (insert_before(kernel, kernel.name_span.start, f"__launch_bounds__({bound}) "),),
        explanation=f"All launches in this file use at most {bound} threads a block; a larger block would not launch.",
    )


ASSIST = Assist(
    id="set_launch_bounds",
    title="Set launch bounds from the launch's block size",
    skill="launch-bounds",
    pattern="launch_configuration",
    make=_rewrite,
)
