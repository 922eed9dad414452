"""A deadline holds for whatever is started under it."""

from __future__ import annotations

import time
from pathlib import Path

from kernel_gate.build.contained_run import run_contained
from kernel_gate.deadline import Threads, ends_within, seconds_left


def test_the_nearest_of_nested_deadlines_counts() -> None:
    assert seconds_left(7.0) == 7.0
    with ends_within(100.0):
        with ends_within(5.0), ends_within(50.0):
            assert 4.0 < seconds_left() <= 5.0
            assert seconds_left(2.0) == 2.0
        assert seconds_left() > 90.0
    with ends_within(-1.0):
        assert seconds_left(2.0) == 0.0


def test_a_contained_program_ends_with_its_callers_time(tmp_path: Path) -> None:
    begun = time.monotonic()
    with ends_within(0.5):
        ran = run_contained(["/bin/sleep", "60"], tmp_path)
    assert ran.status is None
    assert ran.excess.startswith("took longer than 0")
    assert time.monotonic() - begun < 30.0


def test_work_of_threads_has_the_deadline_of_who_submits_it() -> None:
    with Threads(1) as threads:
        with ends_within(5.0):
            assert threads.submit(seconds_left).result() <= 5.0
            assert [left <= 5.0 for left in threads.map(seconds_left, [60.0, 60.0])] == [True, True]
        assert threads.submit(seconds_left, 60.0).result() == 60.0
