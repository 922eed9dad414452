"""Who wrote a wrong element: the case is run again on the emulated device, with an eye on that element."""

from __future__ import annotations

import numpy as np

from kernel_gate.built import Built, LoadedProgram
from kernel_gate.cases import Case
from kernel_gate.devices.base import Device, Place
from kernel_gate.dtypes import DTYPES
from kernel_gate.inputs import make_inputs
from kernel_gate.stages.check_state import argument_of
from kernel_gate.workload import Workload


def last_writer(
    device: Device, built: Built, workload: Workload, case: Case, output: str, index: tuple[int, ...]
) -> Place | None:
    """The last store to an element in the program's first launch of a case.

    None when nothing was stored there, or what stored it is no instruction of one thread (a bulk copy).
    """
    from kernel_gate.devices.emulated import EmulatedBuffer

    with LoadedProgram(device, built, workload).execution(case.dims, memory=case.memory) as execution:
        buffer = execution.buffers.get(output)
        if not isinstance(buffer, EmulatedBuffer):
            return None
        argument = argument_of(workload, output)
        itemsize = DTYPES[argument.dtype].itemsize
        extents = workload.extents(argument, case.dims)
        element = int(np.ravel_multi_index(index, extents)) if index else 0
        watched = buffer.watch(element * itemsize, itemsize)
        execution.run(make_inputs(workload, case), 0)
        return None if watched.writer is None else execution.in_users_lines(watched.writer)
