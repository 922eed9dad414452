"""How many labelled conditions are learned from history with the same meaning."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.benchmarks.mining_scores import read

from kernel_lineage.history.mine import mine
from kernel_lineage.history.model import Mined
from kernel_lineage.learning.later_guards import learned_conditions
from kernel_lineage.learning.version_sources import VersionSources
from kernel_lineage.skills.conditions.fact_name import Type
from kernel_lineage.skills.conditions.parse import parse
from kernel_lineage.skills.conditions.prove import implies
from kernel_lineage.skills.conditions.tree import OPPOSITE, Expr, FactRef, Op, negation
from kernel_lineage.skills.conditions.truth import Truth
from kernel_lineage.skills.conditions.unparse import written

SUMMARY = "learned conditions against labelled ones (needs checkouts)"
SETS = ("tuned", "untuned", "third")
MEANINGS = ("same", "stricter", "looser", "other", "none")
"""What is learned beside a label: `stricter` holds in fewer launches, `other` in neither fewer nor more."""
_LABELS = Path(__file__).parent / "mining_labels"
_RESULTS = Path(__file__).parent / "results"
_NOT_SAID = "-"


@dataclass(frozen=True, slots=True)
class Label:
    """A condition that a fix says of the code before it."""

    repository: str
    commit: str
    kernel: str
    alternatives: tuple[str, ...]
    """Conditions that are right alike; none where the language cannot say it."""


def main(arguments: list[str]) -> None:
    """Scores checkouts that are named as their repositories, and writes `results/condition_scores.*`."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks condition_scores")
    parser.add_argument("checkouts", type=Path, help="a folder of checkouts: llm.c, gsplat, …")
    parser.add_argument("--run", choices=["before", "after"], default="after", help="where it is kept")
    parser.add_argument("--tuned-rows", action="store_true", help="print the rows of the tuned set only")
    options = parser.parse_args(arguments)
    if options.tuned_rows:
        for label, learned, meaning in scored(options.checkouts, "tuned"):
            print(meaning, label.repository, label.commit, label.kernel, *label.alternatives, sep="\t")  # noqa: T201
            print(*(f"\t{condition}" for condition in learned), sep="\n")  # noqa: T201
        return
    path = _RESULTS / "condition_scores.json"
    result = json.loads(path.read_text()) if path.exists() else {}
    result[options.run] = {name: measure(options.checkouts, name) for name in SETS}
    path.write_text(json.dumps(result, indent=2) + "\n")
    (_RESULTS / "condition_scores.md").write_text(as_table(result))
    print(as_table(result))  # noqa: T201


def measure(checkouts: Path, name: str) -> dict[str, int]:
    """Counts of one set: rows that the language can say by what is learned, and rows that it cannot say."""
    counts: Counter[str] = Counter()
    for label, learned, meaning in scored(checkouts, name):
        if label.alternatives:
            counts["rows"] += 1
            counts[meaning] += 1
        else:
            counts["unsaid rows"] += 1
            counts["unsaid, nothing learned"] += not learned
    return {key: counts[key] for key in ("rows", *MEANINGS, "unsaid rows", "unsaid, nothing learned")}


def scored(checkouts: Path, name: str) -> Iterator[tuple[Label, list[str], str]]:
    """Each label of a set, what is learned from its commit and kernel, and how the two compare."""
    wanted = labels(name)
    for repository in dict.fromkeys(label.repository for label in wanted):
        path = checkouts / repository
        mined = mine(path)
        for label in wanted:
            if label.repository == repository:
                learned = learned_from(path, mined, label)
                yield label, learned, compared(label.alternatives, learned)


def labels(name: str) -> list[Label]:
    """The rows of a set: `conditions_third.tsv`, or those of `conditions.tsv` by what their repository is for."""
    third = name == "third"
    repositories = {row[0] for row in read(_LABELS / f"{'untuned' if third else name}.tsv")}
    return [
        Label(repository, commit, kernel, () if text == _NOT_SAID else tuple(text.split(" | ")))
        for repository, commit, kernel, text, _ in read(
            _LABELS / ("conditions_third.tsv" if third else "conditions.tsv")
        )
        if repository in repositories
    ]


def learned_from(path: Path, mined: Mined, label: Label) -> list[str]:
    """The conditions that a commit's change of a kernel teaches."""
    lineages, teachers = [], set()
    for lineage in mined.lineages:
        symbols = {v.id: v.symbol for v in lineage.versions}
        of_label = {
            t.id
            for t in lineage.transitions
            if (t.commit or "").startswith(label.commit) and label.kernel in ("*", symbols[t.after])
        }
        if of_label:
            lineages.append(lineage)
            teachers |= of_label
    sources = VersionSources(path, (v for lineage in lineages for v in lineage.versions))
    learned = learned_conditions(replace(mined, lineages=tuple(lineages)), sources, teachers)
    return list(dict.fromkeys(x.condition.expr for x in learned))


def compared(alternatives: Sequence[str], learned: Sequence[str]) -> str:
    """What is learned beside a label with these right answers: the best of `MEANINGS` over all pairs."""
    if not learned:
        return "none"
    each = [parse(text) for text in learned]
    candidates = [*each, Op("and", tuple(each))] if len(each) > 1 else each
    meanings = {_meaning(parse(text), candidate) for text in alternatives for candidate in candidates}
    return next((meaning for meaning in MEANINGS if meaning in meanings), "other")


def as_table(result: dict[str, dict[str, dict[str, int]]]) -> str:
    """The results as Markdown."""
    lines = [
        "What history teaches of labelled conditions (`tests/benchmarks/mining_labels/conditions*.tsv`).",
        "",
        "| run | set | same meaning | stricter | looser | other | nothing | cannot be said: nothing learned |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for run, sets in sorted(result.items(), reverse=True):
        for name, m in sets.items():
            cells = [f"{m['same']} of {m['rows']} ({m['same'] / m['rows']:.0%})"]
            cells += [str(m[meaning]) for meaning in MEANINGS[1:]]
            cells += [f"{m['unsaid, nothing learned']} of {m['unsaid rows']}"]
            lines.append(f"| {run} | {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _meaning(label: Expr, learned: Expr) -> str:
    """One learned condition beside one right answer."""
    label, learned = _with_atoms(label), _with_atoms(learned)
    stricter = implies((learned,), label).truth is Truth.HOLDS
    looser = implies((label,), learned).truth is Truth.HOLDS
    if stricter and looser:
        return "same"
    return "stricter" if stricter else "looser" if looser else "other"


def _with_atoms(tree: Expr) -> Expr:
    """Comparisons of versions and intervals, which the solver does not know, as truth values of their own."""
    if not isinstance(tree, Op):
        return tree
    kinds = {operand.type for operand in tree.operands}
    if not kinds & {Type.VERSION, Type.INTERVAL}:
        return replace(tree, operands=tuple(map(_with_atoms, tree.operands)))
    if kinds == {Type.VERSION} and tree.op in ("<", "<=", "!="):
        return negation(_with_atoms(replace(tree, op=OPPOSITE[tree.op])))
    return FactRef(written(tree), Type.TRUTH)
