"""Compile a program in a child process: limited time, memory and output, a private folder, a bare environment."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernel_gate.build.child import program_to_json, unit_to_json
from kernel_gate.build.errors import BuildError, CompilerMissing, Diagnostic
from kernel_gate.build.unit import Unit
from kernel_gate.deadline import Threads, seconds_left
from kernel_gate.devices.image import Image, image_from_json
from kernel_gate.files.reading import read_file
from kernel_gate.files.temporary import TemporaryFolder
from kernel_gate.full_disk import MAKE_ROOM, is_full
from kernel_gate.processes.forking import start_python
from kernel_gate.processes.group import GroupLimits, wait_within
from kernel_gate.processes.surroundings import bare_environment
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.sandbox.containment import REMEDY, Containment, offered
from kernel_gate.threads import ONE_THREAD

_GB, _MB = 1 << 30, 1 << 20
_FROM_OUTSIDE = frozenset({-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP})
"""Exit statuses that no limit of ours and no fault of a compiler gives."""
_LEAST_FREE = 1 << 20
"""A disk with less than this left is full: a result may not have fitted."""
_NO_TIME = "the time is up; --seconds gives more"
_ANSWER_BYTES = 64 << 20
"""The longest answer of a child: images of a large file with all its templates take a few MB."""
_MOST_CHILDREN = 8
"""Compilers at a time for one program; each takes some 300 MB."""


def _half_of_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


@dataclass(frozen=True, slots=True)
class Limits:
    """What one compilation may take, whatever it starts."""

    seconds: float = 120.0
    address_bytes: int = 16 * _GB
    """Address space of one process; NVRTC and LLVM map far more than they touch."""
    resident_bytes: int = field(default_factory=lambda: min(8 * _GB, _half_of_memory()))
    """Memory of all processes together."""
    output_bytes: int = 256 * _MB
    """Largest file that may be written, messages included."""
    folder_bytes: int = 1 * _GB
    files: int = 20_000
    processes: int = 64

    @property
    def of_one_process(self) -> dict[str, int]:
        """What a child sets for itself."""
        return {
            "seconds": max(1, round(self.seconds)),
            "address_bytes": self.address_bytes,
            "output_bytes": self.output_bytes,
        }

    @property
    def of_the_group(self) -> GroupLimits:
        """What is watched from outside."""
        return GroupLimits(self.seconds, self.processes, self.resident_bytes, self.files, self.folder_bytes)


def _run_child(folder: Path, imports: str, limits: Limits) -> tuple[int | None, str, str]:
    """Exit status (None: ended), what it took too much of, and the end of the messages."""
    with (folder / "messages.txt").open("w+b") as messages:
        process = start_python(
            "kernel_gate.build.child",
            str(folder),
            imports=imports,
            env={**bare_environment(folder), **ONE_THREAD},
            folder=folder,
            stdout=messages,
            stderr=messages,
        )
        status, excess = wait_within(process, folder, limits.of_the_group)
        messages.seek(max(0, messages.seek(0, os.SEEK_END) - 4000))
        return status, excess, messages.read().decode("utf-8", "replace")


def compile_program(
    program: Program,
    arch: str,
    units: Sequence[Unit] = (Unit(),),
    *,
    want_cubin: bool = False,
    limits: Limits | None = None,
    containment: Containment | None = None,
    allow_uncontained: bool = False,
) -> dict[Unit, Image]:
    """One image per unit. A Triton program is Python and runs contained, or not at all unless `allow_uncontained`.

    Raises `BuildError` when the program is at fault (it does not compile, or it takes more than the limits), and
    `CompilerMissing` when the environment lacks a compiler, its sandbox or space on the disk.
    """

    def one_child(some: Sequence[Unit]) -> dict[Unit, Image]:
        result = run_compiler(
            program,
            arch,
            {"units": [unit_to_json(u) for u in some], "want_cubin": want_cubin},
            limits=limits,
            containment=containment,
            allow_uncontained=allow_uncontained,
        )
        return dict(zip(some, (image_from_json(i) for i in result["images"]), strict=True))

    # Every image of a Triton program is a compilation of its own.
    children = (
        min(len(units), len(os.sched_getaffinity(0)), _MOST_CHILDREN) if program.language == "triton" else 1
    )
    if children < 2:
        return one_child(units)
    with Threads(children) as pool:
        made = list(pool.map(one_child, [units[n::children] for n in range(children)]))
    return {unit: made[number % children][unit] for number, unit in enumerate(units)}


def run_compiler(
    program: Program,
    arch: str,
    asked: Mapping[str, Any],
    *,
    limits: Limits | None = None,
    containment: Containment | None = None,
    allow_uncontained: bool = False,
) -> Mapping[str, Any]:
    """What a child answers to a request about one program. Raises as `compile_program` does."""
    limits, containment = limits or Limits(), containment or offered()
    if not containment.holds and not allow_uncontained:
        raise CompilerMissing(
            f"this machine has no sandbox for programs that nobody has read ({', '.join(containment.missing)} would "
            f"not be contained); {REMEDY}",
            code=Reason.SANDBOX_UNAVAILABLE,
        )
    request = {
        "program": program_to_json(program),
        "arch": arch,
        **asked,
        "limits": limits.of_one_process,
        "containment": containment.to_json(),
    }
    try:
        result = _compiled(program.name or program.entry, request, limits)
    except OSError as error:
        if not is_full(error):
            raise
        raise CompilerMissing(
            f"the disk of {tempfile.gettempdir()} is full; {MAKE_ROOM}", code=Reason.DISK_FULL
        ) from error
    if result.get("error") == "missing":
        raise CompilerMissing(result["message"], code=_code(result, Reason.COMPILER_MISSING))
    if result.get("error") == "build":
        diagnostics = tuple(Diagnostic(**d) for d in result["diagnostics"])
        code = _code(result, Reason.CANDIDATE_DOES_NOT_COMPILE)
        raise BuildError(result["message"], diagnostics, result["log"], code=code)
    return result


def _compiled(label: str, request: Mapping[str, Any], limits: Limits) -> Mapping[str, Any]:
    """What the child answered. Raises `BuildError`, `CompilerMissing` and `OSError`."""
    if not seconds_left():
        raise BuildError(f"{label}: {_NO_TIME}", code=Reason.COMPILER_LIMIT)
    with TemporaryFolder("build") as name:
        folder = Path(name)
        (folder / "request.json").write_text(json.dumps(request), "utf-8")
        status, excess, messages = _run_child(folder, request["program"]["language"], limits)
        result = _read_result(folder)
        full = shutil.disk_usage(folder).free < _LEAST_FREE
    if result is not None and not excess:
        return result
    if full and not excess:
        raise CompilerMissing(
            f"{label}: the disk of {tempfile.gettempdir()} ran full while compiling; {MAKE_ROOM}",
            code=Reason.DISK_FULL,
        )
    if not excess and status in _FROM_OUTSIDE:
        raise CompilerMissing(
            f"{label}: something else ended the compiler ({signal.Signals(-status).name}); run it again",
            code=Reason.COMPILER_ENDED,
        )
    raise BuildError(
        f"{label}: {_why_it_died(status, excess, limits)}", log=messages, code=Reason.COMPILER_LIMIT
    )


def _read_result(folder: Path) -> Mapping[str, Any] | None:
    """What the child wrote, if that is a plain file of bounded size."""
    try:
        data = json.loads(read_file(folder / "result.json", within=folder, most=_ANSWER_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and ("images" in data or "error" in data) else None


def _code(result: Mapping[str, Any], otherwise: Reason) -> Reason:
    """The child's code. What it says is data: a code that no build gives is not taken."""
    return next((r for r in Reason if r == result.get("code") and r.stage == "build"), otherwise)


def _why_it_died(status: int | None, excess: str, limits: Limits) -> str:
    if excess:
        return f"compiling {excess} and was ended" if seconds_left() else f"compiling {excess}: {_NO_TIME}"
    if status == -signal.SIGXCPU:
        return f"compiling took longer than {limits.seconds:g} s and was ended"
    if status == -signal.SIGXFSZ:
        return f"compiling wrote more than {limits.output_bytes >> 20} MB and was ended"
    memory = limits.address_bytes >> 30
    return f"the compiler ended without a result (status {status}); it may have run out of its {memory} GB"
