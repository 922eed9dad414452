"""How many kernels have device code that the gate's build takes: `python -m tests.benchmarks.device_builds FOLDER…`.

A kernel is built with the template's arguments that its draft has, else those of its launches, else `float`, `false`
and numbers. Nothing runs.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import click

from kernel_gate.build.compile import compile_program
from kernel_gate.build.errors import BuildError
from kernel_gate.program import Program
from kernel_lineage.coverage.attempts import drafted_instances
from kernel_lineage.kernels.naming import qualified_name
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.workloads.device_code import device_code
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.programs import ProgramError
from kernel_lineage.workloads.saved import folder_of
from kernel_lineage.workloads.state import State
from kernel_lineage.workloads.switches import switches_for

_ENDINGS = {".cu", ".cuh", ".h", ".hpp"}
_INSTANCES = 3


def instances(kernel: Kernel, path: Path, state: State) -> list[tuple[str, ...]]:
    """The template's arguments to try, the likeliest first."""
    if not kernel.template_parameters:
        return [()]
    drafted = draft_of(kernel, path, state, measure=False).template_arguments
    launched = [launch.template_arguments for launch in kernel.launches]
    some = [tuple(arguments) for arguments in drafted_instances(kernel)][:1]
    return list(dict.fromkeys(a for a in (tuple(drafted), *launched, *some) if a))[:_INSTANCES]


def built(kernel: Kernel, path: Path, root: Path, state: State) -> str:
    """Why no instance of a kernel builds, by the first one; "" where one does."""
    why: list[str] = []
    for arguments in instances(kernel, path, state):
        try:
            if kernel.source is None:
                return "the file is not at hand"
            text, lacking = device_code(kernel.source, (kernel.name,), path, root, arguments)
            switches = switches_for(text, kernel.name)
            compile_program(
                Program(
                    "cuda",
                    text,
                    qualified_name(kernel),
                    template_arguments=arguments,
                    defines=switches,
                    lacking=lacking,
                    name=path.name,
                ),
                "sm_90",
            )
        except (BuildError, ProgramError) as error:
            why.append(str(error))
        else:
            return ""
    return why[0] if why else "no instance is known"


def main(folders: list[str]) -> None:
    """Print the counts of each folder, and why the others do not build."""
    for folder in map(Path, folders):
        state, counts, total = State(folder_of(folder / "x")), Counter[str](), 0
        for path in sorted(p for p in folder.rglob("*") if p.suffix in _ENDINGS):
            data = path.read_bytes()
            if b"__global__" not in data:
                continue
            for kernel in read(data, Language.CUDA).kernels:
                total += 1
                counts[built(kernel, path, state.root, state)] += 1
        click.echo(f"{folder}: {counts.pop('', 0)} of {total} kernels build")
        for why, count in counts.most_common():
            click.echo(f"  {count} {why}")


if __name__ == "__main__":
    main(sys.argv[1:])
