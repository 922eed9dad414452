"""What transitions are replayed on: the repository, the judges, the device, and what is known already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernel_gate.options import GateOptions
from kernel_lineage.history.git import Repository
from kernel_lineage.learning.apart import Processes
from kernel_lineage.learning.replay.learners import Learner
from kernel_lineage.learning.replay.store import ReplayStore
from kernel_lineage.learning.steps import Judge
from kernel_lineage.workloads.proof import Device
from kernel_lineage.workloads.saved import Workloads


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What one transition is replayed on."""

    repository: Repository
    workloads: Workloads
    judge: Judge
    """For the steps."""
    probe: Judge
    """For mutants and learners; several threads call both."""
    device: Device
    device_name: str
    options: GateOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench(Ground):
    """What many transitions are replayed on."""

    at_once: int
    """Transitions that are prepared and judged at once."""
    studies_at_once: int
    """Transitions that are learned from at once."""
    processes: Processes
    """For both; ended with the replay."""
    identity: Any
    """What a record must agree with to be used again."""
    store: ReplayStore
    learners: tuple[Learner, ...] = ()
