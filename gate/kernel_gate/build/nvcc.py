"""nvcc: a whole CUDA file, host code included, to PTX and cubin, with the user's own flags."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kernel_gate.build import allowed
from kernel_gate.build.errors import ENDED_FROM_OUTSIDE, BuildError, CompilerMissing
from kernel_gate.build.nvrtc import build_failure, image_of
from kernel_gate.build.standard import standard_of
from kernel_gate.build.toolkit import exact_arch, find_nvcc
from kernel_gate.build.unit import Unit
from kernel_gate.devices.image import Image
from kernel_gate.processes.surroundings import find_program
from kernel_gate.processes.tools import run_tool
from kernel_gate.program import Program
from kernel_gate.reasons import Reason

_SOURCE = "program.cu"
_ENTRY = re.compile(r"\.entry ([\w$]+)\(")


def compile_nvcc(
    program: Program, units: Sequence[Unit], arch: str, folder: Path, *, want_cubin: bool = False
) -> list[Image]:
    """PTX (always) and cubin (if wanted) of the program's kernels; they share both.

    Raises `BuildError` when the code is at fault, `CompilerMissing` when there is no nvcc or no host compiler.
    """
    label = program.name or program.entry
    nvcc = find_nvcc()
    if find_program("g++") is None:
        raise CompilerMissing("nvcc needs a host compiler; install g++")
    allowed.check_flags(program.flags)
    (folder / _SOURCE).write_text(program.source, "utf-8")
    for header, text in program.includes.items():
        target = (folder / header).resolve()
        if not target.is_relative_to(folder.resolve()):
            raise BuildError(
                f"{label}: the header name {header!r} leaves the program's folder",
                code=Reason.SOURCE_NOT_ALLOWED,
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    log = _run(nvcc, program, arch, folder, "ptx")
    ptx = (folder / "program.ptx").read_text("utf-8")
    allowed.check_ptx(ptx)
    entries = [find_entry(program, unit, ptx) for unit in units]
    cubin = None
    if want_cubin:
        log = _run(nvcc, program, arch, folder, "cubin")
        cubin = (folder / "program.cubin").read_bytes()
    return [image_of(entry, ptx, cubin, arch, log) for entry in entries]


def _run(nvcc: Path, program: Program, arch: str, folder: Path, kind: str) -> str:
    """Compile to `program.<kind>` in the folder; the compiler's messages."""
    done = run_tool(
        [
            str(nvcc),
            f"-{kind}",
            f"-arch={exact_arch(arch)}",
            "-lineinfo",
            *(["-Xptxas=-v"] if kind == "cubin" else []),
            f"-I{folder}",
            *(f"-D{k}={v}" for k, v in program.defines.items()),
            *standard_of(program),
            *program.flags,
            "-o",
            f"program.{kind}",
            _SOURCE,
        ],
        folder=folder,
        own_group=False,
    )
    log = done.stdout + done.stderr
    if done.status < 0 or ENDED_FROM_OUTSIDE.search(log):
        raise CompilerMissing("something else ended nvcc; run it again", code=Reason.COMPILER_ENDED)
    if done.status != 0:
        raise build_failure(program, log)
    return log


def find_entry(program: Program, unit: Unit, ptx: str) -> str:
    """The mangled name of a unit's kernel among the entries of its PTX. Raises `BuildError`."""
    label = program.name or program.entry
    entries: list[str] = _ENTRY.findall(ptx)
    wanted = unit.expression(program)
    name, opening, _ = wanted.partition("<")
    bare = name.rsplit("::", 1)[-1]
    named = {e: _demangled(e) for e in entries if e == bare or f"{len(bare)}{bare}" in e}
    exact = [e for e, full in named.items() if e == wanted or _same_kernel(full, wanted)]
    if len(exact) == 1:
        return exact[0]
    if len(named) == 1 and not opening:
        return next(iter(named))
    if not named:
        raise BuildError(
            f"{label} has no __global__ function named `{wanted}` that is instantiated in the file",
            code=Reason.UNKNOWN_KERNEL,
        )
    choices = ", ".join(sorted(full.split("(")[0] for full in named.values()))
    raise BuildError(
        f"{label}: `{wanted}` could be any of {choices}; name its template arguments",
        code=Reason.UNKNOWN_KERNEL,
    )


def _same_kernel(demangled: str, wanted: str) -> bool:
    """Whether `void k<float, 4>(float*)` is `k<float, 4>`."""
    signature = re.sub(r"\((?:int|bool|unsigned int)\)", "", demangled)
    return re.match(rf"(?:\S+ )?{re.escape(wanted)}\(", signature) is not None


def _demangled(name: str) -> str:
    """The C++ name, by binutils' c++filt, which comes with g++."""
    tool = find_program("c++filt")
    if tool is None:
        return name
    return run_tool([tool, name], own_group=False).stdout.strip() or name
