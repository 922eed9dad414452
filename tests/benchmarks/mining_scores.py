"""What mining finds of hand-labelled changes: covered share, intents, and the steps that fixes answer."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.intents import scores

SUMMARY = "mining against labelled changes and fixes (needs documents of `klineage mine --json`)"
_LABELS = Path(__file__).parent / "mining_labels"
_RESULTS = Path(__file__).parent / "results"

Document = Mapping[str, Any]
Row = Sequence[str]


def main(arguments: list[str]) -> None:
    """Scores a folder of documents, `NAME.json` for each repository, and writes `results/mining_scores.*`."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks mining_scores")
    parser.add_argument("documents", type=Path)
    parser.add_argument("--run", choices=["before", "after"], default="after", help="where it is kept")
    options = parser.parse_args(arguments)
    path = _RESULTS / "mining_scores.json"
    result = json.loads(path.read_text()) if path.exists() else {}
    result[options.run] = {half: measure(options.documents, half) for half in ("tuned", "untuned")}
    path.write_text(json.dumps(result, indent=2) + "\n")
    (_RESULTS / "mining_scores.md").write_text(as_table(result))
    print(as_table(result))  # noqa: T201


def measure(documents: Path, half: str) -> dict[str, Any]:
    """The scores of one half, per repository and together."""
    rows = list(read(_LABELS / f"{half}.tsv"))
    pairs = list(read(_LABELS / "pairs.tsv"))
    by_repository = {}
    for name in dict.fromkeys(row[0] for row in rows):
        document = json.loads((documents / f"{name}.json").read_text())
        by_repository[name] = _of_repository(
            document, [r for r in rows if r[0] == name], [p for p in pairs if p[0] == name]
        )
    # Only counts are kept: a file of results shall not tell which held-out rows are wrong.
    intent_pairs = [tuple(pair) for one in by_repository.values() for pair in one.pop("intents")]
    return {
        "repositories": by_repository,
        "rows": sum(one["rows"] for one in by_repository.values()),
        "covered": sum(one["covered"] for one in by_repository.values()),
        "fixes": sum(one["fixes"] for one in by_repository.values()),
        "linked": sum(one["linked"] for one in by_repository.values()),
        "intents": scores(intent_pairs),
    }


def as_table(result: Mapping[str, Any]) -> str:
    """The results as Markdown."""
    lines = ["What mining finds of labelled changes (`tests/benchmarks/mining_labels`).", ""]
    lines += [
        "| run | half | covered | intent, macro F1 of the covered | fix linked to its step |",
        "|---|---|---|---|---|",
    ]
    for run, halves in sorted(result.items(), reverse=True):
        for half, m in halves.items():
            f1 = [row["f1"] for row in m["intents"]["intents"].values() if row["labelled"]]
            share, linked = m["covered"] / m["rows"], m["linked"] / m["fixes"]
            lines.append(
                f"| {run} | {half} | {m['covered']} of {m['rows']} ({share:.0%}) | {sum(f1) / len(f1):.2f} "
                f"| {m['linked']} of {m['fixes']} ({linked:.0%}) |"
            )
    lines += ["", "| run | repository | half | covered | linked |", "|---|---|---|---|---|"]
    for run, halves in sorted(result.items(), reverse=True):
        for half, m in halves.items():
            for name, one in m["repositories"].items():
                lines.append(
                    f"| {run} | {name} | {half} | {one['covered']} of {one['rows']} "
                    f"| {one['linked']} of {one['fixes']} |"
                )
    return "\n".join(lines) + "\n"


def read(path: Path) -> Iterator[Row]:
    """The rows of a file of labels."""
    for line in path.read_text().splitlines():
        if line.strip():
            yield line.split("\t")


def _of_repository(document: Document, rows: Iterable[Row], pairs: Iterable[Row]) -> dict[str, Any]:
    versions = {v["id"]: v for line in document["lineages"] for v in line["versions"]}
    transitions = {t["id"]: t for line in document["lineages"] for t in line["transitions"]}
    intent_pairs: list[tuple[str, str]] = []
    counted: Counter[str] = Counter()
    for _, commit, path, kernel, intent in rows:
        of_row = list(_of(transitions.values(), versions, commit, kernel))
        of_row = [t for t in of_row if versions[t["to"]]["path"] == path] or of_row
        counted["rows"] += 1
        if of_row:
            counted["covered"] += 1
            intent_pairs.append((intent, Counter(t["intent"] for t in of_row).most_common(1)[0][0]))
    for _, commit, kernel, steps in pairs:
        of_fix = _of(transitions.values(), versions, commit, kernel)
        answered = [a for t in of_fix if (a := _step(t, transitions, versions))]
        most = Counter(answered).most_common(1)
        counted["fixes"] += 1
        counted["linked"] += bool(most) and any(most[0][0].startswith(step) for step in steps.split())
    return {key: counted[key] for key in ("rows", "covered", "fixes", "linked")} | {"intents": intent_pairs}


def _of(
    transitions: Iterable[Document], versions: Mapping[str, Document], commit: str, kernel: str
) -> Iterator[Document]:
    for t in transitions:
        if (t["commit"] or "").startswith(commit) and kernel in ("*", versions[t["to"]]["symbol"]):
            yield t


def _step(fix: Document, transitions: Mapping[str, Document], versions: Mapping[str, Document]) -> str:
    """The commit that a fix is said to answer."""
    if fix.get("mends"):
        return versions[fix["mends"]]["commit"] or ""
    return transitions[fix["answers"]]["commit"] or "" if fix["answers"] else ""
