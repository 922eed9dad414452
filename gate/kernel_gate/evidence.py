"""What a verdict stands on: a hash of everything that went in, and the environment."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import json
import platform
from pathlib import Path
from typing import Any

from kernel_gate.build.errors import BuildError, CompilerMissing
from kernel_gate.build.nvrtc import nvrtc_version
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.workload import Workload


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    return value


def companion_files(workload: Workload) -> dict[str, str]:
    """SHA-256 of the oracle and data files that the workload names; "missing" for those that are not there."""
    names = [workload.oracle.python.partition(":")[0]] if workload.oracle else []
    for argument in workload.args:
        kind, given = argument.values_spec
        if kind == "file":
            names.append(given[0].strip("\"'"))
    hashes = {}
    for name in names:
        try:
            hashes[name] = hashlib.sha256(((workload.folder or Path()) / name).read_bytes()).hexdigest()
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


def environment(device: dict[str, Any], options: GateOptions) -> dict[str, Any]:
    """Device, toolchain, versions and settings."""
    try:
        nvrtc: str | None = nvrtc_version()
    except (CompilerMissing, BuildError):
        nvrtc = None
    return {
        "device": device,
        "nvrtc": nvrtc,
        "triton": _version("triton"),
        "numpy": _version("numpy"),
        "gate": _version("kernel-lineage"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "options": options.model_dump(mode="json"),
    }
