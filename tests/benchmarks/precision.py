"""Precision of the when: on fresh cases that hold and that break each learned condition, does the gate agree with it?

python -m tests.benchmarks precision [NAME …] [--own] [--sample] [--back-test CLONE …] [--repository PATH …]
    [--learned NAME.learned.jsonl.gz … [--anew]] [--seconds N] [--rows FILE] [--write]

Steps come from the examples of the axes and the pairs of tests/learning/probes (`--own`, and where nothing else is
named), the sample repository, the pairs of the back-test, repositories that are replayed for it, and what `replay
--learn --into` has kept; NAME takes only those whose name contains it. `--rows` keeps what each step gave, and goes on
from there; `--write` puts the rows in the place of earlier ones of the same steps.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.benchmarks.precision_cases import Case, kind_of, sides
from tests.benchmarks.precision_sources import (
    StudiedStep,
    back_test_steps,
    learned_steps,
    own_steps,
    repository_steps,
    sample_steps,
)
from tests.benchmarks.precision_table import table

from kernel_gate.fleet.places import places
from kernel_gate.fleet.pool import LocalPool
from kernel_lineage.learning.probes.asking import Asking, Budget, Saw
from kernel_lineage.learning.probes.probe import probe
from kernel_lineage.learning.probes.probed_conditions import SUFFICIENT
from kernel_lineage.learning.steps import Judge
from kernel_lineage.skills.card import Origin

SUMMARY = "on fresh cases on both sides of each learned condition, whether the gate agrees with it"
RESULTS = Path(__file__).parent / "results"
CASES = 20
"""Asked on each side of a condition."""
_SEED = 4711
_UNLIMITED = Budget(runs=10**6, seconds=10.0**6)
_MOST_SILENT = 3
"""Cases tried for each that is wanted: where the earlier state fails as well, nothing is said."""


@dataclass
class Side:
    """What the gate said of the cases on one side."""

    cases: int = 0
    agree: int = 0
    silent: int = 0
    against: list[dict[str, Any]] | None = None

    def row(self) -> dict[str, Any]:
        """As it is kept."""
        return {
            "cases": self.cases,
            "agree": self.agree,
            "silent": self.silent,
            "against": self.against or [],
        }


def rows_of(replayed: StudiedStep, judge: Judge, budget: Budget) -> Iterator[dict[str, Any]]:
    """One row for each condition that was learned of a step, or one that says that there is none."""
    step, learned = replayed.step, dict(replayed.conditions)
    why = ""
    if not replayed.studied:
        report = probe(step, judge, budget)
        # What a proof says of huge sizes no case can break here.
        probed = (c.condition for c in report.conditions if c.condition.origin is Origin.PROBE)
        learned = {c.expr: c.evidence or "" for c in probed}
        dropped = (f"{d.expr or 'a failure'}: {d.why}" for d in report.dropped)
        why = report.reason or "; ".join((*dropped, *report.not_reached))
    about = {"source": replayed.source, "step": replayed.name, "kernel": step.workload.kernel}
    about |= {"language": step.workload.language, "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M")}
    if not learned:
        yield {**about, "expr": "", "why": why or "no probe failed"}
    for expr, evidence in learned.items():
        others = [e for e in learned if e != expr]
        kept, broken = sides(expr, others, step, _SEED)
        yield {
            **about,
            "expr": expr,
            "kind": kind_of(expr, step.workload),
            "kept": _asked(kept, Saw.AGREES, judge).row(),
            "broken": _asked(broken, Saw.FAILS, judge).row(),
            "sufficient": SUFFICIENT in evidence,
            "why": why,
        }


def _asked(drawn: Iterable[Case], expected: Saw, judge: Judge) -> Side:
    side = Side(against=[])
    asking = Asking(judge, _UNLIMITED)
    for case in drawn:
        if side.cases == CASES or side.silent == _MOST_SILENT * CASES:
            break
        answer = asking.ask(case.setting)
        if answer.saw is Saw.SILENT:
            side.silent += 1
            continue
        side.cases += 1
        side.agree += answer.saw is expected
        if answer.saw is not expected and side.against is not None:
            dims = {**case.setting.dims, "seed": case.setting.seed}
            side.against.append({"facts": list(case.facts), "dims": dims, "said": answer.reason[:200]})
    return side


def measured(
    steps: Iterable[StudiedStep], pool: LocalPool, budget: Budget, keep: Callable[[dict[str, Any]], None]
) -> list[dict[str, Any]]:
    """The rows of all steps, each handed to `keep` as soon as it is there."""

    def one(replayed: StudiedStep) -> list[dict[str, Any]]:
        rows = list(rows_of(replayed, pool.judge, budget))
        for row in rows:
            keep(row)
        return rows

    with ThreadPoolExecutor(pool.size) as threads:
        return [row for rows in threads.map(one, steps) for row in rows]


def _wanted(options: argparse.Namespace, pool: LocalPool) -> Iterator[StudiedStep]:
    if options.own or not (options.sample or options.back_test or options.repository or options.learned):
        yield from own_steps()
    if options.sample:
        yield from sample_steps(pool)
    yield from back_test_steps(options.back_test)
    yield from learned_steps(options.learned, pool, anew=options.anew)
    yield from repository_steps(options.repository, pool, options.replay_seconds)


def _once(
    steps: Iterable[StudiedStep], names: Sequence[str], done: set[tuple[str, str]]
) -> Iterator[StudiedStep]:
    """Those of the wanted names that are not done: of a step that two replays have kept, the first."""
    for replayed in steps:
        if (replayed.source, replayed.name) not in done and (
            not names or any(n in replayed.name for n in names)
        ):
            done.add((replayed.source, replayed.name))
            yield replayed


def _kept(rows: Sequence[dict[str, Any]]) -> None:
    """Into the results, in the place of earlier rows of the same steps."""
    path = RESULTS / "precision.json"
    steps = {(row["source"], row["step"]) for row in rows}
    earlier = [r for r in json.loads(path.read_text("utf-8")) if (r["source"], r["step"]) not in steps]
    ordered = sorted([*earlier, *rows], key=lambda r: (r["source"], r["step"], r["expr"]))
    path.write_text(json.dumps(ordered, indent=1, sort_keys=True) + "\n", "utf-8")
    RESULTS.joinpath("precision.md").write_text(table(ordered), "utf-8")


def main(arguments: list[str]) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="only steps whose name contains one of these")
    parser.add_argument("--own", action="store_true", help="our examples and pairs, beside what is named")
    parser.add_argument("--sample", action="store_true", help="the sample repository's steps")
    parser.add_argument(
        "--back-test", type=Path, nargs="+", default=[], help="clones of the pairs' repositories"
    )
    parser.add_argument("--repository", type=Path, nargs="+", default=[], help="to be replayed and studied")
    parser.add_argument("--replay-seconds", type=float, default=240.0, help="for replaying each repository")
    parser.add_argument("--learned", type=Path, nargs="+", default=[], help="what a replay has kept")
    parser.add_argument("--anew", action="store_true", help="probe what a replay has kept once more")
    parser.add_argument("--seconds", type=float, default=Budget().seconds, help="for probing a step")
    parser.add_argument(
        "--rows", type=Path, help="a file of rows, one a line: what is there is not asked again"
    )
    parser.add_argument("--write", action="store_true", help="keep the figures in results/")
    options = parser.parse_args(arguments)
    rows = (
        [json.loads(line) for line in options.rows.read_text().splitlines()]
        if options.rows and options.rows.exists()
        else []
    )
    done = {(row["source"], row["step"]) for row in rows}

    def keep(row: dict[str, Any]) -> None:
        sides = {
            side: f"{row[side]['agree']}/{row[side]['cases']}" for side in ("kept", "broken") if side in row
        }
        sys.stderr.write(f"{row['step']}: {row['expr'] or row['why']} {sides or ''}\n")
        if options.rows:
            with options.rows.open("a") as file:
                file.write(json.dumps(row) + "\n")

    with LocalPool(places("emulated")) as pool:
        fresh = _once(_wanted(options, pool), options.names, done)
        rows += measured(fresh, pool, Budget(seconds=options.seconds), keep)
    sys.stdout.write(table(rows))
    if options.write:
        _kept(rows)
