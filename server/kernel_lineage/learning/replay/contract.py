"""One workload for both states of a step: what the arguments of one are in terms of the other's.

Arguments go by their names. A number that only one state takes (`N`, where the other takes `B` and `T`) is computed
from the sizes, as that state's own launch site says. Renamed buffers are matched when only one can be meant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kernel_gate.expressions import ExpressionError, Number, evaluate, evaluate_int
from kernel_gate.program import LaunchSpec
from kernel_gate.workload import Workload
from kernel_lineage.rewrite.drafting.model import NULL, Draft, DraftArgument

_WRITTEN = ("output", "inout")


class NoContractError(Exception):
    """The arguments of the two states cannot be told from each other; the message says which."""


class TypesDifferError(NoContractError):
    """One argument has another type in the other state."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How one state is run under the workload."""

    arguments: tuple[str, ...]
    """The workload's argument for each of the kernel's own."""
    launch: LaunchSpec | None
    """None when the state does not tell its launch over the workload's sizes."""
    template_arguments: tuple[str, ...] = ()
    """Those that the state's own file does not tell."""


@dataclass(frozen=True, slots=True)
class Contract:
    """The workload, and how each state is run under it."""

    workload: Workload
    fits: tuple[Fit, ...]
    said: tuple[str, ...]
    """What was concluded, for people."""
    doubts: Mapping[str, str]
    """Output (or "" for all) → why other values in one state may be its task, not its fault."""


def contract(base: Draft, states: Sequence[Draft]) -> Contract:
    """The workload of a complete draft, stretched to run other states as well, of which less may be known.

    Raises `NoContractError`, and `WorkloadError` when the stretched draft does not fit together.
    """
    nulls = tuple(_null(a) if a.kind == NULL else a for a in base.arguments)
    joined = replace(base, arguments=nulls, template_arguments=())
    fits, said = [], list(base.assumed)
    doubts: dict[str, str] = {}
    for number, state in enumerate(states):
        joined, fit = _fitted(joined, state, said, doubts, is_later=number > 0)
        fits.append(fit)
    doubts = {**_one_sided(joined, fits), **doubts}
    return Contract(joined.workload(), tuple(fits), tuple(dict.fromkeys(said)), doubts)


def _one_sided(joined: Draft, fits: Sequence[Fit]) -> dict[str, str]:
    """Inputs that only some of the states read: the others compute something else, or compute it themselves."""
    inputs = [a.name for a in joined.arguments if a.kind == "input"]
    taken = [set(fit.arguments) for fit in fits]
    only = [n for n in inputs if 0 < sum(n in names for names in taken) < len(taken)]
    return {"": f"only one state takes {', '.join(only)}"} if only else {}


def _fitted(
    base: Draft, state: Draft, said: list[str], doubts: dict[str, str], *, is_later: bool
) -> tuple[Draft, Fit]:
    """The base with what the state takes besides, and how the state is run."""
    numbers = _numbers(base)
    arguments = {a.name: a for a in base.arguments}
    left = {n: a for n, a in arguments.items() if n not in {s.name for s in state.arguments}}
    order = []
    for taken in state.arguments:
        there = arguments.get(taken.name)
        if taken.kind == NULL:
            if there is not None and there.kind in _WRITTEN:
                raise NoContractError(
                    f"{state.kernel} is given no {taken.name}, which the other state writes"
                )
            if there is not None:
                doubts[""] = f"{state.kernel} is given no {taken.name}"
            there = _null(taken)
        elif there is None and taken.kind != "scalar":
            there = _renamed(taken, list(left.values()))
            if there is not None:
                del left[there.name]
                said.append(f"{taken.name} of {state.kernel} is taken to be {there.name}")
        if there is None:
            there = _added(taken, state, numbers, is_later)
            if taken.kind in _WRITTEN:
                said.append(f"{taken.name}, which only {state.kernel} writes, is not compared")
        elif taken.kind == NULL:
            pass
        elif taken.kind == "scalar":
            there = _number(taken, there, state, numbers)
        else:
            if {taken.kind, there.kind} == set(_WRITTEN):
                doubts[there.name] = f"one state updates {there.name}, the other overwrites it"
            there = _buffer(taken, there, state)
        arguments[there.name] = there
        order.append(there.name)
    if lost := [a.name for a in left.values() if a.kind in _WRITTEN]:
        raise NoContractError(
            f"{state.kernel} does not write {', '.join(lost)}, which the other state writes"
        )
    joined = replace(base, arguments=tuple(arguments.values()))
    return joined, Fit(tuple(order), launch_of(state, _numbers(joined)), state.template_arguments)


def _null(argument: DraftArgument) -> DraftArgument:
    """A pointer that a launch gives nothing, as an address."""
    return DraftArgument(f"{argument.name}_null", "scalar", "uint64", value="0")


def _numbers(draft: Draft) -> dict[str, Number]:
    """What expressions of a draft may name, at the sizes that are checked."""
    numbers: dict[str, Number] = dict(draft.checked)
    for argument in draft.arguments:
        if argument.kind == "scalar" and argument.value is not None:
            try:
                numbers[argument.name] = evaluate(argument.value, draft.checked)
            except (ExpressionError, ArithmeticError):
                continue
    return numbers


def _added(taken: DraftArgument, state: Draft, numbers: dict[str, Number], is_later: bool) -> DraftArgument:
    """An argument that only this state takes: a number or an input that the sizes tell.

    A later state that writes something besides is still compared on what both write.
    """
    only = f"{taken.name}, which only {state.kernel} takes,"
    if taken.kind in _WRITTEN and not is_later:
        raise NoContractError(f"{only} is written by it")
    if taken.dtype is None:
        raise NoContractError(f"{only} has a type that nothing tells")
    if taken.kind == "scalar":
        if taken.value is None or _value(taken.value, numbers) is None:
            raise NoContractError(f"{only} is no number that the other state's sizes tell")
    elif taken.shape is None or any(_value(extent, numbers) is None for extent in taken.shape):
        raise NoContractError(f"{only} has a shape that the other state's sizes do not tell")
    return replace(taken, kind="scratch", values="") if taken.kind in _WRITTEN else taken


def _number(
    taken: DraftArgument, there: DraftArgument, state: Draft, numbers: dict[str, Number]
) -> DraftArgument:
    """A number of both: the same one, or one of its own where the two states mean different things by the name."""
    if there.kind != "scalar":
        raise NoContractError(f"{taken.name} is a number in {state.kernel} and a buffer in the other state")
    mine = _value(taken.value, numbers) if taken.value is not None else None
    other = _value(there.value, numbers) if there.value is not None else None
    if mine is None or mine == other:
        return there if taken.dtype in (None, there.dtype) else _as_typed(there, taken)
    return replace(taken, name=f"{taken.name}_of_{state.kernel}", dtype=taken.dtype or there.dtype)


def _as_typed(there: DraftArgument, taken: DraftArgument) -> DraftArgument:
    """The same number in another type is an argument of its own, so that each state gets its own bytes."""
    return replace(there, name=f"{there.name}_{taken.dtype}", dtype=taken.dtype)


def _buffer(taken: DraftArgument, there: DraftArgument, state: Draft) -> DraftArgument:
    if there.kind == "scalar":
        raise NoContractError(f"{taken.name} is a buffer in {state.kernel} and a number in the other state")
    if taken.dtype is not None and taken.dtype != there.dtype:
        raise TypesDifferError(
            f"{taken.name} is {taken.dtype} in {state.kernel} and {there.dtype} in the other state"
        )
    if taken.kind == there.kind:
        return there
    if {taken.kind, there.kind} == set(_WRITTEN):
        return replace(there, kind="inout")
    raise NoContractError(
        f"{taken.name} is {taken.kind} of {state.kernel} and {there.kind} of the other state"
    )


def _renamed(taken: DraftArgument, left: Sequence[DraftArgument]) -> DraftArgument | None:
    """The only buffer that it can be: of that role and type, and of that shape where both are known."""
    found = [
        a
        for a in left
        if a.kind == taken.kind
        and taken.dtype in (None, a.dtype)
        and (taken.shape is None or a.shape is None or taken.shape == a.shape)
    ]
    return found[0] if len(found) == 1 else None


def launch_of(state: Draft, numbers: dict[str, Number]) -> LaunchSpec | None:
    """The launch that a state tells, if its expressions can be computed from these numbers."""
    if not state.grid or (state.language == "cuda" and not state.block):
        return None
    known = dict(numbers)
    try:
        for name, text in state.constexpr.items():
            known[name] = evaluate(text, known)
        for text in (*state.grid, *state.block, state.shared_bytes):
            evaluate_int(text, known)
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


def _value(text: str | float, numbers: dict[str, Number]) -> Number | None:
    try:
        return evaluate(text, numbers)
    except (ExpressionError, ArithmeticError):
        return None
