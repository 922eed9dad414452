"""A workload drafted for a host function that launches kernels: its parameters are the arguments.

What it launches is read from its statements whenever it is run; the draft says what a caller gives it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kernel_lineage.code.types import DTYPES
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.source import Parameter, SourceFile, Span
from kernel_lineage.workloads.constants import constants_of
from kernel_lineage.workloads.cuda.buffers import argument_of
from kernel_lineage.workloads.cuda.host import CLEARS, HostFunction, functions_of
from kernel_lineage.workloads.cuda.names import THREADS, Known
from kernel_lineage.workloads.cuda.roles import roles_of
from kernel_lineage.workloads.cuda.scopes import scope_of_function
from kernel_lineage.workloads.files import Launcher
from kernel_lineage.workloads.model import Draft, Role
from kernel_lineage.workloads.preprocessed import active_text, with_headers
from kernel_lineage.workloads.type_sizes import alias

_STREAM = "cudaStream_t"
_NOWHERE = Span(0, 0, 0, 0)
_DEPTH = 4


def draft_of_launcher(launcher: Launcher, path: Path, root: Path) -> Draft:
    """The draft of a host function; headers are read below `root`."""
    source = launcher.source
    text = active_text(with_headers(path, root, source.data))
    known = Known(text, constants_of(replace(launcher.kernels[0], source=None, text=text)))
    scope = scope_of_function(source, launcher.name)
    kernel = launcher.kernels[0]
    if scope is None:
        missing = (f"the parameters of {launcher.name}, which cannot be read",)
        return Draft(launcher.name, kernel.language, path.name, {}, {}, (), missing=missing)
    function = scope.function
    roles: dict[str, Role] = {}
    for name, role in _touched(source, function, _DEPTH):
        roles[name] = _together(roles[name], role) if name in roles else role
    arguments = tuple(
        argument_of(parameter, parameter.name, roles.get(parameter.name, "input"), scope, known, {})
        for parameter in _parameters(function, text)
    )
    order = function.parameters
    return Draft(
        launcher.name,
        kernel.language,
        path.name,
        known.dims,
        known.dims,
        arguments,
        ("1",),
        (str(THREADS),),
        chosen=tuple(sorted(known.chosen, key=lambda n: order.index(n) if n in order else len(order))),
        assumed=tuple(known.said),
        missing=tuple(dict.fromkeys(known.missing)),
    )


def _parameters(function: HostFunction, text: str) -> Iterator[Parameter]:
    for name in function.parameters:
        pointer = name in function.pointer_types
        kind = function.pointer_types[name] if pointer else function.parameter_types.get(name, "")
        if kind != _STREAM:
            yield Parameter(name, kind, _NOWHERE, DTYPES.get(alias(kind, text)), pointer)


def _touched(source: SourceFile, function: HostFunction, depth: int) -> Iterator[tuple[str, Role]]:
    """The function's parameters with what each launch, memset or called function does with them, in order."""
    events: list[tuple[int, str, Role]] = []
    for launch in source.launches:
        kernel = source.kernel(launch.kernel)
        if launch.launcher != function.name or kernel is None:
            continue
        roles = roles_of(kernel)
        for parameter, given in zip(kernel.parameters, launch.arguments, strict=False):
            if parameter.name in roles:
                events.append((launch.span.start, given, roles[parameter.name]))
    functions = {f.name: f for f in functions_of(source)} if depth else {}
    for name, given_all, node in function.calls:
        if name in CLEARS and given_all:
            events.append((node.start_byte, given_all[0], "output"))
        elif name in functions and functions[name] is not function:
            inner = dict(zip(functions[name].parameters, given_all, strict=False))
            events += [
                (node.start_byte, inner[parameter], role)
                for parameter, role in _touched(source, functions[name], depth - 1)
                if parameter in inner
            ]
    for _, given, role in sorted(events, key=lambda e: e[0]):
        yield _root(given, function), role


def _root(given: str, function: HostFunction) -> str:
    """The parameter that an expression points into: `q` of `(float*)q + n`, or of a local that is that."""
    for _ in range(_DEPTH):
        plain = re.sub(r"^(?:\(\s*[\w\s]+\*+\s*\)|&)\s*", "", given.strip()).lstrip("(&")
        name = re.match(r"\w*", plain)
        found = name[0] if name is not None else ""
        if found in function.parameters or found not in function.locals:
            return found
        given = text_of(function.locals[found])
    return given


def _together(first: Role, then: Role) -> Role:
    """What a sequence does with a buffer: what it writes first is an output, whoever reads it later."""
    if first == "input" and then != "input":
        return "inout"
    return first
