"""A step: one transition with both of its states as programs. What replay, attribution and probes work on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernel_gate.program import Program
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Verdict
from kernel_gate.workload import Workload

Judge = Callable[[GateRequest], Verdict]
"""Where requests are judged: a `Worker`'s or a `LocalPool`'s `judge`, or one that looks into a cache first.

Raises `DeviceError` when the device that the request names is missing.
"""


@dataclass(frozen=True, slots=True)
class Step:
    """A transition of a kernel, ready to run."""

    transition: str
    """Its id."""
    before: Program
    after: Program
    workload: Workload
    """How both are run; a program whose launch or arguments differ brings its own."""
    mechanisms: tuple[str, ...] = ()
    """What the transition adds."""


def as_launched(step: Step) -> Workload:
    """The workload with the launch of the step's earlier state, for the facts that speak of launches."""
    spec = step.before.launch
    if spec is None:
        return step.workload
    values = {name: getattr(spec, name) for name in spec.__slots__}
    values["constexpr"] = dict(spec.constexpr)
    return step.workload.model_copy(update={"launch": step.workload.launch.model_copy(update=values)})
