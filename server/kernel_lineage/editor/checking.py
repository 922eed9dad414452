"""One check of an edited kernel, as a task of `learning.apart`: the reading and drafting keep no answer waiting.

The process keeps the drafts that it made, so the next check of the same kernel starts with its workload at hand, until
something beside its document is changed.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from kernel_gate.verdict import Verdict
    from kernel_lineage.learning.apart import Ask
    from kernel_lineage.learning.check_document import CheckedDocument
    from kernel_lineage.workloads.kept_drafts import KeptDrafts

JUDGE = "worker"
"""Whom the task asks for verdicts."""
_VERDICTS = 256
_MORE_FINDINGS = 0.5
"""Seconds for more, once a kernel does what the one beside it does not: who waits wants the first."""
_verdicts: OrderedDict[str, Verdict] = OrderedDict()


class KernelTask(BaseModel):
    """What a task is about: a kernel of a file's text."""

    model_config = ConfigDict(frozen=True, ser_json_bytes="base64", val_json_bytes="base64")

    path: Path
    text: bytes
    """The file's; it need not be UTF-8."""
    kernel: str
    around: str = ""
    """The fingerprint of what is beside the file: drafts hold where it is the same."""


class Task(KernelTask):
    """A kernel to check."""

    line: int
    passed: bytes | None = None
    seconds: float


def work(task: str, ask: Ask) -> str:
    """A `Task` as JSON → a `CheckedDocument` as JSON."""
    wanted = Task.model_validate_json(task)
    checked = checked_text(
        wanted.path,
        wanted.text,
        wanted.kernel,
        wanted.line,
        wanted.passed,
        wanted.seconds,
        ask,
        drafts(wanted.around),
    )
    return checked.model_dump_json()


def checked_text(
    path: Path,
    text: bytes,
    kernel: str,
    line: int,
    passed: bytes | None,
    seconds: float,
    ask: Ask,
    kept: KeptDrafts,
) -> CheckedDocument:
    """What is known of a kernel of a text, with the drafts and verdicts of the checks before."""
    # The gate and what drafts load here, not where the task is made.
    from kernel_gate.options import GateOptions
    from kernel_lineage.editor.checked import checked_document
    from kernel_lineage.learning.checked_file import Asked, checked_kernel

    checked = checked_kernel(
        Asked(path, text, kernel, line, passed),
        lambda: kept.workload_of(path, text, kernel),
        lambda request: ask(JUDGE, request),
        # What a person waits for is whether it is wrong: larger shapes and proofs of equality are for the gate.
        GateOptions(
            check_seconds=seconds,
            build_seconds=seconds,
            callers_seconds=0,
            algebra_seconds=0,
            findings_seconds=_MORE_FINDINGS,
        ),
        mended=lambda verdict: kept.mended(path, text, kernel, verdict.reason),
        verdicts=_verdicts,
    )
    while len(_verdicts) > _VERDICTS:
        _verdicts.popitem(last=False)
    return checked_document(checked)


@lru_cache(maxsize=32)
def drafts(around: str) -> KeptDrafts:  # noqa: ARG001 - what they are kept by
    """The drafts that this process has made beside the same files."""
    from kernel_lineage.workloads.kept_drafts import KeptDrafts

    return KeptDrafts()
