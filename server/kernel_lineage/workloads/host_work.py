"""What the host code of a file does for a launch: its grid and block, the numbers that it passes, what it clears first.

A workload says all of this for its baseline. A change may compute it anew, and its file tells how.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from kernel_gate.program import LaunchSpec, LaunchStep, MemsetStep, Program, Scratch, Step, Value
from kernel_gate.workload import Workload
from kernel_lineage.kernels.naming import kernel_as_written
from kernel_lineage.kernels.source import Kernel, Launch, SourceFile
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.device_size import CHECKED, NAMES, multiprocessors
from kernel_lineage.workloads.following.launch_site import LaunchSite, followed_launch, same_launch
from kernel_lineage.workloads.following.passed_values import moved
from kernel_lineage.workloads.following.unit import Unit, unit_of
from kernel_lineage.workloads.launched_elsewhere import launching_files
from kernel_lineage.workloads.model import View
from kernel_lineage.workloads.preprocessed import active_text, with_headers
from kernel_lineage.workloads.program_errors import LaunchChangedError
from kernel_lineage.workloads.triton.launch_site import TritonSite, own_parameters
from kernel_lineage.workloads.triton.launch_site import followed_launch as followed_triton_launch


@dataclass(frozen=True, slots=True)
class HostWork:
    """What is done for one launch of a kernel."""

    launch: LaunchSpec | None = None
    """None where the workload's own is meant."""
    numbers: Sequence[Value | None] = ()
    """For each of the kernel's own parameters the number that is passed, where the workload has none or another."""
    template: tuple[str, ...] = ()
    """CUDA: what the kernel's template is launched with, as the host code's own templates are called."""
    cleared: Mapping[str, str | None] = field(default_factory=dict)
    """Outputs of the workload that are made zero before the launch → so many bytes of them, None for all."""
    conditions: tuple[str, ...] = ()
    """What holds over dims where the launch is reached, if it is of another instance of a template than before."""

    def done_in(self, program: Program, order: Sequence[str], workload: Workload) -> Program | None:
        """A program of one launch with its numbers and clearing; None where a parameter has neither an argument of the
        workload (`order`, "" for none) nor a number.
        """
        counted = [n for n in (self.launch, *self.numbers) if n is not None]
        program = replace(program, own_dims=own_dims(workload, counted))
        numbers = list(self.numbers) or [None] * len(order)
        renamed = [
            _argument_of(n, workload) if not name else "" for name, n in zip(order, numbers, strict=True)
        ]
        if any(renamed):
            order = tuple(name or other for name, other in zip(order, renamed, strict=True))
            numbers = [None if other else n for n, other in zip(numbers, renamed, strict=True)]
            program = replace(program, arguments=order)
        if "" not in order and not any(numbers) and not self.cleared:
            return program
        arguments = tuple(n or name for n, name in zip(numbers, order, strict=True) if n or name)
        spec = program.launch or (workload.launch.spec() if "" not in order else None)
        if spec is None or len(arguments) < len(order):
            return None
        step = LaunchStep(program.entry, spec, arguments, program.template_arguments)
        zeros = (MemsetStep(name, nbytes=nbytes) for name, nbytes in self.cleared.items())
        return replace(program, launch=None, arguments=None, template_arguments=(), steps=(*zeros, step))


def _argument_of(number: Value | None, workload: Workload) -> str:
    """The argument of a workload that a number is under another name; "" for others."""
    argument = workload.argument(number.value) if number is not None else None
    is_same = argument is not None and number is not None and argument.dtype == number.dtype
    return argument.name if argument is not None and is_same else ""


def triton_host_work(
    kernel: Kernel,
    path: Path,
    workload: Workload,
    order: Sequence[str],
    former: Kernel | None,
    former_order: Sequence[str],
    root: Path,
    views: Mapping[str, View] = MappingProxyType({}),
) -> HostWork:
    """What the file's Python does for a launch of a Triton kernel. `former` is the kernel before a change, with its own
    `order`; for `views` see `followed_launch`.

    Raises `LaunchChangedError`.
    """
    workload = on_a_device(workload)
    before: TritonSite | None = None
    if former is not None and len(former_order) == len(workload.args):
        before = followed_triton_launch(former, path, workload, former_order, root, views=views)
    site = followed_triton_launch(kernel, path, workload, order, root, before, views)
    if site is None:
        if former is not None and former.launches and _written_otherwise(former, kernel):
            raise _not_read(path, kernel.name)
        return HostWork()
    numbers = [site.numbers.get(name) for name in own_parameters(kernel, workload)]
    kept = [name for name in site.cleared if before is not None and _counts_on(kernel, name, before.cleared)]
    return HostWork(site.launch, numbers, cleared=dict.fromkeys(kept))


def cuda_host_work(
    kernel: Kernel,
    data: bytes,
    path: Path,
    workload: Workload,
    order: Sequence[str],
    root: Path,
    former: SourceFile | None,
    former_order: Sequence[str],
    former_root: Path | None = None,
    former_name: str = "",
) -> HostWork:
    """What the host code of a file, `data`, does for a launch of a kernel, which has the macros of the headers with it;
    `former` is the file before a change, `former_order` that of its kernel, () for the same, `former_name` the name of
    that kernel, "" for the same, and `former_root` the folder of all files before it, where a launch in another file
    counts.

    Raises `LaunchChangedError`.
    """
    workload = on_a_device(workload)
    old: LaunchSite | None = None
    changed = False
    former_order = former_order or order
    before = kernel_as_written(former, former_name or kernel.name) if former is not None else None
    if former is not None and before is not None:
        hosts = _hosts(before, kernel, former.data, data, path, root, former_root)
        if hosts is None:
            return HostWork()
        old = followed_launch(before, hosts.before, workload, former_order)
        changed, unit = hosts.changed, hosts.after
    elif not kernel.launches:
        return HostWork()
    else:
        unit = host_code(path, root, data)
    new = followed_launch(kernel, unit, workload, order, old)
    if new is None or new.launch is None:
        if changed:
            raise _not_read(path, kernel.name)
        return HostWork()
    cleared: dict[str, str | None] = {}
    conditions: tuple[str, ...] = ()
    if old is not None:
        if other := moved(old.passes, new.passes, order, former_order):
            raise _passes_another(path, kernel.name, other)
        earlier = {former_order[at] for at in old.cleared}
        by_name = {order[at]: nbytes for at, nbytes in new.cleared.items()}
        cleared = {name: nbytes for name, nbytes in by_name.items() if _counts_on(kernel, name, earlier)}
        conditions = _conditions_of_another(old, new)
    numbers = [new.numbers.get(n) for n in range(len(order))]
    return HostWork(new.launch, numbers, new.template, cleared, conditions)


@dataclass(frozen=True, slots=True)
class _Hosts:
    """The host code that launches a kernel before and after a change."""

    before: Unit
    after: Unit
    changed: bool
    """Whether the change writes the launch in another way."""


def _hosts(
    before: Kernel,
    after: Kernel,
    former: bytes,
    data: bytes,
    path: Path,
    root: Path,
    former_root: Path | None,
) -> _Hosts | None:
    """The host code around the launches of a kernel, in its own file or in another one; None where none is seen, and
    where other files have it as before. Raises `LaunchChangedError` where several files launch it otherwise.
    """
    if after.launches:
        old_unit, new_unit = (host_code(path, root, text) for text in (former, data))
        return _Hosts(old_unit, new_unit, _written_otherwise(before, after))
    if former_root is None:
        return None
    old, new = launching_files(before.name, former_root), launching_files(after.name, root)
    same = {p for p in old.keys() & new.keys() if old[p].launchers == new[p].launchers}
    left = [[files[p] for p in sorted(files.keys() - same)] for files in (old, new)]
    if not before.launches and not any(left):
        return None
    if [len(files) for files in left] != [0 if before.launches else 1, 1]:
        raise _not_read(path, after.name)
    units = [host_code(path, root, former)] if before.launches else []
    for files, top in zip(left, (former_root, root), strict=True):
        units += [host_code(file.path, top, file.data) for file in files]
    old_unit, new_unit = units
    return _Hosts(old_unit, new_unit, changed=True)


def _conditions_of_another(old: LaunchSite, new: LaunchSite) -> tuple[str, ...]:
    """The new conditions under which a change launches another instance of a template than the code before."""
    is_same = not new.template or new.template == old.template
    return () if is_same else tuple(c for c in new.conditions if c not in old.conditions)


def changed_steps(
    source: SourceFile,
    path: Path,
    workload: Workload,
    root: Path,
    former: SourceFile | None,
    former_root: Path | None = None,
) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    """A workload's sequence with the launches that a change rewrites, () where it rewrites none; and the conditions
    over dims under which it launches other instances of templates than the code before.

    Names of the host code stand for the workload's scalars of the same names, if the launch before the change is the
    workload's then. For `former_root` see `cuda_host_work`. Raises `LaunchChangedError`.
    """
    if former is None:
        return (), ()
    workload = on_a_device(workload)
    steps = list(workload.steps)
    conditions: dict[str, None] = {}
    launched = [step.entry for step in steps if isinstance(step, LaunchStep)]
    scalars = LaunchSite(None, {a.name: a.name for a in workload.args if a.kind == "scalar"})
    for number, step in enumerate(steps):
        if not isinstance(step, LaunchStep):
            continue
        before, after = (kernel_as_written(file, step.entry) for file in (former, source))
        if before is None or after is None:
            continue
        if after.launches and not _launched_otherwise(before, after, former, source):
            continue
        hosts = _hosts(before, after, former.data, source.data, path, root, former_root)
        if hosts is None:
            continue
        is_other = hosts.changed
        order = [word if isinstance(word, str) else "" for word in step.arguments]
        old = followed_launch(before, hosts.before, workload, order, scalars)
        new = None
        if old is not None and old.launch is not None and same_launch(old.launch, step.launch, workload):
            also = replace(old, meanings={**scalars.meanings, **old.meanings})
            new = followed_launch(after, hosts.after, workload, order, also)
        if old is None or new is None or new.launch is None or launched.count(step.entry) > 1:
            if is_other:
                raise _not_read(path, step.entry)
            continue
        if other := moved(old.passes, new.passes, order, order):
            raise _passes_another(path, step.entry, other)
        template = _instance(step.template_arguments, old.template, new.template)
        if template != step.template_arguments:
            conditions |= dict.fromkeys(_conditions_of_another(old, new))
        operands = tuple(new.numbers.get(at, word) for at, word in enumerate(step.arguments))
        launch = new.launch if is_other else step.launch
        steps[number] = replace(step, launch=launch, arguments=operands, template_arguments=template)
    return (tuple(steps), tuple(conditions)) if tuple(steps) != workload.steps else ((), ())


def _instance(asked: tuple[str, ...], before: tuple[str, ...], after: tuple[str, ...]) -> tuple[str, ...]:
    """A template's arguments after a change that launches it with `after` instead of `before`, in the instance that is
    asked for: `<half>` of `<float>` before and `<float, 4>` after is `<half, 4>`.
    """
    if len(before) != len(asked) or not after:
        return asked
    other = dict(zip(before, asked, strict=True))
    return tuple(other.get(argument, argument) for argument in after)


def on_a_device(workload: Workload) -> Workload:
    """A workload with a number of multiprocessors by each name that host code may have for it."""
    return workload.with_dims(dict.fromkeys(NAMES, (CHECKED, multiprocessors())))


def own_dims(
    workload: Workload, launches: Iterable[LaunchSpec | Value | Scratch]
) -> dict[str, tuple[int, int]]:
    """The dims by which launches, numbers and buffers count multiprocessors, with the checked and the timed size."""
    texts: list[str] = []
    for one in launches:
        if isinstance(one, Value):
            texts.append(one.value)
        elif isinstance(one, Scratch):
            texts += one.shape
        else:
            texts += [*one.grid, *one.block, one.shared_bytes, *one.constexpr.values()]
    words = {word for text in texts for word in WORD.findall(text)}
    sizes = (CHECKED, multiprocessors())
    return {name: sizes for name in NAMES if name in words and name not in workload.dims}


def host_code(path: Path, root: Path, data: bytes) -> Unit:
    """The host code of a text that stands at a path, with its headers, as its own options leave it."""
    return unit_of(active_text(with_headers(path, root, data)))


def _counts_on(kernel: Kernel, output: str, before: Collection[str]) -> bool:
    """Whether a changed kernel may count on zeros of its host code: new ones, or because it adds by atomics.

    Others are left out, so that what host code clears for nothing is timed on neither side.
    """
    return output not in before or "atomic" in kernel.text


def _written_otherwise(before: Kernel, after: Kernel) -> bool:
    """Whether a change writes the launches of a kernel in another way."""
    return list(map(_as_written, before.launches)) != list(map(_as_written, after.launches))


def _launched_otherwise(before: Kernel, after: Kernel, former: SourceFile, source: SourceFile) -> bool:
    """Whether a change writes functions that launch a kernel in another way: a number may be another one."""
    texts = [
        [file.data[x.launcher_span.start : x.launcher_span.end] for x in kernel.launches if x.launcher_span]
        for kernel, file in ((before, former), (after, source))
    ]
    return texts[0] != texts[1] or _written_otherwise(before, after)


def _as_written(launch: Launch) -> tuple[object, ...]:
    options = {name: text for name, text in launch.options.items() if name != "stream"}
    return tuple(launch.grid), tuple(launch.block), launch.shared_bytes, dict(launch.definitions), options


def _passes_another(path: Path, kernel: str, argument: str) -> LaunchChangedError:
    return LaunchChangedError(
        f"{path}: the launch of `{kernel}` passes something else for `{argument}` than before the change; "
        "its host function as a whole tells whether that is the same work"
    )


def _not_read(path: Path, kernel: str) -> LaunchChangedError:
    return LaunchChangedError(
        f"{path}: the launch of `{kernel}` is changed, and what it computes cannot be read; "
        "write grid and block over the kernel's arguments"
    )
