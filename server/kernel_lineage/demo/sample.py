"""Builds the sample repository: our own kernels with a history of optimisations, mistakes and repairs."""

from __future__ import annotations

import shutil
import tempfile
import tomllib
from datetime import datetime
from pathlib import Path

from git import Actor, Repo
from pydantic import BaseModel

HISTORY = Path(__file__).parent / "history"
_AUTHOR = Actor("Kernel Lineage sample", "sample@kernel-lineage.invalid")


class SampleExistsError(Exception):
    """The folder is there and is not ours to replace; the message says what to do."""


class _Step(BaseModel, frozen=True, extra="forbid"):
    """One commit of the sample, as its `commit.toml` says."""

    subject: str
    body: str
    date: datetime
    """Also the committer's date, so that commit ids do not depend on when the sample is built."""
    reverts: str | None = None
    """Folder name of the step that this one takes back."""


def build_sample_repository(folder: Path) -> Repo:
    """Make the sample repository in `folder`, which must be new, empty, or an earlier sample.

    Raises:
        SampleExistsError: the folder holds something else.
    """
    if folder.exists() and any(folder.iterdir()) and not _is_sample(folder):
        raise SampleExistsError(
            f"{folder} is not empty and is not an earlier sample; name another folder or remove it"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as work:
        built = Path(work) / "sample"
        _commit_history(built)
        if folder.exists():
            shutil.rmtree(folder)
        built.rename(folder)
    return Repo(folder)


def _commit_history(folder: Path) -> None:
    with Repo.init(folder, initial_branch="main") as repo:
        shas: dict[str, str] = {}
        for step_folder in sorted(p for p in HISTORY.iterdir() if p.is_dir()):
            step = _Step.model_validate(tomllib.loads((step_folder / "commit.toml").read_text("utf-8")))
            files = step_folder / "files"
            shutil.copytree(files, folder, dirs_exist_ok=True)
            repo.index.add([str(p.relative_to(files)) for p in sorted(files.rglob("*")) if p.is_file()])
            commit = repo.index.commit(
                _message(step, shas),
                author=_AUTHOR,
                committer=_AUTHOR,
                author_date=step.date,
                commit_date=step.date,
                skip_hooks=True,
            )
            shas[step_folder.name] = commit.hexsha


def _message(step: _Step, shas: dict[str, str]) -> str:
    reverts = f"This reverts commit {shas[step.reverts]}.\n\n" if step.reverts else ""
    return f"{step.subject}\n\n{reverts}{step.body.strip()}\n"


def _is_sample(folder: Path) -> bool:
    """Whether the folder is a sample that nobody else has committed to since."""
    if not (folder / ".git").is_dir():
        return False
    return all(commit.author == _AUTHOR for commit in Repo(folder).iter_commits())
