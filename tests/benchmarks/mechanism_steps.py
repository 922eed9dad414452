"""Steps of kernels straight from git, to label and score mechanisms: no lineage, no intent, one file at a time."""

from __future__ import annotations

import difflib
import hashlib
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from kernel_lineage.history.similarity import code_lines
from kernel_lineage.kernels.reading import language_of, read
from kernel_lineage.kernels.source import Kernel, Language

SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".py")
_LARGEST = 400_000
_INCLUDED = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"/]+)"', re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """One kernel of one file on both sides of a commit."""

    commit: str
    path: str
    kernel: str
    subject: str
    before: Kernel
    after: Kernel


def steps(checkout: Path) -> Iterator[Step]:
    """Every kernel that a commit without a second parent changes in code, by name, the commits newest first."""
    log = git(
        checkout,
        "log",
        "--no-merges",
        "--format=%x01%H%x02%s",
        "--raw",
        "--abbrev=40",
        "--no-renames",
        "--diff-filter=M",
    )
    for entry in log.split("\x01")[1:]:
        head, _, rows = entry.partition("\n")
        commit, _, subject = head.partition("\x02")
        for row in rows.splitlines():
            if row.startswith(":") and row.endswith(SUFFIXES):
                _, _, old, new, state = row.partition("\t")[0].split()
                if state == "M":
                    yield from _changed(checkout, commit, row.partition("\t")[2], subject, old, new)


def step_at(checkout: Path, earlier: str, later: str, path: str, kernel: str, before: str) -> Step | None:
    """One kernel of a file from one commit to another; `before`, as `[path:]name`, is what it was called earlier."""
    old_path, _, old_name = before.rpartition(":")
    places = ((earlier, old_path or path), (later, path))
    old, new = (
        _kernels(checkout, git(checkout, "rev-parse", f"{at}:{where}").strip(), where, at)
        for at, where in places
    )
    a, b = old.get(old_name), new.get(kernel)
    return Step(later, path, kernel, "", a, b) if a is not None and b is not None else None


def _changed(checkout: Path, commit: str, path: str, subject: str, old: str, new: str) -> Iterator[Step]:
    before, after = (_kernels(checkout, blob, path) for blob in (old, new))
    for name in sorted(before.keys() & after.keys()):
        a, b = before[name], after[name]
        if lines_of(a) != lines_of(b):
            yield Step(commit, path, name, subject, a, b)


def _kernels(checkout: Path, blob: str, path: str, commit: str = "") -> dict[str, Kernel]:
    data = _contents(checkout, blob)
    language = language_of(path, data)
    if language is None or len(data) > _LARGEST:
        return {}
    if commit and language is Language.CUDA:
        data = b"\n".join([*_beside(checkout, data, path, commit), data])
    return {k.name: k for k in reversed(read(data, language).kernels)}


def _beside(checkout: Path, data: bytes, path: str, commit: str) -> Iterator[bytes]:
    """The headers that a file includes from its own folder: what a kernel's own names stand for is read there."""
    for name in _INCLUDED.findall(data):
        beside = PurePosixPath(path).parent / name.decode("utf-8", "replace")
        entry = git(checkout, "ls-tree", "-r", commit, "--", str(beside)).split()
        if entry:
            yield _contents(checkout, entry[2])


def _contents(checkout: Path, blob: str) -> bytes:
    command = ["git", "-C", str(checkout), "cat-file", "blob", blob]
    return subprocess.run(command, capture_output=True, check=True).stdout


def lines_of(kernel: Kernel) -> list[str]:
    """The kernel's code, that of what it reaches and its launches, without comments and layout."""
    source = kernel.source
    texts = [kernel.text]
    if source is not None:
        texts += [f.text for f in source.device_functions if f.name in kernel.device_functions]
        texts += [source.text(launch.span) for launch in kernel.launches]
    python = kernel.language is Language.TRITON
    return [line for text in texts for line in code_lines(text, python)]


def shown(step: Step, most: int) -> str:
    """What a labeller reads: the message's first line and the difference."""
    before, after = lines_of(step.before), lines_of(step.after)
    different = list(difflib.unified_diff(before, after, lineterm="", n=1))[2:]
    return "\n".join([f"{step.commit} {step.path} {step.kernel} | {step.subject}", *different[:most]])


def rank(step: Step, seed: str) -> str:
    """An order that neither author nor date decides."""
    return hashlib.sha256(f"{seed} {step.commit} {step.path} {step.kernel}".encode()).hexdigest()


def git(checkout: Path, *arguments: str) -> str:
    """What git prints."""
    command = ["git", "-C", str(checkout), *arguments]
    return subprocess.run(command, capture_output=True, check=True, text=True, errors="replace").stdout
