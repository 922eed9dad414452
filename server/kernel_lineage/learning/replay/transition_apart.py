"""One transition in a process of its own, which asks for verdicts here."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

from pydantic import BaseModel

from kernel_gate.options import GateOptions
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Verdict
from kernel_lineage.history.git import Repository, open_repository
from kernel_lineage.learning.apart import Ask, LostWorkError, Processes
from kernel_lineage.learning.replay.bench import Ground
from kernel_lineage.learning.replay.claims import Claimed
from kernel_lineage.learning.replay.codes import Code
from kernel_lineage.learning.replay.kept_drafts import KeptDrafts
from kernel_lineage.learning.replay.lineage_drafts import LineageDrafts
from kernel_lineage.learning.replay.outcome import Outcome
from kernel_lineage.learning.replay.record import Record
from kernel_lineage.learning.replay.recording import record_of
from kernel_lineage.learning.replay.transition import replay_transition
from kernel_lineage.workloads.proof import Device
from kernel_lineage.workloads.saved import Workloads, workloads_in


class _Task(BaseModel, frozen=True):
    path: Path
    item: Claimed
    device: Device
    device_name: str
    options: GateOptions
    drafts: Path
    """The folder of those that are known."""


class _Result(BaseModel, frozen=True):
    record: Record
    kept: bool


def replay_apart(item: Claimed, ground: Ground, processes: Processes) -> tuple[Record, bool]:
    """As `replay_transition`. A process that gives no result costs this transition alone. Raises what judges raise."""
    started = time.monotonic()
    task = _Task(
        path=ground.repository.top / ground.repository.prefix,
        item=item,
        device=ground.device,
        device_name=ground.device_name,
        options=ground.options,
        drafts=processes.folder,
    )
    judges = {"judge": ground.judge, "probe": ground.probe}
    try:
        result = _Result.model_validate_json(processes.do(__name__, task.model_dump_json(), judges))
    except LostWorkError as lost:
        outcome = Outcome("undecided", Code.STEP_LOST, f"nothing was found out of it: {lost}")
        return record_of(item, ground.device_name, outcome, started), False
    return result.record, result.kept


def work(message: str, ask: Ask) -> str:
    """In the process: a transition → its record."""
    task = _Task.model_validate_json(message)

    def judge(request: GateRequest) -> Verdict:
        return ask("judge", request)

    def probe(request: GateRequest) -> Verdict:
        return ask("probe", request)

    repository, workloads, drafts = _shared(task.path, task.drafts)
    ground = Ground(
        repository=repository,
        workloads=workloads,
        judge=judge,
        probe=probe,
        device=task.device,
        device_name=task.device_name,
        options=task.options,
    )
    record, kept = replay_transition(task.item, ground, drafts)
    return _Result(record=record, kept=kept).model_dump_json()


@cache
def _shared(path: Path, drafts: Path) -> tuple[Repository, Workloads, LineageDrafts]:
    """What all tasks of one repository share."""
    repository = open_repository(path)
    return repository, workloads_in(repository.top), LineageDrafts(repository, KeptDrafts(drafts))
