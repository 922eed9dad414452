"""`klineage apply` from what was asked to an exit code: settings, progress, and every error in plain words."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kernel_gate.devices.base import DeviceError
from kernel_gate.fleet.elsewhere import elsewhere
from kernel_gate.fleet.travelling import ClusterError
from kernel_gate.standing import ExitCode
from kernel_gate.worker import run_in_child
from kernel_lineage.kernels.naming import MisnamedError, parted
from kernel_lineage.rewrite.apply import ApplyError, ApplyRequest, apply
from kernel_lineage.rewrite.document import ApplyDocument, Progress
from kernel_lineage.rewrite.gating import judge_in_child
from kernel_lineage.rewrite.handoff import HandoffError
from kernel_lineage.rewrite.materialise import Lane
from kernel_lineage.rewrite.model.client import ModelError
from kernel_lineage.rewrite.model.repair import OnRound
from kernel_lineage.rewrite.model.settings import SettingsError, endpoint
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.skills.conditions.stated import StatedFactError, stated_facts
from kernel_lineage.skills.library import library, nearest
from kernel_lineage.workloads.programs import ProgramError
from kernel_lineage.workloads.saved import folder_of

_SEED = re.compile(r", seed \d+")
"""What repeats a case; who watches it run has no use for it."""
_ENVIRONMENT = frozenset({"key", "limit", "unavailable", "connection", "timeout"})
"""Problems of an endpoint that are not about the request."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The command's arguments."""

    skill: str
    target: str
    """`FILE:KERNEL`."""
    by: Literal["assist", "model", "handoff"] = "assist"
    device: Literal["auto", "cuda", "emulated"] = "auto"
    dry_run: bool = False
    line: int | None = None
    stated: tuple[str, ...] = ()
    model: str | None = None
    base_url: str | None = None
    token_budget: int | None = None
    text: bytes | None = None
    anyway: bool = False
    record: bool = True
    remote: str | None = None
    """Where the verdict is made, when not here: an address for `kernel_gate.fleet.elsewhere`."""


def run(
    asked: Asked,
    *,
    as_json: bool,
    json_progress: bool,
    out: Callable[[str], None],
    err: Callable[[str], None],
) -> ExitCode:
    """Apply, print the document or a few lines, and give the exit code."""
    started = time.monotonic()
    lead = ""

    def report(stage: str, message: str) -> None:
        stage = f"{lead}{stage}"
        message = _SEED.sub("", message)
        elapsed = time.monotonic() - started
        if json_progress:
            err(Progress(stage=stage, message=message, elapsed=round(elapsed, 3)).model_dump_json())
        else:
            err(f"{elapsed:6.1f} s  {stage}: {message}")

    def on_round(number: int, most: int) -> None:
        nonlocal lead
        lead = f"round {number} of {most}, "
        again = "the model is told what was wrong, and answers again"
        report("ask", again if number > 1 else "waiting for the model's answer")

    try:
        request = _request(asked, on_round)
        with _ended_by_signal(), nullcontext() if asked.remote is None else elsewhere(asked.remote) as pool:
            judge = run_in_child if pool is None else pool.judge
            document = apply(request, judge_in_child(asked.device, report, run=judge), report)
    except ClusterError as error:
        err(f"{error}. Nothing was changed.")
        return ExitCode.ENVIRONMENT
    except (ApplyError, ProgramError, StatedFactError, HandoffError) as error:
        err(str(error))
        return ExitCode.WRONG_USE
    except (SettingsError, DeviceError) as error:
        err(str(error))
        return ExitCode.ENVIRONMENT
    except ModelError as error:
        err(str(error))
        return ExitCode.ENVIRONMENT if error.problem in _ENVIRONMENT else ExitCode.NOT_JUDGED
    except OSError as error:
        err(f"{error.filename or asked.target}: {error.strerror}. Nothing was changed.")
        return ExitCode.ENVIRONMENT
    except KeyboardInterrupt:
        err("Cancelled; nothing was changed.")
        return ExitCode.UNDECIDED
    out(document.model_dump_json(indent=2) if as_json else summary(document))
    return document.standing.exit_code


def _request(asked: Asked, on_round: OnRound) -> ApplyRequest:
    try:
        file, kernel = parted(asked.target)
    except MisnamedError as error:
        raise ApplyError(str(error)) from None
    path = Path(file)
    skills = library(folder_of(path))
    skill = skills.get(asked.skill)
    if skill is None:
        broken = next((f" It could not be read: {p}" for p in skills.problems if asked.skill in str(p)), "")
        raise ApplyError(f"There is no skill {asked.skill!r}{nearest(skills, asked.skill)}.{broken}")
    settings = None
    if asked.by == "model":
        settings = endpoint(base_url=asked.base_url, model=asked.model, token_budget=asked.token_budget)
    stated = Facts().merged(*(stated_facts(text, "stated by the caller") for text in asked.stated))
    return ApplyRequest(
        skill=skill,
        path=path,
        kernel=kernel,
        lane=Lane(asked.by, settings, on_round=on_round),
        text=asked.text,
        line=asked.line,
        device=asked.device,
        dry_run=asked.dry_run,
        draft=True,
        record=asked.record,
        stated=stated,
        anyway=asked.anyway,
    )


@contextmanager
def _ended_by_signal() -> Iterator[None]:
    """A request to end (SIGTERM, from an editor) is treated as Ctrl-C, so that the gate's processes are ended too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def summary(document: ApplyDocument) -> str:
    """The outcome for a person: one line, then what was kept and where."""
    changed = f"{document.path} was changed." if document.applied else "Nothing was changed."
    reason = document.reason.rstrip(".")
    word = document.outcome if document.outcome == "refused" else document.standing.label
    sentence = reason if reason.lower().startswith(word) else f"{word.capitalize()}: {reason}"
    lines = [f"{sentence}. {changed}" if changed not in sentence else f"{sentence}."]
    if document.explanation:
        lines.append(document.explanation)
    if document.verdict is not None:
        lines += [f"  {s.name:<9}{s.status.value:<12}{s.reason}" for s in document.verdict.stages]
    if document.patch is not None:
        lines.append(f"The candidate is kept in {document.patch}")
    return "\n".join(lines)
