"""`prove`: the obligations of a kernel of a file in a workload, counterexamples confirmed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kernel_gate.expr.solver import LIMIT_MS
from kernel_gate.launch_tables import KernelLaunch
from kernel_gate.program import Program
from kernel_gate.workload import Workload
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.proofs.obligations.obligation import Obligation
from kernel_lineage.proofs.prove import Kinds, in_turn, prove
from kernel_lineage.rewrite.proving.replay import RUN_SECONDS, Replay
from kernel_lineage.rewrite.proving.setting import setting_of
from kernel_lineage.workloads.programs import ProgramError, program_from_file

_LINE = re.compile(r'#line (\d+)(?: "([^"]*)")?')


def prove_file(
    path: Path,
    kernel_name: str,
    workload: Workload,
    *,
    template_arguments: Sequence[str] = (),
    limit_ms: int = LIMIT_MS,
    replayed: bool = True,
) -> tuple[Obligation, ...]:
    """Every obligation of a kernel of a file, by line of that file.

    Template arguments are needed where no launch in the file gives them. Raises `ProgramError` when no program can be
    made of it, `UnreadableError` when it cannot be parsed, and `SolverMissingError` without Z3.
    """
    program, workload = one_launch(path, kernel_name, workload, template_arguments=template_arguments)
    return prove_program(program, path, workload, limit_ms=limit_ms, replayed=replayed, name=kernel_name)


def one_launch(
    path: Path,
    kernel_name: str,
    workload: Workload,
    *,
    data: bytes | None = None,
    template_arguments: Sequence[str] = (),
) -> tuple[Program, Workload]:
    """The program of a kernel that is launched once, and its workload with that launch as its only one.

    `data` is the file's text where that is not what the disk holds. Raises `ProgramError`, for a sequence too.
    """
    arguments: Sequence[str] | None = None
    if workload.launches:
        only, *others = workload.launches
        names = (
            [a for a in only.arguments or () if isinstance(a, str)] if isinstance(only, KernelLaunch) else []
        )
        if others or not isinstance(only, KernelLaunch) or len(names) < len(only.arguments or ()):
            raise ProgramError("proofs are about one launch of one kernel; the workload describes a sequence")
        arguments = names if only.arguments is not None else None
        template_arguments = only.template_arguments or template_arguments
        workload = workload.model_copy(update={"launches": ()})
    program = program_from_file(
        path, kernel_name, workload, data=data, template_arguments=template_arguments, arguments=arguments
    )
    return program, workload


def prove_program(
    program: Program,
    path: Path,
    workload: Workload,
    *,
    limit_ms: int = LIMIT_MS,
    replayed: bool = True,
    name: str = "",
) -> tuple[Obligation, ...]:
    """The same of a program that stands in a file; `name`: its kernel's, where that is not its entry. Raises alike."""
    kernel, lines, replay = _read(program, path, workload, name)
    obligations = prove(kernel, setting_of(kernel, workload, program), lines=lines, limit_ms=limit_ms)
    return tuple(replay.confirmed(o) for o in obligations) if replayed else obligations


def proving(
    program: Program,
    path: Path,
    workload: Workload,
    *,
    kinds: Kinds,
    limit_ms: int = LIMIT_MS,
    name: str = "",
    run_seconds: float = RUN_SECONDS,
) -> Iterator[Obligation]:
    """The obligations of some kinds as they end, confirmed: who asks may stop at any one. Raises alike.

    `run_seconds`: what confirming one counterexample by running the kernel may take.
    """
    kernel, lines, replay = _read(program, path, workload, name)
    replay.seconds = run_seconds
    setting = setting_of(kernel, workload, program)
    yield from map(replay.confirmed, in_turn(kernel, setting, lines=lines, limit_ms=limit_ms, kinds=kinds))


def _read(
    program: Program, path: Path, workload: Workload, name: str
) -> tuple[Kernel, Mapping[int, int], Replay]:
    """The kernel, its lines in the file, and what runs it at the sizes of a counterexample."""
    kernel = kernel_of(program, name or program.entry.partition("<")[0], path)
    lines = line_map(program.source) if program.language == "cuda" else {}
    order = program.arguments or tuple(a.name for a in workload.args)
    fixed = (program.launch or workload.launch.spec()).constexpr
    own = (p.name for p in kernel.parameters if not p.constexpr and p.name not in fixed)
    return kernel, lines, Replay(program, workload, names=dict(zip(own, order, strict=False)))


def kernel_of(program: Program, name: str, path: Path) -> Kernel:
    """The kernel as it stands in the program's text, with what headers give. Raises `ProgramError`."""
    kernel = read(program.source.encode(), Language(program.language)).kernel(name)
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
