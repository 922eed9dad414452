"""Launch a Triton kernel with as many warps as its block has work for, with stages for its products, and with tiles of
other sizes where these are the launch's to choose (`triton_block_choices`).

Before: `softmax[(rows,)](out, x, columns, BLOCK=4096)`, `scale[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)`.
After: `softmax[(rows,)](out, x, columns, BLOCK=4096, num_warps=8)`,
`scale[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024, num_warps=4)`.

Warps aim at 16 elements a thread, between 1 and 16 warps; the candidate's alternatives have twice and half as many.
Where a loop feeds `tl.dot`, warps and stages are set together, and the alternatives are what else such loops want:
stages cost shared memory that nothing in the source bounds, and a launch that asks for too much computes nothing.
Elsewhere stages matter little and are left alone. Refused when the kernel is autotuned, and when the launch says the
options already.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.source import Kernel, Launch
from kernel_lineage.rewrite.assists.model import Assist, Refusal, attempt, with_alternatives
from kernel_lineage.rewrite.assists.triton_block_choices import BlockChoice, block_choices
from kernel_lineage.rewrite.assists.triton_places import calls_of, check_launched_here, function_of
from kernel_lineage.rewrite.candidate import Candidate, Edit
from kernel_lineage.rewrite.launch_site import launch_edits
from kernel_lineage.skills.kernel_facts import constant

_ELEMENTS_A_WARP = 512
"""16 elements in each of 32 threads."""
_DEFAULT_WARPS, _MOST_WARPS = 4, 16
_SHARES = (1.0, 2.0, 0.5)
"""Warps, as parts of those that have 16 elements a thread."""
_FOR_PRODUCTS = ((8, 3), (4, 4), (8, 4), (4, 2))
"""Warps and stages of loops that feed `tl.dot`, beside the default of 4 and 3."""


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    function = function_of(kernel)
    check_launched_here(kernel, "chooses the options itself")
    loops = [n for n in ast.walk(function) if isinstance(n, (ast.For, ast.While))]
    products = any(next(calls_of(loop, "dot"), None) is not None for loop in loops)
    for launch in kernel.launches:
        for option in ("num_warps", "num_stages") if products else ("num_warps",):
            if option in launch.options:
                raise Refusal(f"the launch in line {launch.span.first_line} says {option} already")
    blocks = attempt(lambda: block_choices(kernel))
    warps = attempt(lambda: _warp_choices(kernel, function, products))
    chosen = [] if isinstance(blocks, Refusal) else [_resized(kernel, choice) for choice in blocks]
    if isinstance(warps, Refusal):
        if not chosen:
            raise warps
    else:
        chosen += [_launched(kernel, options) for options in warps]
    if not chosen:
        raise Refusal(f"{kernel.name} has the warps that its block has work for")
    return with_alternatives(chosen, lambda candidate: candidate)


def _warp_choices(kernel: Kernel, function: ast.FunctionDef, products: bool) -> list[list[dict[str, str]]]:
    """Warps, and stages for products, for each of the kernel's launches."""
    if products:
        each = ("num_warps", "num_stages")
        pairs = [dict(zip(each, map(str, pair), strict=True)) for pair in _FOR_PRODUCTS]
        return [[pair] * len(kernel.launches) for pair in pairs]
    blocks = {ast.unparse(c.args[1]) for c in calls_of(function, "arange") if len(c.args) == 2}
    names = [b for b in blocks if (p := kernel.parameter(b)) is not None and p.constexpr]
    if len(blocks) != 1 or len(names) != 1:
        raise Refusal(f"the block of {kernel.name} is not one constexpr parameter")
    chosen: list[list[dict[str, str]]] = []
    for share in _SHARES:
        warps = [_warps(kernel, launch, names[0], share) for launch in kernel.launches]
        options = [{"num_warps": str(w)} for w in warps]
        if options not in chosen and {str(w) for w in warps} != {str(_DEFAULT_WARPS)}:
            chosen.append(options)
    return chosen


def _resized(kernel: Kernel, choice: BlockChoice) -> Candidate:
    """A candidate with other sizes at each of the kernel's launches. Raises `LaunchError`."""
    options = {name: str(number) for name, number in choice.options.items()}
    edits: list[Edit] = []
    for launch, grid in zip(kernel.launches, choice.grids, strict=True):
        edits += launch_edits(kernel, launch, options | ({"grid": grid} if grid else {}))
    said = ", ".join(f"{name} = {value}" for name, value in options.items())
    sums = any(next(calls_of(function_of(kernel), name), None) is not None for name in ("sum", "dot"))
    rounded = "; a sum over a loop is rounded in another order" if sums else ""
    return ASSIST.candidate(
        kernel,
        edits,
        explanation=f"Launched with {said}{rounded}.",
        launch=options | ({"grid": choice.scaled} if choice.scaled else {}),
    )


def _launched(kernel: Kernel, options: list[dict[str, str]]) -> Candidate:
    """A candidate with these options at each of the kernel's launches. Raises `LaunchError`."""
    edits: list[Edit] = []
    for launch, own in zip(kernel.launches, options, strict=True):
        edits += launch_edits(kernel, launch, own)
    alike: Mapping[str, str] = options[0] if all(own == options[0] for own in options) else {}
    said = " and ".join(f"{name} = {value}" for name, value in options[0].items())
    return ASSIST.candidate(
        kernel,
        edits,
        explanation=f"Launched with {said}: loads in flight, without spilling registers.",
        launch=alike if all(value.isdecimal() for value in alike.values()) else {},
    )


def _warps(kernel: Kernel, launch: Launch, block: str, share: float) -> str:
    position = [p.name for p in kernel.parameters].index(block)
    given = launch.options.get(block) or (
        launch.arguments[position] if position < len(launch.arguments) else None
    )
    if not given:
        raise Refusal(f"the launch in line {launch.span.first_line} does not tell {block}")
    elements = int(_ELEMENTS_A_WARP / share)
    size = constant(given, launch.definitions)
    if size is None:
        return f"max({_DEFAULT_WARPS}, min({_MOST_WARPS}, {given} // {elements}))"
    return str(max(1, min(_MOST_WARPS, size // elements)))


ASSIST = Assist(
    id="set_triton_launch_options",
    title="Set blocks, warps and stages of the launch",
    skill="triton-launch-options",
    pattern="triton_launch_options",
    make=_rewrite,
)
