"""How far the backward walk takes the kernels of some files, with which steps, and what it could not take off.

python -m tests.benchmarks walks FILE.cu … [--kernel NAME] [--write]

Each kernel's workload is drafted from its file. Rightness is judged on the emulated device. No model is asked.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from kernel_gate.worker import Worker
from kernel_gate.workload import WorkloadError
from kernel_lineage.learning.backward.walk import walk
from kernel_lineage.rewrite.program_edits import mechanisms_in
from kernel_lineage.skills.library import library
from kernel_lineage.workloads.of_state import NoDraft, State, draft_for
from kernel_lineage.workloads.programs import ProgramError, program_from_file

SUMMARY = "how far the backward walk takes the kernels of some files"
RESULTS = Path(__file__).parent / "results"
FIRST = frozenset(
    {
        "drop_eviction_policy",
        "drop_launch_bounds",
        "drop_restrict",
        "drop_unroll",
        "exact_math",
        "plain_access",
    }
    | {"unpad_shared_tile"}
)
"""What the walk began with."""
_WORDS = """*First*: steps that the seven simplifications of the first version take. *Again*: steps
that a skill's assist makes anew, rightly."""


@dataclass(frozen=True)
class Row:
    """One kernel."""

    kernel: str
    steps: tuple[str, ...]
    """The simplifications, in the order of the walk."""
    again: tuple[str, ...]
    """For each step forward whether an assist made it anew: `right`, `wrong` or `unknown`; `none` where none did."""
    failed: tuple[str, ...]
    """Simplifications that made it wrong."""
    ended: str
    left: tuple[str, ...] = ()
    """Mechanisms of the simplest kernel."""


def row_of(state: State, path: str, kernel: str, worker: Worker) -> Row:
    """The walk from one kernel."""
    draft = draft_for(state, path, kernel)
    if isinstance(draft, NoDraft):
        return Row(kernel, (), (), (), f"no workload: {draft.reason}")
    try:
        workload = draft.workload()
        expert = program_from_file(state.root / path, kernel, workload)
        steps_back = walk(
            expert, workload, worker.judge, library(state.root).skills, device="emulated", most=24
        )
    except (ProgramError, WorkloadError) as error:
        return Row(kernel, (), (), (), str(error).splitlines()[0])
    simplest = steps_back.steps[-1].before if steps_back.steps else expert
    return Row(
        kernel,
        tuple(step.simplification for step in steps_back.steps),
        tuple(step.forward.state.value if step.forward.skill else "none" for step in steps_back.steps),
        tuple(f"{f.simplification}: {f.reason}" for f in steps_back.failed),
        steps_back.ended,
        tuple(sorted(mechanisms_in(simplest))),
    )


def render(rows: list[Row], where: str) -> str:
    """The page."""
    lines = [
        "# How far the backward walk goes",
        "",
        f"{where}, {date.today()}, emulated device, no model. {_WORDS}",
        "",
        "| kernel | first | now | again | taken off, in this order | made it wrong | mechanisms left |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        first = sum(step in FIRST for step in row.steps)
        steps = ", ".join(f"`{step}`" for step in row.steps) or row.ended
        failed = ", ".join(f"`{failure.partition(':')[0]}`" for failure in row.failed) or "–"
        again = sum(state == "right" for state in row.again)
        left = ", ".join(row.left) or "–"
        lines.append(
            f"| `{row.kernel}` | {first} | {len(row.steps)} | {again} | {steps} | {failed} | {left} |"
        )
    first = sum(step in FIRST for row in rows for step in row.steps)
    lines += ["", f"{len(rows)} kernels: {first} steps first, {sum(len(row.steps) for row in rows)} now."]
    wrong = [f"- `{row.kernel}`: {failure}" for row in rows for failure in row.failed]
    return "\n".join([*lines, *(["", "What made a kernel wrong:", "", *wrong] if wrong else [])]) + "\n"


def main(arguments: list[str]) -> None:
    """Walks and prints the page; `--write` keeps it."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks walks", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--kernel", default="", help="only kernels whose name contains this")
    parser.add_argument("--write", action="store_true", help="write results/walks.{json,md}")
    options = parser.parse_args(arguments)
    rows = []
    with Worker() as worker:
        for file in options.files:
            state = State(file.parent)
            for kernel in state.source(file.name).kernels:
                if options.kernel in kernel.name:
                    rows.append(row_of(state, file.name, kernel.name, worker))
                    print(rows[-1])  # noqa: T201
    text = render(rows, ", ".join(f"`{file.name}`" for file in options.files))
    print(text)  # noqa: T201
    if options.write:
        document = {"date": str(date.today()), "rows": [asdict(row) for row in rows]}
        (RESULTS / "walks.json").write_text(json.dumps(document, indent=1) + "\n")
        (RESULTS / "walks.md").write_text(text)
