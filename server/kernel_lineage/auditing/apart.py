"""Submissions judged in a process of their own: one that takes all memory or never ends costs itself alone."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from threading import Timer

from pydantic import BaseModel, TypeAdapter

from kernel_gate.standing import Standing
from kernel_lineage.auditing.judging import Audited, audit
from kernel_lineage.auditing.submissions import Submission
from kernel_lineage.learning.apart import Ask, LostWorkError, Processes

_MOST_BYTES = 6 << 30
"""Address space; the arrays of both models and of the emulated device are far below."""
_LAUNCHES = 5
"""So many launches' time a submission may take in all."""
_AUDITED = TypeAdapter(Audited)


class _Task(BaseModel):
    submission: Submission
    seconds: float


def audited(submissions: Iterable[Submission], seconds: float) -> Iterator[Audited]:
    """What is known of each submission; `seconds` bound each launch, and five times as many the whole of one."""
    with Processes() as processes:
        for submission in submissions:
            yield _audited(processes, submission, seconds)


def _audited(processes: Processes, submission: Submission, seconds: float) -> Audited:
    most = _LAUNCHES * seconds
    over = Timer(most, processes.interrupt)
    over.start()
    try:
        task = _Task(submission=submission, seconds=seconds).model_dump_json()
        return replace(_AUDITED.validate_json(processes.do(__name__, task, {})), submission=submission)
    except LostWorkError as error:
        why = f"it took more than {most:g} s" if not over.is_alive() else f"judging it ended: {error}"
        return Audited(submission, Standing.NOT_JUDGED, why)
    finally:
        over.cancel()


def work(task: str, _ask: Ask) -> str:
    """The process's part: a task as JSON → what is known, as JSON without the submission's texts."""
    asked = _Task.model_validate_json(task)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    try:
        known = audit(asked.submission, asked.seconds)
    except (MemoryError, RecursionError) as error:
        deep = f"it calls itself more than {sys.getrecursionlimit()} deep"
        why = (
            deep
            if isinstance(error, RecursionError)
            else f"it takes more than {_MOST_BYTES >> 30} GiB of memory"
        )
        known = Audited(asked.submission, Standing.NOT_JUDGED, why)
    return _AUDITED.dump_json(
        replace(known, submission=replace(asked.submission, text="", reference=None))
    ).decode()
