"""Precision of the when: on fresh cases that hold and that break each learned condition, does the gate agree with it?

python -m tests.benchmarks precision [NAME …] [--sample] [--repository PATH …] [--rows FILE] [--write]

Steps come from the examples of the axes, the pairs of tests/learning/probes, the sample repository, and repositories
that are named; NAME takes only those of our own whose name contains it. `--rows` keeps what each step gave, and goes
on from there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.precision_cases import Case, kind_of, sides
from tests.benchmarks.precision_sources import Known, own_steps, repository_steps, sample_steps
from tests.benchmarks.precision_table import table

from kernel_gate.fleet.places import places
from kernel_gate.fleet.pool import LocalPool
from kernel_lineage.learning.probes.asking import Saw, answered
from kernel_lineage.learning.probes.probe import probe
from kernel_lineage.learning.steps import Judge
from kernel_lineage.skills.card import Origin

SUMMARY = "on fresh cases on both sides of each learned condition, whether the gate agrees with it"
RESULTS = Path(__file__).parent / "results"
CASES = 20
"""Asked on each side of a condition."""
_SEED = 4711
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


def rows_of(known: Known, judge: Judge, cases: int = CASES) -> Iterator[dict[str, Any]]:
    """One row for each condition that was learned of a step, or one that says that there is none."""
    step, learned = known.step, list(known.conditions)
    why = ""
    if not known.studied:
        report = probe(step, judge)
        # What a proof says of huge sizes no case can break here.
        learned = [c.condition.expr for c in report.conditions if c.condition.origin is Origin.PROBE]
        dropped = (f"{d.expr or 'a failure'}: {d.why}" for d in report.dropped)
        why = report.reason or "; ".join((*dropped, *report.not_reached))
    about = {"source": known.source, "step": known.name, "kernel": step.workload.kernel}
    about["language"] = step.workload.language
    if not learned:
        yield {**about, "expr": "", "why": why or "no probe failed"}
    for expr in learned:
        others = [e for e in learned if e != expr]
        kept, broken = sides(expr, others, step, _SEED)
        yield {
            **about,
            "expr": expr,
            "kind": kind_of(expr, step.workload),
            "kept": _asked(kept, Saw.AGREES, judge, cases).row(),
            "broken": _asked(broken, Saw.FAILS, judge, cases).row(),
            "why": why,
        }


def _asked(drawn: Iterable[Case], expected: Saw, judge: Judge, cases: int) -> Side:
    side = Side(against=[])
    for case in drawn:
        if side.cases == cases or side.silent == _MOST_SILENT * cases:
            break
        answer = answered(case.setting, judge(case.setting.request()))
        if answer.saw is Saw.SILENT:
            side.silent += 1
            continue
        side.cases += 1
        side.agree += answer.saw is expected
        if answer.saw is not expected and side.against is not None:
            dims = {**case.setting.dims, "seed": case.setting.seed}
            side.against.append({"facts": list(case.facts), "dims": dims, "said": answer.reason[:200]})
    return side


def measured(steps: Iterable[Known], pool: LocalPool, keep: Any) -> list[dict[str, Any]]:
    """The rows of all steps, each handed to `keep` as soon as it is there."""

    def one(known: Known) -> list[dict[str, Any]]:
        rows = list(rows_of(known, pool.judge))
        for row in rows:
            keep(row)
        return rows

    with ThreadPoolExecutor(pool.size) as threads:
        return [row for rows in threads.map(one, steps) for row in rows]


def main(arguments: list[str]) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only own steps whose name contains one of these")
    parser.add_argument("--sample", action="store_true", help="the sample repository's steps too")
    parser.add_argument(
        "--repository", type=Path, action="append", default=[], help="to be replayed and studied"
    )
    parser.add_argument("--seconds", type=float, default=240.0, help="for replaying each repository")
    parser.add_argument(
        "--rows", type=Path, help="a file of rows, one a line: what is there is not asked again"
    )
    parser.add_argument("--write", action="store_true", help="keep the figures in results/")
    given = parser.parse_args(arguments)
    rows = (
        [json.loads(line) for line in given.rows.read_text().splitlines()]
        if given.rows and given.rows.exists()
        else []
    )
    done = {(row["source"], row["step"]) for row in rows}

    def keep(row: dict[str, Any]) -> None:
        sides = {
            side: f"{row[side]['agree']}/{row[side]['cases']}" for side in ("kept", "broken") if side in row
        }
        sys.stderr.write(f"{row['step']}: {row['expr'] or row['why']} {sides or ''}\n")
        if given.rows:
            with given.rows.open("a") as file:
                file.write(json.dumps(row) + "\n")

    with LocalPool(places("emulated")) as pool:
        wanted = [s for s in own_steps() if not given.names or any(name in s.name for name in given.names)]
        wanted += sample_steps(pool) if given.sample else ()
        wanted += repository_steps(given.repository, pool, given.seconds)
        rows += measured([s for s in wanted if (s.source, s.name) not in done], pool, keep)
    sys.stdout.write(table(rows))
    if given.write:
        ordered = sorted(rows, key=lambda r: (r["source"], r["step"], r["expr"]))
        RESULTS.joinpath("precision.json").write_text(json.dumps(ordered, indent=1, sort_keys=True) + "\n")
        RESULTS.joinpath("precision.md").write_text(table(ordered))
