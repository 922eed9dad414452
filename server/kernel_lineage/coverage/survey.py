"""A folder's files, each compiled and decoded in a process of its own, two at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import kernel_lineage
from kernel_gate.build.compile import child_environment
from kernel_gate.sandbox.group import kill_group
from kernel_lineage.coverage.document import CoverageDocument, KernelCovered, document
from kernel_lineage.coverage.sites import Sites, sites_of
from kernel_lineage.kernels.reading import language_of, read
from kernel_lineage.kernels.source import SourceFile

Progress = Callable[[str, int, int], None]
SECONDS_PER_FILE = 600
_PROCESSES = 2
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv", "build"})


def survey(
    folder: Path, arch: str = "sm_80", progress: Progress | None = None, seconds: int = SECONDS_PER_FILE
) -> CoverageDocument:
    """The coverage of a folder, or of one file, for `arch`; a file that takes longer than `seconds` is ended."""
    root = folder if folder.is_dir() else _project(folder)
    problems: list[str] = []
    sources = dict(_sources(folder, root, problems))
    sites = sites_of(sources)
    with_kernels = {path: source for path, source in sources.items() if source.kernels}
    rows: list[KernelCovered] = []
    with ThreadPoolExecutor(_PROCESSES) as pool:
        asked = [
            pool.submit(_compile_file, root, path, source, arch, sites, seconds)
            for path, source in with_kernels.items()
        ]
        for done, answer in enumerate(asked, 1):
            rows += answer.result()
            if progress is not None:
                progress("compile", done, len(asked))
    return document(arch, len(with_kernels), rows, problems)


def _project(file: Path) -> Path:
    """The folder around a single file in which its imports and headers are looked for."""
    parents = file.resolve().parents
    return next((p for p in parents if (p / ".git").exists() or (p / "pyproject.toml").is_file()), parents[0])


def _sources(folder: Path, root: Path, problems: list[str]) -> Iterator[tuple[Path, SourceFile]]:
    """Every file of the folder that a reader knows, by its path within `root`."""
    paths = [folder] if folder.is_file() else sorted(_files(folder))
    for path in paths:
        try:
            data = path.read_bytes()
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
    root: Path, path: Path, source: SourceFile, arch: str, sites: Sites, seconds: int
) -> list[KernelCovered]:
    """Ask a process about one file; what it did not answer is not compiled."""
    names = [kernel.name for kernel in source.kernels]
    with tempfile.TemporaryDirectory(prefix="klineage-coverage-", ignore_cleanup_errors=True) as name:
        work = Path(name)
        request = {"root": str(root.resolve()), "path": str(path), "arch": arch, "sites": sites.of(names)}
        (work / "request.json").write_text(json.dumps(request), "utf-8")
        status = _run_child(work, seconds)
        answered = _answers(work / "rows.jsonl")
    why = f"compiling the file took longer than {seconds} s" if status is None else "the compiler crashed"
    return [
        answered.get(
            kernel.name,
            KernelCovered(
                file=str(path),
                kernel=kernel.name,
                line=kernel.name_span.first_line,
                language=str(kernel.language),
                compiled=False,
                decoded=False,
                reason=why,
            ),
        )
        for kernel in source.kernels
    ]


def _run_child(work: Path, seconds: int) -> int | None:
    """Exit status; None when it was ended for taking too long."""
    environment = child_environment(work)
    own = str(Path(kernel_lineage.__file__).parents[1])
    environment["PYTHONPATH"] = os.pathsep.join((own, environment["PYTHONPATH"]))
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "kernel_lineage.coverage.one_file", str(work)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=work,
        env=environment,
        start_new_session=True,
    )
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        kill_group(process)


def _answers(path: Path) -> dict[str, KernelCovered]:
    try:
        lines: Sequence[str] = path.read_text("utf-8").splitlines()
    except OSError:
        return {}
    rows = [KernelCovered.model_validate_json(line) for line in lines if line.endswith("}")]
    return {row.kernel: row for row in rows}
