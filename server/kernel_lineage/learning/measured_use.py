"""A gated use of a skill → evidence for its card. Failures are evidence too."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

from kernel_gate.devices.opening import DeviceKind
from kernel_gate.files.writing import write_in_repository
from kernel_gate.verdict import Verdict
from kernel_lineage.kernels.naming import MisnamedError, parted
from kernel_lineage.rewrite.apply import ApplyError, ApplyRequest, apply
from kernel_lineage.rewrite.document import ApplyDocument
from kernel_lineage.rewrite.gating import judge_in_child
from kernel_lineage.rewrite.materialise import Lane
from kernel_lineage.skills.card import Evidence, SizeEffect
from kernel_lineage.skills.library import library, nearest
from kernel_lineage.skills.skill_file import evidence_name, file_text
from kernel_lineage.skills.verified import remember_verified
from kernel_lineage.workloads.saved import folder_of

_TOOLCHAIN = ("nvrtc", "triton", "gate")


class NoVerdictError(Exception):
    """The use was not gated, so it shows nothing; the message says why."""


def evidence_of(document: ApplyDocument, *, held_out: bool, command: str, on: date) -> Evidence:
    """The evidence that one application gives.

    `held_out` says that the skill was not learned from this kernel; `command` is how to repeat it. Raises
    `NoVerdictError`.
    """
    verdict = document.verdict
    if verdict is None:
        raise NoVerdictError(f"{document.skill} on {document.kernel} was not gated: {document.reason}")
    return evidence_of_verdict(
        verdict,
        kernel=document.kernel,
        held_out=held_out,
        guarded=document.guarded,
        command=command,
        on=on,
    )


def evidence_of_verdict(
    verdict: Verdict, *, kernel: str, held_out: bool, guarded: bool, command: str, on: date
) -> Evidence:
    """The evidence that a verdict on a skill's use gives."""
    environment = verdict.environment
    if "device" not in environment:  # the gate's process ended before it had one
        raise NoVerdictError(f"{kernel} was not judged: {verdict.reason}")
    return Evidence(
        kernel=kernel,
        outcome=verdict.outcome.value,
        reason=verdict.reason,
        device=str(environment["device"]["name"]),
        date=on.isoformat(),
        toolchain={name: str(environment[name]) for name in _TOOLCHAIN if environment.get(name) is not None},
        held_out=held_out,
        sizes=tuple(
            SizeEffect(dims=shape.dims, speedup=shape.median, low=shape.low, high=shape.high)
            for shape in (verdict.speedup.by_shape if verdict.speedup else ())
        ),
        command=command,
        details={
            "guarded": guarded,
            "inputs_hash": verdict.inputs_hash,
            "stages": {stage.name: stage.status.value for stage in verdict.stages},
        },
    )


def measured_use(skill_id: str, target: str, device: DeviceKind) -> Evidence:
    """Apply a skill by its assist to `FILE:KERNEL`, gate it, change nothing.

    Raises `ApplyError` for a skill, file or kernel that is not there, `NoVerdictError` when there was nothing to gate,
    `DeviceError` when the device that was asked for is missing.
    """
    try:
        file, kernel = parted(target)
    except MisnamedError as error:
        raise ApplyError(str(error)) from None
    skills = library(folder_of(Path(file)))
    skill = skills.get(skill_id)
    if skill is None:
        raise ApplyError(f"There is no skill {skill_id!r}{nearest(skills, skill_id)}.")
    request = ApplyRequest(
        skill=skill,
        path=Path(file),
        kernel=kernel,
        lane=Lane("assist"),
        device=device,
        dry_run=True,
        anyway=True,
    )
    document = apply(request, judge_in_child(device, lambda _stage, _message: None))
    learned_from = {Path(path).name for path in skill.lineage.paths} if skill.lineage is not None else set()
    return evidence_of(
        document,
        held_out=Path(file).name not in learned_from,
        command=f"klineage skills measure {skill_id} {target} --device {device}",
        on=datetime.now(UTC).date(),
    )


def keep(evidence: Evidence, folder: Path) -> Path:
    """Write evidence into a skill's `evidence` folder, as verified by this user; gives its path."""
    remember_verified([evidence])
    path = folder / evidence_name(evidence)
    write_in_repository(path, file_text(evidence).encode())
    return path
