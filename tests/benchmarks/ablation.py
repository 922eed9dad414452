"""What each way of looking closer adds: mutants of public kernels that are rejected with it and without it.

    python -m tests.benchmarks ablation NAME=REPOSITORY[:FOLDER,…] … [--kernels 4] [--mutants 4] [--seconds S]
        [--rows FILE] [--write]

Kernels whose workload is drafted whole, and that pass with it, are drawn by a hash with `--seed`, and so are mutants of
each. A mutant is first judged by shapes and values that do not depend on its code (`plain`). One that passes so is
judged again with one of the four alone: cases that follow the code, callers' sizes, exact algebra, proofs of both
programs. What is rejected *without* one of them is what plain cases or another of the four reject.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

from kernel_gate.built import Built
from kernel_gate.cases import Case
from kernel_gate.gate import judge
from kernel_gate.kept import Kept
from kernel_gate.memory_cases import memory_cases
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.verdict import Outcome, Verdict
from kernel_gate.workload import Workload, WorkloadError
from kernel_lineage.kernels.reading import language_of
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.proving.both import judged_with_proofs
from kernel_lineage.workloads.completing import tried_draft
from kernel_lineage.workloads.mutants.registry import mutants_of
from kernel_lineage.workloads.of_state import NoDraft, State, draft_for
from kernel_lineage.workloads.programs import ProgramError, program_from_file

from .drafts import _files

SUMMARY = "mutants of public kernels that are rejected with and without each way of looking closer"
RESULTS = Path(__file__).parent / "results"
ITEMS = ("follow", "callers", "algebra", "proofs")
_CAUGHT = ("rejected", "condition", "change-not-compiled")
NAMES = {
    "follow": "cases that follow the code",
    "callers": "callers' sizes",
    "algebra": "exact algebra",
    "proofs": "proofs of both programs",
}


def _first(text: str, seed: int) -> str:
    return hashlib.sha256(f"{seed} {text}".encode()).hexdigest()


def kernels_of(
    root: Path, folders: list[str], count: int, seed: int
) -> Iterator[tuple[Path, Kernel, Workload]]:
    """So many kernels of a repository that pass with a workload that is drafted for them."""
    state = State(root)
    files = sorted(_files(root, folders), key=lambda f: _first(str(f.relative_to(root)), seed))
    for file in files:
        if count == 0:
            return
        path = str(file.relative_to(root))
        if language_of(path, file.read_bytes()) is None:
            continue
        for kernel in sorted(state.source(path).kernels, key=lambda k: _first(k.name, seed))[:1]:
            if isinstance(draft_for(state, path, kernel.name, measure=False), NoDraft):
                continue
            try:
                draft, proof = tried_draft(kernel, file, root=root, kinds=(), seconds=20.0, jobs=1)
                workload = draft.workload()
            except (ProgramError, WorkloadError, ValueError):
                continue
            if proof is not None and not proof.baseline:
                yield file, kernel, workload
                count -= 1


def _not_followed(
    cases: Sequence[Case], baseline: Built, _candidate: Built, workload: Workload, seed: int
) -> list[Case]:
    return [*cases, *memory_cases(workload, baseline.program, seed)]


def verdict_with(
    item: str, before: Program, after: Program, path: Path, workload: Workload, kept: Kept, seed: int
) -> Verdict:
    """The verdict by plain cases and one of the four; "" for none."""
    options = GateOptions(
        seed=seed,
        need="not_slower",
        check_seconds=20.0,
        callers_seconds=2.0 if item == "callers" else 0.0,
        algebra_seconds=5.0 if item == "algebra" else 0.0,
    )

    def alone() -> Verdict:
        follow = nullcontext() if item == "follow" else patch("kernel_gate.gate.followed", _not_followed)
        with follow:
            return judge(before, after, workload, device="emulated", options=options, kept=kept)

    return alone() if item != "proofs" else judged_with_proofs(alone, before, after, path, workload)


def rows(
    repository: str, asked: argparse.Namespace, late: Callable[[], bool], done: set[str]
) -> Iterator[dict[str, Any]]:
    """A row for each mutant of one repository."""
    name, _, location = repository.partition("=")
    root, _, folders = location.partition(":")
    wanted = folders.split(",") if folders else [""]
    with Kept(more_follow=True) as kept:
        for path, kernel, workload in kernels_of(Path(root), wanted, asked.kernels, asked.seed):
            for mutant, *programs in islice(_built(path, kernel, workload, asked.seed), asked.mutants):
                key = f"{name} {path.name} {kernel.name} {mutant}"
                if late():
                    return
                if key not in done:
                    about = {"key": key, "repository": name, "kernel": kernel.name, "mutant": mutant}
                    yield {**about, **_seen(programs, path, workload, kept, asked.seed)}


def _built(
    path: Path, kernel: Kernel, workload: Workload, seed: int
) -> Iterator[tuple[str, Program, Program]]:
    """Mutants that make a program, in the order that the seed draws: name, kernel, mutant."""
    for mutant in sorted(mutants_of(kernel), key=lambda m: _first(f"{kernel.name} {m.id}", seed)):
        with suppress(ProgramError):
            before = program_from_file(path, kernel.name, workload)
            yield mutant.id, before, program_from_file(path, kernel.name, workload, data=mutant.source)


def _seen(
    programs: Sequence[Program], path: Path, workload: Workload, kept: Kept, seed: int
) -> dict[str, str]:
    """How a mutant fares by plain cases, and with each of the four where those let it through."""
    seen: dict[str, str] = {}
    before, after = programs
    for item in ("", *ITEMS):
        verdict = verdict_with(item, before, after, path, workload, kept, seed)
        built = verdict.stage("build")
        if built is None or built.status != "pass":
            return {"build": str(verdict.code)}
        seen[item or "plain"] = _fate(verdict)
        if seen["plain"] == "rejected":
            break
    return seen


def _fate(verdict: Verdict) -> str:
    if verdict.outcome is Outcome.REJECTED:
        return "rejected"
    return "condition" if any(s.details.get("conditions") for s in verdict.stages) else str(verdict.code)


def table(outcomes: list[dict[str, Any]]) -> str:
    """The committed page."""
    built = [r for r in outcomes if "build" not in r]
    names = list(dict.fromkeys(r["repository"] for r in built))

    def caught(row: dict[str, Any], items: Sequence[str]) -> bool:
        return any(row.get(i) in _CAUGHT for i in ("plain", *items))

    columns = {"all": ITEMS, "plain cases alone": ()} | {
        f"without {NAMES[i]}": tuple(o for o in ITEMS if o != i) for i in ITEMS
    }
    kernels = len({(r["repository"], r["kernel"]) for r in built})
    head = (
        f"{len(built)} mutants that build, of {kernels} kernels of {len(names)} public repositories, drawn by a hash, "
        "on the emulated device: share that is rejected, let through only under a condition, or told to be in no image."
    )
    lines = ["# Ablation", "", head, "", f"| repository | mutants | {' | '.join(columns)} |"]
    lines.append(f"|{'---|' * (len(columns) + 2)}")
    for name in (*names, "together"):
        group = [r for r in built if name in ("together", r["repository"])]
        shares = (f"{sum(caught(r, items) for r in group) / len(group):.1%}" for items in columns.values())
        lines.append(f"| {name} | {len(group)} | {' | '.join(shares)} |")
    alone = {i: [r for r in built if r.get(i) in _CAUGHT and r["plain"] not in _CAUGHT] for i in ITEMS}
    lines += ["", "Seen by one of the four and not by plain cases:", ""]
    for item, some in alone.items():
        examples = ", ".join(f"{r['kernel']} {r['mutant']}" for r in some)
        lines.append(f"- {NAMES[item]}: {examples or 'none'}")
    through = [r for r in built if not caught(r, ITEMS)]
    lines += ["", "Let through by all (some compute the same):", ""]
    lines += [f"- {r['repository']} {r['kernel']} {r['mutant']}: {r['plain']}" for r in through]
    return "\n".join([*lines, ""])


def main(arguments: list[str]) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="ablation", description=__doc__)
    parser.add_argument("repositories", nargs="*", metavar="NAME=REPOSITORY[:FOLDER,…]")
    parser.add_argument("--kernels", type=int, default=4, help="of each repository")
    parser.add_argument("--mutants", type=int, default=4, help="of each kernel")
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--seconds", type=float, default=3600.0, help="after which no mutant is begun")
    parser.add_argument(
        "--rows", type=Path, help="a file of rows, one a line: what is there is not asked again"
    )
    parser.add_argument("--write", action="store_true", help="write the page from the rows")
    asked = parser.parse_args(arguments)
    kept = asked.rows.read_text().splitlines() if asked.rows and asked.rows.exists() else []
    outcomes = [json.loads(line) for line in kept]
    until = time.monotonic() + asked.seconds
    for repository in asked.repositories:
        for row in rows(repository, asked, lambda: time.monotonic() > until, {r["key"] for r in outcomes}):
            outcomes.append(row)
            print(json.dumps(row), flush=True)  # noqa: T201
            if asked.rows:
                with asked.rows.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    if asked.write:
        RESULTS.joinpath("ablation.md").write_text(table(outcomes), "utf-8")
