"""Where NaNs, infinities and other lost values come from: a case once more on the emulated device, which watches for
births.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kernel_gate.built import Built, LoadedProgram
from kernel_gate.cases import Case
from kernel_gate.compare import Mismatch
from kernel_gate.devices.base import Birth, DeviceError
from kernel_gate.devices.opening import open_quiet
from kernel_gate.dtypes import Array
from kernel_gate.launching import LaunchError
from kernel_gate.shapes import elements
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
    if what is None or not finite:
        return None
    births = births_in(run, run.candidate, case, inputs) or ()
    return next((birth for birth in births if birth.what == what), None)


def births_in(
    run: CheckState, built: Built, case: Case, inputs: Mapping[str, Array]
) -> tuple[Birth, ...] | None:
    """Those of one program, with lines of its file; None where the emulated device cannot tell."""
    if elements(run.workload, case.dims) > _MOST_ELEMENTS:
        return None
    device = open_quiet(_SECONDS, births=True)
    try:
        loaded = LoadedProgram(device, built, case.applied(run.workload))
        with loaded.execution(case.dims, memory=case.memory) as execution:
            done = execution.run(inputs, 0)
    except (LaunchError, DeviceError):
        return None
    finally:
        device.close()
    before = built.program.first_line - 1
    births = tuple(b if b.line is None else replace(b, line=b.line + before) for b in done.result.births)
    return births if births or not done.faults else None
