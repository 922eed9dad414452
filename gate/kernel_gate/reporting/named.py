"""What a reporter gets: a verdict with the names that a reader knows the programs by."""

from __future__ import annotations

from dataclasses import dataclass

from kernel_gate.standing import Standing
from kernel_gate.verdict import Outcome, Stage, StageStatus, Verdict


@dataclass(frozen=True, slots=True)
class NamedVerdict:
    """One verdict of a list, and what it is about."""

    kernel: str
    verdict: Verdict
    candidate: str
    """The candidate's file, relative to where the command runs; forward slashes."""
    baseline: str = ""
    """The baseline's file, or the revision that it comes from."""
    line: int = 1
    """Where the kernel starts in the candidate's file: the place of a finding that has no line of its own."""
    seconds: float | None = None
    """What the verdict took."""
    repeat: str = ""
    """The command line that gives it again; "" when there is none."""
    difference: str = ""
    """From the baseline to the candidate, as a unified diff."""
    notes: tuple[str, ...] = ()
    """What else its reader wants to know, a sentence each."""

    @property
    def title(self) -> str:
        """`rmsnorm in rmsnorm.cu`."""
        return f"{self.kernel} in {self.candidate}" if self.candidate else self.kernel

    @property
    def place(self) -> int:
        """The line of the candidate's file that the verdict is about."""
        stage = deciding(self.verdict)
        line = line_of(stage) if stage is not None and self.verdict.outcome is not Outcome.ACCEPTED else None
        return line or self.line


def deciding(verdict: Verdict) -> Stage | None:
    """The stage that the outcome comes from."""
    for status in (StageStatus.FAIL, StageStatus.UNAVAILABLE):
        if (stage := next((s for s in verdict.stages if s.status is status), None)) is not None:
            return stage
    return next((s for s in reversed(verdict.stages) if s.code == verdict.code), None)


def line_of(stage: Stage) -> int | None:
    """The line of the user's file that a stage's finding names, if it names one."""
    if stage.details.get("program") == "baseline":
        return None
    findings = stage.details.get("findings") or [{}]
    line = stage.details.get("line") or findings[0].get("line")
    return line if isinstance(line, int) and line > 0 else None


def counts(judged: list[NamedVerdict]) -> str:
    """`2 accepted, 1 rejected`: how many verdicts there are of each standing."""
    standings = [j.verdict.standing for j in judged]
    return ", ".join(f"{standings.count(s)} {s.label}" for s in Standing if s in standings) or "no verdict"
