"""What this machine has, what each part is needed for, and how to get what is missing."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from collections.abc import Callable
from pathlib import Path

from kernel_gate.build.errors import CompilerMissing
from kernel_gate.build.toolkit import find_nvcc, find_nvrtc
from kernel_gate.devices.base import DeviceError
from kernel_gate.devices.opening import open_device
from kernel_gate.sandbox.containment import REMEDY, ContainmentError, offered
from kernel_lineage.rewrite.doctor_document import DoctorDocument, Finding
from kernel_lineage.rewrite.model.settings import SettingsError, settings_from
from kernel_lineage.skills.library import library, repository_of


def examine(repository: Path) -> DoctorDocument:
    """Look at everything that the product can use; nothing that is missing is an error here."""
    examined = (
        ("Python", "everything", _python),
        ("git", "mining", _git),
        ("NVRTC", "building CUDA C++ kernels", lambda: str(find_nvrtc().library)),
        ("nvcc", "building whole CUDA files", lambda: str(find_nvcc())),
        ("Triton", "building Triton kernels", lambda: importlib.metadata.version("triton")),
        ("sandbox", "judging Triton kernels", _sandbox),
        ("GPU", "times, and edits", _gpu),
        ("model endpoint", "apply --by model", _model),
        ("skills", "code actions", lambda: _skills(repository)),
    )
    return DoctorDocument(findings=tuple(_finding(*item) for item in examined))


def _finding(what: str, needed_for: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what=what, present=True, found=look(), needed_for=needed_for)
    except importlib.metadata.PackageNotFoundError as error:
        missing = f"not installed: pip install 'kernel-lineage[{error.name}]'"
    except (CompilerMissing, ContainmentError, DeviceError, SettingsError, OSError) as error:
        missing = str(error)
    return Finding(what=what, present=False, found=missing, needed_for=needed_for)


def _python() -> str:
    return f"{sys.version.split()[0]} at {sys.executable}"


def _git() -> str:
    from git import Git

    return ".".join(str(part) for part in Git().version_info)


def _sandbox() -> str:
    containment = offered()
    if not containment.holds:
        raise ContainmentError(f"{', '.join(containment.missing)} are not contained: {REMEDY}")
    beyond = f"; not contained: {', '.join(containment.missing)}" if containment.missing else ""
    return f"Landlock {containment.landlock} and seccomp around the compilers{beyond}"


def _gpu() -> str:
    device, _ = open_device("cuda")
    about = device.describe()
    device.close()
    driver = [f"driver {about['driver']}"] if "driver" in about else []
    return ", ".join([about["name"], f"{about['memory_bytes'] / 2**30:.0f} GiB", *driver])


def _model() -> str:
    settings = settings_from(os.environ)
    return f"{settings.model} at {settings.base_url}"


def _skills(repository: Path) -> str:
    collection = library(repository_of(repository))
    problems = f", {len(collection.problems)} problems (klineage skills check)" if collection.problems else ""
    return f"{len(collection.skills)}{problems}"
