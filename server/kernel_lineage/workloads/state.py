"""One state of a repository as drafting reads it: each file once, for all kernels that are drafted from it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from pathlib import Path

from kernel_gate.files.reading import read_file
from kernel_lineage.kernels.reading import language_of, read
from kernel_lineage.kernels.source import Kernel, Language, SourceFile
from kernel_lineage.workloads.files import Target, kernel_in, source_of, target_in
from kernel_lineage.workloads.files_below import files_below
from kernel_lineage.workloads.following.bindings import IS_BINDING
from kernel_lineage.workloads.following.callers import Caller
from kernel_lineage.workloads.following.functions import HostCode
from kernel_lineage.workloads.following.unit import Unit, unit_of
from kernel_lineage.workloads.frameworks import is_program
from kernel_lineage.workloads.triton.extension_calls import extension_calls
from kernel_lineage.workloads.triton.modules import Modules

_INCLUDED = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
_NO_CALL = re.compile(rb"//[^\n]*|/\*.*?\*/|(?<![.>:])\btemplate\b(?!\s*<)[^;{}]*;", re.DOTALL)
"""Where a name of a function before `(` is none of its calls: comments, and templates that are made for some types."""
_SOURCES = (".cu", ".cc", ".cpp")
_CPP = (".cu", ".cuh", ".h", ".hpp", ".cc", ".cpp", ".inl")


@dataclass(slots=True)
class State:
    """A folder of files; nothing outside of it is read."""

    root: Path
    block: int | None = None
    """The number of threads to take where a caller goes through several; None for a usual one."""
    sources: dict[str, SourceFile] = field(default_factory=dict)
    modules: Modules = field(init=False)
    _callers: dict[tuple[frozenset[str], tuple[str, ...]], tuple[Caller, ...]] = field(default_factory=dict)
    _all: dict[Path, bytes] | None = None
    """The C++ files."""
    _launching: dict[Path, bytes] | None = None
    """C++ files in which something is launched."""
    _includes: dict[Path, set[bytes]] | None = None
    """C++ file → the names of the files that it includes."""
    _parsed: dict[Path, SourceFile] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.modules = Modules(self.root.resolve())

    def kernel(self, path: str, name: str) -> Kernel:
        """A kernel by its file, relative to the root, and its name. Raises `ProgramError`, which says what there is."""
        return kernel_in(self.source(path), name, path)

    def target(self, path: str, name: str) -> Target:
        """A kernel, or a host function that launches some. Raises `ProgramError`."""
        return target_in(self.source(path), name, path)

    def source(self, path: str) -> SourceFile:
        """What a file holds. Raises `ProgramError` for one that cannot be read or holds no kernels."""
        if path not in self.sources:
            self.sources[path] = source_of(self.root / path, called=path)
        return self.sources[path]

    def callers_of(self, unit: Unit, function: HostCode) -> tuple[Caller, ...]:
        """What Python gives a function of an extension; nothing for one that takes no tensors."""
        if not any("Tensor" in p.type for p in function.parameters):
            return ()
        names = unit.bound.get(function.name, frozenset([function.name]))
        key = names, tuple(p.name for p in function.parameters)
        if key not in self._callers:
            calls = extension_calls(*key, self.modules)
            self._callers[key] = tuple(c for c in calls if c.gives_all(function.parameters))
        return self._callers[key]

    def files_launching(self, kernel: str) -> Iterator[Path]:
        """The C++ files that launch a CUDA kernel, in the order of their paths."""
        name = kernel.encode()
        word = re.compile(rb"\b%s\b" % name)
        for path, data in self._launchers().items():
            # Most files do not hold the name at all, which is told far faster than by an expression.
            if name not in data or word.search(data) is None:
                continue
            if language_of(str(path), data) is None:
                continue
            if any(launch.kernel == kernel for launch in self._read(path, data).launches):
                yield path

    def files_calling(self, functions: Collection[str], near: Path) -> list[Path]:
        """The source files besides `near` in which one of some functions is called, or bound to a name of Python, the
        nearest in the tree first.
        """
        if not functions:
            return []
        names = [f.encode() for f in functions]
        called = re.compile(rb"\b(?:%s)\s*(?:<[^;(){}]*>\s*)?\(" % b"|".join(map(re.escape, names)))
        files = (p for p in self._cpp() if p.suffix in _SOURCES and p != near.resolve())
        texts = ((path, data) for path in files if any(name in (data := self._cpp()[path]) for name in names))
        bound = re.compile(rb"&\s*(?:\w+\s*::\s*)*(?:%s)\s*[,)]" % b"|".join(map(re.escape, names)))
        paths = [
            path
            for path, data in texts
            if called.search(_NO_CALL.sub(b" ", data)) or (IS_BINDING.search(data) and bound.search(data))
        ]
        return sorted(paths, key=partial(_apart, near.resolve()))

    def files_including(self, header: Path) -> list[Path]:
        """The C++ files that include a header, themselves or through others, by the files' names; the nearest first."""
        if self._includes is None:
            self._includes = {
                path: {name.rsplit(b"/", 1)[-1] for name in _INCLUDED.findall(data)}
                for path, data in self._cpp().items()
            }
        names, files = {header.name.encode()}, set[Path]()
        while more := {p for p, inner in self._includes.items() if p not in files and inner & names}:
            files |= more
            names = {p.name.encode() for p in more}
        return sorted(sorted(files), key=partial(_apart, header.resolve()))

    def includes_one_of(self, path: Path, functions: Collection[str]) -> bool:
        """Whether a C++ file includes one that names some functions: what it calls by their names are they."""
        names = [f.encode() for f in functions]
        declaring = {p.name.encode() for p, data in self._cpp().items() if any(n in data for n in names)}
        included = _INCLUDED.findall(self._cpp().get(path, b""))
        return any(name.rsplit(b"/", 1)[-1] in declaring for name in included)

    def programs_among(self, paths: Collection[Path], functions: Collection[str]) -> list[Path]:
        """The programs among files that call some functions which a header of theirs names, and define none of them."""
        programs = (p for p in paths if self.is_program(p) and self.includes_one_of(p, functions))
        return [p for p in programs if not {*functions} & unit_of(self.text(p)).functions.keys()]

    def text(self, path: Path) -> str:
        """The text of a C++ file, without its headers; "" for one that the state does not have."""
        return self._cpp().get(path, b"").decode("utf-8", "replace")

    def is_program(self, path: Path) -> bool:
        """Whether a C++ file has a `main`, or tests that a framework runs."""
        return is_program(self.text(path))

    def _read(self, path: Path, data: bytes) -> SourceFile:
        if path not in self._parsed:
            self._parsed[path] = read(data, language_of(str(path), data) or Language.CUDA)
        return self._parsed[path]

    def _cpp(self) -> dict[Path, bytes]:
        if self._all is None:
            self._all = {path: _bytes(path) for path in sorted(files_below(self.root.resolve(), _CPP))}
        return self._all

    def _launchers(self) -> dict[Path, bytes]:
        if self._launching is None:
            self._launching = {path: data for path, data in self._cpp().items() if b"<<<" in data}
        return self._launching


def _apart(near: Path, path: Path) -> int:
    """How far a file is from another in the tree: less for more folders that both lie in."""
    return -sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(near.parts, path.parts, strict=False))
    )


def _bytes(path: Path) -> bytes:
    try:
        return read_file(path)
    except OSError:
        return b""
