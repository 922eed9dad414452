"""Steps that are wrong somewhere and right elsewhere: is the region learned, and is each condition right on both sides?

    python -m tests.benchmarks narrowing [--half looked-at|untuned] [--only NAME] [--rows FILE] [--write]

A step counts when each condition that a reader of its code states is among those that probing gives, none that it gives
is contradicted, and the gate agrees with each on fresh cases of both sides.
"""

from __future__ import annotations

import argparse
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kernel_gate.worker import Worker
from kernel_lineage.learning.probes.asking import Asking, Budget, Saw
from kernel_lineage.learning.probes.holding_out import ENOUGH
from kernel_lineage.learning.probes.probe import probe
from kernel_lineage.learning.steps import Judge
from kernel_lineage.skills.card import Origin

from .narrowing_steps.model import Region
from .narrowing_steps.regions import REGIONS
from .precision_cases import sides

SUMMARY = "steps that are right in a region: whether the region is learned, precise on both sides"
RESULTS = Path(__file__).parent / "results"
_FRESH, _LEAST, _SEED = 8, 3, 77
"""Cases asked on each side of a condition, the fewest that judge it, and what they are drawn by."""
_MOST_SILENT = 3


def row_of(region: Region, judge: Judge, budget: Budget) -> dict[str, Any]:
    """What probing gives for one step, held against what a reader expects."""
    started, step = time.monotonic(), region.step()
    report = probe(step, judge, budget)
    taken = time.monotonic() - started
    learned = [c.condition.expr for c in report.conditions if c.condition.origin is Origin.PROBE]
    counts = {expr: _agreement(region, expr, learned, judge) for expr in learned}
    precise = {e: all(a >= ENOUGH * n and n >= _LEAST for n, a in sides_) for e, sides_ in counts.items()}
    return {
        "step": region.name,
        "half": "untuned" if region.untuned else "looked at",
        "expects": [ways[0] for ways in region.expects],
        "learned": learned,
        "counts": counts,
        "imprecise": [e for e in learned if not precise[e]],
        "failed_as_named": not report.passes,
        "why": "; ".join(
            (report.reason, *(f"{d.expr}: {d.why}" for d in report.dropped), *report.not_reached)
        ),
        "runs": report.runs,
        "seconds": round(taken, 1),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def _matching(ways: tuple[str, ...], learned: list[str]) -> list[str]:
    """The conditions that say what is expected in one of its ways; several, where a way has them with `and`."""
    for way in ways:
        conditions = [next((e for e in learned if _is(e, part)), "") for part in way.split(" and ")]
        if all(conditions):
            return conditions
    return []


def _is(expr: str, wanted: str) -> bool:
    """Whether a condition says what is expected, or that and something else beside which it is right too."""
    if wanted in expr.split(" or "):
        return True
    return wanted[-1] in " -" and expr.startswith(wanted)


def _agreement(region: Region, expr: str, learned: list[str], judge: Judge) -> list[tuple[int, int]]:
    """Fresh cases of each side, and those in which the gate agrees."""
    asking = Asking(judge, Budget(runs=10**6, seconds=10.0**6))
    counts = []
    others = [e for e in learned if e != expr]
    drawn = sides(expr, others, region.step(), _SEED)
    for side, cases in zip((Saw.AGREES, Saw.FAILS), drawn, strict=True):
        saw: list[Saw] = []
        for case in cases[: _MOST_SILENT * _FRESH]:
            if len(saw) == _FRESH:
                break
            answer = asking.ask(case.setting)
            if answer.saw is not Saw.SILENT:
                saw.append(answer.saw)
        counts.append((len(saw), sum(s is side for s in saw)))
    return counts


def _scored(row: dict[str, Any]) -> dict[str, Any]:
    """A row with whether what is expected was learned, and whether all that says it is precise."""
    region = next(r for r in REGIONS if r.name == row["step"])
    by_region = [_matching(ways, row["learned"]) for ways in region.expects]
    conditions = [e for some in by_region for e in some]
    return {
        **row,
        "found": all(by_region),
        "right": all(by_region) and not set(conditions) & set(row["imprecise"]),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """The committed page."""
    rows = [_scored(row) for row in rows]
    lines = [
        "# Narrowing",
        "",
        f"{len(rows)} steps that are right in a region only, on the emulated device;",
        "",
    ]
    lines[2] += " `python -m tests.benchmarks narrowing --write`."
    for half in ("looked at", "untuned"):
        group = [r for r in rows if r["half"] == half]
        right, with_condition = sum(r["right"] for r in group), sum(r["found"] for r in group)
        more = sum(len(r["imprecise"]) for r in group)
        named = sum(r["failed_as_named"] for r in group)
        lines.append(
            f"- {half}: {right} of {len(group)} with the right condition, precise on both sides ({with_condition} "
            f"found at all); {more} conditions imprecise; {named} of them fail on what their workload names"
        )
    lines += [
        "",
        "The untuned half was written before it was first run, and none of it was looked at while probing was changed:",
        "a step that was looked at moves to the other half.",
        "",
        "| half | step | expected | learned: holds, broken | right | runs | s |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda r: (r["half"], r["step"])):
        conditions = "; ".join(
            f"`{e}` {', '.join(f'{agree} of {cases}' for cases, agree in row['counts'][e])}"
            for e in row["learned"]
        )
        expects = ", ".join(f"`{e.strip()}`" for e in row["expects"])
        lines.append(
            f"| {row['half']} | {row['step']} | {expects} | {conditions or row['why'][:120]} | "
            f"{'yes' if row['right'] else 'no'} | {row['runs']} | {row['seconds']} |"
        )
    return "\n".join([*lines, ""])


def main(arguments: list[str]) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="narrowing", description=__doc__)
    parser.add_argument("--half", choices=["looked-at", "untuned", "all"], default="all")
    parser.add_argument("--only", default="", help="steps whose name has this in it")
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=60.0, help="for probing one step")
    parser.add_argument(
        "--rows", type=Path, help="a file of rows, one a line: what is there is not asked again"
    )
    parser.add_argument("--write", action="store_true", help="write the page from the rows")
    asked = parser.parse_args(arguments)
    kept = asked.rows.read_text().splitlines() if asked.rows and asked.rows.exists() else []
    rows = [json.loads(line) for line in kept]
    done = {row["step"] for row in rows}
    with Worker() as worker:
        for region in REGIONS:
            wanted = asked.half == "all" or region.untuned == (asked.half == "untuned")
            if region.name in done or asked.only not in region.name or not wanted:
                continue
            row = row_of(region, lambda r: worker.judge(r, timeout=60.0), Budget(asked.runs, asked.seconds))
            rows.append(row)
            print(json.dumps(row), flush=True)  # noqa: T201
            if asked.rows:
                with asked.rows.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    if asked.write:
        RESULTS.joinpath("narrowing.md").write_text(table(rows), "utf-8")
