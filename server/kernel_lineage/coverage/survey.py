"""A folder's files, each compiled and decoded in a contained process of its own, two at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kernel_gate.build.compile import Limits
from kernel_gate.files.reading import read_file, read_text
from kernel_gate.files.temporary import TemporaryFolder
from kernel_gate.processes.forking import start_python
from kernel_gate.processes.group import wait_within
from kernel_gate.processes.surroundings import bare_environment
from kernel_gate.sandbox.containment import REMEDY, offered
from kernel_lineage.coverage.document import CoverageDocument, KernelCovered, document
from kernel_lineage.coverage.sites import Sites, sites_of
from kernel_lineage.kernels.reading import language_of, read
from kernel_lineage.kernels.source import Kernel, Language, SourceFile

Progress = Callable[[str, int, int], None]
ARCH = "sm_90"
SECONDS_PER_FILE = 600
PROCESSES = 2
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv", "build"})


@dataclass(frozen=True, slots=True)
class Survey:
    """How a folder is looked at."""

    arch: str = ARCH
    seconds: int = SECONDS_PER_FILE
    """A file that takes longer is ended."""
    processes: int = PROCESSES
    """Files that are compiled at a time."""
    allow_uncontained: bool = False
    """Compile Triton modules, which are Python, also where this machine cannot contain them."""


def survey(folder: Path, how: Survey | None = None, progress: Progress | None = None) -> CoverageDocument:
    """The coverage of a folder, or of one file."""
    how = how or Survey()
    root = folder if folder.is_dir() else _project(folder)
    problems: list[str] = []
    sources = dict(_sources(folder, root, problems))
    sites = sites_of(sources)
    with_kernels = {path: source for path, source in sources.items() if source.kernels}
    rows: list[KernelCovered] = []
    with ThreadPoolExecutor(how.processes) as pool:
        asked = [
            pool.submit(_compile_file, root, path, source, how, sites)
            for path, source in with_kernels.items()
        ]
        for done, answer in enumerate(asked, 1):
            rows += answer.result()
            if progress is not None:
                progress("compile", done, len(asked))
    return document(how.arch, len(with_kernels), rows, problems)


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


def _compile_file(
    root: Path, path: Path, source: SourceFile, how: Survey, sites: Sites
) -> list[KernelCovered]:
    """Ask a process about one file; what it did not answer is not compiled."""
    containment = offered()
    if source.language is Language.TRITON and not containment.holds and not how.allow_uncontained:
        missing = ", ".join(containment.missing)
        why = f"Triton modules are Python, and this machine cannot contain them ({missing}); {REMEDY}"
        return [_not_compiled(path, kernel, why) for kernel in source.kernels]
    with TemporaryFolder("coverage") as name:
        work = Path(name)
        request = {
            "root": str(root.resolve()),
            "path": str(path),
            "arch": how.arch,
            "sites": sites.of([kernel.name for kernel in source.kernels]),
            "containment": containment.to_json(),
        }
        (work / "request.json").write_text(json.dumps(request), "utf-8")
        excess = _run_child(work, how.seconds)
        answered = _answers(work / "rows.jsonl")
    why = f"compiling the file {excess}" if excess else "compiling or decoding the file crashed"
    return [answered.get(kernel.name) or _not_compiled(path, kernel, why) for kernel in source.kernels]


def _not_compiled(path: Path, kernel: Kernel, why: str) -> KernelCovered:
    return KernelCovered(
        file=str(path),
        kernel=kernel.name,
        line=kernel.name_span.first_line,
        language=str(kernel.language),
        compiled=False,
        decoded=False,
        reason=why,
    )


def _run_child(work: Path, seconds: int) -> str:
    """What the process, or what it started, took too much of; "" when it ended by itself."""
    process = start_python(
        "kernel_lineage.coverage.one_file", str(work), imports="", folder=work, env=bare_environment(work)
    )
    return wait_within(process, work, Limits(seconds=seconds).of_the_group)[1]


def _answers(path: Path) -> dict[str, KernelCovered]:
    """What the process wrote, or the module that it ran: a link or a line that is no answer is none."""
    rows: dict[str, KernelCovered] = {}
    with suppress(OSError):
        for line in read_text(path, within=path.parent, errors="replace").splitlines():
            with suppress(ValueError):
                row = KernelCovered.model_validate_json(line)
                rows[row.kernel] = row
    return rows
