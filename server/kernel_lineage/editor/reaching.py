"""The kernels of other files that reach the functions of a header, as a task of `learning.apart`.

A kernel reaches a function when the function is in the text that is compiled for the kernel.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

if TYPE_CHECKING:
    from kernel_lineage.kernels.source import Kernel, SourceFile
    from kernel_lineage.learning.apart import Ask

MOST_FILES = 2000
"""Sources and headers among which those are looked for that include a header."""
_MOST_BYTES = 1 << 20
_PLACE = re.compile(r'^#line (\d+) "(.*)"$')


class Header(BaseModel):
    """A header to ask for."""

    path: Path


class Reach(BaseModel, frozen=True):
    """A kernel that reaches a function."""

    function: str
    path: Path
    kernel: str
    line: int
    """Where the kernel begins, 1-based."""


class Reaches(BaseModel, frozen=True):
    """What came of it."""

    reaches: tuple[Reach, ...] = ()
    why_not: str = ""
    """Why nobody was looked for."""


def work(task: str, _ask: Ask) -> str:
    """A `Header` as JSON → `Reaches` as JSON."""
    return reaches(Header.model_validate_json(task).path).model_dump_json()


def reaches(header: Path) -> Reaches:
    """The kernels of the header's repository that reach its functions."""
    from kernel_gate.files.reading import read_file
    from kernel_lineage.history.named_files import names_in, readers
    from kernel_lineage.kernels.reading import read
    from kernel_lineage.kernels.source import Language
    from kernel_lineage.workloads.read_from import repository_around

    header = header.resolve()
    root = repository_around(header)
    contents: dict[str, bytes] = {}
    for number, path in enumerate(_sources(root)):
        if number >= MOST_FILES:
            return Reaches(why_not=f"{root.name} holds more than {MOST_FILES} sources")
        try:
            contents[str(path)] = read_file(path, within=root, most=_MOST_BYTES)
        except OSError:  # too large for a source, or a link that leads out of the repository
            continue
    names = {path: names_in(path, data) for path, data in contents.items()}
    functions = read(contents.get(str(header), b""), Language.CUDA)
    return Reaches(
        reaches=tuple(
            Reach(function=function, path=Path(path), kernel=kernel.name, line=kernel.span.first_line)
            for path in sorted(readers(names, [str(header)]) - {str(header)})
            if b"__global__" in contents[path]
            for kernel in read(contents[path], Language.CUDA).kernels
            for function in _reached(kernel, Path(path), root, header, functions)
        )
    )


def _sources(root: Path) -> Iterator[Path]:
    from kernel_lineage.workloads.headers import INCLUDING

    for at, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        yield from (Path(at, name) for name in sorted(names) if Path(name).suffix in INCLUDING)


def _reached(kernel: Kernel, path: Path, root: Path, header: Path, functions: SourceFile) -> list[str]:
    """The functions of a header that are compiled with a kernel."""
    from kernel_lineage.workloads.device_code import device_text
    from kernel_lineage.workloads.headers import Headers

    headers, lines, at = Headers(root), set[int](), 0
    for line in device_text(kernel, path, root=root).splitlines():
        if (place := _PLACE.match(line)) is not None:
            at = int(place[1]) if headers.at(path.parent, place[2]) == header else 0
        elif at:
            lines.add(at)
            at += 1
    return [
        f.name
        for f in functions.device_functions
        if not lines.isdisjoint(range(f.span.first_line, f.span.last_line + 1))
    ]
