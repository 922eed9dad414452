"""The verdicts on a change of a file that is alone in its repository."""

from __future__ import annotations

from pathlib import Path

from git import Actor, Repo

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Verdict
from kernel_lineage.history.git import open_repository
from kernel_lineage.learning.gate_changes import gate_changes


def verdicts_on(file: Path, before: str, after: str, seconds: float = 10) -> list[Verdict]:
    """The verdicts without a GPU, of few cases; a check may take so many seconds."""
    file.write_text(before)
    with Repo.init(file.parent) as repo:
        repo.git.add("-A")
        someone = Actor("A", "a@example.org")
        repo.index.commit("state", author=someone, committer=someone)
    file.write_text(after)
    few = GateOptions(check_seconds=seconds, callers_seconds=0, hidden=False)

    def judged(request: GateRequest, _path: Path, _kernel: str) -> Verdict:
        return judge(
            request.baseline, request.candidate, request.workload, device="emulated", options=request.options
        )

    changes = gate_changes(open_repository(file.parent), "HEAD", [], judged, device="emulated", options=few)
    return [named.verdict for named in changes]
