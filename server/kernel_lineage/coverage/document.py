"""What `klineage coverage` gives, as JSON and as a table. Fields may be added, none is renamed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pydantic import BaseModel

VERSION = 1
_ROWS_MOST = 25


class KernelCovered(BaseModel, frozen=True):
    """One kernel of the folder."""

    file: str
    kernel: str
    line: int
    language: str
    compiled: bool
    decoded: bool
    reason: str | None = None
    """Why it does not compile, without the place."""
    instances: int = 0
    """Images that were decoded: instances of a template, or one."""
    instructions: int = 0
    """The instructions of all its images, with calls inlined."""
    unsupported: dict[str, int] = {}
    """Opcode → how often it stands in the kernel's images."""


class CoverageDocument(BaseModel, frozen=True):
    """What `klineage coverage --json` prints."""

    version: int = VERSION
    arch: str
    files: int
    """Files that hold kernels."""
    kernels: int
    compiled: int
    decoded: int
    """Kernels whose every instruction the emulated device knows."""
    unsupported: dict[str, int]
    """Opcode → kernels that hold it, the most frequent first."""
    not_compiled: dict[str, int]
    """Reason → kernels, the most frequent first."""
    problems: tuple[str, ...] = ()
    """Files that could not be read."""
    details: tuple[KernelCovered, ...] = ()


def document(
    arch: str, files: int, rows: Sequence[KernelCovered], problems: Sequence[str]
) -> CoverageDocument:
    """The figures of some kernels."""
    missing = Counter(opcode for row in rows for opcode in row.unsupported)
    reasons = Counter(row.reason or "no reason given" for row in rows if not row.compiled)
    return CoverageDocument(
        arch=arch,
        files=files,
        kernels=len(rows),
        compiled=sum(row.compiled for row in rows),
        decoded=sum(row.decoded for row in rows),
        unsupported=dict(missing.most_common()),
        not_compiled=dict(reasons.most_common()),
        problems=tuple(problems),
        details=tuple(rows),
    )


def table(coverage: CoverageDocument) -> str:
    """The figures as text: what decodes, why kernels do not compile, which opcodes are missing."""
    return "\n".join(_lines(coverage)) + "\n"


def _lines(coverage: CoverageDocument) -> Iterator[str]:
    yield f"{coverage.files} files, {coverage.kernels} kernels, compiled for {coverage.arch}"
    yield f"  compiled {coverage.compiled:5}  {_share(coverage.compiled, coverage.kernels)} of the kernels"
    yield f"  decoded  {coverage.decoded:5}  {_share(coverage.decoded, coverage.compiled)} of those that compile"
    if coverage.unsupported:
        yield "\nMissing opcodes, by kernels that hold them"
        yield from _ranked(coverage.unsupported)
    if coverage.not_compiled:
        yield "\nWhy kernels do not compile, by kernels"
        yield from _ranked(coverage.not_compiled)
    if coverage.problems:
        yield "\nNot read"
        yield from (f"  {problem}" for problem in coverage.problems)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:5.1f} %" if whole else "    – "


def _ranked(counts: dict[str, int]) -> Iterator[str]:
    for name, count in list(counts.items())[:_ROWS_MOST]:
        yield f"  {count:5}  {name}"
    if len(counts) > _ROWS_MOST:
        yield f"         and {len(counts) - _ROWS_MOST} more (--json names them)"
