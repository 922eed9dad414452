"""What a verdict stands on: a hash of everything that went in, and the environment."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import hashlib
import importlib.metadata
import json
import platform
import re
from pathlib import Path
from typing import Any

from kernel_gate.build.errors import BuildError, CompilerMissing
from kernel_gate.build.nvrtc import nvrtc_version
from kernel_gate.build.toolkit import find_nvcc
from kernel_gate.options import GateOptions
from kernel_gate.processes.tools import run_tool
from kernel_gate.program import Program
from kernel_gate.sandbox.containment import offered
from kernel_gate.workload import Workload, read_companion


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    return value


def companion_names(workload: Workload) -> list[str]:
    """The oracle and data files that the workload names, relative to its folder."""
    names = [workload.oracle.python.partition(":")[0]] if workload.oracle else []
    for argument in workload.args:
        kind, parameters = argument.values_spec
        if kind == "file":
            names.append(parameters[0].strip("\"'"))
    return names


def companion_files(workload: Workload) -> dict[str, str]:
    """SHA-256 of the workload's companion files; "missing" for those that are not there."""
    hashes = {}
    for name in companion_names(workload):
        try:
            hashes[name] = hashlib.sha256(read_companion(workload.folder, name)).hexdigest()
        except OSError:
            hashes[name] = "missing"
    return hashes


def hash_inputs(
    baseline: Program,
    candidate: Program,
    workload: Workload,
    options: GateOptions,
    companions: dict[str, str],
) -> str:
    """SHA-256 over both programs, the workload, its companion files and the options."""
    document = {
        "baseline": _plain(baseline),
        "candidate": _plain(candidate),
        "workload": workload.model_dump(mode="json"),
        "companions": companions,
        "options": options.model_dump(mode="json"),
    }
    return hashlib.sha256(json.dumps(document, sort_keys=True, default=str).encode()).hexdigest()


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _sha256(value: Any) -> str:
    data = (
        value.encode() if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str).encode()
    )
    return hashlib.sha256(data).hexdigest()


def hashes(baseline: Program, candidate: Program, workload: Workload) -> dict[str, Any]:
    """SHA-256 of each thing that went in, so that a reader can tell which of them is another one."""
    return {
        "baseline": _sha256(baseline.source),
        "candidate": _sha256(candidate.source),
        "headers": {
            name: _sha256(text) for name, text in {**baseline.includes, **candidate.includes}.items()
        },
        "workload": _sha256(workload.model_dump(mode="json")),
    }


@functools.cache
def gate_hash() -> str:
    """SHA-256 over the gate's own source files: which gate judged, whatever its version says."""
    root = Path(__file__).parent
    whole = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        whole.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()


def toolchain() -> dict[str, Any]:
    """Versions of everything that makes, runs or judges an image, and what contains the compiler."""
    try:
        nvrtc: str | None = nvrtc_version()
    except (CompilerMissing, BuildError):
        nvrtc = None
    return {
        "nvrtc": nvrtc,
        "nvcc": nvcc_version(),
        "triton": _version("triton"),
        "numpy": _version("numpy"),
        "gate": _version("kernel-lineage"),
        "gate_sha256": gate_hash(),
        "python": platform.python_version(),
        "sandbox": offered().describe(),
    }


@functools.cache
def nvcc_version() -> str | None:
    """`13.0.88`; None without nvcc."""
    try:
        done = run_tool([str(find_nvcc()), "--version"])
    except (CompilerMissing, OSError):
        return None
    version = re.search(r"\bV(\d+(?:\.\d+)+)", done.stdout)
    return version[1] if version else None


def environment(device: dict[str, Any], options: GateOptions) -> dict[str, Any]:
    """Device, settings, and when the run began (UTC); what `toolchain` says belongs beside it."""
    return {
        "device": device,
        "platform": platform.platform(),
        "options": options.model_dump(mode="json"),
        "made": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    }
