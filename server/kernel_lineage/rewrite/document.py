"""What `klineage apply --json` prints; the language server reads the same document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, Field, computed_field

from kernel_gate.standing import Standing
from kernel_gate.verdict import Verdict

VERSION = 1


class EditDocument(BaseModel, frozen=True):
    """Replace bytes [start, end) of the gated text."""

    start: int
    end: int
    text: str


def with_edits(data: bytes, edits: Iterable[EditDocument]) -> bytes:
    """A text with edits made."""
    for edit in sorted(edits, key=lambda e: e.start, reverse=True):
        data = data[: edit.start] + edit.text.encode() + data[edit.end :]
    return data


class ApplyDocument(BaseModel, frozen=True):
    """How an application of a skill ended."""

    version: int = VERSION
    skill: str
    path: str
    kernel: str
    by: str
    """`assist`, `model:<name>` or `handoff`."""
    outcome: Literal["accepted", "rejected", "inconclusive", "refused"]
    """`refused`: there was no candidate to gate (the skill does not apply, the model gave none)."""
    reason: str
    explanation: str = ""
    guarded: bool = False
    source_sha256: str
    """The hash of the text that was read and gated: an edit is for exactly this text."""
    edits: list[EditDocument] = Field(default_factory=list)
    verdict: Verdict | None = None
    applied: bool = False
    patch: str | None = None
    """Where the candidate was kept as a patch when it was not applied."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def standing(self) -> Standing:
        """What is known of the candidate, as a verdict says it; one that was refused counts as rejected."""
        if self.outcome != "inconclusive":
            return Standing.ACCEPTED if self.outcome == "accepted" else Standing.REJECTED
        if self.verdict is None:
            return Standing.NOT_JUDGED
        # Accepted by the gate, and held back for a condition that nothing decides.
        standing = self.verdict.standing
        return Standing.UNDECIDED if standing is Standing.ACCEPTED else standing

    def changed(self, data: bytes) -> bytes:
        """The text that was gated, with the edits made."""
        return with_edits(data, self.edits)


class Progress(BaseModel):
    """One line on stderr under `--progress json`."""

    stage: str
    """`materialise`, `build`, `check`, `sanitize`, `profile`."""
    message: str
    elapsed: float
    """Seconds since the command started."""
