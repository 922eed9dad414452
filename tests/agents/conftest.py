"""A repository with two kernels and a workload, and a user's folders of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from git import Actor, Repo

from two_kernels import KERNELS, WORKLOAD

HEADER = "#pragma once\n__device__ inline float twice(float v) { return 2.0f * v; }\n"


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository; `KLINEAGE_KEEP_IN` and the state folder are beside it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("KLINEAGE_KEEP_IN", str(tmp_path / "kept"))
    folder = tmp_path / "project"
    (folder / ".klineage" / "workloads").mkdir(parents=True)
    (folder / "kernels.cu").write_text(KERNELS)
    (folder / "twice.cuh").write_text(HEADER)
    (folder / "notes.md").write_text("# Notes\n")
    for name in ("scale", "shift"):
        text = WORKLOAD.replace('"scale"', f'"{name}"')
        (folder / ".klineage" / "workloads" / f"{name}.toml").write_text(text)
    (tmp_path / "outside.cu").write_text(KERNELS)
    repository = Repo.init(folder)
    repository.git.add(all=True)
    who = Actor("A", "a@example.org")
    repository.index.commit("first", author=who, committer=who)
    return folder
