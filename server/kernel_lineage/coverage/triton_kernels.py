"""Triton: each kernel with the parts of the project that it needs, by drafted signatures until one compiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from kernel_gate.build.errors import BuildError
from kernel_gate.build.triton_build import compile_triton
from kernel_gate.build.unit import Unit
from kernel_gate.devices.image import Image
from kernel_gate.program import Program
from kernel_lineage.coverage.document import KernelCovered
from kernel_lineage.coverage.forked import forked
from kernel_lineage.coverage.images import Images, covered
from kernel_lineage.coverage.triton_drafts import drafts
from kernel_lineage.coverage.triton_program import triton_program
from kernel_lineage.kernels.source import Kernel, SourceFile

_SECONDS_PER_DRAFT = 60.0


def cover_triton(
    source: SourceFile, root: Path, path: Path, arch: str, sites: Mapping[str, Any], work: Path
) -> Iterator[KernelCovered]:
    """Every kernel of a Triton file."""
    try:
        import triton.compiler  # noqa: F401  # once, before the forks
    except ImportError:
        missing = BuildError("Triton is not installed; pip install 'kernel-lineage[triton]'")
        yield from (covered(str(path), kernel, missing, "") for kernel in source.kernels)
        return
    for number, kernel in enumerate(source.kernels):
        folder = work / str(number)
        folder.mkdir()
        options = sites.get(kernel.name, {}).get("options", [])
        found: Images | BuildError
        try:
            found = _compile(kernel, root, root / path, arch, options, folder)
        except BuildError as error:
            found = error
        yield covered(str(path), kernel, found, "signature")


def _compile(
    kernel: Kernel, root: Path, path: Path, arch: str, options: list[dict[str, str]], folder: Path
) -> Images:
    """The image of the first signature that compiles. Raises the first one's `BuildError` when none does."""
    first: BuildError | None = None
    with triton_program(path, kernel.name, root, folder) as program:
        for unit in drafts(kernel, options):
            try:
                image = forked(partial(_image, program, unit, arch, folder), _SECONDS_PER_DRAFT)
            except BuildError as error:
                first = first or error
                continue
            return [(image.ptx, image.entry)]
    raise first or BuildError("no signature could be drafted")


def _image(program: Program, unit: Unit, arch: str, folder: Path) -> Image:
    return compile_triton(program, [unit], arch, folder)[0]
