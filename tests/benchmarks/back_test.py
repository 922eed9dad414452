"""Back-test of the when: does probing find, with the history cut before a fix, the condition that the fix is about?

Each file in `back_test/` is one pair: repository, commits, kernels, what is expected, and a workload of our own.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.benchmarks.back_test_pairs import SIDES, step_of

from kernel_gate.worker import Worker
from kernel_lineage.history.git import RepositoryError
from kernel_lineage.learning.probes.asking import Budget
from kernel_lineage.learning.probes.probe import probe
from kernel_lineage.learning.steps import Judge
from kernel_lineage.rewrite.programs import ProgramError

SUMMARY = "whether probing a step finds the condition that its history's later fix is about"
PAIRS = Path(__file__).parent / "back_test"
RESULTS = Path(__file__).parent / "results"
_BUDGET = Budget(runs=240, seconds=180)
_RESULTS = ("found", "caught as it is", "missed", "out of reach", "not run")


def back_test(
    clones: Mapping[str, Path], judge: Judge, say: Callable[[str], None], only: str = ""
) -> list[dict[str, Any]]:
    """One row per pair whose repository is among the clones, which are named by the last part of its address."""
    rows = []
    for file in sorted(PAIRS.glob("*.toml")):
        if only not in file.stem:
            continue
        pair = tomllib.loads(file.read_text("utf-8"))
        clone = clones.get(pair["repository"].rsplit("/", 1)[-1])
        if clone is not None:
            rows.append({"pair": file.stem, **_row(pair, clone, judge)})
            say(f"{file.stem}: {rows[-1]['result']} {rows[-1]['why']}")
    return rows


def _row(pair: dict[str, Any], clone: Path, judge: Judge) -> dict[str, Any]:
    about = {key: pair[key] for key in ("repository", "fix", "path", "about", "expects")}
    about |= {side: pair.get(side, {}).get("commit", "written plainly") for side in SIDES}
    about |= {"conditions": []}
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
    about["conditions"] = [
        {"expr": c.condition.expr, "evidence": c.condition.evidence, "share": c.confirmation.share}
        for c in report.conditions
    ]
    found = [c.condition.expr for c in report.conditions if _expected(c.condition.expr, pair["expects"])]
    others = [c.condition.expr for c in report.conditions if c.condition.expr not in found]
    dropped = [f"dropped {d.expr or 'a failure'}: {d.why}" for d in report.dropped]
    cut = [f"cut short: {axis}" for axis in report.not_reached]
    said = [pair["note"]] if "note" in pair else ["no probe failed"] if not (found or dropped) else []
    why = "; ".join([*said, *([] if found else [*dropped, *cut])])
    return {**about, "result": "found" if found else "missed", "why": why, "other": others}


def _expected(expr: str, expects: list[str]) -> bool:
    """Whether it is one of the expected conditions; one that ends in a comparison leaves the bound open."""
    return any(expr == e or (e.endswith("= ") and expr.startswith(e)) for e in expects)


def table(rows: list[dict[str, Any]]) -> str:
    """The committed page."""
    counts = {
        r: sum(row["result"] == r for row in rows)
        for r in ("found", "caught as it is", "missed", "out of reach", "not run")
    }
    lines = [
        "# Back-test of the when",
        "",
        f"{len(rows)} pairs of an optimisation and its later fix (goal: 12): "
        + ", ".join(f"{count} {result}" for result, count in counts.items())
        + ". Emulated device; `python -m tests.benchmarks back_test CLONE… --write`.",
        "",
        "Other conditions were confirmed by held-out cases and are not what the fix is about; they were not judged.",
        "",
        "| pair | fix | expected | result | learned | other | why |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        learned = ", ".join(f"`{c['expr']}`" for c in row["conditions"])
        expects = ", ".join(f"`{e.strip()}`" for e in row["expects"])
        why = str(row["why"]).replace("|", "/").replace("\n", " ")[:300]
        other = len(row.get("other", ()))
        lines.append(
            f"| {row['pair']} | {row['fix']} | {expects} | {row['result']} | {learned} | {other} | {why} |"
        )
    return "\n".join(lines) + "\n"


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> None:
    """Clones as paths; `--write` keeps the results; `--only=TEXT` takes the pairs with it in their names."""
    clones = {Path(a).name: Path(a) for a in arguments if not a.startswith("--")}
    only = next((a.removeprefix("--only=") for a in arguments if a.startswith("--only=")), "")
    with Worker() as worker:
        rows = back_test(clones, worker.judge, _say, only)
    if "--write" in arguments:
        RESULTS.joinpath("back_test.json").write_text(
            json.dumps(rows, indent=1, sort_keys=True) + "\n", "utf-8"
        )
        RESULTS.joinpath("back_test.md").write_text(table(rows), "utf-8")
