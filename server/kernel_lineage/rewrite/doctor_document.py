"""What `klineage doctor --json` prints; the language server reads the same document."""

from __future__ import annotations

from pydantic import BaseModel

VERSION = 1


class Finding(BaseModel, frozen=True):
    """One part of the environment."""

    what: str
    present: bool
    found: str
    """What was found, or how to get it."""
    needed_for: str


class DoctorDocument(BaseModel, frozen=True):
    """What `klineage doctor --json` prints."""

    version: int = VERSION
    findings: tuple[Finding, ...]
