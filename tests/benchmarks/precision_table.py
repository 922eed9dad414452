"""The committed page of `precision`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

ENOUGH = 0.95
_SIDES = ("kept", "broken")
_OPTIONS = {
    "example of an axis": "--own", "own pair": "--own", "sample repository": "--sample", "back-test": "--back-test",
}  # fmt: skip
_RULE = "|---|---|---|---:|---:|---:|---|---|"
_KEPT = "--learned"
"""The option for what a replay on a repository's history has kept."""


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Agreement by kind of fact, then every condition."""
    tried = [row for row in rows if row["expr"]]
    both = [row for row in tried if all(row[side]["cases"] for side in _SIDES)]
    good = [row for row in both if all(_share(row[side]) >= ENOUGH for side in _SIDES)]
    sufficient = [row for row in both if row not in good and row.get("sufficient")]
    lines = [
        "# Precision of the when",
        "",
        f"{len(tried)} learned conditions of {len({(r['source'], r['step']) for r in tried})} steps; {len(both)} were",
        f"tried on both sides, and on {len(good)} of them the gate agrees with at least {ENOUGH:.0%} of the cases of",
        f"each side. Of the other {len(both) - len(good)} the evidence that probing writes, and the hover card shows,",
        f"says for {len(sufficient)} that they are sufficient and not necessary: cases that break them are often",
        f"right. Emulated device; {_dates(rows)}; each row by",
        "`python -m tests.benchmarks precision OPTION --write` with the option of its source.",
        "",
        "| source | option | conditions | agree on both sides | holds: cases | agree | broken: cases | agree |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for source in sorted({row["source"] for row in tried}):
        of = _line(source, [row for row in tried if row["source"] == source], good)
        lines.append(of.replace(f"| {source} |", f"| {source} | `{_OPTIONS.get(source, _KEPT)}` |", 1))
    lines += [
        "",
        "| kind of fact | conditions | agree on both sides | holds: cases | agree | broken: cases | agree |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    kinds = sorted({row["kind"] for row in tried})
    lines += [_line(kind, [row for row in tried if row["kind"] == kind], good) for kind in kinds]
    lines.append(_line("all", tried, good))
    lines += ["", "| source | step | condition | holds | broken | silent | said | of |", _RULE]
    for row in sorted(tried, key=lambda r: (r["source"], r["step"], r["expr"])):
        counted = " | ".join(f"{row[side]['agree']} of {row[side]['cases']}" for side in _SIDES)
        silent = sum(row[side]["silent"] for side in _SIDES)
        about = f"| {row['source']} | {row['step']} | `{row['expr']}` | {counted} | {silent} |"
        lines.append(
            f"{about} {'sufficient, not necessary' if row.get('sufficient') else ''} | {row['date']} |"
        )
    without = [row for row in rows if not row["expr"]]
    if without:
        lines += ["", "No condition was learned of:", ""]
        lines += [f"- {row['step']} ({row['source']}): {_flat(row['why'])}" for row in without]
    return "\n".join(lines) + "\n"


def _line(kind: str, rows: Sequence[dict[str, Any]], good: Sequence[dict[str, Any]]) -> str:
    cells = [kind, str(len(rows)), str(sum(row in good for row in rows))]
    for side in _SIDES:
        cases = sum(row[side]["cases"] for row in rows)
        agree = sum(row[side]["agree"] for row in rows)
        cells += [str(cases), f"{agree / cases:.1%}" if cases else "–"]
    return "| " + " | ".join(cells) + " |"


def _dates(rows: Sequence[dict[str, Any]]) -> str:
    dates = sorted({row["date"][:10] for row in rows})
    return dates[0] if len(dates) == 1 else f"{dates[0]} … {dates[-1]}"


def _share(side: dict[str, Any]) -> float:
    return float(side["agree"]) / float(side["cases"])


def _flat(text: Iterable[str]) -> str:
    return " ".join("".join(text).split())[:200]
