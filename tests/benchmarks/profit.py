"""Where three steps begin or cease to pay: sizes timed along a dimension on a GPU, and the profit conditions of that.

python -m tests.benchmarks profit [--device auto|cuda|emulated] [--write]

Each file in `profit/` is one step. Without a GPU nothing can be timed, and each sweep says so.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import tomllib
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from tests.learning.probes.reading_pairs import read_pair

from kernel_gate.verdict import SpeedState
from kernel_gate.worker import Worker
from kernel_lineage.learning.probes.profit import conditions_of, sweeps
from kernel_lineage.learning.probes.report import Sweep

SUMMARY = "at which sizes three steps begin or cease to pay, from times on a GPU"
STEPS = Path(__file__).parent / "profit"
RESULTS = Path(__file__).parent / "results"


def page(sweeps_done: Sequence[tuple[str, str, Sweep, Sequence[str]]], seconds: float) -> str:
    """Each sweep with its sizes, and the condition that comes of it."""
    device = (
        ", ".join(sorted({sweep.device for _, _, sweep, _ in sweeps_done if sweep.device})) or "no device"
    )
    lines = [
        "# Where steps pay",
        "",
        f"`python -m tests.benchmarks profit --device cuda --write` on {device}, {date.today().isoformat()},",
        f"{seconds:.0f} s. Ratios are the earlier state's time over the later one's, with their intervals.",
    ]
    for name, about, sweep, conditions in sweeps_done:
        pays = ", ".join(f"`{expr}`" for expr in conditions) or "none"
        fixed = "".join(f", {dim} {extent}" for dim, extent in sweep.fixed.items())
        lines += ["", f"## {name}", "", f"{about}{fixed}. Profit condition: {pays}; {summary(sweep)}.", ""]
        if sweep.sizes:
            lines += [f"| {sweep.dim} | ratio | interval | state |", "|---:|---:|---|---|"]
        for size in sweep.sizes:
            lines.append(
                f"| {size.extent} | {size.ratio:.3f} | {size.low:.3f} … {size.high:.3f} | {size.state.value} |"
            )
    return "\n".join(lines) + "\n"


def summary(sweep: Sweep) -> str:
    """What the sizes show as a whole, or why nothing was measured."""
    if not sweep.sizes:
        return f"not measured: {sweep.why_not}"
    span = f"{sweep.dim} {sweep.sizes[0].extent} … {sweep.sizes[-1].extent}"
    if sweep.crossings:
        return "; ".join(f"the crossing lies in {sweep.dim} {c.low} … {c.high}" for c in sweep.crossings)
    clear = [size for size in sweep.sizes if size.state is not SpeedState.AMBIGUOUS]
    paying = [size.state is SpeedState.FAST for size in clear]
    if not paying:
        return f"ambiguous at every size of {span}"
    if all(paying) and len(clear) < len(sweep.sizes):
        sizes = ", ".join(str(size.extent) for size in clear)
        return f"it pays at {sweep.dim} {sizes}; at the other sizes of {span} that is not clear"
    if all(paying):
        return f"it pays at every size of {span}"
    return f"it pays to and fro in {span}" if any(paying) else f"it pays at no size of {span}"


def main(arguments: list[str]) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=["auto", "cuda", "emulated"], default="auto")
    parser.add_argument("--write", action="store_true", help="keep the figures in results/")
    options = parser.parse_args(arguments)
    pages = []
    started = time.monotonic()
    with Worker() as worker:
        for path in sorted(STEPS.glob("*.toml")):
            pair, only = read_pair(path), tomllib.loads(path.read_text("utf-8")).get("sweep")
            for sweep in sweeps(pair.step, worker.judge, device=options.device, only=[only] if only else ()):
                conditions = list(conditions_of(sweep, pair.step))
                for line in [c.expr + ": " + (c.evidence or "") for c in conditions] or [summary(sweep)]:
                    sys.stderr.write(f"{path.stem}, {time.monotonic() - started:.0f} s: {line}\n")
                pages.append((path.stem, pair.about, sweep, [c.expr for c in conditions]))
    text = page(pages, time.monotonic() - started)
    sys.stdout.write(text)
    if options.write and not any(sweep.sizes for _, _, sweep, _ in pages):
        sys.stderr.write("Nothing was timed, so nothing is written: times need a GPU.\n")
    elif options.write:
        kept = [
            {"step": name, "sweep": sweep.model_dump(mode="json"), "conditions": conditions}
            for name, _, sweep, conditions in pages
        ]
        RESULTS.joinpath("profit.json").write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
        RESULTS.joinpath("profit.md").write_text(text)
