"""One workload for both states of a step: what the arguments of one are in terms of the other's.

Arguments go by their names. A number that only one state takes (`N`, where the other takes `B` and `T`) is computed
from the sizes, as that state's own launch site says. Renamed buffers are matched when only one can be meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kernel_gate.expressions import Number
from kernel_gate.program import LaunchSpec
from kernel_gate.workload import Workload
from kernel_lineage.learning.replay.launches import (
    is_callers_number,
    launch_of,
    shared_out,
    with_choices_of,
)
from kernel_lineage.learning.replay.one_set_of_dims import DimsDifferError, over_dims_of, probes, value_at
from kernel_lineage.workloads.model import NULL, Draft, DraftArgument

_WRITTEN = ("output", "inout")
_SCRATCH = "scratch"


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
    assumptions = list(base.assumed)
    doubts: dict[str, str] = {}
    rewritten = []
    for state in states:
        joined, over_dims = _over_one_set_of_dims(joined, _named_alike(joined, state, assumptions), doubts)
        rewritten.append(over_dims)
    rewritten, chosen, more = with_choices_of(base, rewritten)
    assumptions += chosen
    one_caller = len({state.way for state in states}) == 1
    orders = []
    for number, state in enumerate(rewritten):
        joined, order = _fitted(
            joined, state, assumptions, doubts, is_later=number > 0, one_caller=one_caller
        )
        orders.append(order)
    fits = [
        Fit(order, launch_of(state, probes(joined)[0]), state.template_arguments)
        for order, state in zip(orders, rewritten, strict=True)
    ]
    doubts = {**shared_out(base, [fit.launch for fit in fits]), **more, **_one_sided(joined, fits), **doubts}
    return Contract(joined.workload(), tuple(fits), tuple(dict.fromkeys(assumptions)), doubts)


def _named_alike(base: Draft, state: Draft, assumptions: list[str]) -> Draft:
    """The state with its buffers by the base's names where these are written otherwise: `X` is `x_ptr`."""
    here, there = ({a.name: a for a in draft.arguments if a.kind != "scalar"} for draft in (state, base))
    left = [[n for n in names if n not in others] for names, others in ((here, there), (there, here))]
    renamed: dict[str, str] = {}
    for name in left[0]:
        mine, theirs = ([n for n in names if _plain(n) == _plain(name)] for names in left)
        if len(mine) == len(theirs) == 1 and here[name].kind == there[theirs[0]].kind:
            renamed[name] = theirs[0]
            assumptions.append(f"{name} of {state.kernel} is taken to be {theirs[0]}")
    arguments = (replace(a, name=renamed.get(a.name, a.name)) for a in state.arguments)
    return replace(state, arguments=tuple(arguments))


def _plain(name: str) -> str:
    return re.sub(r"_?ptr$|^p_", "", name.lower()).strip("_")


def _over_one_set_of_dims(base: Draft, state: Draft, doubts: dict[str, str]) -> tuple[Draft, Draft]:
    """The base with the dims that only this state's caller chooses, and the state over its dims."""
    try:
        rewriting = over_dims_of(base, state)
    except DimsDifferError as error:
        raise NoContractError(str(error)) from error
    if rewriting.doubt:
        doubts[""] = rewriting.doubt
    dims = {**base.dims, **rewriting.draft.dims}
    return replace(base, dims=dims, checked={**base.checked, **rewriting.draft.checked}), rewriting.draft


def _one_sided(joined: Draft, fits: Sequence[Fit]) -> dict[str, str]:
    """Inputs that only some of the states read: the others compute something else, or compute it themselves."""
    inputs = [a.name for a in joined.arguments if a.kind == "input"]
    taken = [set(fit.arguments) for fit in fits]
    only = [n for n in inputs if 0 < sum(n in names for names in taken) < len(taken)]
    return {"": f"only one state takes {', '.join(only)}"} if only else {}


def _fitted(
    base: Draft,
    state: Draft,
    assumptions: list[str],
    doubts: dict[str, str],
    *,
    is_later: bool,
    one_caller: bool,
) -> tuple[Draft, tuple[str, ...]]:
    """The base with what the state takes besides, and the arguments that the state is given."""
    numbers = probes(base)
    arguments = {a.name: a for a in base.arguments}
    left = {n: a for n, a in arguments.items() if n not in {s.name for s in state.arguments}}
    order = []
    for taken in state.arguments:
        there = arguments.get(taken.name)
        if there is not None and (differ := _roles_differ(taken, there, state)):
            raise NoContractError(differ)
        if taken.kind == NULL:
            if there is not None:
                doubts[""] = f"{state.kernel} is given no {taken.name}"
            there = _null(taken)
        elif there is None and taken.kind != "scalar":
            there = _renamed(taken, list(left.values()))
            if there is not None:
                del left[there.name]
                assumptions.append(f"{taken.name} of {state.kernel} is taken to be {there.name}")
        if there is None:
            there = _added(taken, state, numbers, is_later)
            if taken.kind in _WRITTEN:
                assumptions.append(f"{taken.name}, which only {state.kernel} writes, is not compared")
        elif taken.kind == NULL:
            pass
        elif taken.kind == "scalar":
            there = _number(taken, there, state, numbers, one_caller or state.way == base.way)
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
    return replace(base, arguments=tuple(arguments.values())), tuple(order)


def _null(argument: DraftArgument) -> DraftArgument:
    """A pointer that a launch gives nothing, as an address."""
    return DraftArgument(f"{argument.name}_null", "scalar", "uint64", value="0")


def _added(
    taken: DraftArgument, state: Draft, numbers: Sequence[Mapping[str, Number]], is_later: bool
) -> DraftArgument:
    """An argument that only this state takes: a number or an input that the sizes tell.

    A later state that writes something besides is still compared on what both write.
    """
    only = f"{taken.name}, which only {state.kernel} takes,"
    if taken.kind in _WRITTEN and not is_later:
        raise NoContractError(f"{only} is written by it")
    if taken.dtype is None:
        raise NoContractError(f"{only} has a type that nothing tells")
    if taken.kind == "scalar":
        if _values(taken.value, numbers) is None:
            raise NoContractError(f"{only} is no number that the other state's sizes tell")
    elif taken.shape is None or any(_values(extent, numbers) is None for extent in taken.shape):
        raise NoContractError(f"{only} has a shape that the other state's sizes do not tell")
    return replace(taken, kind=_SCRATCH, values="") if taken.kind in _WRITTEN else taken


def _number(
    taken: DraftArgument,
    there: DraftArgument,
    state: Draft,
    numbers: Sequence[Mapping[str, Number]],
    one_caller: bool,
) -> DraftArgument:
    """A number of both: the same one, or one of its own where the two states mean different things by the name."""
    mine, other = _values(taken.value, numbers), _values(there.value, numbers)
    if mine is None or mine == other or (not one_caller and is_callers_number(taken)):
        return there if taken.dtype in (None, there.dtype) else _as_typed(there, taken)
    return replace(taken, name=f"{taken.name}_of_{state.kernel}", dtype=taken.dtype or there.dtype)


def _as_typed(there: DraftArgument, taken: DraftArgument) -> DraftArgument:
    """The same number in another type is an argument of its own, so that each state gets its own bytes."""
    return replace(there, name=f"{there.name}_{taken.dtype}", dtype=taken.dtype)


def _buffer(taken: DraftArgument, there: DraftArgument, state: Draft) -> DraftArgument:
    if taken.dtype not in (None, there.dtype) and not state.guesses_types:
        raise TypesDifferError(
            f"{taken.name} is {taken.dtype} in {state.kernel} and {there.dtype} in the other state"
        )
    if taken.kind == there.kind:
        return there
    if _SCRATCH in (taken.kind, there.kind):
        # A caller that reads nothing of it is seen in one state only: the other's stands elsewhere.
        zeros = next((a.values for a in (taken, there) if a.kind == _SCRATCH and a.values), "")
        return replace(there, kind=_SCRATCH, values=zeros)
    return replace(there, kind="inout")


def roles_differ(base: Draft, state: Draft) -> str:
    """Why the two have no contract whatever their sizes are; "" where they may have one."""
    there = {a.name: a for a in base.arguments if a.kind != NULL}
    pairs = ((taken, there[taken.name]) for taken in state.arguments if taken.name in there)
    return next((why for mine, other in pairs if (why := _roles_differ(mine, other, state))), "")


def _roles_differ(taken: DraftArgument, there: DraftArgument, state: Draft) -> str:
    """Why one argument cannot be both the state's and the other's."""
    if taken.kind == there.kind or {taken.kind, there.kind} <= {_SCRATCH, *_WRITTEN}:
        return ""
    if taken.kind == NULL:
        written = there.kind in _WRITTEN
        return f"{state.kernel} is given no {taken.name}, which the other state writes" if written else ""
    if taken.kind == "scalar":
        return f"{taken.name} is a number in {state.kernel} and a buffer in the other state"
    if there.kind == "scalar":
        return f"{taken.name} is a buffer in {state.kernel} and a number in the other state"
    return f"{taken.name} is {taken.kind} of {state.kernel} and {there.kind} of the other state"


def _renamed(taken: DraftArgument, left: Sequence[DraftArgument]) -> DraftArgument | None:
    """The only buffer that it can be: of that role and type, and of that shape where both are known."""
    candidates = [
        a
        for a in left
        if a.kind == taken.kind
        and taken.dtype in (None, a.dtype)
        and (taken.shape is None or a.shape is None or taken.shape == a.shape)
    ]
    return candidates[0] if len(candidates) == 1 else None


def _values(text: str | float | None, numbers: Sequence[Mapping[str, Number]]) -> list[Number] | None:
    """An expression at all sizes; None where some do not tell it."""
    values = [value_at(text, sizes) for sizes in numbers] if text is not None else [None]
    return [value for value in values if value is not None] if None not in values else None
