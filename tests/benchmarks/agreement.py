"""Which lane sees which seeded bug: the emulated device, a GPU alone, and a GPU with the emulated device beside it.

    python -m tests.benchmarks agreement [--per-kind 1] [--kernel NAME] [--lanes emulated,gpu,both] [--stand-in]

`--stand-in` takes the emulated device without its detectors for the GPU, where there is none.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from contextlib import ExitStack

from kernel_gate.gate import judge
from kernel_gate.kept import Kept
from kernel_gate.options import GateOptions
from kernel_gate.request import GateRequest
from kernel_lineage.workloads.programs import ProgramError

from .seeded_bugs import chosen, kernel_of, request_of
from .seeded_cases import KERNELS

SUMMARY = "seeded bugs by lane: what the emulated device sees, a GPU alone, and both together"
LANES = {"emulated": ("emulated", 0.0), "gpu": ("cuda", 0.0), "both": ("cuda", 20.0)}


def fate(request: GateRequest, lane: str, kept: Kept, seed: int) -> str:
    """`rejected` with the stage that did it, `let through` where nothing but the times is left, or the code."""
    device, watch = LANES[lane]
    options = GateOptions(
        check_seconds=30.0, need="not_slower", profile_seconds=0.2, watch_seconds=watch, seed=seed
    )
    workload = request.workload.model_copy(update={"folder": request.folder})
    programs = request.baseline.program(), request.candidate.program()
    verdict = judge(*programs, workload, device=device, options=options, kept=kept)  # type: ignore[arg-type]
    if verdict.code is not None and verdict.code.stage == "profile" and verdict.code != "wrong-after-timing":
        return "let through"
    if verdict.outcome == "rejected":
        return "rejected by " + next(s.name for s in verdict.stages if s.status == "fail")
    return f"{verdict.outcome}: {verdict.code}"


def main(arguments: list[str]) -> None:
    """Print the table: rows where lanes differ, then counts."""
    parser = argparse.ArgumentParser(prog="agreement")
    parser.add_argument("--per-kind", type=int, default=1)
    parser.add_argument("--kernel", default="", help="kernels whose name has this in it")
    parser.add_argument("--lanes", default="emulated,gpu,both")
    parser.add_argument("--stand-in", action="store_true")
    parser.add_argument("--seed", type=int, default=91)
    asked = parser.parse_args(arguments)
    lanes = asked.lanes.split(",")
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    weaker = 0
    with ExitStack() as stack:
        kept = stack.enter_context(Kept(more_follow=True))
        for seeded in (k for k in KERNELS if asked.kernel in k.name):
            for mutant in (None, *chosen(kernel_of(seeded), asked.per_kind)):
                try:
                    request = request_of(seeded, mutant.source if mutant else None)
                except ProgramError:
                    continue
                fates = {}
                for lane in lanes:
                    if asked.stand_in:
                        from gate.timed_device import TimedEmulated

                        kept.devices.keep(TimedEmulated())
                    fates[lane] = fate(request, lane, kept, asked.seed)
                    counts[lane][fates[lane].partition(" by ")[0] if mutant else f"honest {fates[lane]}"] += 1
                seen = "rejected" in fates.get("emulated", "") and "rejected" not in fates.get(
                    "both", "rejected"
                )
                weaker += seen
                if len({f.partition(" by ")[0] for f in fates.values()}) > 1:
                    named = " | ".join(f"{lane}: {f}" for lane, f in fates.items())
                    kind = mutant.kind if mutant else "as it is"
                    print(f"{seeded.name} {kind}: {named}", flush=True)  # noqa: T201
    for lane, found in counts.items():
        print(f"{lane}: " + ", ".join(f"{what} {count}" for what, count in sorted(found.items())))  # noqa: T201
    print(f"seen by the emulated device and let through by both together: {weaker}")  # noqa: T201
