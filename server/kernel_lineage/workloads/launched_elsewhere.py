"""The host code that launches a CUDA kernel from another file than its own, as a library of headers has it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kernel_gate.files.reading import read_file
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.state import State


@dataclass(frozen=True, slots=True)
class LaunchingFile:
    """A file that launches a kernel of another one."""

    path: Path
    data: bytes
    launchers: tuple[bytes, ...]
    """The texts of the functions around its launches; of a launch where no function is seen."""


def launching_files(kernel: str, root: Path) -> dict[Path, LaunchingFile]:
    """The files below `root`, by their paths in it, that launch a kernel of another file by this name."""
    files: dict[Path, LaunchingFile] = {}
    for path in State(root).files_launching(kernel):
        data = read_file(path)
        if (launchers := launchers_of(data).get(kernel)) is not None:
            files[path.resolve().relative_to(root.resolve())] = LaunchingFile(path, data, launchers)
    return files


def launchers_of(data: bytes) -> dict[str, tuple[bytes, ...]]:
    """Kernel that a C++ text launches and does not define → the texts of the functions around its launches."""
    texts: dict[str, tuple[bytes, ...]] = {}
    file = read(data, Language.CUDA)
    own = {kernel.name.rpartition("::")[2] for kernel in file.kernels}
    for launch in (x for x in file.launches if x.kernel not in own):
        span = launch.launcher_span or launch.span
        texts[launch.kernel] = (*texts.get(launch.kernel, ()), data[span.start : span.end])
    return texts
