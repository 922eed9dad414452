"""The sample of transitions whose intents are labelled by hand: which ones, and what a labeller reads of each."""

from __future__ import annotations

import difflib
import hashlib
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_lineage.history.mine import mine
from kernel_lineage.history.model import Commit, Lineage, Transition, TransitionKind, Version

SEED = "intents-1"
_SAYS_REVERT = re.compile(r"\b(revert\w*|undo\w*|undid|roll(ed|ing)? ?back|back to)\b", re.IGNORECASE)
_DIFF_LINES = 60


@dataclass(frozen=True)
class Sampled:
    """One transition of the sample."""

    repository: str
    """The URL that the labels name."""
    stratum: str
    """`any`, or `revert`: drawn from those that look like a revert."""
    lineage: Lineage
    transition: Transition
    before: Version
    after: Version
    commit: Commit

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """Repository, commit, path, kernel and the kernel before: what a label is found by."""
        before = f"{self.before.path}:{self.before.symbol}"
        return (self.repository, self.commit.sha, self.after.path, self.after.symbol, before)


def sample(checkout: Path, repository: str, size: int, reverts: int, seed: str = SEED) -> list[Sampled]:
    """So many transitions of a repository, at most one of a commit; the same for the same history and seed.

    Reverts are rare, so `reverts` more are drawn from the transitions that look like one: their message says so, or
    mining takes them for one. What is found of reverts is therefore found among likely ones.
    """
    everything = _transitions(checkout, repository)
    ordered = sorted(everything, key=lambda s: _rank(s, seed))
    chosen, commits = _draw(ordered, size, set())
    likely = [
        Sampled(s.repository, "revert", s.lineage, s.transition, s.before, s.after, s.commit)
        for s in ordered
        if s.transition.kind is TransitionKind.REVERT
        or _SAYS_REVERT.search(f"{s.commit.subject}\n{s.commit.body}")
    ]
    more, _ = _draw(likely, reverts, commits)
    return [*chosen, *more]


def half(commit: str) -> str:
    """`tuning` or `held_out`; by commit, so that one commit never lies in both."""
    return "tuning" if hashlib.sha256(commit.encode()).digest()[0] % 2 == 0 else "held_out"


def to_read(checkout: Path, sampled: Sampled) -> str:
    """What a labeller reads: message, files, and the difference of the kernel or, where it is the same, of its file."""
    commit = sampled.commit
    lines = [
        f"commit {commit.sha} {commit.date}",
        f"{sampled.key[-1]} -> {sampled.after.path}:{sampled.after.symbol} ({sampled.transition.kind})",
        f"message: {commit.subject}",
        *(f"  {line}" for line in commit.body.splitlines()[:14] if line.strip()),
        _git(checkout, "show", "--stat=120", "--format=", commit.sha)[-500:],
    ]
    kernel = list(
        difflib.unified_diff(
            _text(checkout, sampled.before),
            _text(checkout, sampled.after),
            "before",
            "after",
            lineterm="",
            n=2,
        )
    )
    if not kernel:
        kernel = ["(the kernel's text is the same; its file:)"]
        kernel += _git(
            checkout, "show", "-U2", "--format=", commit.sha, "--", sampled.after.path
        ).splitlines()
    dropped = len(kernel) - _DIFF_LINES
    return "\n".join([*lines, *kernel[:_DIFF_LINES], *([f"… {dropped} more lines"] if dropped > 0 else [])])


def _transitions(checkout: Path, repository: str) -> list[Sampled]:
    mined = mine(checkout)
    samples = []
    for lineage in mined.lineages:
        versions = {v.id: v for v in lineage.versions}
        for transition in lineage.transitions:
            commit = mined.commits.get(transition.commit or "")
            if commit is not None:
                before, after = versions[transition.before], versions[transition.after]
                samples.append(Sampled(repository, "any", lineage, transition, before, after, commit))
    return samples


def _draw(ordered: Sequence[Sampled], size: int, taken: set[str]) -> tuple[list[Sampled], set[str]]:
    chosen: list[Sampled] = []
    taken = set(taken)
    for sampled in ordered:
        if len(chosen) == size:
            break
        if sampled.commit.sha not in taken:
            taken.add(sampled.commit.sha)
            chosen.append(sampled)
    return chosen, taken


def _rank(sampled: Sampled, seed: str) -> str:
    return hashlib.sha256("\0".join([seed, *sampled.key]).encode()).hexdigest()


def _text(checkout: Path, version: Version) -> list[str]:
    source = _git(checkout, "cat-file", "blob", version.blob).splitlines()
    return source[version.first_line - 1 : version.last_line]


def _git(checkout: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(checkout), *arguments], capture_output=True, text=True, check=True, errors="replace"
    ).stdout
