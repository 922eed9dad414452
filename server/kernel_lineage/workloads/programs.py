"""From a file and a kernel's name to a program for the gate: its device code, its launch, its arguments."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from kernel_gate.expressions import split_at_commas
from kernel_gate.program import LaunchSpec, LaunchStep, Program, Value
from kernel_gate.workload import Workload
from kernel_lineage.kernels.naming import kernel_apart, qualified_name
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language, SourceFile
from kernel_lineage.workloads.argument_order import (
    arguments_differ,
    order_by_names,
    order_of,
    takes_memory_for_numbers,
)
from kernel_lineage.workloads.changed_structures import with_structures_after
from kernel_lineage.workloads.device_code import device_code, triton_text
from kernel_lineage.workloads.files import kernel_in, launched_by, source_of
from kernel_lineage.workloads.following.function_draft import takes_tensors
from kernel_lineage.workloads.following.sequence import Unreadable
from kernel_lineage.workloads.following.unit import Unit, unit_of
from kernel_lineage.workloads.function_program import tensor_function_steps
from kernel_lineage.workloads.host_program import Unclear
from kernel_lineage.workloads.host_work import (
    HostWork,
    changed_steps,
    cuda_host_work,
    host_code,
    on_a_device,
    own_dims,
    triton_host_work,
)
from kernel_lineage.workloads.launched_beside import asks_more, launched_beside
from kernel_lineage.workloads.model import View
from kernel_lineage.workloads.own_arrays import check_own_arrays
from kernel_lineage.workloads.preprocessed import with_headers
from kernel_lineage.workloads.program_errors import ArgumentsDifferError as ArgumentsDifferError
from kernel_lineage.workloads.program_errors import LaunchChangedError as LaunchChangedError
from kernel_lineage.workloads.program_errors import ProgramError as ProgramError
from kernel_lineage.workloads.program_errors import UnknownKernelError as UnknownKernelError
from kernel_lineage.workloads.program_reading import read_host_function
from kernel_lineage.workloads.read_from import repository_around
from kernel_lineage.workloads.rewritten import rewritten_program
from kernel_lineage.workloads.skipped_launches import skipped_launches
from kernel_lineage.workloads.switches import switches_for
from kernel_lineage.workloads.triton.function_program import function_steps
from kernel_lineage.workloads.triton.no_longer_made import check_made
from kernel_lineage.workloads.work_beside import work_beside


def program_from_file(
    path: Path,
    kernel_name: str,
    workload: Workload,
    *,
    data: bytes | None = None,
    source: SourceFile | None = None,
    root: Path | None = None,
    launch: Mapping[str, str] | None = None,
    name: str = "",
    template_arguments: Sequence[str] = (),
    arguments: Sequence[str] | None = None,
    changed_from: bytes | None = None,
    former_root: Path | None = None,
    former_kernel: str = "",
    by_host: bool = False,
    views: Mapping[str, View] = MappingProxyType({}),
) -> Program:
    """The program of one kernel of a file.

    `data` is the text when it is not what the file holds, `source` the file where it was read before; headers are read
    beside `path`, never outside of `root` (by default the repository around it). `launch` overrides fields of the
    launch, as a candidate does: {"block": "[256]"}. `arguments` are the workload's, one for each of the kernel's own;
    by default they go by name, or by position. `changed_from` is the baseline's text, for a candidate, and
    `former_root` the folder of all its files, if others may launch the kernel; `former_kernel` is the kernel's name
    there, by default the same; with `by_host` it is what its host function launches
    since, whatever takes the same arguments; `views` are the tensors of a Triton kernel's host code, and of any host
    function, that are parts of the workload's buffers. Raises `ProgramError`.
    """
    source = source or source_of(path, data)
    language = source.language
    root = root or repository_around(path)
    is_changed = changed_from != source.data or former_root not in (None, root)
    former = read(changed_from, language) if changed_from is not None and is_changed else None
    if not workload.launches and kernel_apart(source, kernel_name) is None:
        if language is Language.TRITON and launched_by(former or source, kernel_name):
            program = _called(
                former or source, source, path, kernel_name, workload, root, name or path.name, views
            )
            return _with_skipped(program, former, source) if former is not None else program
        unit = unit_of(source.data.decode("utf-8", "replace")) if language is Language.CUDA else None
        if unit is not None and unit.hosts(kernel_name):
            return _launched(
                former or source, source, unit, path, kernel_name, workload, root, name or path.name, views
            )
    own = partial(
        _one_launch,
        source,
        path,
        kernel_name,
        workload,
        arguments=arguments,
        root=root,
        launch=launch or {},
        template=tuple(template_arguments),
        former=former,
        former_root=former_root,
        former_name=former_kernel,
        views=views,
    )
    if workload.launches:
        own = partial(_sequence, source, path, kernel_name, workload, root, former, former_root)
    if former is None:
        return replace(own(), name=name or path.name)
    there = kernel_apart(source, kernel_name)
    before = former_kernel or (kernel_name if there is None else qualified_name(there))
    bare = before.rpartition("::")[2]
    keeps = any(argument.kind == "inout" for argument in workload.args)
    since = there.name if there is not None else bare
    of_torch = work_beside(bare, former, source, since, keeps=keeps)
    whole_of = partial(rewritten_program, source, former, path, before, workload, root, views)
    try:
        if by_host:
            raise ProgramError(f"{path}: `{before}` is gone")
        program = own()
    except ProgramError as error:
        # A candidate that says its launch does not leave it to its host code.
        whole = whole_of() if not launch else ""
        if isinstance(whole, str):
            raise type(error)("; ".join(filter(None, (str(error), whole)))) from error
        check_made(whole, former, source, bare, path, workload)
        return replace(_with_skipped(whole, former, source), of_torch=of_torch, name=name or path.name)
    program = replace(program, of_torch=of_torch)
    beside = launched_beside(bare, former, source, since)
    if beside:
        whole = whole_of() if not launch else ""
        program = whole if isinstance(whole, Program) else replace(program, beside=beside)
    elif not launch and not program.launched_where and asks_more(bare, former, source, since):
        # One launch is read at the sizes of the workload; what a new test decides at others, the whole of it tells.
        whole = whole_of()
        if isinstance(whole, Program) and (whole.launched_where or _chooses(whole)):
            program = whole
    check_made(program, former, source, bare, path, workload)
    return replace(_with_skipped(program, former, source), name=name or path.name)


def _chooses(program: Program) -> bool:
    """Whether conditions choose a number that a launch of the program passes."""
    words = (w for step in program.steps if isinstance(step, LaunchStep) for w in step.arguments)
    return any(isinstance(word, Value) and " if " in word.value for word in words)


def _with_skipped(program: Program, former: SourceFile, source: SourceFile) -> Program:
    """A candidate with what its host code asks from call to call before it launches."""
    launched = [step.entry for step in program.steps if isinstance(step, LaunchStep)] or [program.entry]
    kernels = dict.fromkeys(entry.rpartition("::")[2] for entry in launched)
    return replace(program, skipped_where=skipped_launches(tuple(kernels), former, source))


def _one_launch(
    source: SourceFile,
    path: Path,
    kernel_name: str,
    workload: Workload,
    *,
    arguments: Sequence[str] | None,
    root: Path,
    launch: Mapping[str, str],
    template: tuple[str, ...],
    former: SourceFile | None,
    former_root: Path | None,
    former_name: str,
    views: Mapping[str, View],
) -> Program:
    """The program of one launch of the kernel. For `arguments` and `views` see `program_from_file`; `former_name` is
    the kernel's name in `former`, "" for the same.
    """
    kernel = kernel_in(source, kernel_name, str(path))
    of_kernel = partial(
        _of_kernel,
        kernel,
        kernel.source or source,
        path,
        workload,
        root=root,
        launch=launch,
        template=template,
        former=former,
        former_root=former_root,
        former_name=former_name,
        views=views,
    )
    if arguments is not None:
        return of_kernel(order=tuple(arguments))
    by_names = order_by_names(kernel, workload) if former is not None else None
    if by_names is not None:
        # The launch tells whether the others are new or have another name.
        with suppress(ProgramError):
            return of_kernel(order=by_names)
    return of_kernel(order=order_of(kernel, workload, path, former is not None))


def _of_kernel(
    kernel: Kernel,
    source: SourceFile,
    path: Path,
    workload: Workload,
    *,
    order: tuple[str, ...],
    root: Path,
    launch: Mapping[str, str],
    template: tuple[str, ...],
    former: SourceFile | None,
    former_root: Path | None,
    former_name: str,
    views: Mapping[str, View],
) -> Program:
    """The program of one launch of a kernel, with the workload's argument for each of the kernel's own in `order`."""
    renamed = order if order != tuple(a.name for a in workload.args) else None
    before = kernel_apart(former, former_name or kernel.name) if former is not None else None
    former_order = order_of(before, workload, path) if before is not None else ()
    if before is not None and takes_memory_for_numbers(kernel, before, workload, order, former_order):
        raise arguments_differ(kernel, workload, path)
    if source.language is Language.TRITON:
        text, module, siblings = triton_text(source.data, (kernel.name,), path)
        try:
            work = triton_host_work(kernel, path, workload, order, before, former_order, root, views)
        except LaunchChangedError:
            # A candidate that says what of its launch is another one need not be read.
            if not launch:
                raise
            work = HostWork()
        # A site that is read has the change already: its grid is no longer the one that `grid.x` speaks of.
        options = {k: v for k, v in launch.items() if work.launch is None or not _OLD_GRID.search(v)}
        program = Program(
            "triton",
            text,
            kernel.name,
            with_launch(work.launch, workload, options),
            arguments=renamed,
            includes=siblings,
            module=module,
        )
    else:
        instance = template or _template_arguments(kernel, path)
        text, lacking = device_code(source, (kernel.name,), path, root, instance)
        # The slice holds the macros of the headers too, which launch expressions may name.
        whole = replace(kernel, source=None, text=text)
        work = cuda_host_work(
            whole, source.data, path, workload, order, root, former, former_order, former_root, former_name
        )
        if not template and work.template and work.template != instance:
            instance = work.template
            text, lacking = device_code(source, (kernel.name,), path, root, instance)
        program = Program(
            "cuda",
            text,
            qualified_name(kernel),
            with_launch(work.launch, workload, launch),
            template_arguments=instance,
            defines=switches_for(text, kernel.name),
            lacking=lacking,
            arguments=renamed,
            launched_where=work.conditions,
        )
    made = work.done_in(program, order, workload)
    if made is None:
        raise arguments_differ(kernel, workload, path)
    return made


def _sequence(
    source: SourceFile,
    path: Path,
    entry: str,
    workload: Workload,
    root: Path,
    former: SourceFile | None,
    former_root: Path | None,
) -> Program:
    """The program of a workload's `[[launches]]`: the file's kernels of the names that they give."""
    launched = [step for step in workload.steps if isinstance(step, LaunchStep)]
    kernels = tuple(dict.fromkeys(step.entry for step in launched))
    if source.language is Language.TRITON:
        text, module, siblings = triton_text(source.data, kernels, path)
        return Program("triton", text, entry, includes=siblings, module=module)
    bare = [kernel.rsplit("::", 1)[-1] for kernel in kernels]
    steps, where = changed_steps(source, path, workload, root, former, former_root)
    for step in steps or launched:
        if isinstance(step, LaunchStep):
            _check_template(source, step, path)
    if former is not None:
        old, new = (host_code(path, root, file.data) for file in (former, source))
        laid_out = with_structures_after(steps or workload.steps, source, old, new, workload)
        steps = laid_out if laid_out != workload.steps else steps
    template = tuple(
        argument
        for step in steps or launched
        if isinstance(step, LaunchStep)
        for argument in step.template_arguments
    )
    text, lacking = device_code(source, bare, path, root, template)
    counts = own_dims(workload, (step.launch for step in steps if isinstance(step, LaunchStep)))
    return Program("cuda", text, entry, lacking=lacking, steps=steps, launched_where=where, own_dims=counts)


def _check_template(source: SourceFile, step: LaunchStep, path: Path) -> None:
    """Raises `ProgramError` for a launch whose kernel's template takes more arguments, or fewer, than it gives."""
    kernel = source.kernel(step.entry.rpartition("::")[2])
    declared = kernel.template_parameters if kernel is not None else ()
    count = len(step.template_arguments)
    needed = sum(p.default is None for p in declared)
    if count and not needed <= count <= len(declared) and not any("..." in p.name for p in declared):
        names = ", ".join(p.name for p in declared) or "nothing"
        raise ProgramError(
            f"{path}: `{step.entry}` is a template over {names}, and the workload launches it with "
            f"{', '.join(step.template_arguments)}"
        )


def _launched(
    former: SourceFile,
    source: SourceFile,
    own: Unit,
    path: Path,
    function: str,
    workload: Workload,
    root: Path,
    label: str,
    views: Mapping[str, View],
) -> Program:
    """The program of a host function: what it launches, as its statements say.

    `own` is the file without headers, `former` the file of which the workload is.
    """
    launched = own.launched_by(function)
    kernels = tuple(k.name for k in source.kernels if k.name in launched)
    if not kernels:
        raise ProgramError(f"{path}: `{function}` launches no kernel of this file")
    unit = host_code(path, root, source.data)
    # A function that the file's own options leave out is one of another build.
    unit = unit if unit.hosts(function) else unit_of(with_headers(path, root, source.data))
    try:
        if any(map(takes_tensors, unit.hosts(function))):
            read_steps = tensor_function_steps(
                function, former, source, path, on_a_device(workload), root, views
            )
        else:
            read_steps = read_host_function(source, unit, own, function, workload)
            if former.data != source.data:
                check_own_arrays(host_code(path, root, former.data), unit, function, workload)
    except (Unclear, Unreadable) as error:
        raise ProgramError(f"{path}, {error}; give the launches in the workload, as [[launches]]") from error
    text, lacking = device_code(source, kernels, path, root, read_steps.template_arguments)
    return Program(
        "cuda",
        text + read_steps.of_torch.code,
        function,
        lacking=lacking,
        steps=read_steps.as_compiled(source),
        scratch=read_steps.scratch,
        launched_where=read_steps.conditions,
        own_dims=own_dims(workload, read_steps.numbers),
        name=label + read_steps.label,
        calls=read_steps.calls,
    )


def _called(
    former: SourceFile,
    source: SourceFile,
    path: Path,
    function: str,
    workload: Workload,
    root: Path,
    label: str,
    views: Mapping[str, View],
) -> Program:
    """The program of a host function of a Triton module; `former` is the file of which the workload is."""
    try:
        done = function_steps(function, former, source, path, on_a_device(workload), root, views)
    except Unclear as error:
        raise ProgramError(f"{path}: {error}") from error
    text, module, siblings = triton_text(source.data, done.kernels, path)
    return Program(
        "triton",
        text + done.of_torch.code,
        function,
        includes=siblings,
        module=module,
        steps=done.steps,
        scratch=done.scratch,
        launched_where=done.conditions,
        own_dims=own_dims(workload, done.numbers),
        name=label + done.label,
    )


def with_launch(spec: LaunchSpec | None, workload: Workload, launch: Mapping[str, str]) -> LaunchSpec | None:
    """A launch with some fields replaced, as a candidate's `launch` names them; None when it is the workload's own.

    `grid.x` in an expression is the grid's size along x before the change, `grid.y` and `grid.z` along the others.
    """
    if not launch:
        return spec
    base = spec or workload.launch.spec()
    before = dict(itertools.zip_longest("xyz", base.grid[:3], fillvalue="1"))
    launch = {k: _OLD_GRID.sub(lambda m: f"({before[m[1]]})", v) for k, v in launch.items()}
    constexpr = {k: v for k, v in launch.items() if k not in LaunchSpec.__slots__}
    return replace(
        base,
        grid=_extents(launch["grid"]) if "grid" in launch else base.grid,
        block=_extents(launch["block"]) if "block" in launch else base.block,
        shared_bytes=launch.get("shared_bytes", base.shared_bytes),
        constexpr={**base.constexpr, **constexpr},
        num_warps=int(launch["num_warps"]) if "num_warps" in launch else base.num_warps,
        num_stages=int(launch["num_stages"]) if "num_stages" in launch else base.num_stages,
    )


def launch_after(first: Mapping[str, str], then: Mapping[str, str]) -> dict[str, str]:
    """The fields of a launch that two changes replace one after the other: the second one's `grid.x` is what the first
    one leaves.
    """
    left = itertools.zip_longest("xyz", _extents(first["grid"])[:3], fillvalue="1") if "grid" in first else ()
    grid = dict(left)
    named = {k: _OLD_GRID.sub(lambda m: f"({grid.get(m[1], m[0])})", v) for k, v in then.items()}
    return {**first, **named}


_OLD_GRID = re.compile(r"\bgrid\.([xyz])\b")


def _extents(text: str) -> tuple[str, ...]:
    """`["ceil_div(N, 4)", 2]` and `256` as expressions: a bracketed list is split at its outer commas."""
    inner = text.strip()
    inner = inner[1:-1] if inner.startswith("[") and inner.endswith("]") else inner
    return tuple(part.strip("\"'") for part in split_at_commas(inner, "([", ")]") if part)


def _template_arguments(kernel: Kernel, path: Path) -> tuple[str, ...]:
    needed = [p for p in kernel.template_parameters if p.default is None]
    site = next((launch for launch in kernel.launches if launch.template_arguments), None)
    if site is not None:
        return site.template_arguments
    if needed:
        names = ", ".join(p.name for p in kernel.template_parameters)
        raise ProgramError(
            f"{path}: `{kernel.name}` is a template over {names} and no launch in the file says with which arguments"
        )
    return ()
