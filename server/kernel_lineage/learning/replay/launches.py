"""The launch of a state as its draft tells it, and the choices of a caller that two states have to share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kernel_gate.compile_time import constant, is_word
from kernel_gate.expressions import ExpressionError, Number, evaluate_int
from kernel_gate.program import LaunchSpec
from kernel_lineage.kernels.words import WORD
from kernel_lineage.learning.replay.one_set_of_dims import probes, value_at
from kernel_lineage.workloads.model import Draft, DraftArgument

_MISSING = re.compile(r"the constexpr (\w+):")
_TUNED = re.compile(r"(?i)block|tile|size|warp|stage|group|split|chunk|rows|cols|num_|^b[a-z]{1,2}$")
"""Names of numbers by which a kernel is cut into blocks: each state has its own."""


def launch_of(state: Draft, numbers: Mapping[str, Number]) -> LaunchSpec | None:
    """The launch that a state tells, if its expressions can be computed from these numbers."""
    if not state.grid or (state.language == "cuda" and not state.block) or untold(state):
        return None
    values = dict(numbers)
    try:
        for name, text in state.constexpr.items():
            value = constant(text, values)
            if isinstance(value, (int, float)):
                values[name] = value
        for number in (*state.grid, *state.block, state.shared_bytes, state.num_warps, state.num_stages):
            evaluate_int(number, values)
    except (ExpressionError, ArithmeticError):
        return None
    return LaunchSpec(
        state.grid,
        state.block or LaunchSpec(()).block,
        state.shared_bytes,
        dict(state.constexpr),
        state.num_warps,
        state.num_stages,
    )


def untold(state: Draft) -> list[str]:
    """Parameters that are constant when the kernel is compiled, of which the state does not tell the value."""
    return [m[1] for missing in state.missing if (m := _MISSING.match(missing)) is not None]


def with_choices_of(base: Draft, states: Sequence[Draft]) -> tuple[list[Draft], list[str], dict[str, str]]:
    """The states with what their callers chose otherwise as the base has it; what was concluded; and what is in doubt.

    Two tests may run a kernel in two modes, of which neither is what the step changed. Where one test leads to both
    states, what differs is the host code's doing, and stays. All are over one set of dims.
    """
    one_caller = len({state.way for state in states}) == 1
    drafts: list[Draft] = []
    notes: list[str] = []
    doubts: dict[str, str] = {}
    for state in states:
        chosen = dict(state.constexpr)
        for name in untold(state):
            if name in base.constexpr:
                chosen[name] = base.constexpr[name]
                doubts[""] = f"nothing tells {name} of {state.kernel}, and the other state's is taken"
        missing = tuple(m for m in state.missing if (n := _MISSING.match(m)) is None or n[1] not in chosen)
        if not one_caller and state.way != base.way and not _lacks_buffers(state, base):
            for name, text in _modes(state, base):
                chosen[name] = text
                notes.append(f"{name} of {state.kernel} is {text}, as in the other state")
        drafts.append(replace(state, constexpr=chosen, missing=missing))
    for other in drafts[1:] if not one_caller else ():
        for name, text in _modes(drafts[0], other):
            doubts.setdefault(
                "",
                f"{name} is {drafts[0].constexpr[name]} in {drafts[0].kernel} and {text} in {other.kernel}",
            )
    return drafts, notes, doubts


def _modes(state: Draft, other: Draft) -> Iterator[tuple[str, str]]:
    """What a caller chooses and the other one's chooses otherwise, as the other has it."""
    for name, mine in state.constexpr.items():
        theirs = other.constexpr.get(name)
        if theirs is None or mine == theirs or _NULL in (mine, theirs):
            continue
        if (is_word(mine) and is_word(theirs)) or not (_TUNED.search(name) or _has_names(mine + theirs)):
            yield name, theirs


_NULL = "None"


def _has_names(text: str) -> bool:
    return WORD.search(text.replace("True", "").replace("False", "")) is not None


def _lacks_buffers(state: Draft, base: Draft) -> bool:
    """Whether one of them gives its kernel a buffer that the other does not."""
    return bool(_nulls(state) & _buffers(base)) or bool(_nulls(base) & _buffers(state))


def _nulls(draft: Draft) -> set[str]:
    return {name for name, text in draft.constexpr.items() if text == _NULL}


def _buffers(draft: Draft) -> set[str]:
    return {a.name for a in draft.arguments if a.kind != "scalar"}


def shared_out(base: Draft, launches: Sequence[LaunchSpec | None]) -> dict[str, str]:
    """Output → why another launch may write other values there: it has a row for each block.

    How rows are shared out among the blocks is a launcher's choice, and so is what each block's sum is.
    """
    sizes = probes(base)
    rows = [_at(text, sizes) for a in base.arguments if a.kind == "input" for text in _row_counts(a)]
    grids = {extent for launch in launches if launch is not None for extent in launch.grid}
    of_blocks = {extent for extent in grids if _has_names(extent) and _at(extent, sizes) not in rows}
    return {
        a.name: f"{a.name} has a row for each block, and what a block works on is its launcher's choice"
        for a in base.arguments
        if a.kind in ("output", "inout") and a.shape and a.shape[0] in of_blocks
    }


def _row_counts(argument: DraftArgument) -> Iterator[str]:
    """The extents of a buffer, and how many rows it has however many of its axes count them."""
    extents = argument.shape or ()
    yield from extents
    yield from (" * ".join(f"({e})" for e in extents[:n]) for n in range(2, len(extents) + 1))


def _at(text: str, sizes: Sequence[Mapping[str, Number]]) -> list[Number | None]:
    return [value_at(text, numbers) for numbers in sizes]


def is_callers_number(argument: DraftArgument) -> bool:
    """Whether a number is one that a caller chooses: a floating-point number that no size tells."""
    return str(argument.dtype).startswith("float") and not _has_names(_exponent(str(argument.value)))


def _exponent(text: str) -> str:
    return re.sub(r"(?<=[\d.])e(?=[-+]?\d)", "", text)
