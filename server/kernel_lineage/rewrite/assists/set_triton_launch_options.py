"""Launch a Triton kernel with as many warps as its block has work for, with stages for its products, and with tiles of
other sizes where these are the launch's to choose (`triton_block_choices`).

Before: `softmax[(rows,)](out, x, columns, BLOCK=4096)`, `scale[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)`.
After: `softmax[(rows,)](out, x, columns, BLOCK=4096, num_warps=8)`,
`scale[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024, num_warps=4)`.

Warps aim at 16 elements a thread, between 1 and 16 warps; the candidate's alternatives have twice and half as many.
Where a loop feeds `tl.dot`, warps and stages are set together, and the alternatives are what else such loops want:
stages cost shared memory that nothing in the source bounds, and a launch that asks for too much computes nothing.
Elsewhere stages matter little and are left alone. Where the sizes of a product's tiles can be chosen, other warps and
stages are only tried once the launch says some, as it does behind a choice of sizes; a size that all axes of a product
share is told apart first (`triton_shared_sizes`). Refused when the kernel is autotuned, when the launch says options as
anything but numbers, and when it says what would be tried first.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from kernel_gate.expr.terms import Var
from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.source import Kernel, Launch
from kernel_lineage.rewrite.assists.model import Assist, Refusal, attempt, with_alternatives
from kernel_lineage.rewrite.assists.triton_block_choices import (
    BlockChoice,
    block_choices,
    present_options,
    resized,
)
from kernel_lineage.rewrite.assists.triton_places import calls_of, check_launched_here, function_of
from kernel_lineage.rewrite.assists.triton_shared_sizes import told_apart
from kernel_lineage.rewrite.assists.triton_tiles import blocks_of
from kernel_lineage.rewrite.candidate import Candidate, Edit
from kernel_lineage.rewrite.launch_site import launch_edits
from kernel_lineage.skills.kernel_facts import TRITON_DEFAULTS, constant

_ELEMENTS_A_WARP = 512
"""16 elements in each of 32 threads."""
_MOST_WARPS = 16
_SHARES = (1.0, 2.0, 0.5)
"""Warps, as parts of those that have 16 elements a thread."""
_FOR_PRODUCTS = ((8, 3), (4, 4), (8, 4), (4, 3), (4, 2))
"""Warps and stages of loops that feed `tl.dot`."""


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    function = function_of(kernel)
    check_launched_here(kernel, "chooses the options itself")
    loops = [n for n in ast.walk(function) if isinstance(n, (ast.For, ast.While))]
    products = any(next(calls_of(loop, "dot"), None) is not None for loop in loops)
    present = [present_options(launch) for launch in kernel.launches]
    blocks = attempt(lambda: block_choices(kernel))
    has_warps = all("num_warps" in launch.options for launch in kernel.launches)
    tried: list[tuple[Candidate, bool]] = []
    """And whether it is what is launched already."""
    if products and not isinstance(apart := attempt(lambda: told_apart(kernel)), Refusal):
        tried += [(_resized(kernel, choice, apart[0]), False) for choice in apart[1]]
        blocks = blocks if isinstance(blocks, Refusal) else blocks[:1]
    if not isinstance(blocks, Refusal):
        tried += [(_resized(kernel, choice), choice.is_present) for choice in blocks]
    if not (products and tried) or has_warps:
        warps = attempt(lambda: _warp_choices(kernel, function, products))
        if not isinstance(warps, Refusal):
            tried += [(_launched(kernel, options), _is_present(options, present)) for options in warps]
        elif not tried:
            raise warps
    chosen = [candidate for candidate, is_present in tried if not is_present]
    if not chosen or (has_warps and tried[0][1]):
        raise Refusal(f"{kernel.name} is launched with what would be tried first")
    return with_alternatives(chosen, lambda candidate: candidate)


def _is_present(options: list[dict[str, str]], present: list[dict[str, int]]) -> bool:
    """Whether each launch has its options already."""
    launched = ({name: str(n) for name, n in own.items()} for own in present)
    return all(new.items() <= own.items() for new, own in zip(options, launched, strict=True))


def _warp_choices(kernel: Kernel, function: ast.FunctionDef, products: bool) -> list[list[dict[str, str]]]:
    """Warps, and stages for products, for each of the kernel's launches."""
    if products:
        pairs = [dict(zip(TRITON_DEFAULTS, map(str, pair), strict=True)) for pair in _FOR_PRODUCTS]
        return [[pair] * len(kernel.launches) for pair in pairs]
    blocks = {ast.unparse(c.args[1]) for c in calls_of(function, "arange") if len(c.args) == 2}
    names = [b for b in blocks if (p := kernel.parameter(b)) is not None and p.constexpr]
    if len(blocks) != 1 or len(names) != 1:
        raise Refusal(f"the block of {kernel.name} is not one constexpr parameter")
    chosen: list[list[dict[str, str]]] = []
    axes = max((sum(e == Var(names[0]) for e in extents) for extents in blocks_of(kernel)), default=1)
    for share in _SHARES:
        warps = [_warps(kernel, launch, names[0], max(1, axes), share) for launch in kernel.launches]
        options = [{"num_warps": str(w)} for w in warps]
        if options not in chosen:
            chosen.append(options)
    return chosen


def _resized(kernel: Kernel, choice: BlockChoice, edits: Sequence[Edit] = ()) -> Candidate:
    """A candidate with other sizes at each of the kernel's launches, and edits besides. Raises `LaunchError`."""
    sums = any(next(calls_of(function_of(kernel), name), None) is not None for name in ("sum", "dot"))
    rounded = "; a sum over a loop is rounded in another order" if sums else ""
    return ASSIST.candidate(
        kernel,
        [*edits, *resized(kernel, choice)],
        explanation=f"Launched with {choice.text}{', a size for each axis' if edits else ''}{rounded}.",
        launch=choice.launch,
    )


def _launched(kernel: Kernel, options: list[dict[str, str]]) -> Candidate:
    """A candidate with these options at each of the kernel's launches. Raises `LaunchError`."""
    edits: list[Edit] = []
    for launch, own in zip(kernel.launches, options, strict=True):
        edits += launch_edits(kernel, launch, own)
    alike: Mapping[str, str] = options[0] if all(own == options[0] for own in options) else {}
    settings = " and ".join(f"{name} = {value}" for name, value in options[0].items())
    return ASSIST.candidate(
        kernel,
        edits,
        explanation=f"Launched with {settings}: loads in flight, without spilling registers.",
        launch=alike if all(value.isdecimal() for value in alike.values()) else {},
    )


def _warps(kernel: Kernel, launch: Launch, block: str, axes: int, share: float) -> str:
    """The warps for a block that has this extent along so many axes."""
    position = [p.name for p in kernel.parameters].index(block)
    extent = launch.options.get(block) or (
        launch.arguments[position] if position < len(launch.arguments) else None
    )
    if not extent:
        raise Refusal(f"the launch in line {launch.span.first_line} does not tell {block}")
    elements = int(_ELEMENTS_A_WARP / share)
    size = constant(extent, launch.definitions)
    if size is None:
        whole = " * ".join([extent if extent.isidentifier() or axes == 1 else f"({extent})"] * axes)
        return f"max({TRITON_DEFAULTS['num_warps']}, min({_MOST_WARPS}, {whole} // {elements}))"
    return str(max(1, min(_MOST_WARPS, size**axes // elements)))


ASSIST = Assist(
    title="Set blocks, warps and stages of the launch",
    skill="triton-launch-options",
    pattern="triton_launch_options",
    make=_rewrite,
)
