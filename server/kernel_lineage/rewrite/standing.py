"""What stands between a skill that has a place in a kernel and a candidate of it."""

from __future__ import annotations

from enum import StrEnum


class Standing(StrEnum):
    """Why there is no candidate of a skill that has a place in a kernel."""

    NEEDS_FACT = "needs a fact"
    """A validity condition is not known to hold, and no test in the kernel can stand in for it."""
    NO_ASSIST = "no assist"
    """Nothing known speaks against it; a model may carry it over."""
    DOES_NOT_APPLY = "does not apply"
