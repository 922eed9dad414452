"""What fed an element of an output: its case is run again on the emulated device, once with an eye on the element, and
once with a record of the block that stored it, which is walked backwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kernel_gate.built import Built, LoadedProgram
from kernel_gate.cases import Case
from kernel_gate.devices.base import DeviceError, Place
from kernel_gate.devices.opening import open_quiet
from kernel_gate.dtypes import DTYPES
from kernel_gate.execution import Execution
from kernel_gate.inputs import make_inputs
from kernel_gate.launching import LaunchError
from kernel_gate.stages.check_state import argument_of
from kernel_gate.workload import Workload

if TYPE_CHECKING:
    from kernel_gate.devices.emulated import EmulatedBuffer, EmulatedDevice
    from kernel_gate.emulated.slicing.history import History

_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Storing:
    """The block that stores an element."""

    launch: int
    """Among the program's launches."""
    block: int
    """Linear number in the grid."""


@dataclass(frozen=True, slots=True)
class Feeding:
    """Where an element comes from, in lines of the program's text."""

    writer: Place | None
    """The last store to it; None: nothing was stored there, or by no instruction of one thread (a bulk copy)."""
    storing: Storing | None
    """Whose run was recorded."""
    lines: tuple[int, ...]
    """What fed it, nearest first: data, addresses, guards and branches. Empty where nothing could be recorded."""
    history: History | None = None
    """The record, with what was computed."""


@dataclass(frozen=True, slots=True)
class Element:
    """One element of an output in one case."""

    workload: Workload
    case: Case
    output: str
    index: tuple[int, ...]

    @property
    def offset(self) -> int:
        """Bytes from the start of the output."""
        argument = argument_of(self.workload, self.output)
        extents = self.workload.extents(argument, self.case.dims)
        flat = int(np.ravel_multi_index(self.index, extents)) if self.index else 0
        return flat * self.itemsize

    @property
    def itemsize(self) -> int:
        """Bytes of the element."""
        return DTYPES[argument_of(self.workload, self.output).dtype].itemsize


def feeding(built: Built, element: Element, otherwise: Storing | None = None) -> Feeding:
    """What fed an element in a program's first launch of the case.

    `otherwise`: the block to look at when nothing is stored there, such as the one in which a program of the same
    launch stores it; None: the one that stores what lies nearest.
    """
    device = open_quiet(_SECONDS)
    try:
        loaded = LoadedProgram(device, built, element.workload)
        with loaded.execution(element.case.dims, memory=element.case.memory) as execution:
            writer, storing = _writer(device, execution, element)
            value = _value(execution, element)
            storing = storing or otherwise or _storing_nearest(device, execution, element)
            if storing is None:
                return Feeding(writer, None, ())
            history = _history(device, execution, element, storing, value)
            if history is None:
                return Feeding(writer, storing, ())
            return Feeding(writer, storing, history.lines(), history)
    except (LaunchError, DeviceError):
        return Feeding(None, None, ())
    finally:
        device.close()


def feeding_of_fault(built: Built, workload: Workload, case: Case) -> tuple[str, tuple[int, ...]]:
    """The kind of the fault that ends a program's first launch of the case, and the lines that led to it.

    What fed the address and the values of the access at fault, nearest first; no lines where nothing ends the launch.
    """
    from kernel_gate.devices.emulated import Recording
    from kernel_gate.emulated.slicing.walk import fed_last

    device = open_quiet(_SECONDS)
    try:
        loaded = LoadedProgram(device, built, workload)
        with loaded.execution(case.dims, memory=case.memory) as execution:
            device.record(None)
            faults = execution.run(make_inputs(workload, case), 0).result.faults
            place = (faults[0].block, faults[0].thread) if faults else (None, None)
            if place[0] is None or place[1] is None:
                return "", ()
            kind, recording = faults[0].kind, Recording(device.last_launch, place[0])
            device.record(recording)
            execution.run(make_inputs(workload, case), 0)
            if recording.trace is None or recording.kernel is None or not recording.trace.events:
                return kind, ()
            thread = recording.trace.places.index((place[0], place[1]))
            return kind, fed_last(recording.trace, recording.kernel, thread)
    except (LaunchError, DeviceError):
        return "", ()
    finally:
        device.close()


def in_users_lines(place: Place, built: Built) -> Place:
    """A place in the program's text as one in the file that it is from."""
    return place if place.line is None else replace(place, line=place.line + built.program.first_line - 1)


def _writer(
    device: EmulatedDevice, execution: Execution, element: Element
) -> tuple[Place | None, Storing | None]:
    return _last_store(device, execution, element, element.offset, element.itemsize)


def _storing_nearest(device: EmulatedDevice, execution: Execution, element: Element) -> Storing | None:
    """The block that stores what lies nearest to the element in its output."""
    size = _buffer(execution, element).nbytes
    for reach in (1, 16, 256, size):
        start = max(element.offset - reach * element.itemsize, 0)
        stop = min(element.offset + (reach + 1) * element.itemsize, size)
        _, storing = _last_store(device, execution, element, start, stop - start)
        if storing is not None:
            return storing
    return None


def _last_store(
    device: EmulatedDevice, execution: Execution, element: Element, offset: int, nbytes: int
) -> tuple[Place | None, Storing | None]:
    """Who stores to bytes of the element's output last."""
    device.record(None)
    watched = _buffer(execution, element).watch(offset, nbytes)
    execution.run(make_inputs(element.workload, element.case), 0)
    if watched.writer is None:
        return None, None
    return watched.writer, Storing(watched.launch, watched.block)


def _value(execution: Execution, element: Element) -> float | None:
    """What the last run left in the element; None for what is no finite float."""
    dtype = DTYPES[argument_of(element.workload, element.output).dtype]
    if not dtype.is_float:
        return None
    held = _buffer(execution, element).read()[element.offset : element.offset + element.itemsize]
    value = float(dtype.wide(held.view(dtype.storage))[0])
    return value if np.isfinite(value) else None


def _history(
    device: EmulatedDevice, execution: Execution, element: Element, storing: Storing, value: float | None
) -> History | None:
    from kernel_gate.devices.emulated import EmulatedBuffer, Recording
    from kernel_gate.emulated.slicing.history import History

    recording = Recording(storing.launch, storing.block, with_values=True)
    device.record(recording)
    execution.run(make_inputs(element.workload, element.case), 0)
    if recording.trace is None or recording.kernel is None:
        return None
    segment = _buffer(execution, element).segment
    start = segment.offset + element.offset
    held = [buffer.segment for buffer in execution.buffers.values() if isinstance(buffer, EmulatedBuffer)]
    return History(
        recording.trace,
        recording.kernel,
        segment.number,
        start,
        start + element.itemsize,
        {each.number: (each.name, each.offset) for each in held},
        value,
    )


def _buffer(execution: Execution, element: Element) -> EmulatedBuffer:
    from kernel_gate.devices.emulated import EmulatedBuffer

    buffer = execution.buffers[element.output]
    assert isinstance(buffer, EmulatedBuffer)
    return buffer
