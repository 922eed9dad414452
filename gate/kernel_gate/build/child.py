"""The compiler child: `python -m kernel_gate.build.child FOLDER` reads request.json there and writes result.json.

It limits itself before it touches the program. Everything that it says is data to the gate: an image is device code,
which the trusted process runs on its own buffers and checks.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import resource
import sys
from pathlib import Path
from typing import Any

from kernel_gate.build.errors import BuildError, CompilerMissing
from kernel_gate.build.unit import Unit
from kernel_gate.devices.image import Image
from kernel_gate.program import Program


def _limit(limits: dict[str, int]) -> None:
    """Memory, CPU seconds and bytes per file, for this process and those that it starts."""
    resource.setrlimit(resource.RLIMIT_AS, (limits["memory_bytes"],) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (limits["seconds"],) * 2)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits["output_bytes"],) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def program_to_json(program: Program) -> dict[str, Any]:
    """What the compiler needs of a program."""
    fields = {f.name: getattr(program, f.name) for f in dataclasses.fields(program)}
    return {**fields, "launch": None, "includes": dict(program.includes), "defines": dict(program.defines)}


def _program(data: dict[str, Any]) -> Program:
    lists = {k: tuple(data[k]) for k in ("template_arguments", "flags")}
    arguments = tuple(data["arguments"]) if data["arguments"] is not None else None
    return Program(**{**data, **lists, "arguments": arguments})


def unit_to_json(unit: Unit) -> dict[str, Any]:
    """A unit as JSON."""
    return dataclasses.asdict(unit)


def _unit(data: dict[str, Any]) -> Unit:
    pairs = {k: tuple((n, v) for n, v in data[k]) for k in ("constexpr", "arguments")}
    return Unit(**{**data, **pairs, "divisible": tuple(data["divisible"]), "ones": tuple(data["ones"])})


def image_from_json(data: dict[str, Any]) -> Image:
    """The image that a child sent."""
    cubin = base64.b64decode(data["cubin"]) if data["cubin"] is not None else None
    parameters = tuple(data["parameters"]) if data["parameters"] is not None else None
    return Image(**{**data, "cubin": cubin, "parameters": parameters})


def _image_to_json(image: Image) -> dict[str, Any]:
    data = dataclasses.asdict(image)
    return {**data, "cubin": base64.b64encode(image.cubin).decode() if image.cubin is not None else None}


def _compile(request: dict[str, Any], folder: Path) -> list[Image]:
    program = _program(request["program"])
    units = [_unit(u) for u in request["units"]]
    arch, want_cubin = request["arch"], request["want_cubin"]
    if program.language == "triton":
        from kernel_gate.build.triton_build import compile_triton

        return compile_triton(program, units, arch, folder)
    if program.compiler == "nvcc":
        from kernel_gate.build.nvcc import compile_nvcc

        image = compile_nvcc(program, arch, folder, want_cubin=want_cubin)
    else:
        from kernel_gate.build.nvrtc import compile_nvrtc

        image = compile_nvrtc(program, arch, want_cubin=want_cubin)
    return [image] * len(units)


def main(folder: Path) -> None:
    """Compile what request.json asks for."""
    request = json.loads((folder / "request.json").read_text("utf-8"))
    _limit(request["limits"])
    result: dict[str, Any]
    try:
        result = {"images": [_image_to_json(image) for image in _compile(request, folder)]}
    except BuildError as error:
        diagnostics = [dataclasses.asdict(d) for d in error.diagnostics]
        result = {
            "error": "build",
            "message": str(error),
            "diagnostics": diagnostics,
            "log": error.log[-20_000:],
        }
    except CompilerMissing as error:
        result = {"error": "missing", "message": str(error)}
    (folder / "result.json").write_text(json.dumps(result), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
