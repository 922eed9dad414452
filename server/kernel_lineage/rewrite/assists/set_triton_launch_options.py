"""Launch a Triton kernel with as many warps as its block has work for.

Before: `softmax[(rows,)](out, x, columns, BLOCK=4096)`.
After: `softmax[(rows,)](out, x, columns, BLOCK=4096, num_warps=8)`.

Aims at 16 elements a thread, between 1 and 16 warps. Refused when the kernel is autotuned, when the launch says
`num_warps` already, and when the default of 4 fits. `num_stages` is left alone: it matters only where a loop feeds
`tl.dot`, and there it costs shared memory that nothing in the source bounds.
"""

from __future__ import annotations

import ast

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.source import Kernel, Language, Launch
from kernel_lineage.rewrite.assists.model import Assist, AssistExample, Refusal, RefusalExample
from kernel_lineage.rewrite.assists.triton_places import calls_of
from kernel_lineage.rewrite.candidate import Candidate, Edit
from kernel_lineage.rewrite.launch_site import LaunchError, launch_edits
from kernel_lineage.skills.kernel_facts import constant

_ELEMENTS_A_WARP = 512
"""16 elements in each of 32 threads."""
_DEFAULT_WARPS = 4


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate | Refusal:
    function = kernel.function
    if function is None:
        return Refusal(f"the file of {kernel.name} does not parse")
    for tuner in ("autotune", "heuristics"):
        if tuner in kernel.attributes:
            return Refusal(f"{kernel.name} is launched by @triton.{tuner}, which chooses the options itself")
    if not kernel.launches:
        return Refusal(f"{kernel.name} is not launched in this file")
    blocks = {ast.unparse(c.args[1]) for c in calls_of(function, "arange") if len(c.args) == 2}
    names = [b for b in blocks if (p := kernel.parameter(b)) is not None and p.constexpr]
    if len(blocks) != 1 or len(names) != 1:
        return Refusal(f"the block of {kernel.name} is not one constexpr parameter")
    edits: list[Edit] = []
    values: set[str] = set()
    for launch in kernel.launches:
        if "num_warps" in launch.options:
            return Refusal(f"the launch in line {launch.span.first_line} says num_warps already")
        warps = _warps(kernel, launch, names[0])
        if isinstance(warps, Refusal):
            return warps
        values.add(warps)
        try:
            edits += launch_edits(kernel, launch, {"num_warps": warps})
        except LaunchError as error:
            return Refusal(str(error))
    only = values.pop() if len(values) == 1 else ""
    return ASSIST.candidate(
        kernel,
        edits,
        explanation="About 16 elements a thread: enough loads in flight, without spilling registers.",
        launch={"num_warps": only} if only.isdecimal() else {},
    )


def _warps(kernel: Kernel, launch: Launch, block: str) -> str | Refusal:
    position = [p.name for p in kernel.parameters].index(block)
    given = launch.options.get(block) or (
        launch.arguments[position] if position < len(launch.arguments) else None
    )
    if not given:
        return Refusal(f"the launch in line {launch.span.first_line} does not tell {block}")
    size = constant(given, launch.definitions)
    if size is None:
        return f"max({_DEFAULT_WARPS}, min(16, {given} // {_ELEMENTS_A_WARP}))"
    warps = max(1, min(16, size // _ELEMENTS_A_WARP))
    if warps == _DEFAULT_WARPS:
        return Refusal(f"the default of {_DEFAULT_WARPS} warps fits a block of {size}")
    return str(warps)


_SOFTMAX = """\
import triton
import triton.language as tl


@triton.jit
def softmax(out_ptr, x_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=mask, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * columns + offsets, e / tl.sum(e, axis=0), mask=mask)


def run(out, x):
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    softmax[(rows,)](LAUNCH)
    return out
"""

ASSIST = Assist(
    id="set_triton_launch_options",
    title="Set num_warps to the block size",
    skill="triton-launch-options",
    pattern="triton_launch_options",
    rewrite=_rewrite,
    applies=(
        AssistExample(
            Language.TRITON,
            "softmax",
            _SOFTMAX.replace("LAUNCH", "out, x, columns, BLOCK=4096"),
            _SOFTMAX.replace("LAUNCH", "out, x, columns, BLOCK=4096, num_warps=8"),
        ),
        AssistExample(
            Language.TRITON,
            "softmax",
            _SOFTMAX.replace(
                "LAUNCH", "\n        out,\n        x,\n        columns,\n        BLOCK=8192,\n    "
            ),
            _SOFTMAX.replace(
                "LAUNCH",
                "\n        out,\n        x,\n        columns,\n        BLOCK=8192,\n        num_warps=16,\n    ",
            ),
        ),
    ),
    refuses=(
        RefusalExample(
            Language.TRITON,
            "softmax",
            _SOFTMAX.replace("LAUNCH", "out, x, columns, BLOCK=2048"),
            "fits a block",
        ),
        RefusalExample(
            Language.TRITON,
            "softmax",
            _SOFTMAX.replace("LAUNCH", "out, x, columns, BLOCK=4096, num_warps=2"),
            "says num_warps already",
        ),
    ),
)
