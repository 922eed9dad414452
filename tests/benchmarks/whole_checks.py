"""From a kernel to a verdict with nothing written by hand: `klineage check` on kernels drawn from repositories.

python -m tests.benchmarks whole_checks NAME=REPOSITORY:FOLDER[,FOLDER]=COUNT … [--language cuda] [--seed 13]
    [--seconds 60] [--rows FILE]
python -m tests.benchmarks whole_checks --from FILE [--before FILE]

So many kernels of each repository are drawn with the seed, whether or not their drafts are complete; each is checked in
a process of its own as `klineage check FILE:KERNEL --seconds 60` does it, and the row says where the time went: reading
host code, running the kernel to see its shapes, building it, running it, its mutants. One kernel at a time.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kernel_lineage.kernels.reading import language_of
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.state import State

from .drafts import files_of, reason

SUMMARY = "for how many kernels of some repositories a check ends in a verdict, and where the time goes"
_STARTING = 30.0
"""What a check may take beside its seconds before it is ended from outside."""


@dataclass(frozen=True)
class Row:
    """One kernel."""

    repository: str
    path: str
    kernel: str
    state: str
    """`right`, `wrong` or `unknown`."""
    reason: str
    seconds: float
    processor: float = 0.0
    """Seconds of processors, without those of processes that outlive their parents."""
    parts: dict[str, float] = field(default_factory=dict)
    """Seconds by the clock of what the check did, by name."""

    @property
    def name(self) -> tuple[str, str, str]:
        """What tells it from others."""
        return self.repository, self.path, self.kernel


def drawn(root: Path, folders: list[str], count: int, seed: int, language: Language) -> list[tuple[str, str]]:
    """Kernels of some folders, as path and name."""
    state = State(root.resolve())
    kernels = []
    for file in files_of(root, folders):
        path = str(file.relative_to(root))
        if language_of(path, file.read_bytes()) is language:
            kernels += [(path, kernel.name) for kernel in state.source(path).kernels]
    return random.Random(seed).sample(kernels, min(count, len(kernels)))


def rows(name: str, location: str, seed: int, seconds: float, language: Language, only: str) -> Iterator[Row]:
    """The drawn kernels of `REPOSITORY:FOLDER,FOLDER=COUNT` with `only` in their names, one after the other."""
    place, _, count = location.rpartition("=")
    root, _, folders = place.partition(":")
    for path, kernel in drawn(
        Path(root), folders.split(",") if folders else [""], int(count), seed, language
    ):
        if only in kernel:
            yield checked(name, Path(root), path, kernel, seconds)


def checked(name: str, root: Path, path: str, kernel: str, seconds: float) -> Row:
    """One kernel, checked in a process of its own."""
    command = [sys.executable, "-m", "tests.benchmarks", "whole_checks", "--one"]
    started, spent = time.monotonic(), _of_children()
    try:
        done = subprocess.run(
            [*command, f"{root / path}:{kernel}", "--seconds", str(seconds)],
            stdout=subprocess.PIPE,
            timeout=seconds + _STARTING,
            check=False,
        )
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
        why = f"it ended with {done.returncode}"
    except subprocess.TimeoutExpired:
        answer, why = {}, f"it went on {_STARTING:g} s after its time"
    took = round(time.monotonic() - started, 1)
    return Row(
        name,
        path,
        kernel,
        answer.get("state", "unknown"),
        answer.get("reason", why),
        took,
        round(_of_children() - spent, 1),
        answer.get("parts", {}),
    )


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def one(target: str, seconds: float) -> dict[str, Any]:
    """The command's answer on one kernel, and the seconds of its parts."""
    from click.testing import CliRunner

    from kernel_gate.worker import Worker
    from kernel_lineage.cli.commands import check
    from kernel_lineage.workloads import completing, draft

    parts: dict[str, float] = {}

    def timed(owner: Any, function: str, part: Callable[..., str]) -> None:
        whole = getattr(owner, function)

        def watched(*positional: Any, **named: Any) -> Any:
            started = time.monotonic()
            try:
                result = whole(*positional, **named)
            finally:
                key = part(*positional)
                parts[key] = round(parts.get(key, 0.0) + time.monotonic() - started, 1)
            for stage in getattr(result, "stages", ()):
                key = f"{part(*positional)}: {stage.name}"
                parts[key] = round(parts.get(key, 0.0) + (stage.seconds or 0.0), 1)
            return result

        setattr(owner, function, watched)

    def judged(_worker: Worker, request: Any, *_: Any) -> str:
        if "(mutant)" not in request.candidate.name:
            return "verdict"
        return "itself" if request.candidate.source == request.baseline.source else "mutants"

    timed(draft, "with_measured_shapes", lambda *_: "measuring")
    timed(completing, "draft_of", lambda *_: "drafting")
    timed(completing, "prove", lambda *_: "proof by mutants")
    timed(Worker, "judge", judged)
    result = CliRunner().invoke(check.command, [target, "--seconds", str(seconds), "--json"])
    document = json.loads(result.stdout) if result.stdout.startswith("{") else {}
    kernel = document["kernels"][0] if document else {"state": "unknown", "reason": result.output}
    return {"state": kernel["state"], "reason": kernel["reason"], "parts": parts}


def page(checks: list[Row], before: list[Row]) -> str:
    """A line a kernel, beside what it was before, and the reasons of those without a verdict."""
    earlier = {row.name: row for row in before}
    lines = [
        "| kernel | before | verdict | seconds before | seconds | of processors | where the seconds went |",
        "|---|---|---|---:|---:|---:|---|",
    ]
    for row in checks:
        old = earlier.get(row.name)
        went = ", ".join(f"{part} {seconds:.0f}" for part, seconds in row.parts.items() if seconds >= 0.5)
        lines.append(
            f"| `{row.kernel}` ({row.repository}) | {_verdict(old)} | {_verdict(row)} | "
            f"{'–' if old is None else f'{old.seconds:.0f}'} | {row.seconds:.0f} | {row.processor:.0f} | {went} |"
        )
    decided = sum(row.state != "unknown" for row in checks)
    lines += ["", f"{decided} of {len(checks)} end in a verdict."]
    return "\n".join(lines) + "\n"


def _verdict(row: Row | None) -> str:
    if row is None:
        return "–"
    return row.state if row.state == "right" else f"{row.state}: {reason(row.reason).replace('|', '¦')}"


def _read(files: list[Path]) -> list[Row]:
    return [Row(**json.loads(line)) for file in files for line in file.read_text().splitlines()]


def main(arguments: list[str]) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repositories", nargs="*", metavar="NAME=REPOSITORY:FOLDER[,FOLDER]=COUNT")
    parser.add_argument("--language", type=Language, choices=list(Language), default=Language.TRITON)
    parser.add_argument("--seed", type=int, default=13, help="which kernels are drawn")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each check")
    parser.add_argument("--rows", type=Path, help="where each kernel's row is written as it comes")
    parser.add_argument("--kernel", default="", help="only drawn kernels with this in their name")
    parser.add_argument("--from", dest="earlier", type=Path, nargs="+", default=[], help="files of --rows")
    parser.add_argument("--before", type=Path, nargs="+", default=[], help="rows of an earlier state, beside")
    parser.add_argument("--one", default="", help="FILE:KERNEL: its answer as JSON")
    options = parser.parse_args(arguments)
    if options.one:
        print(json.dumps(one(options.one, options.seconds)))  # noqa: T201
        return
    checks = _read(options.earlier)
    for item in options.repositories:
        name, _, location = item.partition("=")
        for row in rows(name, location, options.seed, options.seconds, options.language, options.kernel):
            checks.append(row)
            if options.rows:
                with options.rows.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(asdict(row)) + "\n")
    print(page(checks, _read(options.before)))  # noqa: T201
