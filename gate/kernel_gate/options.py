"""What a caller may ask of a gate run."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class GateOptions(BaseModel):
    """Settings of one run; all of them are part of the evidence."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int = 91
    hidden: bool = True
    """Check shapes around the workload's as well."""
    need: Literal["faster", "not_slower"] = "faster"
    """What the profile must show for the candidate to be accepted."""
    guard: str | None = None
    """Condition over dims under which the candidate's new path runs; elsewhere it may cost what the guard costs."""
    check_seconds: float = Field(default=120.0, gt=0)
    profile_seconds: float = Field(default=4.0, gt=0)
    """Per profiled shape."""
    interval: float = Field(default=0.005, gt=0)
    """Half-width of the ratio's interval at which measuring stops."""
