"""A workload drafted from a CUDA C++ kernel's launches: what its callers allocate, and the sizes that they come with.

A size, a shape or a value that no file tells is missing. A parameter of the launcher of which no caller is known is a
dim whose size is chosen. The files' own sizes are those that are timed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kernel_gate.expressions import ExpressionError, evaluate_int
from kernel_lineage.kernels.naming import qualified_name
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language, Launch
from kernel_lineage.workloads.constants import constants_of
from kernel_lineage.workloads.cuda.buffers import argument_of
from kernel_lineage.workloads.cuda.host import bare_pointer
from kernel_lineage.workloads.cuda.names import Known, expressed
from kernel_lineage.workloads.cuda.roles import roles_of
from kernel_lineage.workloads.cuda.scopes import Callers, Scope, scope_of
from kernel_lineage.workloads.cuda.workspaces import is_workspace
from kernel_lineage.workloads.launch_expressions import NotExpressible
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.preprocessed import active_text, with_headers
from kernel_lineage.workloads.programs import device_text
from kernel_lineage.workloads.state import Site

_ZEROS = "integers(0, 1)"


def draft_from_site(
    kernel: Kernel, path: Path, site: Site, root: Path, elsewhere: Callers, block: int | None = None
) -> Draft:
    """The draft of a CUDA C++ kernel by one of its launches; headers are read below `root`, callers `elsewhere` too.

    `block` is the number of threads to take where a caller goes through several.
    """
    text = active_text(with_headers(site.path, root, site.source.data))
    known = Known(text, constants_of(replace(kernel, source=None, text=text)), wanted_block=block)
    launch = site.launch
    scope = scope_of(site.source, launch, elsewhere)
    roles = roles_of(with_what_it_calls(kernel, path, launch.template_arguments, root))
    known.reading_block = True
    extents = _launched("block", launch.block, scope, known)
    known.reading_block = False
    given_types = zip(kernel.template_parameters, launch.template_arguments, strict=False)
    types = {t.name: t.name for t in kernel.template_parameters if t.type is None}
    types.update({t.name: written for t, written in given_types if t.type is None})
    written = {
        p.name: given
        for p, given in zip(kernel.parameters, launch.arguments, strict=False)
        if roles.get(p.name, "input") != "input"
    }
    arguments = []
    for parameter, given in zip(kernel.parameters, launch.arguments, strict=False):
        role = roles.get(parameter.name, "input")
        argument = argument_of(parameter, given, role, scope, known, types)
        others = [g for n, g in written.items() if n != parameter.name]
        if argument.kind == "inout" and is_workspace(given, scope, launch, others):
            argument = replace(argument, kind="scratch")
            known.say(f"{parameter.name} is a workspace: nothing reads what a launch leaves there")
        if argument.kind in ("input", "inout", "scratch") and _cleared(given, scope, launch):
            argument = replace(argument, values=_ZEROS)
            known.say(f"{parameter.name} is cleared before the launch")
        arguments.append(argument)
    for parameter in kernel.parameters[len(launch.arguments) :]:
        known.missing.append(f"the value of {parameter.name}, which the launch does not give")
    grid = _launched("grid", launch.grid, scope, known)
    shared = _launched("shared bytes", (launch.shared_bytes or "0",), scope, known)
    template = _template(kernel, site, types, scope, known)
    if site.path.resolve() != path.resolve():
        known.said.insert(0, f"the launch is that of {launch.launcher or 'a function'} in {site.path.name}")
    return Draft(
        kernel.name,
        kernel.language,
        path.name,
        known.dims,
        known.dims,
        tuple(arguments),
        grid,
        extents,
        shared[0] if shared else "0",
        template_arguments=template,
        chosen=_in_order(known, scope),
        told=known.told,
        blocks=known.blocks,
        assumed=tuple(known.said),
        missing=tuple(dict.fromkeys(known.missing)),
        entry=qualified_name(kernel),
    )


def with_what_it_calls(kernel: Kernel, path: Path, names: tuple[str, ...], root: Path) -> Kernel:
    """The kernel beside the device functions of its headers, which may do its reading and writing."""
    if kernel.source is None or b'#include "' not in kernel.source.data:
        return kernel
    return read(device_text(kernel, path, names, root).encode(), Language.CUDA).kernel(kernel.name) or kernel


def _cleared(given: str, scope: Scope | None, launch: Launch) -> bool:
    """Whether the launcher sets a buffer to zeros before it launches."""
    return scope is not None and scope.function.clears(bare_pointer(given), launch.span.start)


def _as_cpp(text: str) -> str:
    """An expression of the workload's language as a template's argument: a number where it is one."""
    try:
        return str(evaluate_int(text, {}))
    except ExpressionError:
        return text.replace("//", "/")


def _in_order(known: Known, scope: Scope | None) -> tuple[str, ...]:
    """The dims that are chosen, in the order in which the launcher has them as parameters."""
    order = scope.function.parameters if scope is not None else ()
    return tuple(sorted(known.chosen, key=lambda n: order.index(n) if n in order else len(order)))


def _launched(what: str, texts: tuple[str, ...], scope: Scope | None, known: Known) -> tuple[str, ...]:
    found = []
    for text in texts:
        try:
            found.append(expressed(text, scope, known))
        except NotExpressible as error:
            known.missing.append(f"the launch's {what} `{text}`: nothing tells {error}")
    return tuple(found)


def _template(
    kernel: Kernel, site: Site, types: dict[str, str], scope: Scope | None, known: Known
) -> tuple[str, ...]:
    """The template's arguments where the kernel's file does not write them out as they are."""
    if not kernel.template_parameters:
        return ()
    written = site.launch.template_arguments
    found: list[str] = []
    for position, parameter in enumerate(kernel.template_parameters):
        if parameter.type is None:
            if position >= len(written) and types[parameter.name] == parameter.name and parameter.default:
                break
            found.append(types[parameter.name])
        elif position < len(written):
            try:
                found.append(_as_cpp(expressed(written[position], scope, known)))
            except NotExpressible:
                found.append(written[position])
        elif parameter.default is None:
            known.missing.append(f"the template argument {parameter.name}, which the launch does not give")
        else:
            break
    own_site = kernel.launches and site.launch is kernel.launches[0]
    return () if own_site and tuple(found) == written else tuple(found)
