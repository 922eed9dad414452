"""Back-test of the when: does probing find, with the history cut before a fix, the condition that the fix is about?

Each file in `back_test/` is one pair: repository, commits, kernels, what is expected, and a workload of our own.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernel_gate.program import Program
from kernel_gate.worker import Worker
from kernel_gate.workload import Workload
from kernel_lineage.history.git import RepositoryError, open_repository
from kernel_lineage.history.trees import trees
from kernel_lineage.learning.probes.asking import Budget
from kernel_lineage.learning.probes.probe import probe
from kernel_lineage.learning.steps import Judge, Step
from kernel_lineage.rewrite.programs import ProgramError, program_from_file

SUMMARY = (
    "whether probing finds the condition that a history's later fix is about, with the history cut before it"
)
PAIRS = Path(__file__).parent / "back_test"
RESULTS = Path(__file__).parent / "results"
_BUDGET = Budget(runs=160, seconds=90)


def back_test(clones: Mapping[str, Path], judge: Judge, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """One row per pair whose repository is among the clones, which are named by the last part of its address."""
    rows = []
    for file in sorted(PAIRS.glob("*.toml")):
        pair = tomllib.loads(file.read_text("utf-8"))
        clone = clones.get(pair["repository"].rsplit("/", 1)[-1])
        if clone is not None:
            rows.append({"pair": file.stem, **_row(pair, clone, judge)})
            say(f"{file.stem}: {rows[-1]['result']} {rows[-1]['why']}")
    return rows


def _row(pair: dict[str, Any], clone: Path, judge: Judge) -> dict[str, Any]:
    about = {key: pair[key] for key in ("repository", "fix", "path", "about", "expects")}
    about |= {"before": pair["before"]["commit"], "after": pair["after"]["commit"], "conditions": []}
    workload = Workload.model_validate(pair["workload"])
    try:
        span = f"{pair['before']['commit']}..{pair['after']['commit']}"
        with trees(open_repository(clone), span) as states:
            programs = [
                program_from_file(
                    tree.root / pair["path"],
                    pair[side]["kernel"],
                    workload,
                    root=tree.root,
                    launch=pair[side].get("launch"),
                    name=f"{side}: {Path(pair['path']).name}",
                )
                for side, tree in zip(("before", "after"), states, strict=True)
            ]
    except (RepositoryError, ProgramError) as error:
        return {**about, "result": "not run", "why": str(error)}
    before, after = (_adapted(program, pair) for program in programs)
    step = Step(pair["fix"], before, after, workload, tuple(pair.get("mechanisms", ())))
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


def _adapted(program: Program, pair: dict[str, Any]) -> Program:
    """With the pair's defines, and with stand-ins of ours in the place of imports of the repository's package."""
    source = program.source
    if pair.get("stand_ins"):
        kept = [line for line in source.splitlines() if not line.startswith(pair["without"])]
        at = next(i for i, line in enumerate(kept) if not line.startswith("from __future__"))
        source = "\n".join([*kept[:at], pair["stand_ins"], *kept[at:]]) + "\n"
    return replace(program, source=source, defines={**program.defines, **pair.get("defines", {})})


def _expected(expr: str, expects: list[str]) -> bool:
    """Whether it is one of the expected conditions; one that ends in a comparison leaves the bound open."""
    return any(expr == e or (e.endswith("= ") and expr.startswith(e)) for e in expects)


def table(rows: list[dict[str, Any]]) -> str:
    """The committed page."""
    counts = {
        r: sum(row["result"] == r for row in rows) for r in ("found", "caught as it is", "missed", "not run")
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
    """Clones as paths; `--write` keeps the results."""
    clones = {Path(a).name: Path(a) for a in arguments if not a.startswith("--")}
    with Worker() as worker:
        rows = back_test(clones, worker.judge, _say)
    if "--write" in arguments:
        RESULTS.joinpath("back_test.json").write_text(
            json.dumps(rows, indent=1, sort_keys=True) + "\n", "utf-8"
        )
        RESULTS.joinpath("back_test.md").write_text(table(rows), "utf-8")
