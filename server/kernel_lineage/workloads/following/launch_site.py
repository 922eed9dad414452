"""A kernel's launch as its host code computes it, over the arguments that a workload describes."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from kernel_gate.dtypes import DTYPES
from kernel_gate.expr.syntax import tree_of
from kernel_gate.expressions import ExpressionError, evaluate, evaluate_int
from kernel_gate.expressions import names as names_in
from kernel_gate.program import LaunchSpec
from kernel_gate.program import Value as Constant
from kernel_gate.workload import Workload, address_name
from kernel_lineage.kernels.source import Kernel, Parameter
from kernel_lineage.kernels.words import WORD, with_meanings
from kernel_lineage.workloads.following.fields import passed
from kernel_lineage.workloads.following.functions import HostCode, bare_type
from kernel_lineage.workloads.following.launches import Launched
from kernel_lineage.workloads.following.passed_values import passed_values
from kernel_lineage.workloads.following.sizes import Sizes, asked_of_tensors
from kernel_lineage.workloads.following.statements import Follower
from kernel_lineage.workloads.following.types import dtype_of
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import Number, Pointer, Tensor, Value, made
from kernel_lineage.workloads.following.ways import names_used, templates_launched, threads_of
from kernel_lineage.workloads.following.written import tidy
from kernel_lineage.workloads.host_program import over_dims

_SHAPES = 16
"""So many of a workload's shapes are followed again, to see that they take the same way to the launch."""
_Reached = tuple[Launched, Sequence[Parameter], Sizes]


@dataclass(frozen=True, slots=True)
class LaunchSite:
    """A launch over dims and scalars of a workload, and what names of the host code stand for there."""

    launch: LaunchSpec | None
    """None where other sizes take other ways to the launch."""
    meanings: Mapping[str, str]
    threads: frozenset[str] = frozenset()
    """Names that the host code gives numbers of threads, which are no sizes of the data."""
    words: frozenset[str] = frozenset()
    """All names in the host code."""
    cleared: Mapping[int, str | None] = field(default_factory=dict)
    """By position, outputs of the workload that the host code makes zero before the launch: so many bytes of them, an
    expression; None for all."""
    numbers: Mapping[int, Constant] = field(default_factory=dict)
    """By position, the numbers that the launch passes for parameters of which the workload has no argument, or another
    number."""
    template: tuple[str, ...] = ()
    """What the kernel's template is launched with, by a caller that is no template where there is one."""
    agreed: Mapping[str, str] = field(default_factory=dict)
    """Argument of the workload whose number the launch is seen to pass → the number as it is computed."""
    conditions: tuple[str, ...] = ()
    """What holds over dims of the workload where this launch is reached."""
    passes: Mapping[int, str] = field(default_factory=dict)
    """By position, what is passed that is no number: a buffer with an offset, a structure with what its fields are."""


def followed_launch(
    kernel: Kernel,
    unit: Unit,
    workload: Workload,
    order: Sequence[str],
    before: LaunchSite | None = None,
) -> LaunchSite | None:
    """The launch that the host code comes to; None where none is told.

    `order` names the workload's argument for each of the kernel's own parameters, "" where it has none; `before` says
    what names stand for that no argument tells, as the code before a change showed it.
    """
    also = before.meanings if before is not None else {}
    leading = unit.leading_to(kernel.name)
    for entry in reversed(unit.entries(leading)):
        look = partial(
            reached_launch,
            kernel,
            unit,
            entry,
            leading,
            order,
            compiled=workload.launch.constexpr,
            rounds=workload.dims.keys(),
        )
        reached = look({}, {})
        if reached is None:
            continue
        launch, parameters, sizes = reached
        # A number that no argument tells is what it was taken to be, as in a draft.
        also = {**{name: str(number) for name, number in (sizes.named or {}).items()}, **also}
        meanings = meanings_of(
            launch, workload, order, {**meanings_of_fields(kernel, unit, launch, workload), **also}
        )
        named = {n for n in threads_of(launch, sizes) if n not in sizes.chosen}
        if before is not None:
            # A number that the change has given a name, as the elements of a block, is no size of the data either, nor
            # is one that only the host has now.
            earlier = before.words - (unit.free_constants() - before.meanings.keys())
            own = names_used(launch) - earlier
            named |= before.threads | {n for n in own if n in sizes.dims and n not in sizes.chosen}
        threads = dict.fromkeys(named - meanings.keys(), True)
        # Numbers of threads that the code gives a name are no sizes of the data.
        reached = look({}, threads) if threads else reached
        if reached is None:
            continue
        extents = (*reached[0].grid, *reached[0].block)
        literally = bool(workload.dims) and all(isinstance(e, Number) and e.is_constant for e in extents)
        if literally:  # all sizes are written at calls or into fields: `p.rows = 32;`
            reached = look({}, threads, literally=True) or reached
        look_again = partial(look, threads=threads, literally=literally)
        meanings = meanings_of(
            reached[0], workload, order, {**meanings_of_fields(kernel, unit, reached[0], workload), **also}
        )
        reached = _as_callers_launch(reached, look_again, meanings, workload)
        launch, parameters, sizes = reached
        conditions = _conditions(sizes, meanings, workload)
        workload = workload.only_where(conditions)
        spec = _over_workload(launch, meanings, workload)
        if spec is not None:
            one = _same_way(look_again, meanings, spec, workload)
            cleared = _cleared(launch, meanings, workload, order)
            template = launch.template
            if entry.template:
                # What types stand for is told by those that call the function; numbers, by the sizes here.
                called = next(templates_launched(unit, kernel.name), template)
                pairs = zip(template, called, strict=True) if len(called) == len(template) else ()
                template = tuple(own if _is_number(own) else c for own, c in pairs) or called
            parameters = _as_launched(parameters, kernel, template)
            numbers, agreed = _numbers_passed(parameters, launch, meanings, workload, order, before)
            return LaunchSite(
                spec if one else None,
                meanings,
                frozenset(threads),
                entry.words,
                cleared,
                numbers,
                template,
                agreed,
                conditions,
                dict(passed_values(launch, unit, leading)),
            )
    return None


def _is_number(argument: str) -> bool:
    return argument in ("true", "false") or argument.lstrip("-").isdigit()


def _as_callers_launch(
    reached: _Reached,
    look: Callable[[Mapping[str, int]], _Reached | None],
    meanings: Mapping[str, str],
    workload: Workload,
) -> _Reached:
    """What `look` reaches at the sizes that are timed, else at the first that are checked, where that is another
    instance of a template, or what was reached is for other sizes; else what was reached.
    """
    dims = workload.profile_dims[0] if workload.profile_dims else next(workload.shapes())
    at_size = look(_sizes_at(dims, meanings, workload))
    if at_size is None:
        return reached
    values = workload.numbers(dims)
    is_for_these = all(evaluate(c, values) for c in _conditions(reached[2], meanings, workload))
    return reached if is_for_these and at_size[0].template == reached[0].template else at_size


def _sizes_at(dims: Mapping[str, int], meanings: Mapping[str, str], workload: Workload) -> dict[str, int]:
    """What names of the host code are at one shape; what is no whole number, as a scale is, is no size."""
    values = workload.numbers(dims)
    sizes: dict[str, int] = {}
    for name, text in meanings.items():
        with suppress(ExpressionError):
            sizes[name] = evaluate_int(text, values)
    return sizes


def reached_launch(
    kernel: Kernel,
    unit: Unit,
    entry: HostCode,
    leading: frozenset[str],
    order: Sequence[str],
    sizes: Mapping[str, int],
    threads: Mapping[str, bool],
    literally: bool = False,
    compiled: Collection[str] = (),
    rounds: Collection[str] = (),
) -> _Reached | None:
    """The launch with an argument for each of `order`, which has one for each field of a structure, the parameters that
    these are for, and the sizes; None where there are more or fewer, or no launch is reached. `sizes`: those to take.
    """
    sized = partial(
        Sizes,
        sizes,
        {},
        asked_of_tensors(entry),
        threads=threads,
        with_literals=literally,
        compiled=compiled,
        rounds=rounds,
    )
    taken = sized(named={})
    launch = Follower(unit, taken, kernel.name, leading).follow(entry)
    for chosen in taken.other_choices():
        if launch is not None:
            break
        taken = sized(named={}, chosen_by=chosen)
        launch = Follower(unit, taken, kernel.name, leading).follow(entry)
    if launch is None or len(launch.arguments) == len(order):
        return (launch, kernel.parameters, taken) if launch is not None else None
    parts = passed(kernel, launch, unit)
    apart = replace(launch, arguments=tuple(part.given for part in parts))
    return (apart, [part.parameter for part in parts], taken) if len(parts) == len(order) else None


def _as_launched(parameters: Sequence[Parameter], kernel: Kernel, template: Sequence[str]) -> list[Parameter]:
    """Parameters with the types of numbers that a launch gives the kernel's template."""
    pairs = zip((t.name for t in kernel.template_parameters), template, strict=False)
    types = {name: dtype for name, text in pairs if (dtype := dtype_of(text)) is not None}
    return [
        p if p.pointer or p.dtype is not None else replace(p, dtype=types.get(bare_type(p.type)))
        for p in parameters
    ]


def _numbers_passed(
    parameters: Sequence[Parameter],
    launch: Launched,
    meanings: Mapping[str, str],
    workload: Workload,
    order: Sequence[str],
    before: LaunchSite | None,
) -> tuple[Mapping[int, Constant], Mapping[str, str]]:
    """By position, the numbers for parameters without an argument, and those that are others than `before`; then what
    is passed for arguments whose numbers they are.
    """
    numbers: dict[int, Constant] = {}
    agreed: dict[str, str] = {}
    earlier = before.agreed if before is not None else {}
    for position, (name, argued) in enumerate(zip(order, launch.arguments, strict=True)):
        argument, parameter = workload.argument(name), parameters[position]
        dtype = argument.dtype if argument is not None else parameter.dtype
        text = translated(argued.value, meanings) if not parameter.pointer and dtype is not None else None
        if text is None or dtype is None or (argument is not None and argument.kind != "scalar"):
            continue
        if argument is not None and _is_number_of(name, text, workload):
            agreed[name] = text
        if argument is None or earlier.get(name, text) != text:
            numbers[position] = Constant(text, parameter.dtype or dtype)
        elif _are_whole(argument.dtype, parameter.dtype) and parameter.dtype != argument.dtype:
            numbers[position] = Constant(name, parameter.dtype or dtype)
    return numbers, agreed


def _are_whole(*dtypes: str | None) -> bool:
    return all(dtype is not None and not DTYPES[dtype].is_float for dtype in dtypes)


def _is_number_of(scalar: str, text: str, workload: Workload) -> bool:
    """Whether an expression is a scalar of the workload at its shapes."""
    for dims in itertools.islice(workload.shapes(), _SHAPES):
        values = workload.numbers(dims)
        try:
            if evaluate(text, values) != values[scalar]:
                return False
        except ExpressionError:
            return False
    return True


def _cleared(
    launch: Launched, meanings: Mapping[str, str], workload: Workload, order: Sequence[str]
) -> Mapping[int, str | None]:
    """The outputs that are zero at a launch, as far as it is told how many of their bytes are."""
    cleared: dict[int, str | None] = {}
    for position, (name, argued) in enumerate(zip(order, launch.arguments, strict=True)):
        argument, value = workload.argument(name), argued.value
        buffer = value.buffer if isinstance(value, (Pointer, Tensor)) else None
        if argument is None or argument.kind != "output" or buffer is None or not buffer.cleared:
            continue
        if buffer.cleared_bytes is None:
            cleared[position] = None
        elif (text := translated(buffer.cleared_bytes, meanings)) is not None:
            cleared[position] = text
    return cleared


def same_launch(one: LaunchSpec, other: LaunchSpec, workload: Workload) -> bool:
    """Whether two launches are of the same blocks and threads at each shape of a workload."""

    def numbers(spec: LaunchSpec) -> list[tuple[int, ...]]:
        grid, block = ((*extents, "1", "1")[:3] for extents in (spec.grid, spec.block))
        return list(_numbers(LaunchSpec(grid, block, spec.shared_bytes), workload))

    return all(numbers(one)) and numbers(one) == numbers(other)


def meanings_of(
    launch: Launched, workload: Workload, order: Sequence[str], also: Mapping[str, str]
) -> dict[str, str]:
    """Names of the host code → expressions of the workload.

    A kernel's argument tells what a name stands for; so does an extent of the grid that is a name alone, if nothing
    else does: a change may launch another grid.
    """
    meanings: dict[str, str] = {}
    for argued, name in zip(launch.arguments, order, strict=True):
        argument = workload.argument(name)
        if argument is None:
            continue
        if argument.kind == "scalar":
            if isinstance(argued.value, Number) and WORD.fullmatch(argued.value.text):
                meanings.setdefault(argued.value.text, name)
            continue
        buffer = argued.value.buffer if isinstance(argued.value, (Pointer, Tensor)) else None
        if buffer is not None and buffer.name:
            meanings.setdefault(address_name(buffer.name), address_name(argument.name))
        extents = _extents(argued.value)
        shape = argument.shape or ()
        for extent, size in zip(extents, shape, strict=False) if len(extents) == len(shape) else ():
            if WORD.fullmatch(extent.text):
                meanings.setdefault(extent.text, str(size))
    for name, text in (*also.items(), *((dim, dim) for dim in workload.dims)):
        meanings.setdefault(name, text)
    grid = workload.launch.grid
    for value, written in zip(launch.grid, grid, strict=False) if len(launch.grid) == len(grid) else ():
        if isinstance(value, Number) and WORD.fullmatch(value.text):
            meanings.setdefault(value.text, str(written))
    return meanings


def meanings_of_fields(kernel: Kernel, unit: Unit, launch: Launched, workload: Workload) -> dict[str, str]:
    """Names that the host code gives fields of a structure which the kernel takes → the workload's scalars."""
    meanings: dict[str, str] = {}
    for part in passed(kernel, launch, unit) if len(launch.arguments) == len(kernel.parameters) else ():
        argument, value = workload.argument(part.parameter.name), part.given.value
        scalar = argument is not None and argument.kind == "scalar"
        if scalar and isinstance(value, Number) and WORD.fullmatch(value.text):
            meanings.setdefault(value.text, part.parameter.name)
    return meanings


def _extents(value: Value) -> tuple[Number, ...]:
    buffer = value.buffer if isinstance(value, (Pointer, Tensor)) else None
    return buffer.tensor.shape or () if buffer is not None and buffer.tensor is not None else ()


def _over_workload(launch: Launched, meanings: Mapping[str, str], workload: Workload) -> LaunchSpec | None:
    texts = [translated(v, meanings) for v in (*launch.grid, *launch.block, launch.shared)]
    if any(t is None for t in texts):
        return None
    numbers = [t for t in texts if t is not None]
    blocks = len(launch.grid)
    fixed = workload.launch.spec().constexpr
    spec = LaunchSpec(tuple(numbers[:blocks]), tuple(numbers[blocks:-1]), numbers[-1], constexpr=fixed)
    return spec if all(_numbers(spec, workload)) else None


def _conditions(sizes: Sizes, meanings: Mapping[str, str], workload: Workload) -> tuple[str, ...]:
    """What of the conditions on the way to a launch is over dims of the workload: alignment is judged by itself."""
    parts = parts_of([tree_of(text) for text in sizes.promises])
    texts = (translated(made(True, ast.unparse(part)), meanings) for part in parts)
    return tuple(dict.fromkeys(map(tidy, over_dims(filter(None, texts), workload))))


def parts_of(promises: Sequence[ast.expr]) -> Iterator[ast.expr]:
    """What holds by itself: of `not (a and b)`, where `a` holds, that `b` does not."""
    holding = {ast.unparse(part) for promise in promises for part in _conjuncts(promise)}
    for promise in promises:
        match promise:
            case ast.UnaryOp(op=ast.Not(), operand=denied):
                open_parts = [part for part in _conjuncts(denied) if ast.unparse(part) not in holding]
                yield ast.UnaryOp(ast.Not(), open_parts[0]) if len(open_parts) == 1 else promise
            case _:
                yield from _conjuncts(promise)


def _conjuncts(tree: ast.expr) -> Iterator[ast.expr]:
    """The parts of a condition that hold together: of `bit_or(x, n) % 16 == 0` each of the numbers is a multiple."""
    match tree:
        case ast.BoolOp(op=ast.And(), values=values):
            for value in values:
                yield from _conjuncts(value)
        case ast.Compare(
            left=ast.BinOp(left=ast.Call(func=ast.Name("bit_or"), args=parts), op=ast.Mod(), right=step),
            ops=[ast.Eq()],
            comparators=[ast.Constant(0) as none],
        ):
            for part in parts:
                remainder = ast.BinOp(part, ast.Mod(), step)
                yield from _conjuncts(ast.Compare(remainder, [ast.Eq()], [none]))
        case _:
            yield tree


def translated(value: Value, meanings: Mapping[str, str]) -> str | None:
    """A number of the host code as an expression of the workload; None where a name in it has no meaning there."""
    if not isinstance(value, Number):
        return None
    try:
        used = names_in(value.text)
    except ExpressionError:
        return None
    if not used <= set(meanings):
        return None
    texts = {n: meanings[n] if WORD.fullmatch(meanings[n]) else f"({meanings[n]})" for n in used}
    # Parsed and written again, it has no more brackets than it needs.
    return ast.unparse(tree_of(with_meanings(value.text, texts)))


def _numbers(spec: LaunchSpec, workload: Workload) -> Iterator[tuple[int, ...]]:
    """Grid, block and shared bytes at each shape; an empty tuple where they have no value."""
    for dims in itertools.islice(workload.shapes(), _SHAPES):
        values = workload.numbers(dims)
        try:
            yield tuple(evaluate_int(t, values) for t in (*spec.grid, *spec.block, spec.shared_bytes))
        except ExpressionError:
            yield ()


def _same_way(
    look: Callable[[Mapping[str, int]], _Reached | None],
    meanings: Mapping[str, str],
    spec: LaunchSpec,
    workload: Workload,
) -> bool:
    """Whether the host code, as `look` follows it with some sizes, comes to this launch at the workload's own sizes."""
    for dims, expected in zip(workload.shapes(), _numbers(spec, workload), strict=False):
        if not workload.keeps_promises(dims):
            continue
        came = look(_sizes_at(dims, meanings, workload))
        if came is None:
            return False
        launch = came[0]
        reached = (*launch.grid, *launch.block, launch.shared)
        if tuple(int(v.value) if isinstance(v, Number) else None for v in reached) != expected:
            return False
    return True
