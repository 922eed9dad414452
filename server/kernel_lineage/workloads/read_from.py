"""The folders from which what a kernel needs is read; nothing above them is. They need not be the same."""

from __future__ import annotations

from pathlib import Path

from kernel_lineage.workloads.saved import folder_of


def outermost(path: Path) -> Path:
    """The folder that holds all that is read beside a kernel's file: workloads, headers, modules, host code."""
    return min(folder_of(path), repository_around(path), above_packages(path), key=lambda f: len(f.parts))


def repository_around(path: Path) -> Path:
    """The root of the repository that a file's headers are read from; the file's own folder outside of one."""
    folder = path.resolve().parent
    return next((f for f in (folder, *folder.parents) if (f / ".git").exists()), folder)


def above_packages(path: Path) -> Path:
    """The folder above the outermost package that a file lies in; the file's own folder where it lies in none."""
    root = path.resolve().parent
    while (root / "__init__.py").is_file() and root.parent != root:
        root = root.parent
    return root
