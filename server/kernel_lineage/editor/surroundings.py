"""A fingerprint of what a check may read beside its document: where it is another one, an earlier verdict may not hold.

It is taken of names, sizes and times of change, as git's index is: reading every file would take longer than a check.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import kernel_gate
import kernel_lineage
from kernel_gate.build.errors import CompilerMissing
from kernel_gate.build.toolkit import find_nvcc
from kernel_gate.files.reading import read_text
from kernel_lineage.workloads.read_from import outermost

_MOST_FILES = 10_000
_OURS = ".klineage"
"""The one hidden folder that checks read: workloads, oracles, data."""
_DERIVED = "__pycache__"


class _UnclearError(Exception):
    """The files around a document cannot be listed, or not in the time of an answer."""


def surroundings(path: Path) -> str | None:
    """The fingerprint of what a check of the document may read beside it; None where there is none."""
    root, own = outermost(path), str(path.resolve())
    try:
        files = [line for place, line in _files(root) if place != own]
        return _digest([str(root), _last_commit(Path(own)), what_judges(), *files])
    except (_UnclearError, OSError, UnicodeDecodeError):
        return None


@cache
def what_judges() -> str:
    """The fingerprint of the code that checks, and of the compilers that it uses."""
    packages = (Path(str(package.__file__)).parent for package in (kernel_gate, kernel_lineage))
    code = [line for package in packages for _, line in _files(package)]
    try:
        compiler = _stated(find_nvcc())
    except CompilerMissing:
        compiler = ""
    installed = [_stated(Path(sysconfig.get_path(kind))) for kind in ("purelib", "platlib")]
    return _digest([importlib.metadata.version("kernel-lineage"), compiler, *installed, *code])


def _files(folder: Path) -> Iterator[tuple[str, str]]:
    """Every file in a folder, with what tells that it has changed. Raises `_UnclearError` for too many."""
    left = _MOST_FILES
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if (f == _OURS or not f.startswith(".")) and f != _DERIVED)
        left -= len(names)
        if left < 0:
            raise _UnclearError
        for name in sorted(names):
            place = os.path.join(at, name)  # noqa: PTH118 - of thousands, a path for each takes twice the time
            yield place, _stated(place)


def _stated(path: str | Path) -> str:
    try:
        state = os.stat(path)  # noqa: PTH116
    except OSError:  # a link that leads nowhere
        return f"{path} -"
    return f"{path} {state.st_size} {state.st_ino} {state.st_mtime_ns} {state.st_ctime_ns}"


def _last_commit(path: Path) -> str:
    """What is another one after a commit, a reset or a checkout; "" outside a repository. Git is not run.

    Raises `OSError`, and `UnicodeDecodeError`.
    """
    git = next((folder / ".git" for folder in path.parents if (folder / ".git").exists()), None)
    if git is None:
        return ""
    if git.is_file():  # a work tree of its own, or a submodule
        git = git.parent / read_text(git).removeprefix("gitdir:").strip()
    common = git / read_text(git / "commondir").strip() if (git / "commondir").exists() else git
    head = read_text(git / "HEAD").strip()
    branch = head.removeprefix("ref:").strip()
    places = [git / branch, common / branch, common / "packed-refs", common / "reftable" / "tables.list"]
    return "\n".join([head, *map(_stated, places)])


def _digest(parts: list[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()
