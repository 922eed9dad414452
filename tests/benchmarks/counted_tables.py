"""Counts of both devices side by side, and how many agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .counted_metrics import QUANTITIES, Quantity

RESULTS = Path(__file__).parent / "results" / "counts_agreement.md"
WITHIN = 0.02
"""Share of ncu's count by which ours may differ."""


def agree(ours: float, theirs: float) -> bool:
    """Whether two counts are the same within the share."""
    return abs(ours - theirs) <= WITHIN * theirs


def page(emulated: Mapping[str, Any], ncu: Mapping[str, Any]) -> str:
    """The whole page."""
    measured = {row["name"]: row["metrics"] for row in ncu["kernels"]}
    pairs = [(row, measured[row["name"]]) for row in emulated["kernels"] if row["name"] in measured]
    intro = (
        f"Emulated device, {emulated['date']}, and ncu on {ncu['device']}, {ncu['date']}: {len(pairs)} kernels. What "
        "each counter is, and where the two may differ: [counts_agreement.md](../counts_agreement.md)."
    )
    lines = [
        "# Sectors and wavefronts beside ncu's",
        "",
        intro,
        "",
        f"| quantity | kernels where either counts some | within {100 * WITHIN:.0f} % | judged |",
        "|---|---:|---:|---|",
        *(_summary(quantity, pairs) for quantity in QUANTITIES),
        "",
        "## By kernel",
        "",
        "Ours / ncu's; `≠` marks what is judged and differs by more.",
        "",
        "| kernel | " + " | ".join(q.name for q in QUANTITIES) + " |",
        "|---|" + "---|" * len(QUANTITIES),
        *(_row(row, metrics) for row, metrics in pairs),
    ]
    if missing := [row["name"] for row in emulated["kernels"] if row["name"] not in measured]:
        lines += ["", "Not measured by ncu: " + ", ".join(missing) + "."]
    if unknown := ncu.get("unknown_metrics"):
        lines += [
            "",
            "Counters that this ncu does not know: " + ", ".join(f"`{name}`" for name in unknown) + ".",
        ]
    return "\n".join(lines) + "\n"


def _both(
    quantity: Quantity, row: Mapping[str, Any], metrics: Mapping[str, float | None]
) -> tuple[int, float] | None:
    theirs = metrics.get(quantity.metric)
    return None if theirs is None else (row["counts"][quantity.name], theirs)


def _summary(quantity: Quantity, pairs: list[tuple[Any, Any]]) -> str:
    counted = [both for row, metrics in pairs if (both := _both(quantity, row, metrics)) and any(both)]
    same = sum(agree(*both) for both in counted)
    return f"| {quantity.name} | {len(counted)} | {same} | {'yes' if quantity.judged else 'no'} |"


def _row(row: Mapping[str, Any], metrics: Mapping[str, float | None]) -> str:
    return f"| {row['name']} | " + " | ".join(_cells(row, metrics)) + " |"


def _cells(row: Mapping[str, Any], metrics: Mapping[str, float | None]) -> Iterator[str]:
    for quantity in QUANTITIES:
        both = _both(quantity, row, metrics)
        if both is None:
            yield f"{row['counts'][quantity.name]} / –"
        elif not any(both):
            yield ""
        else:
            mark = " ≠" if quantity.judged and not agree(*both) else ""
            yield f"{both[0]} / {both[1]:.0f}{mark}"
