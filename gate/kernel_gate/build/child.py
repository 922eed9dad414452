"""The compiler child: `python -m kernel_gate.build.child FOLDER` reads request.json there and writes result.json.

It contains and limits itself before it touches the program. Everything that it says is data to the gate: an image is
device code, which the trusted process runs on its own buffers and checks.
"""

from __future__ import annotations

import dataclasses
import errno
import json
import sys
from pathlib import Path
from typing import Any

from kernel_gate.build.constants import with_constants
from kernel_gate.build.errors import BuildError, CompilerMissing
from kernel_gate.build.near_names import near_names
from kernel_gate.build.unit import Unit
from kernel_gate.devices.image import Image, image_to_json
from kernel_gate.processes.parent import end_with_parent
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.sandbox.containment import (
    REFUSED,
    Containment,
    ContainmentError,
    anybody_reads,
    compilers,
    enter,
)
from kernel_gate.sandbox.own_limits import limit

_REFUSALS = frozenset({errno.EACCES, errno.EPERM, errno.ENOENT, errno.EROFS})
"""How a sandbox says no; in a private root what is outside is not there."""


def program_to_json(program: Program) -> dict[str, Any]:
    """What the compiler needs of a program."""
    fields = {f.name: getattr(program, f.name) for f in dataclasses.fields(program)}
    unused = {"launch": None, "steps": (), "scratch": ()}
    return {**fields, **unused, "includes": dict(program.includes), "defines": dict(program.defines)}


def _program(data: dict[str, Any]) -> Program:
    texts = ("template_arguments", "flags", "lacking", "launched_where")
    lists = {k: tuple(data[k]) for k in (*texts, "steps", "scratch")}
    arguments = tuple(data["arguments"]) if data["arguments"] is not None else None
    return Program(**{**data, **lists, "arguments": arguments})


def unit_to_json(unit: Unit) -> dict[str, Any]:
    """A unit as JSON."""
    return dataclasses.asdict(unit)


def _unit(data: dict[str, Any]) -> Unit:
    pairs = {k: tuple((n, v) for n, v in data[k]) for k in ("constexpr", "arguments")}
    pairs["descriptors"] = tuple((n, tuple(block)) for n, block in data["descriptors"])
    lists = {k: tuple(data[k]) for k in ("template_arguments", "divisible", "ones")}
    return Unit(**{**data, **pairs, **lists})


def contain(request: dict[str, Any], folder: Path) -> None:
    """Shut this process in. What compiles a CUDA program opens the compiler's own files and the folder's, no others.

    Raises `ContainmentError` and `CompilerMissing`.
    """
    containment, program = Containment(**request["containment"]), _program(request["program"])
    if program.language == "triton":
        enter(containment, folder)
        return
    # All modules are imported before, and NVRTC is loaded: packages are out of reach afterwards.
    from kernel_gate.build import nvcc, nvrtc  # noqa: F401
    from kernel_gate.build.toolkit import toolkit_roots

    if program.compiler == "nvcc":
        may_open = [*compilers(), *toolkit_roots()]
    else:
        may_open = [*nvrtc.load(), *anybody_reads()]
    enter(containment, folder, instead=may_open)


def _compile(request: dict[str, Any], folder: Path) -> list[Image]:
    program = _program(request["program"])
    units = [_unit(u) for u in request["units"]]
    arch, want_cubin = request["arch"], request["want_cubin"]
    if program.language == "triton":
        from kernel_gate.build.triton_build import compile_triton

        return compile_triton(program, units, arch, folder, want_cubin=want_cubin)
    images: dict[Unit, Image] = {}
    for constants in dict.fromkeys(unit.constexpr for unit in units):
        some = [unit for unit in units if unit.constexpr == constants]
        sized = with_constants(program, dict(constants))
        if program.compiler == "nvcc":
            from kernel_gate.build.nvcc import compile_nvcc

            made = compile_nvcc(sized, some, arch, folder, want_cubin=want_cubin)
        else:
            from kernel_gate.build.nvrtc import compile_kernels

            made = compile_kernels(sized, some, arch, want_cubin=want_cubin)
        images.update(zip(some, made, strict=True))
    return [images[unit] for unit in units]


def main(folder: Path) -> None:
    """Compile what request.json asks for."""
    end_with_parent()
    request = json.loads((folder / "request.json").read_text("utf-8"))
    result: dict[str, Any]
    try:
        contain(request, folder)
        limit(request["limits"])
        result = {"images": [image_to_json(image) for image in _compile(request, folder)]}
    except BuildError as error:
        diagnostics = [dataclasses.asdict(d) for d in error.diagnostics]
        refused = isinstance(error.__cause__, OSError) and error.__cause__.errno in _REFUSALS
        more = f"; {REFUSED}" if refused else ""
        if error.code is Reason.UNKNOWN_KERNEL:
            program = _program(request["program"])
            more = near_names(program, program.entry)
        result = {
            "error": "build",
            "code": Reason.SOURCE_NOT_ALLOWED if refused else error.code,
            "message": f"{error}{more}",
            "diagnostics": diagnostics,
            "log": error.log[-20_000:],
        }
    except CompilerMissing as error:
        result = {"error": "missing", "code": error.code, "message": str(error)}
    except ContainmentError as error:
        result = {"error": "missing", "code": Reason.SANDBOX_UNAVAILABLE, "message": str(error)}
    (folder / "result.json").write_text(json.dumps(result), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
