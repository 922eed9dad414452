"""What earlier runs leave for later ones: the verdict on the same question, the stages of a run that was interrupted.

A key stands for everything that went in and everything that it ran on: sources, workload, companion files, options,
the gate's own code, compilers, device and driver. Another key is another question.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Protocol

from kernel_gate.devices.identity import EMULATED, device_identity
from kernel_gate.evidence import companion_files, hash_inputs, toolchain
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, Stage, Verdict

_OF_THE_MOMENT = {Reason.HANG, Reason.DEVICE_LOST}
"""Rejections that a busy or a sick machine can bring about."""
_INTERRUPTED = {Reason.CANCELLED, Reason.HANG, Reason.WORKER_DIED}
"""What leaves finished stages for the next run."""

OnStage = Callable[[Stage], None]


class VerdictStore(Protocol):
    """Where verdicts and finished stages are kept. Whoever supplies it answers for who may write there."""

    def verdict(self, key: str) -> Verdict | None:
        """What was kept under a key."""

    def keep_verdict(self, key: str, verdict: Verdict) -> None:
        """Keep a verdict."""

    def stages(self, key: str) -> Sequence[Stage]:
        """The stages that an interrupted run had finished, in their order."""

    def keep_stage(self, key: str, stage: Stage) -> None:
        """Keep a stage that has passed, before the run goes on."""

    def forget_stages(self, key: str) -> None:
        """The run has come to its end."""


def key_of(request: GateRequest) -> str | None:
    """The key of a request on this machine as it is now; None when nobody can tell which device it would get."""
    device = device_identity(request.device)
    if device is None:
        return None
    question = {"inputs": inputs_hash_of(request), "device": device, "toolchain": toolchain()}
    return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()


def judge_once(
    request: GateRequest, store: VerdictStore, judge: Callable[[GateRequest, OnStage], Verdict]
) -> Verdict:
    """The verdict that was kept for the same question, else that of `judge`, which begins where an earlier run ended.

    A kept verdict says `reused` in its environment, a run that went on says which stages it `resumed`. Only conclusive
    verdicts are kept. What `judge` raises, interruptions too, passes through; finished stages stay kept.
    """
    key = key_of(request)
    if key is None:
        return judge(request, lambda _stage: None)
    kept = store.verdict(key)
    if kept is not None:
        return kept.model_copy(update={"environment": {**kept.environment, "reused": True}})
    resumed = request.model_copy(update={"finished": tuple(store.stages(key)), "tell_stages": True})
    verdict = judge(resumed, lambda stage: store.keep_stage(key, stage))
    if verdict.code not in _INTERRUPTED:
        store.forget_stages(key)
    if _may_be_kept(verdict, request):
        store.keep_verdict(key, verdict)
    return verdict


def inputs_hash_of(request: GateRequest) -> str:
    """The hash of all that a request is about."""
    workload = request.workload.model_copy(update={"folder": request.folder})
    programs = request.baseline, request.candidate
    return hash_inputs(*programs, workload, request.options, companion_files(workload))


def _may_be_kept(verdict: Verdict, request: GateRequest) -> bool:
    """Conclusive, about the inputs that the key is of, and from the device that the key names."""
    emulated = (verdict.environment.get("device") or {}).get("name") == EMULATED["name"]
    return (
        verdict.outcome is not Outcome.INCONCLUSIVE
        and verdict.code not in _OF_THE_MOMENT
        and verdict.inputs_hash == inputs_hash_of(request)
        and emulated == (device_identity(request.device) == EMULATED)
    )
