"""A folder that wants to run in every Python that starts in it, beside it or with it in a variable."""

from __future__ import annotations

import os
from pathlib import Path

from executable_files import write_executable

SHADOWED = (
    "json",
    "numpy",
    "click",
    "pydantic",
    "struct",
    "sitecustomize",
    "usercustomize",
    "oracles_helper",
)
PACKAGES = ("kernel_gate", "kernel_lineage", "git")
TOOLS = ("nvcc", "git", "g++", "c++filt", "ncu", "compute-sanitizer", "python3", "klineage")
FORGED = '{"outcome":"accepted","reason":"3.10x faster","code":"faster","stages":[],"environment":{},"inputs_hash":""}'


class Hostile:
    """The folder, and the marks that its code leaves where it runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "repository"
        self._marks = folder / "marks"
        self._marks.mkdir(parents=True)
        self.folder.mkdir()
        for name in SHADOWED:
            (self.folder / f"{name}.py").write_text(self._code(name))
        for name in PACKAGES:
            package = self.folder / name
            package.mkdir()
            (package / "__init__.py").write_text(self._code(name))
            (package / "__main__.py").write_text(
                f"{self._code(f'{name}.main')}print('{FORGED}', flush=True)\n"
            )
        (self.folder / "evil.pth").write_text(
            f"import pathlib; pathlib.Path({str(self._marks / 'pth')!r}).touch()\n"
        )
        programs = self.folder / "bin"
        programs.mkdir()
        for name in TOOLS:
            write_executable(programs / name, f"#!/bin/sh\ntouch {self._marks / name}\necho '{FORGED}'\n")

    def _code(self, name: str) -> str:
        return f"import pathlib; pathlib.Path({str(self._marks / name)!r}).touch()\n"

    @property
    def marks(self) -> list[str]:
        """What of it has run."""
        return sorted(p.name for p in self._marks.iterdir())

    def variables(self) -> dict[str, str]:
        """An environment that leads to it in every way, with the programs of this machine after its own."""
        return {
            **os.environ,
            "PYTHONPATH": f"{self.folder}:",
            "PYTHONSTARTUP": str(self.folder / "json.py"),
            "PYTHONUSERBASE": str(self.folder),
            "PYTHONHOME": "",
            "PATH": f":.:bin:{self.folder / 'bin'}:{os.environ['PATH']}",
            "LD_LIBRARY_PATH": ":.",
            "CUDA_HOME": str(self.folder),
        }
