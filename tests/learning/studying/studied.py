"""Repositories of one file, of which tests study the steps."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from git import Actor, Repo


def make_studied(top: Path, kernel: str, file: str, workload: str, states: Iterable[tuple[str, str]]) -> Path:
    """A repository with a workload and a licence; `states`: each commit's message, and the text of the file."""
    (top / ".klineage/workloads").mkdir(parents=True)
    (top / f".klineage/workloads/{kernel}.toml").write_text(workload)
    (top / "LICENSE").write_text("SPDX-License-Identifier: MIT\n")
    repo = Repo.init(top)
    someone = Actor("A. Author", "a@example.org")
    for message, text in states:
        (top / file).write_text(text)
        repo.git.add("-A")
        repo.index.commit(message, author=someone, committer=someone)
    repo.close()
    return top
