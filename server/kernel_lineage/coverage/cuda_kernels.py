"""CUDA C++: a kernel's slice through NVRTC, once for each instance that a launch site names; else its file by nvcc."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kernel_gate.build.errors import BuildError, CompilerMissing
from kernel_gate.build.nvcc import compile_nvcc
from kernel_gate.build.nvrtc import compile_nvrtc
from kernel_gate.build.unit import Unit
from kernel_gate.program import Program
from kernel_lineage.coverage.cuda_attempts import Resolve, attempts, resolver
from kernel_lineage.coverage.document import KernelCovered
from kernel_lineage.coverage.images import Images, covered
from kernel_lineage.kernels.source import Kernel, SourceFile

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
_ENTRY = re.compile(r"\.entry ([\w$]+)\(")


def cover_cuda(
    source: SourceFile, root: Path, path: Path, arch: str, sites: Mapping[str, Any], work: Path
) -> Iterator[KernelCovered]:
    """Every kernel of a CUDA file."""
    whole: Images | None = None
    for kernel in source.kernels:
        found, how = _slices(source, kernel, root, path, arch, sites.get(kernel.name, {})), "slice"
        if isinstance(found, BuildError):
            if whole is None:
                whole = _file(source, path, arch, work, resolver(root, path))
            if own := _named(whole, kernel.name):
                found, how = own, "file"
        yield covered(str(path), kernel, found, how)


def _slices(
    source: SourceFile, kernel: Kernel, root: Path, path: Path, arch: str, told: Mapping[str, Any]
) -> Images | BuildError:
    first: BuildError | None = None
    for programs in attempts(source, kernel, root, path, told):
        images: Images = []
        for program in programs:
            try:
                image = compile_nvrtc(program, arch)
            except BuildError as error:
                first = first or error
                continue
            images.append((image.ptx, image.entry))
        if images:
            return images
    return first or BuildError("nothing of it is device code")


def _file(source: SourceFile, path: Path, arch: str, work: Path, resolve: Resolve) -> Images:
    """Every kernel that the file itself instantiates; none when nvcc does not take it."""
    text = source.data.decode("utf-8", "replace")
    folder = work / "nvcc"
    folder.mkdir(exist_ok=True)
    program = Program(
        "cuda",
        text,
        source.kernels[0].name,
        includes=_headers(text, resolve),
        name=path.name,
        compiler="nvcc",
    )
    # It also fails when just the file's first kernel is not instantiated: what it wrote counts.
    with contextlib.suppress(BuildError, CompilerMissing):
        compile_nvcc(program, [Unit()], arch, folder)
    made = folder / "program.ptx"
    ptx = made.read_text("utf-8") if made.is_file() else ""
    return [(ptx, name) for name in _ENTRY.findall(ptx)]


def _headers(text: str, resolve: Resolve) -> dict[str, str]:
    """The project's own headers that a file reaches by quoted includes, by the names it uses."""
    found: dict[str, str] = {}
    waiting = [text]
    while waiting:
        for name in _INCLUDE.findall(waiting.pop()):
            data = resolve(name) if name not in found else None
            if data is not None:
                found[name] = data.decode("utf-8", "replace")
                waiting.append(found[name])
    return found


def _named(images: Images, kernel: str) -> Images:
    """Those whose mangled name is of this kernel."""
    return [(ptx, e) for ptx, e in images if e == kernel or f"{len(kernel)}{kernel}" in e]
