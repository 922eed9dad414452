"""What compute-sanitizer alone sees: its four tools over the candidate's launches at every named shape.

No output is compared with anything: a kernel that writes wrong values in the right places passes.
"""

from __future__ import annotations

from functools import cache

from kernel_gate.build.errors import BuildError
from kernel_gate.building import build_program
from kernel_gate.cases import Case
from kernel_gate.devices.base import DeviceError
from kernel_gate.launching import LaunchError
from kernel_gate.program import Program
from kernel_gate.sanitizer.opinions import Tools
from kernel_gate.sanitizer.tool import SpareTools
from kernel_gate.shapes import named_shapes
from kernel_gate.workload import Workload

_SECONDS = 60.0


@cache
def _arch() -> str:
    """The first GPU's. Asked for without a context: the tools' processes have their own."""
    import pynvml

    pynvml.nvmlInit()
    major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(pynvml.nvmlDeviceGetHandleByIndex(0))
    return f"sm_{major}{minor}"


def fate(program: Program, workload: Workload, seed: int) -> tuple[str, str]:
    """`rejected` with what was said first, `right`, `not built`, or `undecided` with the reason."""
    cases = [Case(dims, seed) for dims in named_shapes(workload)]
    try:
        built = build_program(program, workload, [c.dims for c in cases], arch=_arch(), want_cubin=True)
        with SpareTools() as spares, Tools(built, workload, cases, spares) as tools:
            opinion = tools.opinion(_SECONDS)
    except (BuildError, DeviceError, LaunchError) as error:
        return "not built", str(error)
    if opinion.suspicions:
        first = opinion.suspicions[0]
        return "rejected", f"{first.source}: {first.fault.message}"
    return ("undecided", opinion.missing) if opinion.missing else ("right", "")
