"""What can go wrong while building: the code, or the environment."""

from __future__ import annotations

from dataclasses import dataclass


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

    def __init__(self, message: str, diagnostics: tuple[Diagnostic, ...] = (), log: str = "") -> None:
        super().__init__(message)
        self.diagnostics = diagnostics
        self.log = log


class CompilerMissing(Exception):  # noqa: N818
    """The compiler itself is missing or unusable; the message says how to get it."""
