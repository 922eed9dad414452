"""Back-test of the when: does probing find, with the history cut before a fix, the condition that the fix is about?

Each file in `back_test/` is one pair: repository, commits, kernels, what is expected, and a workload of our own.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.benchmarks.back_test_pairs import SIDES, step_of
from tests.benchmarks.precision_cases import sides

from kernel_gate.worker import Worker
from kernel_lineage.history.git import RepositoryError
from kernel_lineage.learning.probes.asking import Asking, Budget, Saw
from kernel_lineage.learning.probes.holding_out import ENOUGH
from kernel_lineage.learning.probes.probe import probe
from kernel_lineage.learning.probes.report import ProbedCondition, ProbeReport
from kernel_lineage.learning.steps import Judge, Step
from kernel_lineage.skills.card import Origin
from kernel_lineage.workloads.programs import ProgramError

SUMMARY = "whether probing a step finds the condition that its history's later fix is about"
PAIRS = Path(__file__).parent / "back_test"
RESULTS = Path(__file__).parent / "results"
_BUDGET = Budget()
"""As `probe` has it by default; on a loaded machine it is the time that ends."""
_FRESH, _LEAST, _SEED = 5, 2, 7
"""Cases on each side of a condition that no fix is about, the fewest that judge it, and what they are drawn by."""
EXPECTED, TRUE, SPURIOUS, NOT_JUDGED = "what the fix is about", "another truth", "spurious", "not judged"
_JUDGEMENTS = (EXPECTED, TRUE, SPURIOUS, NOT_JUDGED)
_RESULTS = ("found", "caught as it is", "missed", "out of reach", "not run")


def back_test(clones: Mapping[str, Path], judge: Judge, only: str = "") -> Iterator[dict[str, Any]]:
    """One row per pair whose repository is among the clones, which are named by the last part of its address."""
    for file in sorted(PAIRS.glob("*.toml")):
        pair = tomllib.loads(file.read_text("utf-8"))
        clone = clones.get(pair["repository"].rsplit("/", 1)[-1])
        if clone is not None and re.search(only, file.stem):
            yield {"pair": file.stem, **_row(pair, clone, judge)}


def _row(pair: dict[str, Any], clone: Path, judge: Judge) -> dict[str, Any]:
    about = {key: pair[key] for key in ("repository", "fix", "path", "about", "expects")}
    about |= {side: pair.get(side, {}).get("commit", "written plainly") for side in SIDES}
    about |= {"conditions": [], "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M")}
    if "out_of_reach" in pair:
        return {**about, "result": "out of reach", "why": pair["out_of_reach"]}
    try:
        step = step_of(pair, clone)
    except (RepositoryError, ProgramError) as error:
        return {**about, "result": "not run", "why": str(error)}
    report = probe(step, judge, _BUDGET, only=pair.get("axes", ()))
    about["runs"] = report.runs
    if not report.passes:
        caught = pair.get("fails_as_it_is")
        result = "caught as it is" if caught and caught in report.reason else "not run"
        return {**about, "result": result, "why": report.reason}
    about["conditions"] = [_judged(pair, step, report, condition, judge) for condition in report.conditions]
    has_condition = any(c["judged"] == EXPECTED for c in about["conditions"])
    dropped = [f"dropped {d.expr or 'a failure'}: {d.why}" for d in report.dropped]
    cut = [f"cut short: {axis}" for axis in report.not_reached]
    reasons = [] if has_condition or dropped else ["no probe failed"]
    why = "; ".join([] if has_condition else [*reasons, *dropped, *cut])
    return {**about, "result": "found" if has_condition else "missed", "why": why}


def _judged(
    pair: dict[str, Any], step: Step, report: ProbeReport, condition: ProbedCondition, judge: Judge
) -> dict[str, Any]:
    """A learned condition, and whether it is what the fix is about, another truth, or spurious."""
    expr = condition.condition.expr
    row = {
        "expr": expr,
        "origin": str(condition.condition.origin),
        "evidence": condition.condition.evidence,
        "share": condition.confirmation.share,
    }
    if _expected(expr, pair["expects"]):
        return {**row, "judged": EXPECTED}
    if condition.condition.origin is Origin.PROOF:
        return {**row, "judged": TRUE}
    others = [c.condition.expr for c in report.conditions if c is not condition]
    asking = Asking(judge, Budget(runs=6 * _FRESH))
    counts = []
    for side, cases in zip((Saw.AGREES, Saw.FAILS), sides(expr, others, step, _SEED), strict=True):
        saw = [a.saw for a in asking.all(c.setting for c in cases[:_FRESH]) if a.saw is not Saw.SILENT]
        counts.append((len(saw), sum(s is side for s in saw)))
    row |= {"fresh": counts}
    if min(cases for cases, _ in counts) < _LEAST:
        return {**row, "judged": NOT_JUDGED}
    agree = sum(agreed for _, agreed in counts) / sum(cases for cases, _ in counts)
    return {**row, "judged": TRUE if agree >= ENOUGH else SPURIOUS}


def _expected(expr: str, expects: list[str]) -> bool:
    """Whether it is one of the expected conditions; one that ends in a comparison leaves the bound open."""
    return any(expr == e or (e.endswith("= ") and expr.startswith(e)) for e in expects)


def table(rows: list[dict[str, Any]], pairs: Mapping[str, Mapping[str, Any]]) -> str:
    """The committed page, with what the pairs' files say of why."""
    counts = {r: sum(row["result"] == r for row in rows) for r in _RESULTS}
    learned = [c for row in rows for c in row["conditions"]]
    judged = {j: sum(c["judged"] == j for c in learned) for j in _JUDGEMENTS}
    lines = [
        "# Back-test of the when",
        "",
        f"{len(rows)} pairs of an optimisation and its later fix (goal: 12): "
        + ", ".join(f"{count} {result}" for result, count in counts.items())
        + ". Emulated device; `python -m tests.benchmarks back_test CLONE… --write`.",
        "",
        f"{len(learned)} conditions were learned: "
        + ", ".join(f"{count} {judgement}" for judgement, count in judged.items())
        + ".",
        f"Those that no fix is about were asked of up to {_FRESH} fresh cases on each side, all other conditions kept:",
        "*another truth* is one that the gate agrees with in 95 %, *spurious* one that it does not.",
        "",
        "What a fix asks for was written into a pair's file before the pair was probed. Where nothing else is said the",
        "earlier state is of the history; a kernel's first form has the operator, written plainly by us, before it.",
        "A row is of the last run of its pair, at the time (UTC) that it gives; those with a day only went before.",
        "",
        "| pair | fix | before | expected | result | learned | why | of |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [_line(row, pairs[row["pair"]].get("note", "")) for row in rows]
    others = [(row["pair"], c) for row in rows for c in row["conditions"] if c["judged"] != EXPECTED]
    lines += [
        "",
        "| pair | other condition | judged | fresh cases that agree | because |",
        "|---|---|---|---|---|",
    ]
    for pair, c in others:
        fresh = ", ".join(f"{agreed} of {cases}" for cases, agreed in c.get("fresh", ())) or "proved"
        because = pairs[pair].get("also", {}).get(c["expr"], "")
        lines.append(f"| {pair} | `{c['expr']}` | {c['judged']} | {fresh} | {because} |")
    return "\n".join(lines) + "\n"


def _line(row: dict[str, Any], note: str) -> str:
    learned = ", ".join(f"`{c['expr']}` ({c['origin']})" for c in row["conditions"])
    expects = ", ".join(f"`{e.strip()}`" for e in row["expects"][:3]) + (
        " …" if len(row["expects"]) > 3 else ""
    )
    reason = "; ".join(part for part in (note, row["why"]) if part)
    why = reason.replace("|", "/").replace("\n", " ")[:400]
    cells = [row[name] for name in ("pair", "fix", "before")] + [
        expects,
        row["result"],
        learned,
        why,
        row["date"],
    ]
    return f"| {' | '.join(cells)} |"


def _kept(rows: list[dict[str, Any]]) -> None:
    """Into the results, in the place of earlier rows of the same pairs."""
    path = RESULTS / "back_test.json"
    rows_by_pair = {row["pair"]: row for row in json.loads(path.read_text("utf-8"))} if path.is_file() else {}
    there = {file.stem: tomllib.loads(file.read_text("utf-8")) for file in PAIRS.glob("*.toml")}
    merged = {**rows_by_pair, **{row["pair"]: row for row in rows}}
    all_rows = [row for name, row in sorted(merged.items()) if name in there]
    path.write_text(json.dumps(all_rows, indent=1, sort_keys=True) + "\n", "utf-8")
    RESULTS.joinpath("back_test.md").write_text(table(all_rows, there), "utf-8")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> None:
    """Clones as paths; `--write` keeps each row as it comes; `--only=REGEX` takes the pairs with it in their names."""
    clones = {Path(a).name: Path(a) for a in arguments if not a.startswith("--")}
    only = next((a.removeprefix("--only=") for a in arguments if a.startswith("--only=")), "")
    with Worker() as worker:
        for row in back_test(clones, worker.judge, only):
            learned = ", ".join(f"{c['expr']} [{c['judged']}]" for c in row["conditions"])
            _say(f"{row['pair']}: {row['result']} {learned} {row['why']}")
            if "--write" in arguments:
                _kept([row])
