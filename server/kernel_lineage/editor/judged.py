"""What the last check of a kernel said, what its source says of it, both at the lines where an edit has moved them.

What was said of another text than the kernel's decides nothing: neither that it is right nor that it is wrong.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from kernel_lineage.editor.check_targets import Target
from kernel_lineage.editor.diagnostics import moved
from kernel_lineage.editor.proving import Proved
from kernel_lineage.learning.check_document import HINT, UNMASKED_CODE, CheckedDocument, FindingDocument
from kernel_lineage.learning.version_checks import VersionState

_EDITED = "This was before the last edit; the kernel as it stands is not checked yet."
_OF_NO_TEXT = b"a line with a finding was edited"
"""The digest of a check that an edit has taken a finding from: taken back, the text has to be checked again."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What is known of a kernel."""

    checked: CheckedDocument
    """What its cases say."""
    digest: bytes
    """The hash of what was checked (`Target.digest`)."""
    at: float
    """Seconds since the epoch."""
    unreached: str = ""
    """Why it was not checked at all, in a few words."""
    proof: Proved | None = None
    """What its source says beyond the cases."""
    is_proved: bool = False
    """Whether that is said of this text; else of one before it."""
    around: str | None = None
    """The fingerprint of what its check may have read beside the document (`surroundings`)."""
    is_outdated: bool = False
    """Whether the kernel, or what it depends on, has been edited since."""

    @property
    def passes(self) -> bool:
        """Whether its cases are right."""
        return self.checked.state is VersionState.RIGHT

    @property
    def is_sound(self) -> bool:
        """Whether its source was asked as well, and neither has anything against it."""
        return self.is_proved and self.document.state is VersionState.RIGHT

    @property
    def is_wrong(self) -> bool:
        """Whether anything is shown against this text."""
        shown = self.document
        if shown.state is VersionState.WRONG:
            return True
        against = (f for f in shown.findings if f.severity != HINT and f.code != UNMASKED_CODE)
        return not self.is_of_before and any(against)

    @property
    def doubt(self) -> str:
        """What is said of a kernel for which no change is worth making before it is mended; "" for another one."""
        if self.document.state is VersionState.WRONG:
            return "is wrong"
        return "may be wrong" if self.is_wrong or self.is_of_before else ""

    @property
    def is_of_before(self) -> bool:
        """Whether what is shown against it was shown of a text before it."""
        shown_earlier = self.passes and not self.is_proved
        is_earlier_proof = shown_earlier and self.proof is not None and bool(_against(self.proof))
        return is_earlier_proof or (self.is_outdated and self._of_its_text.state is VersionState.WRONG)

    @property
    def document(self) -> CheckedDocument:
        """What is known of the kernel as it stands."""
        document = self._of_its_text
        if not self.is_outdated or (document.state is VersionState.UNKNOWN and not document.findings):
            return document
        findings = [f if f.severity == HINT else _noted(f, _EDITED) for f in document.findings]
        return document.model_copy(
            update={"findings": findings, "state": VersionState.UNKNOWN, "reason": _EDITED}
        )

    @property
    def lacks_workload(self) -> bool:
        """Whether nothing was run, as neither a file nor a draft says how."""
        document = self.document
        is_open = document.state is VersionState.UNKNOWN and not document.findings
        return is_open and not (document.workload or self.unreached or self.is_outdated)

    def mapped(self, change: Callable[[FindingDocument], FindingDocument]) -> Judged:
        """The same with each finding changed."""
        checked, proof = self.checked, self.proof
        return replace(
            self,
            checked=checked.model_copy(update={"findings": [change(f) for f in checked.findings]}),
            proof=None
            if proof is None
            else proof.model_copy(update={"findings": [change(f) for f in proof.findings]}),
        )

    @property
    def _of_its_text(self) -> CheckedDocument:
        """The check with the proof: with a counterexample a kernel is not right."""
        document, proof = self.checked, self.proof
        if proof is None or not self.passes:
            return document
        against, reason = _against(proof), document.reason
        if not self.is_proved:
            if not against:
                return document
            again = (
                "the typing rests"
                if proof.in_time
                else "the file is saved, as it takes longer than a check may"
            )
            note = f"The source showed this before the last edit; it is asked again when {again}."
            findings = [_noted(f, note) for f in against]
            state, reason = VersionState.UNKNOWN, f"{_first_line(against)}. {note}"
        else:
            findings, state = list(proof.findings), document.state
            if against:
                certain = any(f.severity == "error" for f in against)
                state = VersionState.WRONG if certain else VersionState.UNKNOWN
                reason = _first_line(against)
            else:
                reason += _claims(proof)
        return document.model_copy(
            update={"findings": [*document.findings, *findings], "state": state, "reason": reason}
        )


def with_proofs(judged: Judged, proved: Proved) -> Judged:
    """A kernel that its check finds right, with what its source says."""
    return replace(judged, proof=proved, is_proved=True)


def with_earlier_proofs(judged: Judged, earlier: Judged | None) -> Judged:
    """A kernel that was checked anew: what its source said before stays until it is asked again."""
    if earlier is None or earlier.proof is None or judged.proof is not None:
        return judged
    of_the_same = earlier.digest == judged.digest and earlier.around == judged.around
    same = earlier.is_proved and of_the_same and earlier.proof.in_time
    return replace(judged, proof=earlier.proof, is_proved=same)


def moved_to(judged: Judged, before: bytes, after: bytes) -> Judged:
    """The same after an edit of the text."""

    def there(findings: list[FindingDocument]) -> dict[str, list[FindingDocument]]:
        return {"findings": list(moved(findings, before, after))}

    checked, proof = judged.checked, judged.proof
    now = replace(
        judged,
        checked=checked.model_copy(update=there(checked.findings)),
        proof=None if proof is None else proof.model_copy(update=there(proof.findings)),
    )
    is_whole = len(now.document.findings) == len(judged.document.findings)
    return now if is_whole else replace(now, digest=_OF_NO_TEXT)


def unknown(target: Target, reason: str) -> CheckedDocument:
    """A kernel of which nothing is known."""
    return CheckedDocument(
        kernel=target.name, line=target.line, state=VersionState.UNKNOWN, reason=reason, workload=""
    )


def too_late(target: Target, seconds: float, asked: float) -> Judged:
    """A kernel whose check was not ready in its seconds; one that a person asks for has `asked`."""
    short = f"not ready in {seconds:.0f} s"
    reason = f"{short}; a check that is asked for may take {asked:g}"
    return Judged(unknown(target, reason), target.digest, time.time(), short)


def in_words(judged: Judged) -> str:
    """One kernel's part of the status."""
    document = judged.document
    name = document.kernel
    if document.state is VersionState.RIGHT:
        drafted = ", with a drafted workload" if document.workload == "drafted" else ""
        lacks = judged.proof.lacks if judged.proof is not None else ""
        unproved = f"; nothing beyond its cases is proved: {lacks}" if lacks else ""
        where = f" where {document.where}" if document.where else ""
        return f"{name} is right on the emulated device{drafted}{where}{unproved}"
    if judged.is_of_before:
        return f"{name}: {document.reason}"
    if document.findings:
        return document.findings[0].message.partition("\n")[0]
    if document.state is VersionState.WRONG:
        return f"{name}: {document.reason}"
    return f"{name} is not decided: {document.reason}"


def _against(proof: Proved) -> list[FindingDocument]:
    return [f for f in proof.findings if f.severity != HINT]


def _noted(finding: FindingDocument, note: str) -> FindingDocument:
    """A finding of an earlier text, which says so."""
    return finding.model_copy(update={"severity": "warning", "message": f"{finding.message}\n{note}"})


def _first_line(against: list[FindingDocument]) -> str:
    return against[0].message.partition("\n")[0]


def _claims(proof: Proved) -> str:
    """What a reason says of claims that nothing speaks against."""
    if proof.asked:
        rest = f" ({proof.open})" if proof.open else ""
        return f"; {proof.proved} of {proof.asked} claims about all sizes of callers are proved{rest}"
    return f"; nothing beyond its cases is proved: {proof.open}" if proof.open else ""
