"""A Triton kernel's launch as its host code computes it, over the arguments that a workload describes."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from kernel_gate.arguments import Argument
from kernel_gate.compile_time import constant, is_word
from kernel_gate.expressions import ExpressionError, Number, evaluate_int
from kernel_gate.program import LaunchSpec, Value
from kernel_gate.workload import Workload
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.workloads.model import View
from kernel_lineage.workloads.triton.arguments import constant_text, is_expression
from kernel_lineage.workloads.triton.grid import grid_of, option_of
from kernel_lineage.workloads.triton.host import Reader
from kernel_lineage.workloads.triton.host_modules import (
    HostModule,
    launched_by,
    launched_in,
    module_of,
    names_of,
)
from kernel_lineage.workloads.triton.launch_arguments import passed_at
from kernel_lineage.workloads.triton.modules import Modules
from kernel_lineage.workloads.triton.objects import Names, Reached, Stopped
from kernel_lineage.workloads.triton.values import (
    Size,
    Tensor,
    Unknown,
    is_number,
    product,
    size_of,
    text_of,
    value_at,
)
from kernel_lineage.workloads.triton.ways import Reading

_SHAPES = 16
"""So many of a workload's shapes are read, to see that they take the same way to the launch."""
_Bound = Mapping[str, Size | Tensor | None]


@dataclass(frozen=True, slots=True)
class TritonSite:
    """A launch over dims and scalars of a workload."""

    launch: LaunchSpec
    numbers: Mapping[str, Value]
    """Parameter that the workload has no argument for, or another number → what the launch passes."""
    cleared: frozenset[str] = frozenset()
    """Outputs of the workload that the host code makes zero before the launch."""
    agreed: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Argument of the workload whose number the launch is seen to pass → the number as it is computed."""


def followed_launch(
    kernel: Kernel,
    path: Path,
    workload: Workload,
    order: Sequence[str],
    root: Path,
    before: TritonSite | None = None,
    views: Mapping[str, View] = MappingProxyType({}),
) -> TritonSite | None:
    """The launch that the file's host code comes to; None where it is not told over dims and arguments, alike at all
    shapes. `before` is the launch before a change, which may pass other numbers for arguments that are agreed there.

    Of several sites it is the first that launches what the workload does, else the first. `order` names the workload's
    argument for each of the kernel's own parameters that are not constexpr, "" where it has none; `views` are the
    arguments of which the host's tensor is a part.
    """
    if kernel.source is None or kernel.source.module is None or kernel.function is None:
        return None
    usual = _evaluated(workload.launch.spec(), workload) if len(kernel.launches) > 1 else None
    own, first = module_of(path.resolve(), kernel.source.module), None
    modules = Modules(root, {own.path: own})
    shapes = [*itertools.islice(workload.shapes(), _SHAPES), *workload.profile_dims[:_SHAPES]]
    # The gate tries sizes of its own, around those of the workload.
    shapes += [
        {n: max(1, int(size * f)) for n, size in dims.items()} for dims in shapes[:1] for f in (3, 0.5)
    ]
    for name, call in calls_of(kernel.name, own):
        function = own.functions[name]
        bindings = bindings_at(kernel, function, call, workload, order, views)
        own_names = dict(zip(own_parameters(kernel, workload), order, strict=False))
        agreed = before.agreed if before is not None else {}
        look = _Look(kernel, workload, bindings, own_names, agreed)
        tried = [_at(look, own, modules, function, call, dims) for dims in shapes]
        launch = tried[0] if tried else None
        if launch is None or any(other not in (launch, None) for other in tried):
            continue
        try:
            values = _evaluated(launch.launch, workload)
        except ExpressionError:
            continue
        always = [site.agreed.items() for site in tried if site is not None]
        launch = replace(launch, agreed=dict({*always[0]}.intersection(*always)))
        if usual is None or values == usual:
            return launch
        first = first or launch
    return first


def calls_of(kernel: str, own: HostModule) -> Iterator[tuple[str, ast.Call]]:
    """The launches of a kernel that stand in functions of its module, each with the function's name."""
    for name, function in own.functions.items():
        for node in ast.walk(function) if kernel in launched_in(function) else ():
            if isinstance(node, ast.Call) and kernel in launched_by(node):
                yield name, node


def _evaluated(launch: LaunchSpec, workload: Workload) -> tuple[object, ...]:
    """What a launch is at the first shape. Raises `ExpressionError` where the workload's language does not take it."""
    for dims in itertools.islice(workload.shapes(), 1):
        return launched_at(launch, {**dims, **workload.scalars(dims)})
    return ()


def launched_at(
    launch: LaunchSpec, sizes: Mapping[str, Number]
) -> tuple[tuple[int, ...], Mapping[str, object]]:
    """The grid, and what is known when the kernel is compiled, at some sizes. Raises `ExpressionError`."""
    values = dict(sizes)
    constants = {name: constant(text, values) for name, text in launch.constexpr.items()}
    values |= {n: v for n, v in constants.items() if isinstance(v, (int, float))}
    return tuple(evaluate_int(text, values) for text in launch.grid), constants


def own_parameters(kernel: Kernel, workload: Workload) -> list[str]:
    """A kernel's parameters that are neither constexpr nor fixed by the workload."""
    return [p.name for p in kernel.parameters if not p.constexpr and p.name not in workload.launch.constexpr]


def bindings_at(
    kernel: Kernel,
    function: ast.FunctionDef,
    call: ast.Call,
    workload: Workload,
    order: Sequence[str],
    views: Mapping[str, View],
) -> _Bound:
    """Host name that a launch passes → the argument of the workload that it is there, or None where it has none; a name
    that the function takes and passes for a constexpr is the number that the workload fixes. `views` are the arguments
    of which the host's tensor is a part.
    """
    fixed, taken = workload.launch.constexpr, names_of(function.args)
    own = own_parameters(kernel, workload)
    arguments = dict(zip(own, map(workload.argument, order), strict=False))
    bindings: dict[str, Size | Tensor | None] = {}
    for parameter, host in written_for(kernel, call).items():
        argument = arguments.get(parameter)
        if isinstance(host, ast.Name) and argument is not None:
            bindings[host.id] = (
                Size(argument.name)
                if argument.kind == "scalar"
                else host_tensor(host.id, argument, views.get(argument.name))
            )
        elif isinstance(host, ast.Name) and fixed.get(parameter) == "None":
            bindings[host.id] = None
        elif isinstance(host, ast.Name) and host.id in taken and not is_word(fixed.get(parameter, "None")):
            number = size_of(ast.parse(str(fixed[parameter]), mode="eval").body)
            bindings[host.id] = number if isinstance(number, Size) else Size(str(number))
    return bindings


def written_for(kernel: Kernel, call: ast.Call) -> dict[str, ast.expr]:
    """Parameter of a kernel → what a launch writes for it."""
    passed = dict(zip((p.name for p in kernel.parameters), call.args, strict=False))
    return passed | {k.arg: k.value for k in call.keywords if k.arg}


def optional_at(
    kernel: Kernel, call: ast.Call, workload: Workload, order: Sequence[str], views: Mapping[str, View]
) -> _Bound:
    """The tensors that a launch passes where there is one, as `bias if bias is not None else x` does."""
    arguments = dict(zip(own_parameters(kernel, workload), map(workload.argument, order), strict=False))
    tensors: dict[str, Tensor] = {}
    for parameter, host in zip((p.name for p in kernel.parameters), call.args, strict=False):
        argument = arguments.get(parameter)
        match host:
            case ast.IfExp(body=ast.Name(id=name)) if argument is not None and argument.is_pointer:
                tensors[name] = host_tensor(name, argument, views.get(argument.name))
    return tensors


def host_tensor(name: str, argument: Argument, view: View | None) -> Tensor:
    """What a host name stands for that is passed for a buffer of the workload."""
    memory = _sizes(map(str, argument.shape or ()))
    if view is None:
        return Tensor(name, memory, argument.dtype, buffer=argument.name)
    strides = _sizes(view.strides)
    return Tensor(
        name,
        _sizes(view.extents),
        argument.dtype,
        strides=strides,
        memory=product(memory),
        buffer=argument.name,
    )


def grid_names(function: ast.FunctionDef, call: ast.Call, workload: Workload) -> _Bound:
    """Host name that a launch writes for an extent of its grid → that extent in the workload."""
    node = call.func.slice if isinstance(call.func, ast.Subscript) else None
    if isinstance(node, ast.Name):
        stores = {n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == node.id} - {node}
        values = [s.value for s in ast.walk(function) if isinstance(s, ast.Assign) and stores & {*s.targets}]
        node = values[0] if len(values) == len(stores) == 1 else node
    extents = node.elts if isinstance(node, ast.Tuple) else [node]
    pairs = zip(extents, _sizes(workload.launch.spec().grid), strict=False)
    return {e.id: size for e, size in pairs if isinstance(e, ast.Name) and isinstance(size, Size)}


def _sizes(texts: Iterable[str]) -> tuple[int | Size, ...]:
    sizes = (size_of(ast.parse(text, mode="eval").body) for text in texts)
    return tuple(size for size in sizes if isinstance(size, (int, Size)))


@dataclass(frozen=True, slots=True)
class _Look:
    """What is looked for at one site."""

    kernel: Kernel
    workload: Workload
    bindings: _Bound
    order: Mapping[str, str]
    """The kernel's own parameter → the workload's argument, "" where it has none."""
    agreed: Mapping[str, str]
    """Argument for which a change may pass another number → what was passed before."""


def _at(
    look: _Look,
    own: HostModule,
    modules: Modules,
    function: ast.FunctionDef,
    call: ast.Call,
    dims: Mapping[str, int],
) -> TritonSite | None:
    """The launch that a function comes to at one shape."""
    assert look.kernel.function is not None
    sizes: dict[str, Number] = {**dims, **look.workload.scalars(dims)}
    bound = look.bindings
    reader = Reader(
        modules, look.kernel.function, sizes, lambda _n, _a: None, forced=True, only=call, assumed=bound
    )
    # Callers may pass what they like for what the workload does not tell: a default is no answer.
    names: Names = {n: bound.get(n, Size(n) if n in dims else Unknown(n)) for n in names_of(function.args)}
    try:
        reader.run(function, own, names)
    except Reached as reached:
        return _site(look, Reading(call, reached.frame, function.name))
    except Stopped:
        pass
    return None


def _site(look: _Look, reading: Reading) -> TritonSite | None:
    """The launch that was reached; None where a name is no longer what the workload says, or something is not told."""
    kernel, spec, sizes = look.kernel, look.workload.launch.spec(), reading.reader.sizes
    names = reading.frame.names
    if any(
        not _is_same(names.get(n), argument, sizes)
        for n, argument in look.bindings.items()
        if not (isinstance(argument, Size) and argument.text in look.agreed)
    ):
        return None
    passed = passed_at(kernel, reading)
    constexpr: dict[str, str] = {}
    for name in (p.name for p in kernel.parameters if p.constexpr and p.name in passed):
        text = constant_text(passed[name]) or spec.constexpr.get(name)
        if text is None:
            return None
        constexpr[name] = text
    # What the workload gives nothing, or fixes although the kernel does not ask for it, stays so.
    constexpr.update({n: t for n, t in spec.constexpr.items() if is_word(t) or n not in constexpr})
    grid = grid_of(reading, constexpr, passed)
    if not grid:
        return None
    default = spec if {"autotune", "heuristics"} & {*kernel.attributes} else LaunchSpec(())

    def option(name: str) -> int | str:
        written = passed.get(name)
        unread: int | str = getattr(spec if name in passed else default, name)
        return option_of(written, name, reading) if is_expression(written) else unread

    numbers: dict[str, Value] = {}
    agreed: dict[str, str] = {}
    cleared: set[str] = set()
    for name, of in look.order.items():
        argument = look.workload.argument(of)
        value = passed.get(name)
        if argument is not None and argument.kind == "output" and isinstance(value, Tensor) and value.cleared:
            cleared.add(of)
        if argument is not None and argument.kind != "scalar":
            continue
        number = value_at(value, sizes) if is_expression(value) else None
        if number is None and argument is None:
            return None
        if number is None:
            continue
        text = text_of(value)
        if argument is not None and number == sizes[of]:
            agreed[of] = text
        if argument is None or look.agreed.get(of, text) != text:
            numbers[name] = Value(text, argument.dtype if argument is not None else _dtype(number))
    launch = LaunchSpec(grid, ("128",), "0", constexpr, option("num_warps"), option("num_stages"))
    return TritonSite(launch, numbers, frozenset(cleared), agreed)


def _dtype(number: Number) -> str:
    return "float32" if isinstance(number, float) else "int32" if abs(number) < 1 << 31 else "int64"


def _is_same(value: object, argument: Size | Tensor | None, sizes: Mapping[str, Number]) -> bool:
    """Whether a name stands at the launch for what the workload says that it is; one that nothing tells may."""
    if argument is None:
        return value is None or isinstance(value, Unknown)
    if isinstance(argument, Tensor):
        shape = value.shape if isinstance(value, Tensor) else None
        return shape is None or [value_at(e, sizes) for e in shape] == [
            value_at(e, sizes) for e in argument.shape or ()
        ]
    return not is_number(value) or value_at(value, sizes) == value_at(argument, sizes)
