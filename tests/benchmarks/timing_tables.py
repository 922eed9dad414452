"""The tables of the timing benchmark, from its figures."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]


def _seen(rows: Rows) -> str:
    groups: dict[tuple[str, float], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["kernel"], row["effect"]), []).append(row)
        groups.setdefault(("all", row["effect"]), []).append(row)
    lines = [
        "| kernel | work | µs | seen | wrong sign | same | ambiguous | median s | most s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (name, effect), group in groups.items():
        states = [r["state"] for r in group]
        right = sum(r["state"] == r["wanted"] for r in group)
        wrong = sum(s in {"fast", "slow"} for s in states) - right
        seconds = [r["seconds"] for r in group]
        lines.append(
            f"| {name} | +{effect:.1%} | {statistics.median(r['baseline_us'] for r in group):.1f} "
            f"| {right} of {len(group)} | {wrong} | {states.count('same')} | {states.count('ambiguous')} "
            f"| {statistics.median(seconds):.3f} | {max(seconds):.2f} |"
        )
    return "\n".join(lines)


def _called(rows: Rows) -> str:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["kernel"], []).append(row)
        groups.setdefault("all", []).append(row)
    lines = [
        "| kernel | µs | pairs | fast or slow | ambiguous | farthest ratio | median s | most s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, group in groups.items():
        states = [r["state"] for r in group]
        far = max((r["ratio"][0] for r in group), key=lambda ratio: abs(ratio - 1))
        seconds = [r["seconds"] for r in group]
        lines.append(
            f"| {name} | {statistics.median(r['baseline_us'] for r in group):.2f} | {len(group)} | "
            f"{sum(s in {'fast', 'slow'} for s in states)} | {states.count('ambiguous')} | {far:.4f} | "
            f"{statistics.median(seconds):.3f} | {max(seconds):.2f} |"
        )
    return "\n".join(lines)


def _agreement(rows: Rows) -> str:
    lines = ["| kernel | work | ours µs | ncu µs | difference |", "|---|---|---|---|---|"]
    for row in rows:
        off = row["median_us"] / row["ncu_us"] - 1
        lines.append(
            f"| {row['kernel']} | {row['work'] or ''} | {row['median_us']:.2f} | {row['ncu_us']:.2f} | {off:+.2%} |"
        )
    return "\n".join(lines)


def _side_by_side(rows: Rows) -> str:
    lines = [
        "| kernel | way | median µs | spread of the ratio | farthest from 1 | s per pair |",
        "|---|---|---|---|---|---|",
    ]
    for kernel, way in dict.fromkeys((r["kernel"], r["way"]) for r in rows):
        group = [r for r in rows if (r["kernel"], r["way"]) == (kernel, way)]
        ratios = [r["ratio"][0] for r in group]
        micros = statistics.median(r["baseline_us"] for r in group)
        far = max(abs(ratio - 1) for ratio in ratios)
        seconds = statistics.median(r["seconds"] for r in group)
        lines.append(
            f"| {kernel} | {way} | {micros:.2f} | {statistics.stdev(ratios):.2%} | {far:.2%} | {seconds:.3f} |"
        )
    return "\n".join(lines)


def _stages(rows: Rows) -> str:
    names = list(rows[0]["stages"])
    lines = [f"| process | runs | seconds | {' | '.join(names)} |", "|---" * (3 + len(names)) + "|"]
    for how in dict.fromkeys(row["how"] for row in rows):
        group = [row for row in rows if row["how"] == how]
        shares = [statistics.median(row["stages"][name] or 0.0 for row in group) for name in names]
        seconds = statistics.median(row["seconds"] for row in group)
        lines.append(f"| {how} | {len(group)} | {seconds:.2f} | {' | '.join(f'{s:.2f}' for s in shares)} |")
    return "\n".join([*lines, "", *_parts(rows)])


def _parts(rows: Rows) -> Iterator[str]:
    """Medians of what the stages' parts took, one row a part, one column a way; parts at the same time overlap."""
    ways = list(dict.fromkeys(row["how"] for row in rows))
    names = list(dict.fromkeys(name for row in rows for name in row.get("parts", {})))
    if not names:
        return
    yield f"| part, seconds | {' | '.join(ways)} |"
    yield "|---" * (1 + len(ways)) + "|"
    for name in names:
        values = [[r["parts"][name] for r in rows if r["how"] == way and name in r["parts"]] for way in ways]
        yield f"| {name} | {' | '.join(f'{statistics.median(f):.3f}' if f else '' for f in values)} |"


TABLES = {
    "identical": ("Identical pairs", _called),
    "lengthened": ("Known differences", _seen),
    "beside_ncu": ("Beside ncu's gpu__time_duration", _agreement),
    "others": ("Identical pairs by other means", _side_by_side),
    "verdicts": ("Whole verdicts of a small kernel", _stages),
}


def table(part: str, rows: Rows) -> str:
    """One part's figures in Markdown."""
    return TABLES[part][1](rows)


def report(results: Path) -> str:
    """Everything that was measured, with device, date and command."""
    text = ["# Timing"]
    for part, (title, draw) in TABLES.items():
        path = results / f"timing_{part}.json"
        if not path.exists():
            continue
        document = json.loads(path.read_text())
        about = (
            f"{document['device']}, {document['date']}, `{document['command']}`, {document['seconds']:g} s"
        )
        text += [f"## {title}", about, draw(document["rows"])]
    return "\n\n".join(text) + "\n"
