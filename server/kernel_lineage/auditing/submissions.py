"""What a folder has to offer: modules with `ModelNew`, each with its reference, and files of kernels."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

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
    problem: str = ""
    """Why nothing of it can be judged."""


def submissions(folder: Path, reference: Path | None = None) -> Iterator[Submission]:
    """The modules and kernel files below a folder, or one file, in the order of their names."""
    for path in [folder] if folder.is_file() else sorted(_files(folder)):
        name = path.name if folder.is_file() else path.relative_to(folder).as_posix()
        try:
            text = path.read_text("utf-8", "replace")
        except OSError as error:
            yield Submission(path, name, "", False, None, f"it cannot be read: {error.strerror}")
            continue
        if path.suffix in (".cu", ".cuh"):
            if "__global__" in text:
                yield Submission(path, name, text, False, None)
            continue
        classes = _classes(text)
        if classes is None:
            if "ModelNew" in text or "triton" in text:
                yield Submission(path, name, text, False, None, "it does not parse")
        elif "ModelNew" in classes:
            yield Submission(path, name, text, True, _reference(path, text, classes, reference))
        elif "Model" in classes and path.name not in _REFERENCES and _launches(text):
            beside = next((path.with_name(n) for n in _REFERENCES if path.with_name(n).is_file()), reference)
            if beside is not None:
                text = re.sub(r"\bModel\b", "ModelNew", text)
                yield Submission(path, name, text, True, beside.read_text("utf-8", "replace"))
        elif re.search(r"@(triton\.)?jit\b", text):
            yield Submission(path, name, text, False, None)


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink() and path.name not in _SKIPPED:
            yield from _files(path)
        elif path.is_file() and path.name.endswith(_SUFFIXES):
            yield path


def _classes(text: str) -> set[str] | None:
    try:
        return {s.name for s in ast.parse(text).body if isinstance(s, ast.ClassDef)}
    except (SyntaxError, ValueError):
        return None


def _launches(text: str) -> bool:
    return bool(re.search(r"@(triton\.)?jit\b|\bload_inline\s*\(", text))


def _reference(path: Path, text: str, classes: set[str], named: Path | None) -> str | None:
    """The reference in the file itself, the one that is named, `reference.py` beside it, or its name without `new`."""
    if named is not None:
        return named.read_text("utf-8", "replace")
    if "Model" in classes:
        return text
    other = re.sub(r"_new(?=_|\.)", "", path.name)
    shorter = re.sub(r"_(triton|cuda|cute|hip|tilelang|thunderkittens)(?=\.py)", "", other)
    for name in dict.fromkeys((*_REFERENCES, other, shorter)):
        beside = path.with_name(name)
        if beside != path and beside.is_file():
            candidate = beside.read_text("utf-8", "replace")
            if "Model" in (_classes(candidate) or ()):
                return candidate
    return None
