"""What a comparison of outputs alone sees: five draws at one shape, `allclose` with a tolerance of 1e-2.

That is how collections of generated kernels are commonly checked. It runs on the emulated device with its detectors
off, so that a wrong kernel fares as on a GPU that is not watched.
"""

from __future__ import annotations

import numpy as np

from kernel_gate.building import build_program
from kernel_gate.built import LoadedProgram
from kernel_gate.cases import Case
from kernel_gate.devices.base import DeviceError
from kernel_gate.devices.emulated import EmulatedDevice
from kernel_gate.dtypes import DTYPES
from kernel_gate.emulated.launch import Checks
from kernel_gate.inputs import make_inputs
from kernel_gate.launching import LaunchError
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.shapes import named_shapes
from kernel_gate.workload import Workload

DRAWS = 5
TOLERANCE = 1e-2


def fate(before: Program, after: Program, workload: Workload, seed: int) -> str:
    """`rejected`, `right`, or `not built` for a candidate."""
    case = Case(named_shapes(workload)[-1], seed)
    device = EmulatedDevice("sm_90", checks=Checks(races=False, uninitialised=False, overflow=False))
    try:
        built = [
            build_program(p, workload, [case.dims], arch="sm_90", options=GateOptions())
            for p in (before, after)
        ]
        with (
            LoadedProgram(device, built[0], workload).execution(case.dims) as first,
            LoadedProgram(device, built[1], workload).execution(case.dims) as second,
        ):
            for draw in range(DRAWS):
                inputs = make_inputs(workload, Case(case.dims, seed + draw))
                runs = [execution.run(inputs, 0) for execution in (first, second)]
                if any(not run.outputs for run in runs):
                    return "rejected"
                for argument in workload.args:
                    if argument.name not in runs[0].outputs:
                        continue
                    wide = [DTYPES[argument.dtype].wide(run.outputs[argument.name]) for run in runs]
                    if not np.allclose(wide[1], wide[0], atol=TOLERANCE, rtol=TOLERANCE, equal_nan=True):
                        return "rejected"
    except (LaunchError, DeviceError):
        return "not built"
    finally:
        device.close()
    return "right"
