"""Which evidence this user's own gate gave: a list of digests in the user's state folder, which no repository reaches.

A skill of a repository brings its evidence with it, and anybody can write such a file. What is not listed here admits
no skill.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from platformdirs import user_state_path

from kernel_gate.files.reading import read_file
from kernel_gate.files.writing import append_privately
from kernel_lineage.skills.card import Evidence


def verified_file() -> Path:
    """Where the list lies."""
    return user_state_path("kernel-lineage", appauthor=False) / "verified-evidence"


def remember_verified(evidence: Iterable[Evidence]) -> None:
    """List evidence that a verdict of this user's gate was just made into. Raises `OSError`."""
    lines = "".join(f"{_digest(one)}\n" for one in evidence)
    if lines:
        append_privately(verified_file(), lines.encode("ascii"))


def unverified(evidence: Iterable[Evidence]) -> tuple[int, ...]:
    """The numbers of those that are not listed."""
    pieces = list(evidence)
    try:
        listed = set(read_file(verified_file()).decode("ascii", "replace").split()) if pieces else set()
    except OSError:
        listed = set()
    return tuple(number for number, one in enumerate(pieces) if _digest(one) not in listed)


def _digest(evidence: Evidence) -> str:
    document = json.dumps(evidence.model_dump(mode="json"), sort_keys=True)
    return hashlib.sha256(document.encode()).hexdigest()
