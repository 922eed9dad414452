"""What a folder has to offer: modules with `ModelNew`, each with its reference, and files of kernels."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kernel_gate.files.reading import read_text
from kernel_lineage.auditing.tasks import ENTRY, task_of

_SUFFIXES = (".py", ".py.txt", ".cu", ".cuh")
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv", "build", "dist"})
_REFERENCES = ("reference.py", "reference.py.txt")


@dataclass(frozen=True, slots=True)
class Submission:
    """One file to audit."""

    path: Path
    name: str
    """Its path within the folder."""
    text: str
    module: bool
    """Whether it has a `ModelNew`; otherwise it is a file of kernels."""
    reference: str | None
    """The text of the module with the reference's `Model`; None when there is none."""
    cases: tuple[str, ...] = ()
    """For a task with tests, what makes the inputs of each, to be read below the reference; () for one of its own."""
    problem: str = ""
    """Why nothing of it can be judged."""


def submissions(folder: Path, reference: Path | None = None) -> Iterator[Submission]:
    """The modules and kernel files below a folder, or one file, in the order of their names."""
    root = folder.parent if folder.is_file() else folder
    for path in [folder] if folder.is_file() else sorted(_files(folder)):
        name = path.relative_to(root).as_posix()
        try:
            submission = _submission(path, name, root, reference)
        except OSError as error:
            submission = Submission(
                path, name, "", False, None, problem=f"it cannot be read: {error.strerror}"
            )
        if submission is not None:
            yield submission


def _submission(path: Path, name: str, root: Path, reference: Path | None) -> Submission | None:
    """A file below `root`; None for one that submits nothing. Raises `OSError`."""
    text = read_text(path, within=root, errors="replace")
    if path.suffix in (".cu", ".cuh"):
        return Submission(path, name, text, False, None) if "__global__" in text else None
    classes = _classes(text)
    if re.search(rf"^(def {ENTRY}\b|{ENTRY}\s*=)", text, re.MULTILINE) and _launches(text):
        task = task_of(path, text, root)
        if task is not None:
            return Submission(path, name, task.module, True, task.reference, task.cases)
    if classes is None:
        if "ModelNew" in text or "triton" in text:
            return Submission(path, name, text, False, None, problem="it does not parse")
    elif "ModelNew" in classes:
        return Submission(path, name, text, True, _reference(path, text, classes, reference, root))
    elif "Model" in classes and path.name not in _REFERENCES and _launches(text):
        beside = next((path.with_name(n) for n in _REFERENCES if path.with_name(n).is_file()), reference)
        if beside is not None:
            text = re.sub(r"\bModel\b", "ModelNew", text)
            asked = read_text(beside, within=None if beside == reference else root, errors="replace")
            return Submission(path, name, text, True, asked)
    elif re.search(r"@(triton\.)?jit\b", text):
        return Submission(path, name, text, False, None)
    return None


def _files(folder: Path) -> Iterator[Path]:
    waiting = [folder]
    while waiting:
        for path in waiting.pop().iterdir():
            with suppress(OSError):  # a name that is longer than this system takes
                if path.is_dir() and not path.is_symlink() and path.name not in _SKIPPED:
                    waiting.append(path)
                elif path.is_file() and path.name.endswith(_SUFFIXES):
                    yield path


def _classes(text: str) -> set[str] | None:
    try:
        return {s.name for s in ast.parse(text).body if isinstance(s, ast.ClassDef)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _launches(text: str) -> bool:
    return bool(re.search(r"@(triton\.)?jit\b|\bload_inline\s*\(", text))


def _reference(path: Path, text: str, classes: set[str], named: Path | None, root: Path) -> str | None:
    """The reference in the file itself, the one that is named, `reference.py` beside it, or its name without `new`."""
    if named is not None:
        return read_text(named, errors="replace")
    if "Model" in classes:
        return text
    other = re.sub(r"_new(?=_|\.)", "", path.name)
    shorter = re.sub(r"_(triton|cuda|cute|hip|tilelang|thunderkittens)(?=\.py)", "", other)
    for name in dict.fromkeys((*_REFERENCES, other, shorter)):
        beside = path.with_name(name)
        if beside != path and beside.is_file():
            candidate = read_text(beside, within=root, errors="replace")
            if "Model" in (_classes(candidate) or ()):
                return candidate
    return None
