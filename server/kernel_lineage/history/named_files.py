"""Which files of a repository kernels are made of: sources and headers by their suffix, and what a directive may name.

An `#include` may name any file, through macros too, and `__has_include` asks for one that may not be there: each word
of a directive that can be a file's name is taken for one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath

SUFFIXES = (
    *(".cu", ".cuh", ".py", ".h", ".hpp", ".inl"),
    *(".hh", ".hxx", ".inc", ".cpp", ".cc", ".cxx"),
)
LARGEST_NAMED = 4 << 20
"""Bytes: a larger file is data that no person includes."""
_SPLICE = re.compile(rb"\\\r?\n")
_DIRECTIVE = re.compile(rb"(?:^|\*/)[ \t\v\f]*(?:#|%:|\?\?=)(.*)", re.MULTILINE)
_IMPORT = re.compile(rb"^[ \t]*(?:from[ \t]+(\w+)|import[ \t]+([\w., \t]+))", re.MULTILINE)
_NAME = re.compile(rb'["<]([^"<>\n]+)[">]|([\w.+/-]+)')


def names_in(path: str, data: bytes) -> frozenset[str]:
    """The last parts of the file names that a text's directives may mean; none of Python without CUDA C++ in it."""
    if path.endswith(".py") and b"__global__" not in data:
        return frozenset()
    names = (
        PurePosixPath((name[1] or name[2]).decode("utf-8", "replace")).name
        for line in _DIRECTIVE.finditer(_SPLICE.sub(b"", data))
        for name in _NAME.finditer(line[1])
        if name[1] or b"." in name[2]
    )
    return frozenset(names)


def packages_in(path: str, data: bytes) -> frozenset[str]:
    """The first parts of the modules that a text with Triton in it imports, without relative imports."""
    if not path.endswith(".py") or b"triton" not in data:
        return frozenset()
    imported = (one[1] or part for one in _IMPORT.finditer(data) for part in (one[2] or b"").split(b","))
    parts = (words[0].split(b".")[0] for one in imported if (words := one.split()))
    return frozenset(part.decode("utf-8", "replace") for part in parts)


def source_files(every: Iterable[str], read: Callable[[set[str]], Mapping[str, bytes]]) -> dict[str, bytes]:
    """The files that kernels are made of, with what `read` gives for them; what it leaves out is not followed."""
    left = {path: PurePosixPath(path).name for path in every}
    waiting = {path for path in left if path.lower().endswith(SUFFIXES)}
    contents: dict[str, bytes] = {}
    while waiting:
        there = read(waiting)
        contents.update(there)
        for path in waiting:
            del left[path]
        names = frozenset().union(*(names_in(path, data) for path, data in there.items()))
        waiting = {path for path, name in left.items() if name in names}
    return contents


def readers(names: Mapping[str, frozenset[str]], touched: Iterable[str]) -> set[str]:
    """The files that may read a touched one, directly or not; `names` is, by file, what its directives may mean."""
    by_name: dict[str, list[str]] = {}
    for path, named in names.items():
        for name in named:
            by_name.setdefault(name, []).append(path)
    files: dict[str, None] = dict.fromkeys(touched)
    waiting = list(files)
    for path in waiting:
        for reader in by_name.get(PurePosixPath(path).name, ()):
            if reader not in files:
                files[reader] = None
                waiting.append(reader)
    return set(files)
