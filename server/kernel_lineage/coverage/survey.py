"""A folder's kernels, each compiled by the gate's contained child and decoded, some at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kernel_gate.build.compile import Limits, compile_program
from kernel_gate.build.errors import BuildError, CompilerMissing
from kernel_gate.files.reading import read_file
from kernel_lineage.coverage.attempts import attempts
from kernel_lineage.coverage.document import CoverageDocument, KernelCovered, document
from kernel_lineage.coverage.images import Images, covered
from kernel_lineage.coverage.sites import Sites, sites_of
from kernel_lineage.kernels.reading import language_of, read
from kernel_lineage.kernels.source import Kernel, SourceFile
from kernel_lineage.workloads.programs import ProgramError

Progress = Callable[[str, int, int], None]
ARCH = "sm_90"
SECONDS = 120
PROCESSES = 2
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv", "build"})


@dataclass(frozen=True, slots=True)
class Survey:
    """How a folder is looked at."""

    arch: str = ARCH
    seconds: int = SECONDS
    """For all that is tried of one kernel."""
    processes: int = PROCESSES
    """Kernels that are compiled at a time."""
    allow_uncontained: bool = False
    """Compile also where this machine cannot contain a compiler; Triton modules are Python."""


def survey(folder: Path, how: Survey | None = None, progress: Progress | None = None) -> CoverageDocument:
    """The coverage of a folder, or of one file."""
    how = how or Survey()
    root = (folder if folder.is_dir() else _project(folder)).resolve()
    problems: list[str] = []
    sources = dict(_sources(folder, root, problems))
    sites = sites_of(sources.values())
    asked = [(path, source, kernel) for path, source in sources.items() for kernel in source.kernels]
    rows: list[KernelCovered] = []
    with ThreadPoolExecutor(how.processes) as pool:
        answers = pool.map(lambda one: _covered(one, root, sites, how), asked)
        for done, row in enumerate(answers, 1):
            rows.append(row)
            if progress is not None:
                progress("compile", done, len(asked))
    return document(how.arch, len({path for path, _, _ in asked}), rows, problems)


def _project(file: Path) -> Path:
    """The folder around a single file in which its imports and headers are looked for."""
    parents = file.resolve().parents
    return next((p for p in parents if (p / ".git").exists() or (p / "pyproject.toml").is_file()), parents[0])


def _sources(folder: Path, root: Path, problems: list[str]) -> Iterator[tuple[Path, SourceFile]]:
    """Every file of the folder that a reader knows, by its path within `root`."""
    paths = [folder] if folder.is_file() else sorted(_files(folder))
    for path in paths:
        try:
            data = read_file(path, within=root)
        except OSError as error:
            problems.append(f"{path}: {error.strerror}")
            continue
        language = language_of(str(path), data)
        if language is not None:
            yield path.resolve().relative_to(root.resolve()), read(data, language)


def _files(folder: Path) -> Iterator[Path]:
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _SKIPPED]
        yield from (Path(where, name) for name in names)


def _covered(asked: tuple[Path, SourceFile, Kernel], root: Path, sites: Sites, how: Survey) -> KernelCovered:
    path, source, kernel = asked
    try:
        images: Images | Exception = _images(source, kernel, root / path, root, sites, how)
    except (BuildError, CompilerMissing, ProgramError, OSError) as error:
        images = error
    return covered(str(path), kernel, images)


def _images(source: SourceFile, kernel: Kernel, path: Path, root: Path, sites: Sites, how: Survey) -> Images:
    """The images of the first attempt that compiles. Raises the first one's error when none does."""
    first: BuildError | None = None
    deadline = time.monotonic() + how.seconds
    for attempt in attempts(source, kernel, path, root, sites):
        images: Images = []
        for program, unit in attempt:
            limits = Limits(seconds=deadline - time.monotonic())
            if limits.seconds <= 0:
                raise first or BuildError(f"compiling took longer than {how.seconds} s")
            try:
                made = compile_program(
                    program, how.arch, [unit], limits=limits, allow_uncontained=how.allow_uncontained
                )
            except BuildError as error:
                first = first or error
                continue
            images += [(image.ptx, image.entry) for image in made.values()]
        if images:
            return images
    raise first or BuildError("nothing of it is device code")
