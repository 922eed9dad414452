"""What of a document can be checked: its kernels, and its functions that a workload says how to run."""

from __future__ import annotations

import hashlib
import logging
import re
from dataclasses import dataclass
from pathlib import Path

from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.kernels.naming import own_name
from kernel_lineage.workloads.saved import folder_of, workloads_in

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Target:
    """A kernel, or a host function that launches some."""

    name: str
    line: int
    """Where it begins, 1-based."""
    digest: bytes
    """The hash of the text that it depends on in its file, and of its workload."""


def targets(snapshot: Snapshot) -> list[Target]:
    """The kernels of a document in their order, then the host functions that a workload names."""
    workloads = workloads_in(folder_of(snapshot.path))
    for problem in workloads.problems:
        log.warning("%s", problem)
    text, path, source = snapshot.text.data, snapshot.path, snapshot.source
    shared = _digest(snapshot.around)
    wanted: dict[str, Target] = {}
    for kernel in source.kernels:
        name = own_name(kernel)
        if not name:
            continue
        workload_file = workloads.of(name, path.name)
        how = repr(workload_file.workload) if workload_file is not None else ""
        own = source.data[kernel.span.start : kernel.span.end]
        wanted[name] = Target(name, kernel.span.first_line, _digest(shared, own, how.encode()))
    for workload_file in workloads.found:
        name = workload_file.workload.kernel
        if source.kernel(name) is None and Path(workload_file.workload.source).name == path.name:
            target = Target(name, _line_of(name, text), _digest(text, repr(workload_file.workload).encode()))
            wanted.setdefault(name, target)
    return list(wanted.values())


def _digest(*parts: bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.digest()


def _line_of(function: str, text: bytes) -> int:
    """Where a function's name first stands before its parameters."""
    match = re.search(rb"\b" + re.escape(function.encode()) + rb"\s*\(", text)
    return 1 if match is None else text.count(b"\n", 0, match.start()) + 1
