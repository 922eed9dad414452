"""The workload of a kernel that is gated without naming one: the repository's, else one drafted on the spot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kernel_gate.reasons import Reason
from kernel_gate.verdict import Outcome, Verdict
from kernel_gate.workload import Workload, WorkloadError
from kernel_lineage.workloads.completing import tried_draft
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.proof import TELLING, Device, Proof
from kernel_lineage.workloads.saved import folder_of, workloads_in


class NoWorkloadError(WorkloadError):
    """No workload is there and none could be drafted; the message lists what is missing and what to do."""


@dataclass(frozen=True, slots=True)
class SpotWorkload:
    """A workload and where it comes from."""

    workload: Workload
    path: Path | None
    """The repository's file; None for a draft."""
    assumed: tuple[str, ...] = ()
    proof: Proof | None = None


def workload_on_the_spot(
    path: Path, kernel: str, device: Device, on_progress: Callable[[int, int], None] | None = None
) -> SpotWorkload:
    """The workload that the repository has for a kernel, else a draft with what it sees of wrong kernels.

    Raises `NoWorkloadError` when the draft is not complete, and when the repository's file for the kernel cannot be
    read: a draft does not take the place of what a person wrote. Raises as `prove` does, too.
    """
    workloads = workloads_in(folder_of(path))
    saved = workloads.of(kernel, str(path))
    if saved is not None:
        return SpotWorkload(saved.workload, saved.path)
    if problems := workloads.about(kernel):
        raise NoWorkloadError(f"{'; '.join(problems)}. Mend the file, or remove it to have one drafted")
    parsed = target_of(path, kernel)
    draft, proof = tried_draft(
        parsed, path, device=device, per_kind=1, kinds=TELLING, on_progress=on_progress
    )
    if proof is None:
        raise NoWorkloadError(
            f"no workload is given, none in {folder_of(path)} names {kernel}, and {path.name} does not tell: "
            f"{'; '.join(draft.missing)}. Run `klineage workload init {path}:{kernel}`, fill in what is missing, and "
            "name the file with --workload"
        )
    return SpotWorkload(draft.workload(), None, draft.assumed, proof)


def told(verdict: Verdict, spot: SpotWorkload) -> Verdict:
    """A verdict that says which workload it rests on; a draft that misses wrong kernels accepts nothing."""
    if spot.path is not None:
        return _with(verdict, {"workload": str(spot.path)})
    proof = spot.proof
    about: dict[str, object] = {
        "workload": "drafted",
        "workload_assumed": list(spot.assumed),
        "workload_sees": {t.mutant.id: t.fate for t in proof.tried} if proof is not None else {},
    }
    marked = _with(verdict, about)
    if proof is None or not proof.blind or verdict.outcome is not Outcome.ACCEPTED:
        return marked
    reason = f"the drafted workload cannot be trusted: {proof.blind}"
    return marked.model_copy(
        update={"outcome": Outcome.INCONCLUSIVE, "code": Reason.WORKLOAD_BLIND, "reason": reason}
    )


def _with(verdict: Verdict, about: dict[str, object]) -> Verdict:
    return verdict.model_copy(update={"environment": {**verdict.environment, **about}})
