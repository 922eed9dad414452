"""What others' checkers of Triton kernels see: FpSan, ConSan and triton-viz.

FpSan and ConSan are instrumentations of Triton's own compiler. What they add is plain code of the same kernel, which
the emulated device runs. FpSan puts a payload in a ring of integers in the place of every float, so that outputs of two
programs agree bit for bit when they compute the same expression; ConSan stops a launch at copies that are used too
early. GSan, the third, keeps its shadows at addresses of its own allocator on a GPU and is not run. triton-viz follows
a launch's addresses symbolically; it needs `triton-viz` (tried: 3.0), torch and a Triton that it knows (3.6), none of
them dependencies here.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from kernel_gate.build.errors import BuildError
from kernel_gate.build.triton_build import _as_triton
from kernel_gate.building import build_program
from kernel_gate.built import LoadedProgram
from kernel_gate.cases import Case
from kernel_gate.devices.base import Buffer, DeviceError
from kernel_gate.devices.emulated import EmulatedDevice, _marshal
from kernel_gate.dtypes import DTYPES
from kernel_gate.emulated.addresses import Segment
from kernel_gate.emulated.launch import Checks
from kernel_gate.emulated.layout import Layout
from kernel_gate.execution import Run
from kernel_gate.inputs import make_inputs
from kernel_gate.launching import BoundLaunch, BoundPointer, LaunchError, bind
from kernel_gate.program import Program
from kernel_gate.shapes import named_shapes
from kernel_gate.workload import Workload

_INSTRUMENT = """
import triton as _triton
from triton.backends.nvidia.compiler import CUDABackend as _Backend
_options, _compile = _Backend.parse_options, _triton.compile
_Backend.parse_options = lambda self, opts: _options(self, {{**opts, "instrumentation_mode": "{}"}})
def _with_scratch(*given, **named):
    kernel = _compile(*given, **named)
    kernel.metadata = kernel.metadata._replace(
        global_scratch_size=kernel.metadata.profile_scratch_size or kernel.metadata.global_scratch_size,
        profile_scratch_size=0,
    )
    return kernel
_triton.compile = _with_scratch
"""
"""Stands at the end of a module that is loaded to be compiled. Scratch of the tool is allocated as the launch's own."""


def _marshal_scratch(
    layout: Layout,
    arguments: Sequence[Buffer | np.generic],
    extra_pointers: int,
    scratch: Segment | None = None,
) -> npt.NDArray[np.uint8]:
    """Parameter bytes of a launch whose pointers to scratch are all the same."""
    address = np.uint64(0 if scratch is None else scratch.base)
    return _marshal(layout, [*arguments, *([address] * extra_pointers)], 0)


def _run(program: Program, tool: str, workload: Workload, case: Case) -> Run:
    device = EmulatedDevice("sm_90", checks=Checks(races=False, uninitialised=False, overflow=False))
    instrumented = replace(program, source=program.source + _INSTRUMENT.format(tool))
    try:
        built = build_program(instrumented, workload, [case.dims], arch="sm_90")
        with (
            patch("kernel_gate.devices.emulated._marshal", _marshal_scratch),
            LoadedProgram(device, built, workload).execution(case.dims) as execution,
        ):
            return execution.run(make_inputs(workload, case), 0)
    finally:
        device.close()


def instrumented_fate(
    tool: str, before: Program, after: Program, workload: Workload, seed: int
) -> tuple[str, str]:
    """`rejected` with the first difference or stop, `right`, or why nothing could be said.

    An address out of bounds ends a launch of the emulated device, not of a GPU with one of the tools: where that
    happens before the tool has spoken, nothing is counted for it.
    """
    for dims in named_shapes(workload):
        try:
            runs = [_run(program, tool, workload, Case(dims, seed)) for program in (before, after)]
        except (BuildError, LaunchError, DeviceError) as error:
            return "not built", str(error)
        for run, which in zip(runs, ("baseline", "candidate"), strict=True):
            if run.faults:
                first = run.faults[0]
                own = tool == "consan" and which == "candidate" and first.kind == "trap"
                return ("rejected" if own else f"{which} stopped"), f"{first.kind}: {first.message}"
        if tool == "fpsan":
            for name, values in runs[0].outputs.items():
                if values.tobytes() != runs[1].outputs[name].tobytes():
                    return "rejected", f"payloads of `{name}` differ at {dict(dims)}"
    return "right", ""


def viz_fate(program: Program, workload: Workload, seed: int) -> tuple[str, str]:
    """`rejected` with the first access out of bounds, `right`, or `undecided` with what triton-viz could not do."""
    from triton_viz.clients.sanitizer.sanitizer import SymbolicSanitizer  # type: ignore[import-not-found]
    from triton_viz.core.trace import TritonTrace  # type: ignore[import-not-found]

    with tempfile.TemporaryDirectory() as folder:
        module = _module(program, Path(folder) / "candidate.py")
        for dims in named_shapes(workload):
            tensors = _tensors(workload, Case(dims, seed))
            for launch in bind(workload, program, dims).launches:
                client = SymbolicSanitizer(abort_on_error=False)
                constants = {name: _as_triton(value) for name, value in launch.unit.constexpr}
                try:
                    traced = TritonTrace(getattr(module, launch.entry), client)
                    traced[launch.grid](*_arguments(launch, tensors), **constants)
                except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the tool raises
                    return "undecided", f"{type(error).__name__}: {error}"
                if client.records:
                    return "rejected", f"{client.records[0].op_type.__name__} out of bounds at {dict(dims)}"
    return "right", ""


def _module(program: Program, path: Path) -> Any:
    path.write_text(program.source, "utf-8")
    spec = importlib.util.spec_from_file_location("candidate", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["candidate"] = module
    spec.loader.exec_module(module)
    return module


def _tensors(workload: Workload, case: Case) -> dict[str, Any]:
    """A torch tensor for each buffer, inputs with their values."""
    import torch  # type: ignore[import-not-found]

    inputs = make_inputs(workload, case)
    tensors = {}
    for argument in (a for a in workload.args if a.is_pointer):
        empty = np.zeros(workload.extents(argument, case.dims), DTYPES[argument.dtype].storage)
        plain = torch.from_numpy(inputs.get(argument.name, empty).copy())
        tensors[argument.name] = plain.view(torch.bfloat16) if argument.dtype == "bfloat16" else plain
    return tensors


def _arguments(launch: BoundLaunch, tensors: dict[str, Any]) -> list[Any]:
    values: list[Any] = []
    for operand in (launch.operands[name] for name in launch.order):
        if isinstance(operand, BoundPointer):
            tensor = tensors[operand.buffer]
            values.append(tensor.view(-1)[operand.offset // tensor.element_size() :])
        else:
            assert isinstance(operand, np.generic)
            values.append(operand.item())
    return values
