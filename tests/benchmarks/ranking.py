"""How often the counts offer what experts did next: leave one lineage out, and other ways to order beside it."""

from __future__ import annotations

import argparse
import datetime as dt
import json
import random
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from kernel_lineage.history.mine import mine
from kernel_lineage.learning.strategy_counts import observed_steps
from kernel_lineage.skills.ranking.counts import Observation, counted, strategies_of, weight_of
from kernel_lineage.skills.ranking.rank import ELSEWHERE, State, rank

SUMMARY = "what experts did next among the first three offered (needs checkouts)"
OFFERED = 3
_RESULTS = Path(__file__).parent / "results"

Orderer = Callable[[Sequence[Observation], Observation], list[str]]
"""From the observations that may be known and the step to foretell (what it added is not looked at) → strategies."""


@dataclass(frozen=True)
class Case:
    """One step of one lineage."""

    repository: str
    lineage: str
    step: Observation


def main(arguments: list[str]) -> None:
    """Writes `results/ranking.json` and `results/ranking.md`."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks ranking")
    parser.add_argument("checkouts", type=Path, nargs="+")
    parser.add_argument("--shuffles", type=int, default=5)
    parser.add_argument(
        "--write-counts",
        type=Path,
        metavar="FILE",
        help="write the counts of them all, as the package carries them",
    )
    options = parser.parse_args(arguments)
    cases = cases_of(options.checkouts)
    if options.write_counts:
        options.write_counts.write_text(counted(case.step for case in cases).model_dump_json() + "\n")
        return
    rows = measure(cases, options.shuffles)
    names = " ".join(path.name for path in options.checkouts)
    result = {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "command": f"python -m tests.benchmarks ranking {names} --shuffles {options.shuffles}",
        "steps": dict(Counter(case.repository for case in cases)),
        "lineages": len({(case.repository, case.lineage) for case in cases}),
        "rows": rows,
    }
    (_RESULTS / "ranking.json").write_text(json.dumps(result, indent=2) + "\n")
    (_RESULTS / "ranking.md").write_text(as_table(result))
    print(as_table(result))  # noqa: T201


def cases_of(checkouts: Sequence[Path]) -> list[Case]:
    """The steps of all lineages of several repositories."""
    return [
        Case(path.name, lineage.id, step)
        for path in checkouts
        for lineage in mine(path).lineages
        for step in observed_steps([lineage], prefix=f"{path.name}@")
    ]


def measure(cases: Sequence[Case], shuffles: int) -> dict[str, Any]:
    """The share of hits for each way of ordering."""
    rows = {
        "share of those that could": hits(cases, by_share),
        "without the repository's own": hits(cases, by_share, _others),
        "frequency only": hits(cases, by_frequency),
    }
    for name, spoil in (("strategies renamed", _renamed),):
        several = [hits(cases, by_share, partial(spoil, seed=seed)) for seed in range(shuffles)]
        rows[name] = {
            "hit": round(statistics.mean(r["hit"] for r in several), 3),
            "step": round(statistics.mean(r["step"] for r in several), 3),
            "lowest": min(r["hit"] for r in several),
            "highest": max(r["hit"] for r in several),
            "repositories": {
                name: round(statistics.mean(r["repositories"][name] for r in several), 3)
                for name in several[0]["repositories"]
            },
        }
    return rows


def hits(
    cases: Sequence[Case],
    order: Orderer,
    spoil: Callable[[list[Observation]], list[Observation]] = list,
) -> dict[str, Any]:
    """The share of added strategies, and of steps, that are among the first three; each lineage foretold by the others.

    What other lineages did in the same commits is left out too: it is one decision.
    """
    by_lineage: dict[tuple[str, str], list[Observation]] = defaultdict(list)
    for case in cases:
        by_lineage[case.repository, case.lineage].append(case.step)
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    steps = steps_hit = 0
    for (repository, lineage), own in by_lineage.items():
        commits = {step.alike for step in own}
        others = spoil(
            [
                replace(c.step, near=c.repository == repository)
                for c in cases
                if (c.repository, c.lineage) != (repository, lineage) and c.step.alike not in commits
            ]
        )
        for step in own:
            offered = order(others, step)[:OFFERED]
            steps += 1
            steps_hit += any(s in offered for s in step.added)
            for strategy in step.added:
                total[repository] += 1
                right[repository] += strategy in offered
    return {
        "hit": round(right.total() / total.total(), 3),
        "step": round(steps_hit / steps, 3),
        "of": total.total(),
        "repositories": {name: round(right[name] / total[name], 3) for name in total},
    }


_BUILT: dict[int, Any] = {}


def by_share(steps: Sequence[Observation], step: Observation) -> list[str]:
    """As the product orders."""
    if id(steps) not in _BUILT:
        _BUILT.clear()
        _BUILT[id(steps)] = steps, counted(steps)
    return [r.strategy for r in rank(_BUILT[id(steps)][1], State(step.language, step.before))]


def by_frequency(steps: Sequence[Observation], step: Observation) -> list[str]:
    """The strategies that were added most often, those that are there left out."""
    counts: Counter[str] = Counter()
    for other in steps:
        for strategy in other.added:
            counts[strategy] += weight_of(other) * (1.0 if other.language == step.language else ELSEWHERE)
    left = [s for s in strategies_of(step.language) if s not in step.before]
    return sorted(left, key=lambda s: (-counts[s], s))


def _others(steps: list[Observation]) -> list[Observation]:
    """What other repositories show."""
    return [step for step in steps if not step.near]


def _renamed(steps: list[Observation], seed: int) -> list[Observation]:
    """Every strategy under the name of another: a memory that is wrong."""
    names = sorted({s for step in steps for s in step.added})
    others = names[:]
    random.Random(seed).shuffle(others)
    instead = dict(zip(names, others, strict=True))
    return [replace(step, added=tuple(instead[s] for s in step.added)) for step in steps]


def as_table(result: dict[str, Any]) -> str:
    """The results as Markdown."""
    names = list(result["steps"])
    steps = sum(result["steps"].values())
    shares = f"{steps} steps of {result['lineages']} lineages, each foretold from the others"
    lines = [
        f"What was added next is among the first {OFFERED} offered: {shares}. {result['date']}.",
        f"`{result['command']}`",
        "",
        "| | strategies | steps | " + " | ".join(f"{n} ({result['steps'][n]})" for n in names) + " |",
        "|---|---|---|" + "---|" * len(names),
    ]
    for name, row in result["rows"].items():
        spread = f" ({row['lowest']:.2f} … {row['highest']:.2f})" if "lowest" in row else ""
        each = " | ".join(f"{row['repositories'][n]:.2f}" for n in names)
        lines.append(f"| {name} | {row['hit']:.3f}{spread} | {row['step']:.3f} | {each} |")
    lines += ["", _REMARK]
    return "\n".join(lines) + "\n"


_REMARK = (
    "*strategies* is the share of added mechanisms that were offered, *steps* the share of steps of which at least one "
    "was. Left out of what is known: the lineage itself, and what other lineages did in its commits. *frequency only* "
    "orders by how often a strategy was added; *strategies renamed* is a memory that is wrong. What was weighed before "
    "and is left out: which mechanisms were there (with them 0.327, and 0.164 without the repository's own), and the "
    "order in which they came (2026-11-22, with flash-linear-attention: 0.669 with it, 0.674 without)."
)
