"""One launch with the arrays at hand, on the emulated device with all its detectors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kernel_gate.build.errors import BuildError, CompilerMissing
from kernel_gate.building import build_program
from kernel_gate.built import Built, LoadedProgram
from kernel_gate.devices.base import DeviceError, Fault
from kernel_gate.devices.opening import EMULATED_ARCH, open_emulated
from kernel_gate.dtypes import DTYPES
from kernel_gate.launching import LaunchError, bind
from kernel_gate.program import LaunchSpec, Program
from kernel_gate.workload import Workload
from kernel_lineage.auditing.tensors import NotEvaluableError, Tensor, stored

MOST_THREADS = 1 << 21
"""The most of one launch; a larger one takes minutes."""
_DIMS = {"one": 1}


class KernelFault(Exception):  # noqa: N818 - what the kernel does wrong, not an error of ours
    """A launch broke a rule of the device, or raced."""

    def __init__(self, kernel: str, fault: Fault) -> None:
        super().__init__(f"{kernel}: {fault.message}")
        self.kind = fault.kind


@dataclass
class Emulation:
    """Launches of one module's kernels; images are compiled once for each kind of arguments."""

    seconds: float = 30.0
    launched: list[str] = field(default_factory=list)
    """The kernels, in the order of their launches."""

    def launch(self, program: Program, names: Sequence[str], arguments: Mapping[str, object]) -> None:
        """Run a kernel on these arguments; tensors are changed in place.

        Raises `KernelFault`, and `NotEvaluableError` for what cannot be run here.
        """
        workload = _workload(program, names, arguments)
        try:
            launches = bind(workload, program, _DIMS).launches
            for bound in launches:
                if math.prod(bound.grid) * math.prod(bound.block) > MOST_THREADS:
                    raise NotEvaluableError(
                        f"a launch of {program.entry} with more than {MOST_THREADS} threads"
                    )
            built = build_program(program, workload, [_DIMS], arch=EMULATED_ARCH)
            outputs = self._run(program, workload, built, arguments)
        except (BuildError, CompilerMissing, LaunchError, DeviceError) as error:
            raise NotEvaluableError(f"{program.entry} cannot be run: {error}") from error
        self.launched.append(program.entry)
        for name, held in outputs.items():
            tensor = arguments[name]
            if isinstance(tensor, Tensor):
                tensor.memory()[...] = stored(DTYPES[tensor.dtype].wide(held), tensor.dtype, exact=False)

    def _run(
        self, program: Program, workload: Workload, built: Built, arguments: Mapping[str, object]
    ) -> Mapping[str, np.ndarray]:
        device = open_emulated(self.seconds)
        try:
            with LoadedProgram(device, built, workload).execution(_DIMS) as execution:
                inputs = {n: _bytes(a) for n, a in arguments.items() if isinstance(a, Tensor)}
                run = execution.run(inputs, 0)
        finally:
            device.close()
        for fault in run.faults:
            if fault.kind in ("timeout", "unsupported"):
                raise NotEvaluableError(f"{program.entry} cannot be run: {fault.message}")
            raise KernelFault(program.entry, fault)
        return run.outputs


def _bytes(tensor: Tensor) -> np.ndarray:
    kind = DTYPES[tensor.dtype]
    values = tensor.memory()
    return np.asarray(
        kind.narrow(values.astype(np.float64)) if kind.is_float else values.astype(kind.storage)
    )


def _workload(program: Program, names: Sequence[str], arguments: Mapping[str, object]) -> Workload:
    rows: list[dict[str, object]] = []
    # What the rows say of values is not used: the tensors hold them.
    for name in names:
        value = arguments[name]
        if isinstance(value, Tensor):
            if not value.values.size:
                raise NotEvaluableError(f"{name} of {program.entry} is empty")
            values = {} if DTYPES[value.dtype].is_float else {"values": "integers(0, 1)"}
            rows.append(
                {
                    "name": name,
                    "kind": "inout",
                    "dtype": value.dtype,
                    "shape": [str(value.memory().size)],
                    **values,
                }
            )
        elif isinstance(value, bool | int | np.integer):
            wide = "int32" if -(1 << 31) <= int(value) < 1 << 31 else "int64"
            rows.append({"name": name, "kind": "scalar", "dtype": wide, "value": str(int(value))})
        elif isinstance(value, Scalar):
            rows.append({"name": name, "kind": "scalar", "dtype": value.dtype, "value": repr(value.value)})
        elif isinstance(value, float):
            rows.append({"name": name, "kind": "scalar", "dtype": "float32", "value": repr(value)})
        else:
            raise NotEvaluableError(f"{name} of {program.entry} is neither a tensor nor a number")
    spec = program.launch or LaunchSpec(("1",))
    launch: dict[str, object] = {"grid": list(spec.grid)}
    if program.language == "cuda":
        launch |= {"block": list(spec.block), "shared_bytes": spec.shared_bytes}
    return Workload.model_validate(
        {
            "kernel": program.entry,
            "language": program.language,
            "dims": {"one": [1]},
            "args": rows,
            "launch": launch,
        }
    )


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number whose type a kernel's parameter says."""

    value: float | int
    dtype: str
