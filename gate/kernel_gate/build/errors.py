"""What can go wrong while building: the code, or the environment."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernel_gate.reasons import Reason


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One compiler message."""

    line: int | None
    """Line of the program's source, 1-based; None when the message is about another file or none."""
    severity: str
    """`error` or `warning`."""
    message: str


class BuildError(Exception):
    """The program does not build. `str()` is one line for people; the rest is evidence."""

    def __init__(
        self,
        message: str,
        diagnostics: tuple[Diagnostic, ...] = (),
        log: str = "",
        *,
        code: Reason = Reason.CANDIDATE_DOES_NOT_COMPILE,
    ) -> None:
        super().__init__(message)
        self.diagnostics = diagnostics
        self.log = log
        self.code = code
        """As if the program were the candidate; the build stage knows which of the two it is."""


ENDED_FROM_OUTSIDE = re.compile(
    r"^(?:nvcc error\s*:.*died due to signal (?:2|9|15)\b"
    r"|\S*: fatal error: (?:Killed|Terminated|Interrupt) signal terminated program"
    r"|\S*: fatal error: .*terminated with signal (?:2|9|15)\b)",
    re.MULTILINE,
)
"""What a driver says of one of its programs that something else has ended."""


class CompilerMissing(Exception):  # noqa: N818
    """The compiler itself is missing or unusable; the message says how to get it."""

    def __init__(self, message: str, *, code: Reason = Reason.COMPILER_MISSING) -> None:
        super().__init__(message)
        self.code = code
