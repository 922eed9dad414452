"""Fuzzing by hypothesis: `python -m attacks.fuzzing --seconds 1200` (in tests/, or by `make attack`).

Prints executions, time and crashes for each target. An input that crashes is made small and kept in `corpus/`, of which
every input is read again by each run of the tests.
"""

# It prints a table.
# ruff: noqa: T201

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from attacks.fuzz_targets import NAMES, Target, targets

CORPUS = Path(__file__).parent / "corpus"
HANG_SECONDS = 10
_ROUND = 400


class HangError(Exception):
    """A target took longer than `HANG_SECONDS`."""


def examine(target: Target, examples: int, number: int, count: Callable[[], None]) -> tuple[str, str] | None:
    """Run a target on drawn inputs; the smallest input that crashes it, with the crash, or None."""
    last: list[str] = []

    @seed(number)
    @settings(
        max_examples=max(1, examples),
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(target.inputs)
    def one(text: str) -> None:
        count()
        last[:] = [text]
        within(target, text)

    try:
        one()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
        return last[0], "".join(traceback.format_exception(error)[-6:])
    return None


def within(target: Target, text: str) -> None:
    """Run a target; raises `HangError` when it takes too long."""

    def hang(_number: int, _frame: object) -> None:
        raise HangError(f"longer than {HANG_SECONDS} s")

    before = signal.signal(signal.SIGALRM, hang)
    signal.setitimer(signal.ITIMER_REAL, HANG_SECONDS)
    try:
        target.run(text)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def keep(target: Target, text: str) -> Path:
    """Keep an input in the corpus."""
    data = text.encode("utf-8", "surrogatepass")
    path = CORPUS / target.name.replace(" ", "-") / hashlib.sha256(data).hexdigest()[:12]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def kept(name: str) -> list[str]:
    """The inputs of a target in the corpus."""
    folder = CORPUS / name.replace(" ", "-")
    return [p.read_bytes().decode("utf-8", "surrogatepass") for p in sorted(folder.glob("*"))]


def main() -> None:
    """Fuzz every target for its share of the time; status 1 when one crashes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--targets", nargs="+", choices=NAMES, default=NAMES)
    asked = parser.parse_args()
    os.environ.setdefault("KLINEAGE_KEEP_IN", tempfile.mkdtemp(prefix="klineage-fuzz-kept-"))
    total_crashes = 0
    print("| target | executions | seconds | crashes |\n|---|---|---|---|")
    every = {name: target for name, target in targets().items() if name in asked.targets}
    sums = [0, 0.0]
    for target in every.values():
        executions, crashes, began = [0], 0, time.monotonic()
        number = asked.seed * 1000
        while time.monotonic() - began < asked.seconds / len(every):
            number += 1

            def count(executions: list[int] = executions) -> None:
                executions[0] += 1

            crash = examine(target, _ROUND // target.cost, number, count)
            if crash is not None:
                crashes += 1
                print(f"{target.name}: {keep(target, crash[0])}\n{crash[1]}", file=sys.stderr, flush=True)
                if crashes >= 5:
                    break
        total_crashes += crashes
        spent = time.monotonic() - began
        sums = [sums[0] + executions[0], sums[1] + spent]
        print(f"| {target.name} | {executions[0]:,} | {spent:.0f} | {crashes} |", flush=True)
    print(f"| **all** | {sums[0]:,} | {sums[1]:.0f} | {total_crashes} |")
    sys.exit(1 if total_crashes else 0)


if __name__ == "__main__":
    main()
