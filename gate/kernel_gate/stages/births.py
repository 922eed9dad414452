"""Where a wrong NaN or infinity came from: the case once more on the emulated device, which watches for births."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kernel_gate.built import LoadedProgram
from kernel_gate.cases import Case, elements
from kernel_gate.compare import Mismatch
from kernel_gate.devices.base import Birth, DeviceError
from kernel_gate.devices.opening import open_quiet
from kernel_gate.dtypes import Array
from kernel_gate.launching import LaunchError
from kernel_gate.stages.check_state import CheckState

_MOST_ELEMENTS = 1 << 18
_SECONDS = 5.0
_INFINITE = ("inf", "-inf")


def birth_of(run: CheckState, case: Case, mismatch: Mismatch, inputs: Mapping[str, Array]) -> Birth | None:
    """The first birth in the candidate of what stands where a finite value belongs; None: not known.

    It need not be the one that reached this element: a launch can make several.
    """
    what = "NaN" if mismatch.got == "NaN" else "infinity" if mismatch.got in _INFINITE else None
    finite = mismatch.expected != "NaN" and mismatch.expected not in _INFINITE
    if what is None or not finite or elements(run.workload, case.dims) > _MOST_ELEMENTS:
        return None
    device = open_quiet(_SECONDS, births=True)
    try:
        loaded = LoadedProgram(device, run.candidate, run.workload)
        with loaded.execution(case.dims, memory=case.memory) as execution:
            births = execution.run(inputs, 0).result.births
    except (LaunchError, DeviceError):
        return None
    finally:
        device.close()
    first = next((birth for birth in births if birth.what == what), None)
    if first is None or first.line is None:
        return first
    return replace(first, line=first.line + run.candidate.program.first_line - 1)
