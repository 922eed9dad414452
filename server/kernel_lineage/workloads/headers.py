"""Where the headers of host and device code lie in a repository, searched as its build would."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from kernel_gate.files.reading import read_file

HEADERS = frozenset({".cuh", ".h", ".hpp", ".hxx", ".inl"})
INCLUDING = HEADERS | {".cu", ".cc", ".cpp"}
_LIBRARIES = re.compile(
    r"(?:third[_-]?party|3rd[_-]?party|extern(?:al)?s?|deps|dependencies|vendor|submodules)", re.IGNORECASE
)
"""Folders in which the sources of other libraries usually lie, each in one of its own."""
_OF_PYTHON = re.compile(r"setup\w*\.py|\w*build\w*\.py|pyproject\.toml")
_OF_CMAKE = re.compile(r"CMakeLists\.txt|\w+\.cmake")
_OF_MAKE = re.compile(r"(?:GNU)?[Mm]akefile|\w+\.mk")
_QUOTED = re.compile(r"""(?:["'][\w./+-]+["'](?:\s*[,/]\s*)?)+""")
_INNER = re.compile(r"""["']([\w./+-]+)["']""")
_INCLUDED = re.compile(r"include_directories\s*\(([^()]*)\)", re.IGNORECASE)
_OPTION = re.compile(r"-I\s*(\S+)")
_STANDARD = re.compile(r"(?:std=(?:gnu|c)\+\+|/std:c\+\+|(?:CXX|CUDA)_STANDARD\s+)(1[0-9a-z]|2[0-9a-z])")
_VARIABLE = re.compile(r"\$[{(]\w+[})]/?|[\"']")
_MOST_BYTES = 1 << 20
_MOST_NAMED = 200
"""Paths that are looked up of one build file."""


@dataclass(frozen=True, slots=True)
class Headers:
    """The headers of a repository.

    They are looked for beside the including file, in the folders above it and in those beside them, where the build
    files up to the root say, and among other libraries' sources.
    """

    root: Path
    """Resolved; nothing outside of it is a header."""
    _places: dict[Path, tuple[Path, ...]] = field(default_factory=dict)
    _named: dict[Path, tuple[Path, ...]] = field(default_factory=dict)

    def at(self, folder: Path, header: str) -> Path | None:
        """The file that an `#include` in `folder` names, however it is called; None where there is none below the root.

        What is hidden, such as `.git` and what lies in it, is no header.
        """
        if any(part.startswith(".") and part.strip(".") for part in header.split("/")):
            return None
        for place in (folder, *self._around(folder)):
            there = place / header
            with suppress(OSError, ValueError):  # a name that no file can have
                if there.is_file() and (file := there.resolve()).is_relative_to(self.root):
                    return file
        return None

    def _around(self, folder: Path) -> tuple[Path, ...]:
        if folder not in self._places:
            above = [f for f in (folder, *folder.parents) if f.is_relative_to(self.root)]
            places = [place for one in above for place in (one, *_inner(one))]
            places += [place for one in above for place in self._built_with(one)]
            places += [self.root / path for path in submodules(self.root)]
            libraries = [p for p in places if _LIBRARIES.fullmatch(p.name)]
            places += [library for place in libraries for library in _inner(place)]
            places += [own for place in places if (own := place / "include").is_dir()]
            self._places[folder] = tuple(dict.fromkeys(places))
        return self._places[folder]

    def _built_with(self, folder: Path) -> tuple[Path, ...]:
        if folder not in self._named:
            self._named[folder] = tuple(_built_with(folder))
        return self._named[folder]


def _inner(folder: Path) -> list[Path]:
    """The folders in a folder that are not hidden."""
    with suppress(OSError), os.scandir(folder) as entries:  # a folder that this user may not list
        return [Path(path) for path in sorted(e.path for e in entries if e.is_dir() and e.name[:1] != ".")]
    return []


def _built_with(folder: Path) -> Iterator[Path]:
    """The folders that the build files of a folder name."""
    for name, text in _build_files(folder):
        is_python, is_cmake = _OF_PYTHON.fullmatch(name), _OF_CMAKE.fullmatch(name)
        written = _quoted(text) if is_python else _words(text) if is_cmake else _OPTION.findall(text)
        for path in list(dict.fromkeys(_VARIABLE.sub("", w).rstrip("/") for w in written))[:_MOST_NAMED]:
            with suppress(OSError, ValueError):
                if path and (folder / path).is_dir():
                    yield folder / path


def _build_files(folder: Path) -> Iterator[tuple[str, str]]:
    """The names and texts of a folder's build files."""
    with suppress(OSError):
        for file in sorted(folder.iterdir()):
            if any(kind.fullmatch(file.name) for kind in (_OF_PYTHON, _OF_CMAKE, _OF_MAKE)):
                yield file.name, read_file(file, within=folder, most=_MOST_BYTES).decode("utf-8", "replace")


def standard_of(path: Path, root: Path) -> str:
    """The version of C++ that a source is built with: what the nearest build file up to the root says, 17 or 20."""
    above = [f for f in path.resolve().parents if f.is_relative_to(root.resolve())]
    versions = (
        match[1] for folder in above for _, text in _build_files(folder) for match in _STANDARD.finditer(text)
    )
    return "c++20" if next(versions, "").startswith("2") else "c++17"


def _quoted(text: str) -> Iterator[str]:
    """Paths in Python's quotes, also joined as `os.path.join` and `/` join them."""
    for match in _QUOTED.finditer(text):
        parts = _INNER.findall(match[0])
        yield from parts
        if len(parts) > 1:
            yield "/".join(part.strip("/") for part in parts)


def _words(text: str) -> Iterator[str]:
    for match in _INCLUDED.finditer(text):
        yield from match[1].split()


def submodules(root: Path) -> tuple[str, ...]:
    """The folders of a repository's submodules, relative to it; none where it has none or they cannot be read."""
    try:
        text = read_file(root / ".gitmodules", within=root).decode("utf-8", "replace")
    except OSError:
        return ()
    return tuple(re.findall(r"^\s*path\s*=\s*(\S+)\s*$", text, re.MULTILINE))
