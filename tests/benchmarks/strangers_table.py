"""Wrong candidates and their honest twins as strangers write them, by lane: emulated, gpu, both."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from kernel_gate.options import GateOptions
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, Verdict
from kernel_gate.worker import Worker

from .strangers import (
    corners,
    corners_triton,
    handed,
    handed_apart,
    handed_triton,
    hurried,
    hurried_apart,
    layers,
    layers_triton,
    numbers,
    numbers_apart,
    rewrites,
    slips,
    slips_apart,
    subtle,
    subtle_apart,
)
from .strangers.classes import kept_apart as classes_apart
from .strangers.classes import looked_at as classes
from .strangers.fresh import apart_too, kept_apart, limited, mixed, programs
from .strangers.kinds import blocks, pointwise, rows, scatter, sequences
from .strangers.looked_at import PAIRS as LOOKED_AT
from .strangers.model import Pair
from .strangers.untuned import PAIRS as UNTUNED

SUMMARY = "wrong candidates and honest twins as strangers write them, by lane: detection and false rejections"
KINDS = (*sequences.PAIRS, *rows.PAIRS, *pointwise.PAIRS, *scatter.PAIRS, *blocks.PAIRS)
FRESH = (*limited.PAIRS, *mixed.PAIRS, *programs.PAIRS, *kept_apart.PAIRS, *apart_too.PAIRS)
CLASSES = (*classes.PAIRS, *classes_apart.PAIRS)
SETS = {
    "first": (*LOOKED_AT, *UNTUNED),
    "kinds": KINDS,
    "fresh": FRESH,
    "classes": CLASSES,
    "numbers": (*numbers.PAIRS, *numbers_apart.PAIRS),
    "rewrites": tuple(rewrites.PAIRS),
    "hurried": (*hurried.PAIRS, *hurried_apart.PAIRS),
    "subtle": (*subtle.PAIRS, *subtle_apart.PAIRS),
    "slips": (*slips.PAIRS, *slips_apart.PAIRS),
    "corners": (*corners.PAIRS, *corners_triton.PAIRS),
    "handed": (*handed.PAIRS, *handed_triton.PAIRS, *handed_apart.PAIRS),
    "layers": (*layers.PAIRS, *layers_triton.PAIRS),
}
LANES = {"emulated": ("emulated", 0.0), "gpu": ("cuda", 0.0), "both": ("cuda", 20.0)}
"""Device, and seconds for watching beside it."""
_LONGEST_SECONDS = 120.0
Judge = Callable[[GateRequest], Verdict]


@dataclass(frozen=True)
class Row:
    """One pair on one lane."""

    pair: Pair
    lane: str
    wrong: Verdict
    honest: Verdict
    seconds: tuple[float, float]

    @property
    def missed(self) -> bool:
        """Whether the wrong one was let through without a condition."""
        return lets_through(self.wrong)

    @property
    def refused(self) -> bool:
        """Whether the honest twin was rejected, or could not be judged for its values."""
        checked = self.honest.stage("check")
        slow = self.honest.code is not None and self.honest.code.stage == "profile"
        return not slow and (
            self.honest.outcome is Outcome.REJECTED or checked is None or checked.status != "pass"
        )


def lets_through(verdict: Verdict) -> bool:
    """Whether a candidate was not rejected, and without a condition."""
    conditions = any(stage.details.get("conditions") for stage in verdict.stages)
    return verdict.outcome is not Outcome.REJECTED and not conditions


def judged(pair: Pair, lane: str, judge: Judge, seed: int, **limits: float) -> Row:
    """Both candidates of a pair, with `limits` for other limits of the gate than its own."""
    verdicts, seconds = [], []
    for which in ("wrong", "honest"):
        started = time.monotonic()
        verdicts.append(verdict_on(pair, which, lane, judge, seed, **limits))
        seconds.append(time.monotonic() - started)
    return Row(pair, lane, verdicts[0], verdicts[1], (seconds[0], seconds[1]))


def verdict_on(
    pair: Pair, which: Literal["wrong", "honest"], lane: str, judge: Judge, seed: int, **limits: float
) -> Verdict:
    """The verdict on one candidate of a pair."""
    device, watch = LANES[lane]
    options = GateOptions(need="not_slower", profile_seconds=0.3, watch_seconds=watch, seed=seed, **limits)
    ground = pair.ground
    request = GateRequest.of(
        ground.program(),
        ground.program(pair.text(which)),
        ground.workload,
        device=device,
        options=options,
    )
    return judge(request)


def main(arguments: list[str]) -> int:
    """Print the table; 1 when a wrong one passed or an honest one did not."""
    parser = argparse.ArgumentParser(prog="strangers")
    parser.add_argument("--lanes", default="emulated", help="of emulated, gpu and both, with commas")
    parser.add_argument("--only", default="", help="pairs whose name has this in it")
    parser.add_argument("--half", choices=["looked-at", "untuned", "all"], default="all")
    parser.add_argument("--set", choices=[*SETS, "all"], default="all")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    pairs = [
        p
        for name, group in SETS.items()
        for p in group
        if asked.set in (name, "all")
        and asked.only in p.name
        and (asked.half == "all" or p.untuned == (asked.half == "untuned"))
    ]
    bad = 0
    with Worker() as worker:
        for lane in asked.lanes.split(","):
            rows = []
            for pair in pairs:
                # A process of its own, as the product has one: a fault on a GPU costs its context.
                row = judged(pair, lane, partial(worker.judge, timeout=_LONGEST_SECONDS), asked.seed)
                rows.append(row)
                status = "MISSED " if row.missed else "REFUSED" if row.refused else "ok     "
                verdict = row.honest if row.refused and not row.missed else row.wrong
                named = f"{status} {pair.family:13} {pair.name:40}"
                print(f"{named} {verdict.code} {verdict.reason[:140]}", flush=True)  # noqa: T201
            bad += _summary(lane, rows)
    return int(bad > 0)


def _summary(lane: str, rows: list[Row]) -> int:
    taken = sorted(s for row in rows for s in row.seconds)
    missed, refused = [r for r in rows if r.missed], [r for r in rows if r.refused]
    by_family = Counter(r.pair.family for r in rows)
    rejected = Counter(r.pair.family for r in rows if not r.missed)
    families = ", ".join(
        f"{family} {rejected[family]} of {total}" for family, total in sorted(by_family.items())
    )
    half, most = taken[len(taken) // 2], taken[int(len(taken) * 0.95)]
    for title, group in (
        ("looked at", [r for r in rows if not r.pair.untuned]),
        ("untuned", [r for r in rows if r.pair.untuned]),
    ):
        wrong, honest = sum(r.missed for r in group), sum(r.refused for r in group)
        print(f"{lane}, {title}: {wrong} of {len(group)} wrong ones passed, {honest} honest ones refused")  # noqa: T201
    print(f"{lane}: {families}; {half:.2f} s half, {most:.2f} s 95 %")  # noqa: T201
    return len(missed) + len(refused)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
