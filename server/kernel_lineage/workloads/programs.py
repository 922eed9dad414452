"""From a file and a kernel's name to a program for the gate: its device code, its launch, its arguments."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kernel_gate.expressions import split_at_commas
from kernel_gate.files.reading import read_file
from kernel_gate.program import LaunchSpec, LaunchStep, MemsetStep, Program, Step, Value
from kernel_gate.workload import Workload
from kernel_lineage.kernels.naming import earlier_namesake, kernel_apart, kernel_as_written, qualified_name
from kernel_lineage.kernels.reading import language_of, read
from kernel_lineage.kernels.slicing import device_slice
from kernel_lineage.kernels.source import Kernel, Language, Launch, SourceFile
from kernel_lineage.workloads.following.launch_site import LaunchSite, followed_launch, same_launch
from kernel_lineage.workloads.following.sequence import Unreadable
from kernel_lineage.workloads.following.unit import Unit, unit_of
from kernel_lineage.workloads.headers import Headers, submodules
from kernel_lineage.workloads.host_launchers import read_host_function
from kernel_lineage.workloads.launched_beside import launched_beside
from kernel_lineage.workloads.preprocessed import active_text, standing_before, with_headers
from kernel_lineage.workloads.read_from import repository_around
from kernel_lineage.workloads.switches import switches_for
from kernel_lineage.workloads.triton.launch_site import TritonSite, own_parameters
from kernel_lineage.workloads.triton.launch_site import followed_launch as followed_triton_launch
from kernel_lineage.workloads.triton_module import kernel_module
from kernel_lineage.workloads.triton_siblings import siblings_of

_ASKED = re.compile(r"""\b__has_include\s*\(\s*["<]([^"<>\n]+)[">]\s*\)""")


class ProgramError(Exception):
    """No program can be made of the file; the message says why and what to do."""


class UnknownKernelError(ProgramError):
    """The file has no kernel of that name; the message lists those that it has."""


class ArgumentsDifferError(ProgramError):
    """The kernel takes other arguments than the workload has; the message lists both."""


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
) -> Program:
    """The program of one kernel of a file.

    `data` is the text when it is not what the file holds, `source` the file where it was read before; headers are read
    beside `path`, never outside of `root` (by default the repository around it). `launch` overrides fields of the
    launch, as a candidate does: {"block": "[256]"}. `arguments` are the workload's, one for each of the kernel's own;
    by default they go by name, or by position. `changed_from` is the baseline's text, for a candidate. Raises
    `ProgramError`.
    """
    if source is not None:
        data = source.data
    if data is None:
        try:
            data = read_file(path)
        except OSError as error:
            raise ProgramError(f"{path} cannot be read: {error.strerror}") from error
    language = language_of(str(path), data)
    if language is None:
        raise ProgramError(f"{path} holds no kernels: it is neither CUDA C++ nor Triton")
    source = source or read(data, language)
    if workload.launches:
        return _sequence(source, path, kernel_name, workload, root, name, changed_from)
    beside: tuple[str, ...] = ()
    if changed_from is not None and changed_from != source.data:
        beside = launched_beside(kernel_name, read(changed_from, language), source)
    kernel = kernel_apart(source, kernel_name)
    if kernel is not None:
        kernel_name, source = kernel.name, kernel.source or source
        if language is Language.CUDA and (namesake := earlier_namesake(kernel)) is not None:
            raise ProgramError(f"{path}: {namesake}")
    if kernel is None and language is Language.CUDA:
        unit = unit_of(source.data.decode("utf-8", "replace"))
        if kernel_name in unit.functions:
            return _launched(source, unit, path, kernel_name, workload, root, name or path.name)
    if kernel is None:
        names = ", ".join(k.name for k in source.kernels) or "none"
        raise UnknownKernelError(f"{path} has no kernel `{kernel_name}`; its kernels: {names}")
    order = tuple(arguments) if arguments is not None else _order(kernel, workload, path)
    renamed = order if order != tuple(a.name for a in workload.args) else None
    label = name or path.name
    if language is Language.TRITON:
        text, module, siblings = triton_text(data, (kernel_name,), path)
        launched = _triton_site(kernel, path, workload, order, root or repository_around(path), changed_from)
        # A site that is read has the change already: its grid is no longer the one that `grid.x` speaks of.
        options = {k: v for k, v in (launch or {}).items() if launched is None or not _OLD_GRID.search(v)}
        spec = with_launch(launched.launch if launched is not None else None, workload, options)
        program = Program(
            "triton",
            text,
            kernel_name,
            spec,
            name=label,
            arguments=renamed,
            includes=siblings,
            module=module,
            beside=beside,
        )
        by_name = launched.numbers if launched is not None else {}
        own = own_parameters(kernel, workload)
        cleared = dict.fromkeys(launched.cleared) if launched is not None else {}
        return _with_host_work(
            program, kernel, path, workload, order, [by_name.get(name) for name in own], cleared
        )
    template = tuple(template_arguments) or _template_arguments(kernel, path)
    text, lacking = device_code(source, (kernel_name,), path, root or repository_around(path), template)
    # The slice holds the macros of the headers too, which launch expressions may name.
    whole = replace(kernel, source=None, text=text)
    site = _site(source, whole, path, workload, order, root or repository_around(path), changed_from)
    spec = with_launch(site.launch if site is not None else None, workload, launch or {})
    program = Program(
        "cuda",
        text,
        qualified_name(kernel),
        spec,
        template_arguments=template,
        defines=switches_for(text, kernel_name),
        lacking=lacking,
        name=label,
        arguments=renamed,
        beside=beside,
    )
    numbers = site.numbers if site is not None else {}
    zeros = site.cleared if site is not None else {}
    return _with_host_work(
        program,
        kernel,
        path,
        workload,
        order,
        [numbers.get(n) for n in range(len(order))],
        {order[n]: nbytes for n, nbytes in zeros.items()},
    )


def _with_host_work(
    program: Program,
    kernel: Kernel,
    path: Path,
    workload: Workload,
    order: Sequence[str],
    numbers: Sequence[Value | None],
    cleared: Mapping[str, str | None],
) -> Program:
    """The program with numbers that its launch passes, where the workload has no argument for them ("" in `order`) or
    has another number, and with outputs that its host code clears first: so many bytes, None for all.

    Raises `ProgramError` where such a number is not told.
    """
    if "" not in order and not any(numbers) and not cleared:
        return program
    passed = [number or name for name, number in zip(order, numbers, strict=True)]
    arguments = tuple(word for word in passed if word)
    spec = program.launch or (workload.launch.spec() if "" not in order else None)
    if spec is None or len(arguments) < len(order):
        raise _arguments_differ(kernel, workload, path)
    step = LaunchStep(program.entry, spec, arguments, program.template_arguments)
    zeros = (MemsetStep(name, nbytes=nbytes) for name, nbytes in cleared.items())
    return replace(program, launch=None, arguments=None, template_arguments=(), steps=(*zeros, step))


def _triton_site(
    kernel: Kernel,
    path: Path,
    workload: Workload,
    order: Sequence[str],
    root: Path,
    changed_from: bytes | None,
) -> TritonSite | None:
    """The launch as the file writes it; of a candidate with the numbers that it passes and the baseline does not."""
    before: TritonSite | None = None
    if changed_from is not None and kernel.source is not None and changed_from != kernel.source.data:
        old = kernel_apart(read(changed_from, Language.TRITON), kernel.name)
        former = _order(old, workload, path) if old is not None else ()
        if old is not None and len(former) == len(workload.args):
            before = followed_triton_launch(old, path, workload, former, root)
    site = followed_triton_launch(kernel, path, workload, order, root, before)
    if site is None:
        return None
    kept = [name for name in site.cleared if before is not None and _counts_on(kernel, name, before.cleared)]
    return replace(site, cleared=frozenset(kept))


def _counts_on(kernel: Kernel, output: str | int, before: Collection[str | int]) -> bool:
    """Whether a changed kernel may count on zeros of its host code: new ones, or because it adds by atomics.

    Others are left out, so that what host code clears for nothing is timed on neither side.
    """
    return output not in before or "atomic" in kernel.text


def _site(
    source: SourceFile,
    whole: Kernel,
    path: Path,
    workload: Workload,
    order: Sequence[str],
    root: Path,
    changed_from: bytes | None,
) -> LaunchSite | None:
    """The launch as the file writes it, `whole` with the macros of its headers; None for the workload's own.

    Raises `ProgramError` where a change rewrites the launch and what it computes is not read: the workload's launch
    would be another one.
    """
    if not whole.launches:
        return None
    old: LaunchSite | None = None
    changed = False
    if changed_from is not None and changed_from != source.data:
        before = kernel_as_written(read(changed_from, Language.CUDA), whole.name)
        if before is not None:
            old = followed_launch(before, _host_code(path, root, changed_from), workload, order)
            changed = [_as_written(x) for x in before.launches] != [_as_written(x) for x in whole.launches]
    new = followed_launch(whole, _host_code(path, root, source.data), workload, order, old)
    if new is not None and new.launch is not None:
        zeros = {
            at: n for at, n in new.cleared.items() if old is not None and _counts_on(whole, at, old.cleared)
        }
        return replace(new, cleared=zeros)
    if changed:
        raise _unread_launch(path, whole.name)
    return None


def _unread_launch(path: Path, kernel: str) -> ProgramError:
    return ProgramError(
        f"{path}: the launch of `{kernel}` is changed, and what it computes cannot be read; "
        "write grid and block over the kernel's arguments"
    )


def _host_code(path: Path, root: Path, data: bytes) -> Unit:
    return unit_of(active_text(with_headers(path, root, data)))


def _as_written(launch: Launch) -> tuple[object, ...]:
    return tuple(launch.grid), tuple(launch.block), launch.shared_bytes, dict(launch.definitions)


def _sequence(
    source: SourceFile,
    path: Path,
    entry: str,
    workload: Workload,
    root: Path | None,
    name: str,
    changed_from: bytes | None,
) -> Program:
    """The program of a workload's `[[launches]]`: the file's kernels of the names that they give."""
    launched = [step for step in workload.steps if isinstance(step, LaunchStep)]
    kernels = tuple(dict.fromkeys(step.entry for step in launched))
    label = name or path.name
    if source.language is Language.TRITON:
        text, module, siblings = triton_text(source.data, kernels, path)
        return Program("triton", text, entry, name=label, includes=siblings, module=module)
    bare = [kernel.rsplit("::", 1)[-1] for kernel in kernels]
    template = tuple(argument for step in launched for argument in step.template_arguments)
    root = root or repository_around(path)
    text, lacking = device_code(source, bare, path, root, template)
    steps = _changed_steps(source, path, workload, root, changed_from)
    return Program("cuda", text, entry, lacking=lacking, name=label, steps=steps)


def _changed_steps(
    source: SourceFile, path: Path, workload: Workload, root: Path, changed_from: bytes | None
) -> tuple[Step, ...]:
    """The workload's sequence with the launches that a change rewrites; () where it rewrites none.

    Names of the host code stand for the workload's scalars of the same names, if the launch before the change is the
    workload's then. Raises `ProgramError` where a launch is rewritten and is not read.
    """
    if changed_from is None or changed_from == source.data:
        return ()
    earlier, steps = read(changed_from, Language.CUDA), list(workload.steps)
    launched = [step.entry for step in steps if isinstance(step, LaunchStep)]
    scalars = LaunchSite(None, {a.name: a.name for a in workload.args if a.kind == "scalar"})
    for number, step in enumerate(steps):
        if not isinstance(step, LaunchStep):
            continue
        before, after = (kernel_as_written(file, step.entry) for file in (earlier, source))
        if before is None or after is None:
            continue
        if [_as_written(x) for x in before.launches] == [_as_written(x) for x in after.launches]:
            continue
        order = [word if isinstance(word, str) else "" for word in step.arguments]
        old = followed_launch(before, _host_code(path, root, changed_from), workload, order, scalars)
        if old is None:
            raise _unread_launch(path, step.entry)
        also = replace(old, meanings={**scalars.meanings, **old.meanings})
        new = followed_launch(after, _host_code(path, root, source.data), workload, order, also)
        if new is None or old.launch is None or new.launch is None:
            raise _unread_launch(path, step.entry)
        if launched.count(step.entry) > 1 or not same_launch(old.launch, step.launch, workload):
            raise _unread_launch(path, step.entry)
        steps[number] = replace(step, launch=new.launch)
    return tuple(steps) if tuple(steps) != workload.steps else ()


def _launched(
    source: SourceFile,
    own: Unit,
    path: Path,
    function: str,
    workload: Workload,
    root: Path | None,
    label: str,
) -> Program:
    """The program of a host function: what it launches, as its statements say. `own` is the file without headers."""
    launched = own.launched_by(function)
    kernels = tuple(k.name for k in source.kernels if k.name in launched)
    if not kernels:
        raise ProgramError(f"{path}: `{function}` launches no kernel of this file")
    root = root or repository_around(path)
    text, lacking = device_code(source, kernels, path, root, ())
    unit = _host_code(path, root, source.data)
    # A function that the file's own options leave out is one of another build.
    unit = unit if function in unit.functions else unit_of(with_headers(path, root, source.data))
    try:
        read_steps = read_host_function(source, unit, own, function, workload)
    except Unreadable as error:
        raise ProgramError(f"{path}, {error}; give the launches in the workload, as [[launches]]") from error
    return Program(
        "cuda",
        text,
        function,
        lacking=lacking,
        steps=read_steps.steps,
        scratch=read_steps.scratch,
        name=label,
    )


def _order(kernel: Kernel, workload: Workload, path: Path) -> tuple[str, ...]:
    """The workload's argument for each parameter: by name when the workload knows all names, else by position.

    "" where the workload has none: a change may give a kernel more numbers, which its launch tells.
    """
    parameters = own_parameters(kernel, workload)
    declared = [a.name for a in workload.args]
    if set(parameters) <= set(declared):
        return tuple(parameters)
    if len(parameters) == len(declared):
        return tuple(declared)
    if set(declared) <= set(parameters):
        return tuple(p if p in declared else "" for p in parameters)
    raise _arguments_differ(kernel, workload, path)


def _arguments_differ(kernel: Kernel, workload: Workload, path: Path) -> ArgumentsDifferError:
    parameters, declared = own_parameters(kernel, workload), [a.name for a in workload.args]
    more = [p for p in parameters if p not in declared] if set(declared) <= set(parameters) else []
    return ArgumentsDifferError(
        f"{path}: `{kernel.name}` takes {len(parameters)} arguments ({', '.join(parameters)}), the workload declares "
        f"{len(declared)} ({', '.join(declared)}); make them agree"
        + (f", or pass {', '.join(more)} as numbers over these" if more else "")
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


def device_text(kernel: Kernel, path: Path, names: Sequence[str] = (), root: Path | None = None) -> str:
    """The device code of a CUDA C++ kernel with what its headers give; the kernel alone where no slice can be cut."""
    if kernel.source is None:
        return kernel.text
    try:
        return device_code(kernel.source, (kernel.name,), path, root or repository_around(path), names)[0]
    except ProgramError:
        return kernel.text


def device_code(
    source: SourceFile, kernels: Sequence[str], path: Path, root: Path, names: Sequence[str]
) -> tuple[str, tuple[str, ...]]:
    """The device code of kernels, and the headers of other libraries that it needs and nobody has."""
    folder = path.resolve().parent
    inside = root.resolve()
    headers = Headers(inside)

    def resolve(header: str) -> bytes | None:
        target = headers.at(folder, header)
        return read_file(target, within=inside) if target is not None else None

    cut = device_slice(source, kernels, resolve, path.name, names, standing_before(path.resolve(), inside))
    if not cut.text.strip():
        message = "; ".join(p.message for p in cut.problems) or "nothing of it is device code"
        raise ProgramError(f"{path}: {message}")
    # What compiles the slice has no file of the repository: a question for one is answered here.
    text = _ASKED.sub(lambda asked: "1" if headers.at(folder, asked[1]) is not None else asked[0], cut.text)
    return text, tuple(_absent(header, inside) for header in cut.lacking)


def _absent(header: str, root: Path) -> str:
    """A header that nobody has, with what to do."""
    library = re.split(r"[/.]", header)[0]
    paths = [p for p in submodules(root) if Path(p).name == library and not any(Path(root, p).glob("*"))]
    if paths:
        return f"`{header}`, whose submodule is not checked out (git submodule update --init {paths[0]})"
    where = f"neither in {root.name} nor in the CUDA toolkit"
    return f"`{header}`, which is {where}: put {library}'s headers into the repository"


def triton_text(data: bytes, kernels: Sequence[str], path: Path) -> tuple[str, str, dict[str, str]]:
    """What kernels need of their module, its path in its package, and what they need of other modules there."""
    try:
        text = kernel_module(data.decode("utf-8"), *kernels)
        module, siblings = siblings_of(text, path) if text is not None else ("", {})
    except (SyntaxError, UnicodeDecodeError) as error:
        raise ProgramError(f"{path} does not parse: {error}") from error
    except (OSError, ValueError) as error:
        raise ProgramError(str(error)) from error
    if text is None:
        names = " or ".join(f"`{kernel}`" for kernel in kernels)
        raise ProgramError(f"{path} has no function {names} at its top level")
    return text, module, siblings
