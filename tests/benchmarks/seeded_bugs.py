"""Seeded bugs: right kernels made wrong in every way of `docs/mutations.md`, judged on the emulated device.

    python -m tests.benchmarks seeded_bugs [--write] [--per-kind 2] [--jobs 2] [--kernel NAME] [--llmc PATH]

Each verdict is kept in a file of lines, so that an interrupted study goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from functools import cache
from hashlib import sha256
from pathlib import Path

from kernel_gate.fleet.places import Place
from kernel_gate.fleet.pool import LocalPool
from kernel_gate.options import GateOptions
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Verdict
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.workloads.mutants.model import Mutant
from kernel_lineage.workloads.mutants.registry import mutants_of
from kernel_lineage.workloads.programs import ProgramError, program_from_file

from .judged import judge_all
from .seeded_apart import apart, plain_program
from .seeded_cases import HERE, KERNELS, SeededKernel, llmc_kernels
from .seeded_lines import Distance, distance, fed_by, lines_of

SUMMARY = "share of seeded bugs that the emulated device finds, and with the right line"
RESULTS = Path(__file__).parent / "results"
OPTIONS = GateOptions(check_seconds=30.0, need="not_slower")
"""As a user's run, with less time: a mutant that does not end is ended."""

_FOUND_BY = {
    "wrong-value": "value", "nan-mask-differs": "value", "less-precise": "value", "not-written": "value",
    "not-repeatable": "value", "keeps-state": "value",
    "out-of-bounds": "bounds", "misaligned": "bounds", "illegal-address": "bounds", "input-changed": "bounds",
    "race": "race", "barrier": "barrier", "shuffle": "barrier", "uninitialised-read": "uninitialised",
    "hang": "time", "launch-timeout": "time",
}  # fmt: skip
_SURVIVES = "not-profiled"
"""The reason of a run that found nothing: on this device nothing is timed."""


@dataclass(frozen=True)
class Seeded:
    """One mutant, or the kernel itself (`mutant` is ""), and what became of it."""

    kernel: str
    mutant: str
    kind: str
    line: int
    before: str
    after: str
    fate: str
    """`found`, `survived`, `unbuildable`, or `undecided` for a run that ended otherwise."""
    by: str
    """What found it: value, bounds, race, barrier, uninitialised, time; else the reason's code."""
    named: tuple[int, ...]
    """The lines that the verdict names."""
    distance: Distance
    reason: str
    stored: Distance = "none"
    """The same without the changed lines that a verdict finds by comparing the two texts."""
    fed: int = 0
    """Lines that fed the wrong element."""
    fed_by_change: bool = False
    """Whether the changed line is among those."""
    lines: int = 0
    """Lines of the kernel that hold something."""
    suspects: tuple[int, ...] = ()
    """Lines named when the baseline is another program (`seeded_apart.py`), the likeliest first."""
    suspected: Distance = "none"
    """How the first of them lies to the changed line."""
    apart: Distance = "none"
    """How the best of them does."""


@cache
def kernel_of(seeded: SeededKernel) -> Kernel:
    """The kernel as it is read from its file."""
    language = Language.TRITON if seeded.path.suffix == ".py" else Language.CUDA
    source = read(seeded.path.read_bytes(), language)
    return next(k for k in source.kernels if k.name == seeded.kernel)


def chosen(kernel: Kernel, per_kind: int) -> list[Mutant]:
    """At most `per_kind` mutants of each kind, evenly over the kernel's text; always the same."""
    kinds: dict[str, list[Mutant]] = {}
    for mutant in mutants_of(kernel):
        kinds.setdefault(mutant.kind, []).append(mutant)
    picked = []
    for mutants in kinds.values():
        step = max(1.0, len(mutants) / per_kind)
        picked += [mutants[int(i * step)] for i in range(min(per_kind, len(mutants)))]
    return picked


def request_of(seeded: SeededKernel, source: bytes | None, *, plain: bool = False) -> GateRequest:
    """The kernel against itself (None), or against a mutant. Raises `ProgramError` for one that makes no program.

    `plain`: the baseline is another program of the same function.
    """
    workload = seeded.workload()
    baseline = plain_program(seeded) if plain else program_from_file(seeded.path, seeded.kernel, workload)
    candidate = program_from_file(seeded.path, seeded.kernel, workload, data=source)
    return GateRequest.of(baseline, candidate, workload, device="emulated", options=OPTIONS)


def result_of(seeded: SeededKernel, mutant: Mutant | None, verdict: Verdict) -> Seeded:
    """What a verdict says of a mutant."""
    code = str(verdict.code)
    named = tuple(lines_of(verdict))
    build = next(s for s in verdict.stages if s.name == "build")
    if build.status != "pass":
        fate = "unbuildable"
    elif code == _SURVIVES:
        fate = "survived"
    else:
        fate = "found" if verdict.outcome == "rejected" else "undecided"
    by = _FOUND_BY.get(code, code) if fate in ("found", "undecided") else ""
    row = _row(seeded, mutant, fate, by, named, "none", verdict.reason)
    if mutant is None or fate != "found":
        return row
    kernel = kernel_of(seeded)
    fed = fed_by(verdict)
    changed = range(mutant.line, mutant.line + len(mutant.before.splitlines()))
    return replace(
        row,
        distance=distance(kernel, mutant, list(named)),
        stored=distance(kernel, mutant, lines_of(verdict, by_difference=False)),
        fed=len(fed),
        fed_by_change=any(line in changed for line in fed),
        lines=sum(bool(line.strip()) for line in kernel.text.splitlines()),
    )


def _row(
    seeded: SeededKernel,
    mutant: Mutant | None,
    fate: str,
    by: str,
    named: tuple[int, ...],
    how_far: Distance,
    reason: str,
) -> Seeded:
    about = (
        (mutant.id, mutant.kind, mutant.line, mutant.before, mutant.after) if mutant else ("", "", 0, "", "")
    )
    return Seeded(seeded.name, *about, fate, by, named, how_far, reason)


def study(
    kernels: Sequence[SeededKernel], per_kind: int, jobs: int, kept: Path | None = None
) -> list[Seeded]:
    """Every kernel and its mutants, judged; those that `kept` holds for the same texts are not judged again."""
    earlier = _kept(kept)
    work: list[tuple[str, SeededKernel, Mutant | None, GateRequest]] = []
    rows: dict[str, Seeded] = {}
    for seeded in kernels:
        for mutant in (None, *chosen(kernel_of(seeded), per_kind)):
            try:
                request = request_of(seeded, mutant.source if mutant else None)
            except ProgramError as error:
                key = f"{seeded.name} {mutant.id if mutant else ''}"
                rows[key] = _row(seeded, mutant, "unbuildable", "", (), "none", str(error))
                continue
            key = sha256(request.model_dump_json(exclude={"folder"}).encode()).hexdigest()[:16]
            rows[key] = earlier.get(key) or _row(seeded, mutant, "", "", (), "none", "")
            if key not in earlier:
                work.append((key, seeded, mutant, request))
    with LocalPool([Place(f"emulated {i}") for i in range(jobs)]) as pool:
        for number, verdict in judge_all(pool, [w[3] for w in work], timeout=240.0):
            key, seeded, mutant, _ = work[number]
            rows[key] = result_of(seeded, mutant, verdict)
            if rows[key].fate != "found":
                _keep(kept, key, rows[key])
        again = [w for w in work if w[2] is not None and rows[w[0]].fate == "found"]
        requests = [request_of(w[1], w[2].source if w[2] else None, plain=True) for w in again]
        for number, verdict in judge_all(pool, requests, timeout=240.0):
            key, seeded, mutant, _ = again[number]
            assert mutant is not None
            suspects, first, best = apart(kernel_of(seeded), mutant, verdict)
            rows[key] = replace(rows[key], suspects=suspects, suspected=first, apart=best)
            _keep(kept, key, rows[key])
    return list(rows.values())


def _keep(kept: Path | None, key: str, row: Seeded) -> None:
    if kept is not None:
        with kept.open("a") as file:
            file.write(json.dumps({"key": key, **asdict(row)}) + "\n")


def _kept(kept: Path | None) -> dict[str, Seeded]:
    if kept is None or not kept.exists():
        return {}
    rows = {}
    for line in kept.read_text().splitlines():
        row = json.loads(line)
        key = row.pop("key")
        rows[key] = Seeded(**{**row, **{name: tuple(row[name]) for name in ("named", "suspects")}})
    return rows


@dataclass(frozen=True)
class Explained:
    """Why a mutant survived, as examined by a person."""

    equivalent: bool
    """It computes the same on every input that the workload allows; else it is missed."""
    why: str


def explanations() -> dict[tuple[str, str], Explained]:
    """By kernel and mutant: `seeded/survivors.toml`."""
    table = tomllib.loads((HERE / "survivors.toml").read_text())
    return {
        (kernel, mutant): Explained(about["is"] == "equivalent", about["why"])
        for kernel, mutants in table.items()
        for mutant, about in mutants.items()
    }


def main(arguments: list[str]) -> None:
    """Runs the study and prints it; `--write` keeps it."""
    from .seeded_tables import render

    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks seeded_bugs", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write results/seeded_bugs.{json,md}")
    parser.add_argument("--per-kind", type=int, default=1, help="mutants of each kind and kernel")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kernel", help="only kernels whose name contains this")
    parser.add_argument("--llmc", type=Path, help="a checkout of llm.c, whose kernels are added")
    parser.add_argument("--kept", type=Path, help="a file of lines with verdicts of an interrupted study")
    options = parser.parse_args(arguments)
    kernels = [*KERNELS, *(llmc_kernels(options.llmc) if options.llmc else ())]
    kernels = [k for k in kernels if not options.kernel or options.kernel in k.name]
    rows = study(kernels, options.per_kind, options.jobs, options.kept)
    text = render(rows, explanations(), options.per_kind)
    print(text)  # noqa: T201
    if options.write:
        document = {
            "date": str(date.today()),
            "per_kind": options.per_kind,
            "rows": [asdict(r) for r in rows],
        }
        (RESULTS / "seeded_bugs.json").write_text(json.dumps(document, indent=1) + "\n")
        (RESULTS / "seeded_bugs.md").write_text(text)
