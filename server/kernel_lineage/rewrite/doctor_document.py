"""What `klineage doctor --json` prints; the language server reads the same document."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

VERSION = 1


class Finding(BaseModel):
    """One part of the environment."""

    model_config = ConfigDict(frozen=True)

    what: str
    present: bool
    found: str
    """What was found, or how to get it."""
    needed_for: str


class DoctorDocument(BaseModel):
    """What `klineage doctor --json` prints."""

    model_config = ConfigDict(frozen=True)

    version: int = VERSION
    findings: tuple[Finding, ...]
