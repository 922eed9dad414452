"""What each lane sees of wrong candidates and does to right ones: the emulated device, a GPU alone, and both together.
Beside them what a comparison of outputs alone sees (`allclose`), what compute-sanitizer alone does (`sanitizer`), and
of Triton programs what `fpsan`, `consan` and `triton-viz` do.

    python -m tests.benchmarks lanes [--lanes emulated,gpu,both,allclose,sanitizer,fpsan,consan,triton-viz] [--jobs 8]
        [--seconds 280] [--rows FILE] [--write]

The strangers' pairs, and the seeded bugs with the kernels they were made of. Every candidate is judged on every lane,
in an order that is drawn with `--seed`, by gate processes as the product starts them; what the time did not suffice for
is counted. `--rows` keeps what there is, one a line, and what it has is not measured again: lanes measured on
several machines make one table.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, Verdict
from kernel_gate.worker import Worker
from kernel_gate.workload import Workload
from kernel_lineage.workloads.mutants.model import Mutant
from kernel_lineage.workloads.programs import ProgramError

from . import allclose, sanitizer_alone, triton_tools
from .seeded_bugs import chosen, kernel_of, request_of
from .seeded_cases import KERNELS
from .strangers_table import LANES, SETS

SUMMARY = "wrong and right candidates by lane: the emulated device, a GPU alone, and both"
RESULTS = Path(__file__).parent / "results"
HONEST = "honest"
_LONGEST_SECONDS = 120.0
_LONGEST_REASON = 300


@dataclass(frozen=True)
class Item:
    """One candidate."""

    source: str
    """`seeded bugs`, or the half of the strangers' pairs."""
    family: str
    name: str
    which: str
    """`wrong` or `honest`."""
    place: tuple[int, int]
    """Where it is: of the sets, or kernel and mutant (-1: as it is)."""


@dataclass(frozen=True)
class Row:
    """One candidate on one lane."""

    item: Item
    lane: str
    fate: str
    """`rejected`, `condition`, `right`, or the code of what did not decide."""
    code: str
    seconds: float
    reason: str = ""


def items() -> list[Item]:
    """Every candidate, wrong and honest."""
    entries = []
    pairs = [p for group in SETS.values() for p in group]
    for number, pair in enumerate(pairs):
        half = f"strangers, {'untuned' if pair.untuned else 'looked at'}"
        entries += [Item(half, pair.family, pair.name, w, (number, 0)) for w in ("wrong", HONEST)]
    for number, seeded in enumerate(KERNELS):
        entries.append(Item("seeded bugs", "", seeded.name, HONEST, (number, -1)))
        entries += [
            Item("seeded bugs", mutant.kind, f"{seeded.name} {mutant.kind}", "wrong", (number, at))
            for at, mutant in enumerate(_mutants(number))
        ]
    return entries


@cache
def _mutants(kernel: int) -> tuple[Mutant, ...]:
    return tuple(chosen(kernel_of(KERNELS[kernel]), 1))


def _programs(item: Item) -> tuple[Program, Program, Workload]:
    number, at = item.place
    if item.source != "seeded bugs":
        pair = [p for group in SETS.values() for p in group][number]
        return pair.ground.program(), pair.ground.program(pair.text(item.which)), pair.ground.workload
    request = request_of(KERNELS[number], _mutants(number)[at].source if at >= 0 else None)
    workload = request.workload.model_copy(update={"folder": request.folder})
    return request.baseline, request.candidate, workload


def judged(item: Item, lane: str, seed: int, workers: SimpleQueue[Worker]) -> Row:
    """One candidate on one lane, by a worker that is free."""
    if lane in ALONE:
        return _alone(item, lane, seed)
    device, watch = LANES[lane]
    options = GateOptions(need="not_slower", profile_seconds=0.2, watch_seconds=watch, seed=seed)
    worker = workers.get()
    started = time.monotonic()
    try:
        request = GateRequest.of(*_programs(item), device=device, options=options)  # type: ignore[arg-type]
        verdict = worker.judge(request, timeout=_LONGEST_SECONDS)
    except ProgramError:
        return Row(item, lane, "no program", "", 0.0)
    finally:
        workers.put(worker)
    seconds = round(time.monotonic() - started, 2)
    return Row(item, lane, fate_of(verdict), str(verdict.code), seconds, verdict.reason[:_LONGEST_REASON])


def _alone(item: Item, lane: str, seed: int) -> Row:
    started = time.monotonic()
    fate, reason = ALONE[lane](*_programs(item), seed)
    seconds = round(time.monotonic() - started, 2)
    return Row(item, lane, fate, "", seconds, reason[:_LONGEST_REASON])


ALONE: dict[str, Callable[[Program, Program, Workload, int], tuple[str, str]]] = {
    "allclose": lambda *asked: (allclose.fate(*asked), ""),
    "sanitizer": lambda _before, *asked: sanitizer_alone.fate(*asked),
    "fpsan": partial(triton_tools.instrumented_fate, "fpsan"),
    "consan": partial(triton_tools.instrumented_fate, "consan"),
    "triton-viz": lambda _before, *asked: triton_tools.viz_fate(*asked),
}
"""What others' checkers say: of the baseline, the candidate, their workload and a seed."""
OF_TRITON = {"fpsan", "consan", "triton-viz"}


def fate_of(verdict: Verdict) -> str:
    """How a verdict ended, whatever the times say."""
    check = verdict.stage("check")
    passed = check is not None and check.status == "pass"
    late = verdict.code is not None and (
        verdict.code.stage != "profile" or verdict.code == "wrong-after-timing"
    )
    if verdict.outcome is Outcome.REJECTED and (late or not passed):
        return "rejected"
    if not passed:
        return str(verdict.code)
    return "condition" if any(s.details.get("conditions") for s in verdict.stages) else "right"


def measured(
    lanes: list[str], jobs: int, seconds: float, seed: int, only: str, done_before: set[tuple[Item, str]]
) -> Iterator[Row]:
    """As many as the time allows, in an order that the seed draws; all lanes of a candidate together."""
    drawn = [item for item in items() if only in item.source]
    random.Random(seed).shuffle(drawn)
    if set(lanes) <= OF_TRITON:
        drawn = [item for item in drawn if _programs(item)[0].language == "triton"]
    waiting = ((item, lane) for item in drawn for lane in lanes if (item, lane) not in done_before)
    until = time.monotonic() + seconds
    workers: SimpleQueue[Worker] = SimpleQueue()
    with ExitStack() as stack:
        for _ in range(jobs):
            workers.put(stack.enter_context(Worker()))
        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        running = {pool.submit(judged, *one, seed, workers) for one in islice(waiting, jobs)}
        while running:
            done, running = wait(running, return_when="FIRST_COMPLETED")
            yield from (future.result() for future in done)
            if time.monotonic() < until:
                running |= {pool.submit(judged, *one, seed, workers) for one in islice(waiting, len(done))}


def table(rows: list[Row]) -> str:
    """The committed page."""
    total = Counter((i.source, i.which) for i in items())
    head = "source | lane | wrong: rejected | condition | let through | undecided | right: refused | seconds, half"
    lines = ["# What each lane sees", "", f"| {head} |", f"|{'---|' * 8}"]
    for source, lane in sorted({(r.item.source, r.lane) for r in rows}):
        group = [r for r in rows if (r.item.source, r.lane) == (source, lane)]
        wrong = [r for r in group if r.item.which == "wrong"]
        honest = [r for r in group if r.item.which == HONEST]
        ends = Counter(r.fate for r in wrong)
        counts = [ends.pop(name, 0) for name in ("rejected", "condition", "right")]
        refused = sum(r.fate != "right" and r.fate != "condition" for r in honest)
        half = sorted(r.seconds for r in group)[len(group) // 2]
        lines.append(
            f"| {source} | {lane} | {counts[0]} of {len(wrong)} (of {total[source, 'wrong']}) | {counts[1]} | "
            f"{counts[2]} | {sum(ends.values())} | {refused} of {len(honest)} | {half:.1f} |"
        )
    seen: dict[Item, dict[str, str]] = {}
    for row in (r for r in rows if r.lane in LANES):
        seen.setdefault(row.item, {})[row.lane] = f"{row.fate} ({row.code})"
    apart = {i: f for i, f in seen.items() if len({v.split()[0] for v in f.values()}) > 1}
    weaker = sum(
        "rejected" in f.get("emulated", "") and "rejected" not in f.get("both", "rejected")
        for f in apart.values()
    )
    lines += ["", f"Seen by the emulated device and let through by both together: {weaker}.", ""]
    lines += [
        f"- {i.name} ({i.which}): {', '.join(f'{lane}: {f[lane]}' for lane in sorted(f))}"
        for i, f in apart.items()
    ]
    through = [
        i for i, f in seen.items() if i.which == "wrong" and "right" in {v.split()[0] for v in f.values()}
    ]
    lines += ["", "Let through by some lane:", "", *(f"- {i.source}: {i.name}" for i in through), ""]
    return "\n".join(lines)


def _read(text: dict[str, Any]) -> Row:
    item = Item(**{**text["item"], "place": tuple(text["item"]["place"])})
    return Row(**{**text, "item": item})


def main(arguments: list[str]) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="lanes", description=__doc__)
    parser.add_argument("--lanes", default="emulated")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=280.0)
    parser.add_argument("--seed", type=int, default=91)
    parser.add_argument("--only", default="", help="sources that have this in their name")
    parser.add_argument("--rows", type=Path, help="rows of this run are added to these")
    parser.add_argument("--write", action="store_true", help="write the page from all rows")
    asked = parser.parse_args(arguments)
    texts = asked.rows.read_text().splitlines() if asked.rows and asked.rows.exists() else []
    rows = [_read(json.loads(text)) for text in texts]
    before = {(row.item, row.lane) for row in rows}
    for row in measured(asked.lanes.split(","), asked.jobs, asked.seconds, asked.seed, asked.only, before):
        rows.append(row)
        if asked.rows:
            with asked.rows.open("a") as file:
                file.write(json.dumps(asdict(row)) + "\n")
    page = table(rows)
    print(page)  # noqa: T201
    if asked.write:
        RESULTS.joinpath("lanes.md").write_text(page, "utf-8")
