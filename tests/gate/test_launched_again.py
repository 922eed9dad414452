"""A later launch that does not end: a program that keeps something, or one that is slow at any time."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import pytest

from kernel_gate.cases import Case
from kernel_gate.deadline import TimeSpentError
from kernel_gate.devices.base import Fault, LaunchResult
from kernel_gate.execution import Execution, Run
from kernel_gate.stages import remembered
from kernel_gate.stages.check_state import CheckState


def _run(*kinds: str) -> Run:
    return Run({"y": np.zeros(1)}, tuple(Fault(kind, kind) for kind in kinds), cast(LaunchResult, None))


def _again(monkeypatch: pytest.MonkeyPatch, *launches: tuple[Run, float]) -> Run:
    """What the first of some launches gives, each with its seconds; the second is that of a fresh program."""
    clock, left = [0.0], list(launches)

    def launch(*_: object) -> Run:
        done, seconds = left.pop(0)
        clock[0] += seconds
        return done

    @contextmanager
    def fresh(*_: object) -> Iterator[Execution]:
        yield cast(Execution, None)

    monkeypatch.setattr(remembered, "launch", launch)
    monkeypatch.setattr(remembered, "execution_of", fresh)
    monkeypatch.setattr(remembered.time, "monotonic", lambda: clock[0])
    nothing: Any = None
    done = remembered._launched_again(cast(CheckState, None), Case({}, 1), nothing, {}, 1)
    assert left == []
    return done


def test_one_that_is_slow_from_the_first_launch_on_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TimeSpentError):
        _again(monkeypatch, (_run("timeout"), 10.0), (_run(), 9.0))
    with pytest.raises(TimeSpentError):
        _again(monkeypatch, (_run("timeout"), 10.0), (_run("timeout"), 1.0))


def test_one_that_ends_at_once_when_it_is_fresh_keeps_something(monkeypatch: pytest.MonkeyPatch) -> None:
    later = _run("timeout")
    assert _again(monkeypatch, (later, 10.0), (_run(), 0.1)) is later


def test_one_that_ends_is_launched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    later = _run("out_of_bounds")
    assert _again(monkeypatch, (later, 10.0)) is later
