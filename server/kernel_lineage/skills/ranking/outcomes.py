"""Outcomes: what the gate said of each skill that was carried over, a file for each in the repository's cache folder.

`outcomes/<id>.json`, one for each candidate, named by its contents: two processes never write two of one name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from kernel_gate.files.reading import read_file
from kernel_gate.files.writing import write_atomically
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.skills.ranking.counts import REJECTED, Effect, Observation

_FOLDER = "outcomes"
_MOST = 1 << 20
"""Bytes; one takes a few hundred."""


class Outcome(BaseModel, frozen=True, extra="forbid"):
    """One verdict about one candidate."""

    version: Literal[1] = 1
    skill: str
    mechanism: str
    """What the skill adds."""
    path: str
    """The path of the kernel's file, relative to the repository."""
    kernel: str
    language: str
    before: tuple[str, ...]
    """Mechanisms that the kernel had."""
    parent: str
    """SHA-256 of the kernel's own text before: what was tried on one parent is not tried on it twice."""
    candidate: str
    """SHA-256 of the file with the candidate in it."""
    workload: str
    """SHA-256 of how it was run."""
    by: str
    """`assist`, `model:…` or `handoff`."""
    outcome: Literal["accepted", "rejected", "inconclusive"]
    code: str
    """The gate's reason code; "" when it gave none."""
    reason: str
    device: str
    speedup: float | None
    """Time before over time after; None where nothing was timed."""
    date: str
    """ISO 8601."""
    profile: dict[str, int | float | str] = Field(default_factory=dict)
    """What the run showed of the kernel before: fact names of `profile.…` and `kernel.…` → values."""

    @property
    def id(self) -> str:
        """The same for the same candidate, run and device."""
        key = "\0".join(
            [self.skill, self.parent, self.candidate, self.workload, self.by, self.device, self.outcome]
        )
        return hashlib.sha256(key.encode()).hexdigest()[:12]


def keep_outcome(root: Path, outcome: Outcome) -> Path:
    """Keep an outcome of a repository; the same one again takes its own place. Raises `OSError`."""
    path = kept_in(root) / _FOLDER / f"{outcome.id}.json"
    write_atomically(path, outcome.model_dump_json(indent=2).encode() + b"\n", 0o600)
    return path


def outcomes_in(root: Path) -> tuple[tuple[Outcome, ...], tuple[str, ...]]:
    """The outcomes of a repository, in the order of their ids, and what could not be read."""
    outcomes: list[Outcome] = []
    problems: list[str] = []
    folder = kept_in(root) / _FOLDER
    try:
        paths = sorted(folder.glob("*.json"))
    except OSError as error:
        return (), (f"{folder} cannot be read: {error.strerror}",)
    for path in paths:
        try:
            outcomes.append(Outcome.model_validate_json(read_file(path, within=folder, most=_MOST)))
        except (OSError, ValidationError) as error:
            problems.append(f"{path} is no outcome that can be read: {str(error).splitlines()[0]}")
    return tuple(outcomes), tuple(problems)


def as_observations(outcomes: tuple[Outcome, ...]) -> Iterator[Observation]:
    """Accepted and rejected outcomes as steps; what was inconclusive moves nothing."""
    for outcome in outcomes:
        if outcome.outcome == "inconclusive":
            continue
        rejected = outcome.outcome == "rejected"
        yield Observation(
            id=outcome.id,
            language=outcome.language,
            before=frozenset(outcome.before),
            added=(outcome.mechanism,),
            judged=True,
            risks=(REJECTED,) if rejected else (),
            effect=None
            if outcome.speedup is None
            else Effect(speedup=outcome.speedup, device=outcome.device),
        )
