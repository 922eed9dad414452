"""The workload of a kernel that is gated without naming one: the repository's, else one drafted on the spot."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_gate.deadline import ends_within
from kernel_gate.reasons import Reason
from kernel_gate.verdict import Outcome, StageStatus, Verdict
from kernel_gate.workload import Workload, WorkloadError
from kernel_lineage.workloads.answers import LAUNCH
from kernel_lineage.workloads.completing import InTurn, tried_draft
from kernel_lineage.workloads.files import Target, target_of
from kernel_lineage.workloads.model import DESCRIPTOR, UNRANGED, UNSHAPED, Draft
from kernel_lineage.workloads.proof import TELLING, Device, Proof
from kernel_lineage.workloads.recording.recorder import Recorder, recorder_for
from kernel_lineage.workloads.saved import folder_of, workloads_in
from kernel_lineage.workloads.state import State

_SHOWN = 3
"""Assumptions in a line."""


_SECONDS = 120.0
"""What drafting may take, mutants included."""


class NoWorkloadError(WorkloadError):
    """No workload is there and none could be drafted; the message lists what is missing and what to do."""

    def __init__(self, message: str, *, unbuilt: str = "") -> None:
        super().__init__(message)
        self.unbuilt = unbuilt
        """What a compiler says of the kernel, where that is why."""


@dataclass(frozen=True, slots=True)
class SpotWorkload:
    """A workload and where it comes from."""

    workload: Workload
    path: Path | None
    """The repository's file; None for a draft."""
    assumed: tuple[str, ...] = ()
    proof: Proof | None = None
    is_kept: bool = False
    """Drafted by an earlier run."""


def workload_on_the_spot(
    path: Path,
    kernel: str,
    device: Device,
    on_progress: Callable[[int, int], None] | None = None,
    *,
    record: bool = False,
) -> SpotWorkload:
    """The workload that the repository has for a kernel, else a draft with what it sees of wrong kernels.

    A draft may take `_SECONDS` of work; what they do not reach is left open. With `record`, host code is built
    and run, contained, where reading it leaves something open. Raises `NoWorkloadError` when the draft is not complete,
    and when the repository's file for the kernel cannot be read: a draft does not take the place of what a person
    wrote. Raises as `prove` does, too.
    """
    target = target_of(path, kernel)
    saved = saved_workload(path, target.name)
    if saved is not None:
        return saved
    try:
        recorder = recorder_for(path) if record else None
        with ends_within(_SECONDS, of_work=True):
            return drafted_workload(target, path, path, device, on_progress=on_progress, recorder=recorder)
    except NoWorkloadError as error:
        raise NoWorkloadError(
            f"no workload is given, none in {folder_of(path)} names {kernel}, and {error}"
        ) from error


def saved_workload(path: Path, kernel: str) -> SpotWorkload | None:
    """The workload that the repository has for a kernel. Raises `NoWorkloadError` where its file cannot be read."""
    workloads = workloads_in(folder_of(path))
    saved = workloads.of(kernel, str(path))
    if saved is not None:
        return SpotWorkload(saved.workload, saved.path)
    if problems := workloads.about(kernel):
        raise NoWorkloadError(f"{'; '.join(problems)}. Mend the file, or remove it to have one drafted")
    return None


@dataclass(slots=True)
class Spots:
    """The workloads with which a kernel is checked in turn: the repository's own, else drafts, without any mutants.

    `state` is the repository around `path`; with a `recorder`, host code is run where reading it leaves something open.
    """

    path: Path
    kernel: str
    state: State
    recorder: Recorder | None = None
    _turn: InTurn | None = None
    _draft: Draft | None = None

    def first(self, seconds: float) -> SpotWorkload:
        """The first one; a draft may take so many seconds. Raises as `workload_on_the_spot` does."""
        saved = saved_workload(self.path, self.kernel)
        if saved is not None:
            return saved
        target = target_of(self.path, self.kernel)
        self._turn = InTurn(target, self.path, self.state, recorder=self.recorder)
        with ends_within(seconds):
            draft = self._turn.first()
        if draft.missing:
            raise NoWorkloadError(
                f"no workload is given, none in {folder_of(self.path)} names {self.kernel}, and "
                f"{question(draft, self.path)}"
            )
        return self._spot(draft)

    def after(self, verdict: Verdict, seconds: float) -> SpotWorkload | None:
        """What to try after the kernel failed beside itself with the last draft; None for nothing."""
        if self._turn is None or self._draft is None:
            return None
        build = verdict.stage("build")
        built = build is not None and build.status is StageStatus.PASS
        with ends_within(seconds):
            draft = self._turn.after(self._draft, verdict.reason, built=built)
        return self._spot(draft) if draft is not None else None

    def _spot(self, draft: Draft) -> SpotWorkload:
        self._draft = draft
        return SpotWorkload(draft.workload(), None, draft.assumed)


def drafted_workload(
    kernel: Target,
    path: Path,
    written: str | Path,
    device: Device,
    *,
    root: Path | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    recorder: Recorder | None = None,
) -> SpotWorkload:
    """The draft of a kernel's workload with what it sees of wrong kernels; `written` is what commands call its file.

    `root` is the folder below which the draft reads, by default the repository around `path`.
    Raises `NoWorkloadError`, which asks what is left open, and as `prove` does.
    """
    draft, proof = tried_draft(
        kernel,
        path,
        root=root,
        device=device,
        per_kind=1,
        kinds=TELLING,
        on_progress=on_progress,
        recorder=recorder,
    )
    if proof is None:
        raise NoWorkloadError(question(draft, written))
    return SpotWorkload(draft.workload(), None, draft.assumed, proof)


def question(draft: Draft, written: str | Path) -> str:
    """The first thing that a draft leaves open, and the command that takes the answer; or why no answer would do."""
    if draft.unbuilt:
        return f"{draft.kernel} does not build, so nothing shows its shapes: {draft.unbuilt}"
    if never := next((m for m in draft.missing if m.endswith(DESCRIPTOR)), None):
        return f"{never}; give the buffer and `descriptor = [BLOCK, …]` in a workload file (--workload)"
    command = f"klineage workload init {written}:{draft.entry or draft.kernel}"
    first, answer = first_question(draft.missing, tuple(draft.dims))
    left = len(draft.missing) - 1
    more = f" ({left} more {'is' if left == 1 else 'are'} open)" if left else ""
    opens = f"{Path(written).name} leaves open: {_first_try(first)}{more}."
    if draft.unrecorded:
        opens += f" Running its host code does not tell it: {draft.unrecorded}."
    if answer:
        return f"{opens} Answer with `{command} {answer}`"
    return f"{opens} Run `{command}`, fill in what is missing, and name the file with --workload"


def first_question(missing: Sequence[str], dims: Sequence[str] = ()) -> tuple[str, str]:
    """The question to answer first, and the option that answers it, `--set …`; "" where none takes the answer.

    Shapes and ranges come last: they are measured where all else is known. `dims` are the sizes that are known.
    """
    asked = [(m, name) for m in missing if (name := _answerable(m))]
    asked.sort(key=lambda one: one[0].startswith((UNSHAPED, UNRANGED)))
    if not asked:
        return missing[0], ""
    first, name = asked[0]
    if name in LAUNCH or first.startswith(UNSHAPED):
        return first, f"--set '{name}=[{', '.join(dims[:2]) or 'NUMBER'}]'"
    return first, f"--set {name}=0..N" if first.startswith(UNRANGED) else f"--set {name}=NUMBER"


def _answerable(missing: str) -> str:
    """The name that `--set` takes an answer for; "" where it takes none."""
    match = re.match(
        rf"(?:{re.escape(UNRANGED)}|{re.escape(UNSHAPED)}|the value of |the launch's )(\w+)", missing
    )
    is_asked = match is not None and (not missing.startswith("the launch's ") or match[1] in LAUNCH)
    return match[1] if match is not None and is_asked else ""


def _first_try(missing: str) -> str:
    """What is missing, with the first of several tries to see it by running the kernel."""
    first, *rest = missing.split("; ")
    return (
        f"{first}; {len(rest)} more {'tries fail' if len(rest) > 1 else 'try fails'} too)"
        if rest and "(the kernel cannot be run" in first
        else missing
    )


def in_a_line(kernel: str, written: str | Path, spot: SpotWorkload) -> str:
    """From what a workload was drafted, and what was assumed, in one line."""
    shown = "; ".join(spot.assumed[:_SHOWN]) or "nothing is assumed"
    rest = len(spot.assumed) - _SHOWN
    more = f"; and {rest} more" if rest > 0 else ""
    from_where = f"so {'an earlier run drafted one' if spot.is_kept else 'one is drafted'} from {written}"
    return f"{kernel}: no workload names it, {from_where}: {shown}{more}"


def resting_on(verdict: Verdict, spot: SpotWorkload) -> Verdict:
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
    is_right = verdict.outcome is Outcome.ACCEPTED or verdict.code is Reason.NOT_PROFILED
    if proof is None or not proof.blind or not is_right:
        return marked
    reason = f"the drafted workload cannot be trusted: {proof.blind}"
    return marked.model_copy(
        update={"outcome": Outcome.INCONCLUSIVE, "code": Reason.WORKLOAD_BLIND, "reason": reason}
    )


def _with(verdict: Verdict, about: dict[str, object]) -> Verdict:
    return verdict.model_copy(update={"environment": {**verdict.environment, **about}})
