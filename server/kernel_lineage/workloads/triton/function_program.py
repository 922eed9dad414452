"""The program of a host function that launches Triton kernels, over a workload whose arguments are its parameters."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from kernel_gate.arguments import Argument
from kernel_gate.compile_time import is_word
from kernel_gate.workload import Workload
from kernel_lineage.kernels.source import SourceFile
from kernel_lineage.workloads.host_program import HostProgram, Unclear
from kernel_lineage.workloads.model import View
from kernel_lineage.workloads.triton.function_draft import results_of
from kernel_lineage.workloads.triton.host_function import Before, HostFunction, attribute_name, object_of
from kernel_lineage.workloads.triton.host_modules import HostModule, module_of, names_of
from kernel_lineage.workloads.triton.launch_site import host_tensor
from kernel_lineage.workloads.triton.listed_tensors import element_name
from kernel_lineage.workloads.triton.objects import Class
from kernel_lineage.workloads.triton.tensor_methods import gradient_name
from kernel_lineage.workloads.triton.values import Dtype, Size, size_of


def function_steps(
    name: str,
    former: SourceFile,
    source: SourceFile,
    path: Path,
    workload: Workload,
    root: Path,
    views: Mapping[str, View] = MappingProxyType({}),
) -> HostProgram:
    """What a function does in `source`; `former` is the file that the workload is of, the same one for a baseline.

    `views`: argument → the tensor that the function is given, where that is a part of the workload's buffer.

    Raises `Unclear` with the reason where it does something that is not understood.
    """
    if former.module is None or source.module is None:
        raise Unclear("the file does not parse")
    here = path.resolve()
    own, changed = module_of(here, former.module), module_of(here, source.module)
    if name not in changed.functions:
        raise Unclear(f"`{name}` is gone")
    try:
        _check_saved(name, own, changed)
        parameters = names_of(own.functions[name].args)
        of = own.classes.get(name.rpartition(".")[0])
        held = next(iter(parameters), "") if of is not None else ""
        bound = _bound(parameters, workload, views, attribute_name(held, "") if held else "")
        if of is not None and held and held not in bound:
            bound[held] = object_of(held, Class(of, own), bound)
        function = HostFunction(name, workload, root, bound, parameters)
        base, *_ = function.shapes()
        end = function.at(base, own, {k.name: k for k in former.kernels}, learns=True)
        arguments = {a.name: a.name for a in workload.args}
        before = Before.of(end, {**arguments, **results_of(end, [*bound])}, {}, end.worked_out)
        already = () if former is source else end.promises
        return function.program(before, changed, {k.name: k for k in source.kernels}, already)
    except Unclear as unclear:
        raise Unclear(f"`{name}`, {unclear}") from unclear


def _check_saved(name: str, own: HostModule, changed: HostModule) -> None:
    """Raises `Unclear` where a `backward` is given what another `forward` saves than before."""
    of, _, last = name.rpartition(".")
    forwards = [module.functions.get(f"{of}.forward") for module in (own, changed)]
    texts = [ast.unparse(node) if node is not None else "" for node in forwards]
    if last == "backward" and texts[0] != texts[1]:
        raise Unclear("`forward` is changed as well: it may save other tensors than the workload has")


def _bound(
    parameters: Iterable[str], workload: Workload, views: Mapping[str, View], front: str
) -> dict[str, object]:
    """What the function's parameters are over a workload, and what torch makes of them before the first launch.

    The names of attributes of its object begin with `front`, "" where it has none.
    """
    fixed = workload.launch.constexpr
    bound: dict[str, object] = {
        a.name: host_tensor(a.name, a, views.get(a.name))
        for a in workload.args
        if a.is_pointer and a.kind == "input"
    }
    attributes = (n for n in (*fixed, *(a.name for a in workload.args)) if front and n.startswith(front))
    for parameter in (*parameters, *attributes):
        argument = workload.argument(parameter)
        if argument is not None and argument.is_pointer:
            bound[parameter] = host_tensor(parameter, argument, views.get(parameter))
        elif argument is not None:
            bound[parameter] = Size(parameter)
        elif parameter in fixed:
            bound[parameter] = _constant(str(fixed[parameter]))
        elif elements := [*_elements(parameter, workload)]:
            bound |= {a.name: host_tensor(a.name, a, views.get(a.name)) for a in elements}
            bound[parameter] = [bound[a.name] for a in elements]
    for argument in workload.args:
        if (workload.argument(argument.name.removesuffix(gradient_name(""))) or argument) is not argument:
            bound[argument.name] = host_tensor(argument.name, argument, views.get(argument.name))
    return bound


def _elements(parameter: str, workload: Workload) -> Iterator[Argument]:
    """The elements of a parameter that is a list of tensors; none of another one."""
    for at in itertools.count():
        argument = workload.argument(element_name(parameter, at))
        if argument is None or not argument.is_pointer:
            return
        yield argument


def _constant(text: str) -> object:
    """What a workload fixes, as host code has it."""
    if text.startswith("tl."):
        return Dtype(text.removeprefix("tl."))
    if is_word(text) or text in ("True", "False"):
        return ast.literal_eval(text)
    return size_of(ast.parse(text, mode="eval").body)
