"""What goes to another machine for a verdict: the request and the files that its workload names, nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path, PurePosixPath

from kernel_gate.evidence import companion_names
from kernel_gate.files.temporary import TemporaryFolder
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Verdict
from kernel_gate.worker import Progress, Worker
from kernel_gate.workload import read_companion


class ClusterError(Exception):
    """A machine that cannot be reached, or a request that cannot travel; the message says what to do."""


def companions(request: GateRequest) -> dict[str, bytes]:
    """The files that the workload names, by their names in its folder. Raises `ClusterError`."""
    files: dict[str, bytes] = {}
    for name in companion_names(request.workload):
        if _leaves(name):
            raise ClusterError(
                f"{name} is outside the workload's folder and cannot be sent; put it beside the workload"
            )
        try:
            files[name] = read_companion(request.folder, name)
        except OSError as error:
            raise ClusterError(
                f"{name}, which the workload names, cannot be read: {error.strerror}"
            ) from error
    return files


def _leaves(name: str) -> bool:
    """Whether a name leads out of the workload's folder."""
    path = PurePosixPath(name)
    return path.is_absolute() or ".." in path.parts


def judged(
    gate: Worker,
    request: str,
    files: Mapping[str, bytes],
    timeout: float,
    on_progress: Progress | None = None,
) -> Verdict:
    """The verdict on a request that came as JSON with its files. Raises `DeviceError`."""
    with TemporaryFolder("workload") as name:
        for companion, data in files.items():
            if _leaves(companion):
                raise ClusterError(f"{companion} is outside the workload's folder")
            target = Path(name) / companion
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
            except (IsADirectoryError, NotADirectoryError, FileExistsError, ValueError) as error:
                raise ClusterError(f"{companion[:80]!r} is no name for a file of the workload") from error
            except OSError as error:
                raise ClusterError(f"{companion[:80]!r} cannot be written: {error.strerror}") from error
        read = GateRequest.model_validate_json(request).model_copy(update={"folder": Path(name)})
        return gate.judge(read, timeout=timeout, on_progress=on_progress)


@cache
def gate_fingerprint() -> str:
    """SHA-256 of the gate's own sources: two machines with the same one judge alike."""
    top = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for source in sorted(top.rglob("*.py")):
        digest.update(f"{source.relative_to(top).as_posix()}\0".encode() + source.read_bytes())
    return digest.hexdigest()
