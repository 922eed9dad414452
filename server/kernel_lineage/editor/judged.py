"""What the last check of a kernel said, with what its proofs say and at the lines where an edit has moved it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kernel_lineage.editor.check_targets import Target
from kernel_lineage.editor.diagnostics import moved
from kernel_lineage.editor.proving import Proved
from kernel_lineage.learning.check_document import HINT, CheckedDocument
from kernel_lineage.learning.version_checks import VersionState


@dataclass(frozen=True, slots=True)
class Judged:
    """What the last check of a kernel said."""

    document: CheckedDocument
    digest: bytes
    """The hash of what was checked (`Target.digest`)."""
    at: float
    """Seconds since the epoch."""
    unreached: str = ""
    """Why it was not checked at all, in a few words."""
    is_proved: bool = False
    """Whether the source was asked for what the cases cannot reach, as far as time allowed."""

    @property
    def is_sound(self) -> bool:
        """Whether neither the check nor a proof has anything against it."""
        return self.document.state is VersionState.RIGHT


def with_proofs(judged: Judged, proved: Proved) -> Judged:
    """A kernel that its check finds right, with what its source says: with a counterexample it is not right."""
    document = judged.document
    against = [f for f in proved.findings if f.severity != HINT]
    state, reason = document.state, document.reason
    if against:
        certain = any(f.severity == "error" for f in against)
        state = VersionState.WRONG if certain else VersionState.UNKNOWN
        reason = against[0].message.partition("\n")[0]
    elif proved.asked:
        reason += f"; {proved.proved} of {proved.asked} claims about all sizes of callers are proved"
    findings = [*document.findings, *proved.findings]
    changed = document.model_copy(update={"findings": findings, "state": state, "reason": reason})
    return replace(judged, document=changed, is_proved=True)


def moved_to(judged: Judged, before: bytes, after: bytes) -> Judged:
    """The same after an edit of the text."""
    document = judged.document
    findings = list(moved(document.findings, before, after))
    return replace(judged, document=document.model_copy(update={"findings": findings}))


def unknown(target: Target, reason: str) -> CheckedDocument:
    """A kernel of which nothing is known."""
    return CheckedDocument(
        kernel=target.name, line=target.line, state=VersionState.UNKNOWN, reason=reason, workload=""
    )


def in_words(document: CheckedDocument) -> str:
    """One kernel's part of the status."""
    name = document.kernel
    if document.state is VersionState.RIGHT:
        drafted = ", with a drafted workload" if document.workload == "drafted" else ""
        return f"{name} is right on the emulated device{drafted}"
    if document.findings:
        return document.findings[0].message.partition("\n")[0]
    if document.state is VersionState.WRONG:
        return f"{name}: {document.reason}"
    return f"{name} is not decided: {document.reason}"
