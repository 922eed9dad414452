"""`prove`: the obligations of a kernel of a file in a workload, counterexamples confirmed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_gate.arguments import Argument
from kernel_gate.expr.solver import LIMIT_MS
from kernel_gate.launch_tables import KernelLaunch
from kernel_gate.program import LaunchStep, Pointer, Program, Structure, Value
from kernel_gate.workload import Workload
from kernel_lineage.kernels.naming import kernel_as_written
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.proofs.obligations.obligation import Obligation
from kernel_lineage.proofs.obligations.written import written
from kernel_lineage.proofs.prove import KINDS, Kinds, in_turn, prove, worst_by_place
from kernel_lineage.rewrite.proving.replay import RUN_SECONDS, Replay
from kernel_lineage.rewrite.proving.setting import setting_of
from kernel_lineage.workloads.programs import ProgramError, program_from_file

_LINE = re.compile(r'#line (\d+)(?: "([^"]*)")?')


@dataclass(frozen=True, slots=True)
class Launched:
    """One launch of a kernel."""

    program: Program
    workload: Workload
    """With this launch as its only one."""
    name: str
    """The kernel's, as the program's text has it."""
    whole: tuple[Program, Workload] | None = None
    """The sequence that it is a part of, and what is run to confirm a counterexample."""

    @property
    def kinds(self) -> Kinds:
        """What is asked of it: not whether all of an output is written where other steps may write, too."""
        return KINDS if self.whole is None else tuple(kind for kind in KINDS if kind is not written)


def prove_file(
    path: Path,
    kernel_name: str,
    workload: Workload,
    *,
    template_arguments: Sequence[str] = (),
    limit_ms: int = LIMIT_MS,
    replayed: bool = True,
) -> tuple[Obligation, ...]:
    """Every obligation of a kernel of a file, by line of that file; of a sequence, in each launch of the kernel.

    Template arguments are needed where no launch in the file gives them. Raises `ProgramError` when no program can be
    made of it, `UnreadableError` when it cannot be parsed, and `SolverMissingError` without Z3.
    """
    each = launches_of_file(path, kernel_name, workload, template_arguments=template_arguments)
    return prove_launches(each, path, limit_ms=limit_ms, replayed=replayed)


def launches_of_file(
    path: Path,
    kernel_name: str,
    workload: Workload,
    *,
    data: bytes | None = None,
    template_arguments: Sequence[str] = (),
) -> tuple[Launched, ...]:
    """How a workload launches a kernel: once, or as the steps of a sequence do; of a host function, all its launches.

    `data` is the file's text where that is not what the disk holds. Raises `ProgramError`, also where a launch cannot
    be asked about.
    """
    arguments: Sequence[str] | None = None
    if (only := _plain_launch(workload, kernel_name)) is not None:
        if only.arguments is not None:
            arguments = [a for a in only.arguments if isinstance(a, str)]
        template_arguments = only.template_arguments or template_arguments
        workload = workload.model_copy(update={"launches": ()})
    program = program_from_file(
        path, kernel_name, workload, data=data, template_arguments=template_arguments, arguments=arguments
    )
    return launches_of(program, path, workload, kernel_name)


def _plain_launch(workload: Workload, kernel_name: str) -> KernelLaunch | None:
    """The launch of a sequence that is no more than one of the kernel, of whole arguments."""
    match workload.launches:
        case (KernelLaunch() as only,) if _bare(only.kernel) == _bare(kernel_name):
            return only if all(isinstance(a, str) for a in only.arguments or ()) else None
        case _:
            return None


def launches_of(program: Program, path: Path, workload: Workload, name: str = "") -> tuple[Launched, ...]:
    """The launches of a kernel in a program; all without a name, or by the sequence's. Raises `ProgramError`."""
    workload = workload.with_dims(program.own_dims)
    steps = [step for step in program.steps or workload.steps if isinstance(step, LaunchStep)]
    if not steps:
        return (Launched(program, workload, name or program.entry.partition("<")[0]),)
    own = [step for step in steps if _bare(step.entry) == _bare(name)]
    whole = program.entry if program.steps else workload.kernel
    if not own and _bare(name) not in ("", _bare(whole)):
        names = ", ".join(dict.fromkeys(step.entry for step in steps))
        raise ProgramError(f"{path}: the workload launches {names}, and no `{name}`")
    launched: list[LaunchStep] = []
    for step in own or steps:
        if step not in launched:
            launched.append(step)
    return tuple(_part(step, program, workload, path) for step in launched)


def _part(step: LaunchStep, program: Program, workload: Workload, path: Path) -> Launched:
    """One launch of a sequence; its numbers and the program's scratch become arguments of its workload."""
    more = [Argument(name=s.name, kind="scratch", dtype=s.dtype, shape=s.shape) for s in program.scratch]
    names: list[str] = []
    for position, operand in enumerate(step.arguments, 1):
        match operand:
            case str():
                names.append(operand)
            case Pointer(buffer, "0"):
                names.append(buffer)
            case Value(value) if workload.argument(value) is not None:  # in another type
                names.append(value)
            case Value(value, dtype):
                names.append(f"argument_{position}")
                more.append(Argument(name=names[-1], kind="scalar", dtype=dtype, value=value))
            case _:
                what = (
                    "is a structure"
                    if isinstance(operand, Structure)
                    else "points into the middle of a buffer"
                )
                raise ProgramError(
                    f"{path}: nothing is proved of `{step.entry}`, argument {position} of whose launch {what}: proofs "
                    "are about whole buffers and numbers"
                )
    alone = replace(
        program,
        entry=step.entry,
        launch=step.launch,
        template_arguments=step.template_arguments,
        arguments=tuple(names),
        steps=(),
        scratch=(),
    )
    setting = workload.model_copy(update={"launches": (), "args": (*workload.args, *more)})
    return Launched(alone, setting, _bare(step.entry), (program, workload))


def _bare(name: str) -> str:
    return name.partition("<")[0].rsplit("::", 1)[-1]


def prove_launches(
    launches: Sequence[Launched],
    path: Path,
    *,
    limit_ms: int = LIMIT_MS,
    replayed: bool = True,
    kinds: Kinds = KINDS,
) -> tuple[Obligation, ...]:
    """The same of launches of a program that stands in a file: at each place what is worst. Raises alike."""
    asked: list[Obligation] = []
    for launched in launches:
        kernel, lines, replay = _read(launched, path)
        setting = setting_of(kernel, launched.workload, launched.program)
        own = [kind for kind in kinds if kind in launched.kinds]
        each = prove(kernel, setting, lines=lines, limit_ms=limit_ms, kinds=own)
        asked += (replay.confirmed(o) for o in each) if replayed else each
    return worst_by_place(asked)


def proving(
    launched: Launched,
    path: Path,
    *,
    kinds: Kinds,
    limit_ms: int = LIMIT_MS,
    run_seconds: float = RUN_SECONDS,
) -> Iterator[Obligation]:
    """The obligations of some kinds as they end, confirmed: who asks may stop at any one. Raises alike.

    `run_seconds`: what confirming one counterexample by running the kernel may take.
    """
    kernel, lines, replay = _read(launched, path)
    replay.seconds = run_seconds
    setting = setting_of(kernel, launched.workload, launched.program)
    kinds = [kind for kind in kinds if kind in launched.kinds]
    yield from map(replay.confirmed, in_turn(kernel, setting, lines=lines, limit_ms=limit_ms, kinds=kinds))


def _read(launched: Launched, path: Path) -> tuple[Kernel, Mapping[int, int], Replay]:
    """The kernel, its lines in the file, and what runs it at the sizes of a counterexample."""
    program, workload = launched.program, launched.workload
    kernel = kernel_of(program, launched.name, path)
    lines = line_map(program.source) if program.language == "cuda" else {}
    order = program.arguments or tuple(a.name for a in workload.args)
    fixed = (program.launch or workload.launch.spec()).constexpr
    own = (p.name for p in kernel.parameters if not p.constexpr and p.name not in fixed)
    names = dict(zip(own, order, strict=False))
    return kernel, lines, Replay(*(launched.whole or (program, workload)), names=names)


def kernel_of(program: Program, name: str, path: Path) -> Kernel:
    """The kernel as it stands in the program's text, with what headers give. Raises `ProgramError`."""
    kernel = kernel_as_written(read(program.source.encode(), Language(program.language)), name)
    if kernel is None:
        raise ProgramError(f"{path}: `{name}` could not be read")
    return kernel


def line_map(text: str) -> dict[int, int]:
    """Lines of a text with `#line` directives → the lines that these name."""
    lines: dict[int, int] = {}
    shift = 0
    for number, line in enumerate(text.splitlines(), 1):
        if (match := _LINE.match(line)) is not None:
            shift = int(match[1]) - number - 1
        lines[number] = number + shift
    return lines
