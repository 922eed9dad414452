"""The workloads of a repository: `.klineage/workloads/*.toml`, found by the name of their kernel."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from kernel_gate.workload import Workload, WorkloadError, load_workload
from kernel_lineage.skills.library import repository_of

FOLDER = Path(".klineage") / "workloads"


@dataclass(frozen=True, slots=True)
class FoundWorkload:
    """One readable workload and where it is."""

    workload: Workload
    path: Path


@dataclass(frozen=True, slots=True)
class Workloads:
    """All workloads of a repository, in the order of their file names, and what could not be read."""

    found: tuple[FoundWorkload, ...]
    problems: tuple[str, ...] = ()

    def about(self, kernel: str) -> tuple[str, ...]:
        """The problems with files that are this kernel's, by their names."""
        return tuple(p for p in self.problems if re.match(rf"\S*?\b{re.escape(kernel)}(?:@\S*)?\.toml\b", p))

    def of(self, kernel: str, source: str) -> FoundWorkload | None:
        """The workload of a kernel; of several, the one whose `source` has the file's name comes first."""
        named = [f for f in self.found if f.workload.kernel == kernel]
        name = Path(source).name
        own = next((f for f in named if Path(f.workload.source).name == name), None)
        # Of a kernel whose file was renamed: a workload for another file that is still there is another kernel's.
        moved = (f for f in named if not f.workload.source or not _stands(f))
        return own or next(moved, None)


def _stands(entry: FoundWorkload) -> bool:
    """Whether the file that a workload is for lies somewhere in its repository's usual places."""
    root = entry.path.parent.parent.parent
    return (root / entry.workload.source).is_file()


def folder_of(path: Path) -> Path:
    """Where a file's `.klineage` lies or would lie: the root of its repository; else the file's own folder."""
    folder = path.resolve().parent
    return repository_of(folder) or folder


def place_of(root: Path, kernel: str, source: Path) -> Path:
    """Where the workload of a kernel is written: by its name, and its file's too where another file has that name."""
    place = root / FOLDER / f"{kernel}.toml"
    other = next((f for f in workloads_in(root).found if f.path == place), None)
    if other is None or Path(other.workload.source).name == source.name:
        return place
    return root / FOLDER / f"{kernel}@{source.stem}.toml"


def workloads_in(root: Path) -> Workloads:
    """The workloads of a repository. A file that cannot be used is a problem and does not hide the others."""
    entries: list[FoundWorkload] = []
    problems: list[str] = []
    for path in sorted((root / FOLDER).glob("*.toml")):
        try:
            entries.append(FoundWorkload(load_workload(path), path))
        except WorkloadError as error:
            problems.append(str(error))
    return Workloads(tuple(entries), tuple(problems))


def source_of(workload: Workload, path: Path) -> Path:
    """The file that a workload is for: its `source` from the repository's root, or the one file of that name in it.

    Raises `WorkloadError` when there is none, or several.
    """
    root = repository_of(path.resolve().parent) or path.resolve().parent
    if workload.source and (root / workload.source).is_file():
        return root / workload.source
    name = Path(workload.source).name
    files = [f for f in root.rglob(name) if f.is_file() and ".git" not in f.parts] if name else []
    if len(files) == 1:
        return files[0]
    listing = ", ".join(str(f.relative_to(root)) for f in files[:4]) or "none"
    raise WorkloadError(
        f"{path}: source = {workload.source!r} is not one file of {root} ({listing}); name it with --file"
    )
