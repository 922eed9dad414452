"""Compile a program in a child process: limited time, memory and output, a private folder, a bare environment."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kernel_gate.build.child import image_from_json, program_to_json, unit_to_json
from kernel_gate.build.errors import BuildError, CompilerMissing, Diagnostic
from kernel_gate.build.unit import Unit
from kernel_gate.devices.image import Image
from kernel_gate.program import Program

_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one compilation may take."""

    seconds: int = 120
    memory_bytes: int = 16 << 30
    """Address space; NVRTC and LLVM map far more than they touch."""
    output_bytes: int = 256 << 20
    """Largest file that may be written, messages included."""


def child_environment(folder: Path) -> dict[str, str]:
    """The environment of a child: no secrets, private home and caches, this interpreter's own packages."""
    packages = [p for p in sys.path if p and Path(p).is_dir()]
    own = str(Path(__file__).resolve().parents[2])
    return {
        **{name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "TRITON_CACHE_DIR": str(folder / "triton-cache"),
        "PYTHONPATH": os.pathsep.join(dict.fromkeys([own, *packages])),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def kill_group(process: subprocess.Popen[Any]) -> None:
    """End a child and everything that it started in its group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _run_child(folder: Path, limits: Limits) -> tuple[int | None, str]:
    """Exit status (None: out of time) and the end of the messages."""
    log = folder / "messages.txt"
    with log.open("wb") as messages:
        process = subprocess.Popen(
            [sys.executable, "-m", "kernel_gate.build.child", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=messages,
            stderr=messages,
            cwd=folder,
            env=child_environment(folder),
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(limits.seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            kill_group(process)
    with log.open("rb") as messages:
        messages.seek(max(0, log.stat().st_size - 4000))
        return status, messages.read().decode("utf-8", "replace")


def compile_program(
    program: Program,
    arch: str,
    units: Sequence[Unit] = (Unit(),),
    *,
    want_cubin: bool = False,
    limits: Limits = Limits(),
) -> dict[Unit, Image]:
    """One image per unit.

    Raises `BuildError` when the program is at fault (it does not compile, or it takes more than the limits), and
    `CompilerMissing` when the environment lacks a compiler.
    """
    label = program.name or program.entry
    with tempfile.TemporaryDirectory(prefix="kernel-gate-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        request = {
            "program": program_to_json(program),
            "units": [unit_to_json(u) for u in units],
            "arch": arch,
            "want_cubin": want_cubin,
            "limits": asdict(limits),
        }
        (folder / "request.json").write_text(json.dumps(request), "utf-8")
        status, messages = _run_child(folder, limits)
        result = _read_result(folder)
    if result is None:
        raise BuildError(f"{label}: {_why_it_died(status, limits)}", log=messages)
    if result.get("error") == "missing":
        raise CompilerMissing(result["message"])
    if result.get("error") == "build":
        raise BuildError(
            result["message"], tuple(Diagnostic(**d) for d in result["diagnostics"]), result["log"]
        )
    return dict(zip(units, (image_from_json(i) for i in result["images"]), strict=True))


def _read_result(folder: Path) -> Mapping[str, Any] | None:
    try:
        data = json.loads((folder / "result.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) and ("images" in data or "error" in data) else None


def _why_it_died(status: int | None, limits: Limits) -> str:
    if status is None or status == -signal.SIGXCPU:
        return f"compiling took longer than {limits.seconds} s and was ended"
    if status == -signal.SIGXFSZ:
        return f"compiling wrote more than {limits.output_bytes >> 20} MB and was ended"
    memory = limits.memory_bytes >> 30
    return f"the compiler ended without a result (status {status}); it may have run out of its {memory} GB"
