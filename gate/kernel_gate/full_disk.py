"""A disk that is full: nobody's fault, whichever file of a run it is that cannot be written."""

from __future__ import annotations

import errno
import tempfile

from kernel_gate.reasons import Reason
from kernel_gate.verdict import Stage, StageStatus

MAKE_ROOM = "make room there, or set TMPDIR to a place that has some"


def is_full(error: OSError) -> bool:
    """Whether a file could not be written because there is no space, or no more for this user."""
    return error.errno in {errno.ENOSPC, errno.EDQUOT}


def no_room(stages: list[Stage]) -> Stage:
    """What becomes of the stage after these when the disk of the temporary folder is full."""
    reached = {stage.name for stage in stages}
    at = next((name for name in ("build", "check", "sanitize") if name not in reached), "profile")
    return Stage.model_validate(
        {
            "name": at,
            "status": StageStatus.UNAVAILABLE,
            "code": Reason.DISK_FULL,
            "reason": f"the disk of {tempfile.gettempdir()} is full; {MAKE_ROOM}",
        }
    )
