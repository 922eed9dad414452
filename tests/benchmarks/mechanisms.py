"""How well the mechanisms that a step adds and removes are told: precision and recall against labels made by hand."""

from __future__ import annotations

import argparse
import datetime as dt
import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.mechanism_steps import Step, shown, step_at

from kernel_lineage.kernels.mechanisms.comparing import added_and_removed, changes
from kernel_lineage.kernels.mechanisms.registry import mechanisms_of, occurrences

SUMMARY = "mechanisms that steps add and remove, against hand-made labels (needs checkouts)"
_HERE = Path(__file__).parent
_LABELS = _HERE / "mechanism_labels"
_RESULTS = _HERE / "results"
PARTS = ("tuned", "untuned", "variants")


@dataclass(frozen=True)
class Label:
    """What a reader of the difference says of one step."""

    repository: str
    commit: str
    path: str
    kernel: str
    added: frozenset[str]
    removed: frozenset[str]
    unsure: frozenset[str]
    """Mechanisms that a reader may or may not count; they score neither way."""
    before: str
    """The kernel's earlier name, or for variants that of the kernel it follows; "" when it is the same."""


def main(arguments: list[str]) -> None:
    """`measure` writes `results/mechanisms.json` and `.md`; `errors` prints where label and product differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks mechanisms")
    parser.add_argument("part", choices=["measure", "errors"])
    parser.add_argument("checkouts", type=Path, nargs="+", help="named as their repository: mamba, gsplat, …")
    parser.add_argument("--of", choices=PARTS, action="append", help="these labels only")
    parser.add_argument(
        "--run", choices=["before", "after"], default="after", help="where `measure` keeps it"
    )
    options = parser.parse_args(arguments)
    checkouts = {path.name: path for path in options.checkouts}
    parts = options.of or list(PARTS)
    if options.part == "errors":
        for part in parts:
            _errors(part, checkouts)
        return
    path = _RESULTS / "mechanisms.json"
    result = json.loads(path.read_text()) if path.exists() else {"runs": {}}
    run = result["runs"].setdefault(options.run, {})
    run["date"] = dt.datetime.now(tz=dt.UTC).date().isoformat()
    for part in parts:
        run[part] = scores((label, *changes_of(step)) for label, step in _steps(part, checkouts))
    path.write_text(json.dumps(result, indent=2, sort_keys=True) + "\n")
    (_RESULTS / "mechanisms.md").write_text(as_table(result))
    print(as_table(result))  # noqa: T201


def labels(part: str) -> list[Label]:
    """The labels of a part; none when it has no file."""
    path = _LABELS / f"{part}.toml"
    rows = tomllib.loads(path.read_text())["label"] if path.exists() else []
    return [
        Label(
            row["repository"], row["commit"], row["path"], row["kernel"],
            frozenset(row["added"]), frozenset(row["removed"]), frozenset(row["unsure"]), row.get("before", ""),
        )
        for row in rows
    ]  # fmt: skip


def changes_of(step: Step) -> tuple[frozenset[str], frozenset[str]]:
    """What the product says that a step adds and removes."""
    old, new = (occurrences(mechanisms_of(kernel)) for kernel in (step.before, step.after))
    names = [{p.name for p in kernel.parameters} for kernel in (step.before, step.after)]
    added, removed = added_and_removed(changes(old, new), old, new, names[1] - names[0], names[0] - names[1])
    return frozenset(added), frozenset(removed)


def scores(rows: Iterable[tuple[Label, frozenset[str], frozenset[str]]]) -> dict[str, Any]:
    """Precision and recall of what is added and removed, over all rows and for each mechanism."""
    counts: dict[str, Counter[str]] = {"added": Counter(), "removed": Counter()}
    single: dict[str, Counter[str]] = {}
    steps = 0
    for label, added, removed in rows:
        steps += 1
        for side, truth, claims in (("added", label.added, added), ("removed", label.removed, removed)):
            for name in (truth | claims) - (label.unsure - truth):
                what = "right" if name in truth & claims else "missed" if name in truth else "wrong"
                counts[side][what] += 1
                single.setdefault(name, Counter())[what] += 1
    return {
        "steps": steps,
        **{side: _rates(count) for side, count in counts.items()},
        "mechanisms": {name: dict(sorted(count.items())) for name, count in sorted(single.items())},
    }


def _rates(count: Counter[str]) -> dict[str, Any]:
    claims, labelled = count["right"] + count["wrong"], count["right"] + count["missed"]
    return {
        "labelled": labelled,
        "precision": round(count["right"] / claims, 3) if claims else None,
        "recall": round(count["right"] / labelled, 3) if labelled else None,
    }


def as_table(result: Mapping[str, Any]) -> str:
    """The results as Markdown."""
    lines = [
        "Mechanisms that steps add and remove, against hand-made labels (`tests/benchmarks/mechanism_labels`).",
        "",
    ]
    lines += [
        "| | labels | steps | added: precision, recall (n) | removed: precision, recall (n) |",
        "|---|---|---|---|---|",
    ]
    for run, measured in sorted(result["runs"].items(), reverse=True):
        for part in PARTS:
            if part in measured:
                row = measured[part]
                sides = " | ".join(_side(row[side]) for side in ("added", "removed"))
                lines.append(f"| {run} | {part} | {row['steps']} | {sides} |")
    return "\n".join(lines) + "\n"


def _side(rates: Mapping[str, Any]) -> str:
    shown_rates = ("–" if rates[k] is None else f"{rates[k]:.2f}" for k in ("precision", "recall"))
    return f"{', '.join(shown_rates)} ({rates['labelled']})"


def _steps(part: str, checkouts: Mapping[str, Path]) -> Iterator[tuple[Label, Step]]:
    for label in labels(part):
        checkout = checkouts.get(label.repository.rpartition("/")[2])
        if checkout is None:
            continue
        at = f"{label.commit}^" if part != "variants" else label.commit
        step = step_at(checkout, at, label.commit, label.path, label.kernel, label.before or label.kernel)
        if step is None:
            raise SystemExit(f"{label.path}:{label.kernel} of {label.commit} is not read on both sides")
        yield label, step


def _errors(part: str, checkouts: Mapping[str, Path]) -> None:
    for label, step in _steps(part, checkouts):
        added, removed = changes_of(step)
        wrong = [
            f"{side} {what} {sorted(names)}"
            for side, truth, claims in (("added", label.added, added), ("removed", label.removed, removed))
            for what, names in (("missed", truth - claims), ("wrong", claims - truth - label.unsure))
            if names
        ]
        if wrong:
            print(f"#### {'; '.join(wrong)}\n{shown(step, 12)}\n")  # noqa: T201
