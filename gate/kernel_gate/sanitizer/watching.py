"""A program's small cases under compute-sanitizer's tools, with findings in the user's lines and the buffers' names."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from kernel_gate.built import Built, LoadedProgram
from kernel_gate.cases import Case
from kernel_gate.devices.base import Fault
from kernel_gate.files.temporary import TemporaryFolder
from kernel_gate.inputs import make_inputs
from kernel_gate.sanitizer.recording import RecordedBuffer, RecordingDevice
from kernel_gate.sanitizer.records import Record
from kernel_gate.sanitizer.tool import TOOLS, Answer, Running, SpareTools
from kernel_gate.workload import Workload

_OWN_FILES = {"program.cu", "gated_program.py"}
"""What a program's source is called while it is compiled."""


@dataclass(frozen=True, slots=True)
class ToolFinding:
    """A finding of a tool."""

    tool: str
    fault: Fault
    case: int | None
    """Number of the case; None when the tool does not tell which launch it was."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What one tool said of a program."""

    tool: str
    found: tuple[ToolFinding, ...]
    launches: int
    seconds: float
    unusable: str


class Watching:
    """Tools at work on some cases of a program. A context manager: those that may watch more go back to the spares."""

    def __init__(
        self,
        spares: SpareTools,
        built: Built,
        workload: Workload,
        cases: Sequence[Case],
        tools: Iterable[str] = TOOLS,
    ) -> None:
        self._spares, self._program, self._tools = spares, built.program, tuple(tools)
        self._only_case = 0 if len(cases) == 1 else None
        self._recording = record(built, workload, cases)
        self._running: list[Running] = []

    def __enter__(self) -> Watching:
        """Start the tools. Raises `SanitizerMissing`, and `OSError` when a process or a file cannot be made."""
        self._folder = TemporaryFolder("sanitize")
        try:
            place = Path(self._folder.name)
            self._recording.save(place)
            for one in self._tools:
                self._running.append(self._spares.take(one))
                self._running[-1].begin(place)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        for running in self._running:
            self._spares.give_back(running)
        self._folder.cleanup()

    def answers(self, seconds: float) -> list[Watched]:
        """Wait for every tool, `seconds` at most for all of them."""
        deadline = time.monotonic() + seconds
        return [self._watched(running.answer(deadline)) for running in self._running]

    def _watched(self, answer: Answer) -> Watched:
        first_of_each: dict[tuple[object, ...], ToolFinding] = {}
        for record in answer.records:
            if record.one_store and self._program.language == "triton":
                continue  # several threads hold an element, and each stores its copy
            one = self._finding(answer, record)
            first_of_each.setdefault((one.fault.kind, one.fault.line, one.fault.buffer, one.case), one)
        return Watched(
            answer.tool, tuple(first_of_each.values()), answer.launches, answer.seconds, answer.unusable
        )

    def _line(self, record: Record, line: int | None) -> int | None:
        """The user's line of a line of the compiled source; None for lines of headers."""
        own = record.file in _OWN_FILES or (
            bool(self._program.name) and self._program.name.endswith(record.file)
        )
        return line + self._program.first_line - 1 if line is not None and own else None

    def _finding(self, answer: Answer, record: Record) -> ToolFinding:
        line = self._line(record, record.line)
        buffer, element = self._nearest(answer, record)
        extent = buffer.nbytes // buffer.itemsize if buffer is not None else 0
        where = ""
        if buffer is not None and element is not None:
            where = f" at element {element} of {buffer.name}, which has {extent}"
        message = f"{answer.tool}: {_say(record, self._line(record, record.other_line))}{where}"
        if record.block is not None and record.thread is not None:
            message += f", by thread {record.thread} of block {record.block}"
        if line is None and record.file and record.line is not None:
            message += f", in {record.file}:{record.line}"
        name = buffer.name if buffer is not None else None
        fault = Fault(record.kind, message, line, record.block, record.thread, name, element)
        return ToolFinding(answer.tool, fault, buffer.case if buffer is not None else self._only_case)

    def _nearest(self, answer: Answer, record: Record) -> tuple[RecordedBuffer | None, int | None]:
        """The buffer that a global address is in or nearest to, and the element."""
        if record.address is None or record.space != "global" or not answer.addresses:
            return None, None
        address = record.address

        def distance(number: int) -> int:
            start, nbytes = answer.addresses[number], self._recording.buffers[number].nbytes
            return max(start - address, address - (start + nbytes - 1), 0)

        nearest = min(range(len(answer.addresses)), key=distance)
        if distance(nearest) > _FAR:
            return None, None
        buffer = self._recording.buffers[nearest]
        return buffer, (address - answer.addresses[nearest]) // buffer.itemsize


_FAR = 1 << 20
"""Bytes from the nearest buffer beyond which an address says nothing of that buffer."""


def _say(record: Record, other_line: int | None) -> str:
    """The record in our words."""
    size = f" of {record.nbytes} bytes" if record.nbytes else ""
    if record.kind == "uninitialised":
        return f"read{size} of {record.space or 'global'} memory that nothing has written"
    if record.kind in {"out_of_bounds", "misaligned"}:
        what = "outside its allocation" if record.kind == "out_of_bounds" else "at a misaligned address"
        return f"{record.space} {record.direction}{size} {what}"
    if record.kind == "race":
        second = f" and line {other_line}" if other_line is not None else ""
        return f"{record.text} of shared memory without order{second}"
    return record.text


def record(built: Built, workload: Workload, cases: Sequence[Case]) -> RecordingDevice:
    """The launches of some cases. Raises `LaunchError`, `DeviceError` and `WorkloadError`."""
    recording = RecordingDevice(next(iter(built.images.values())).arch)
    loaded = LoadedProgram(recording, built, workload)
    for number, case in enumerate(cases):
        recording.case = number
        with loaded.execution(case.dims) as execution:
            execution.run(make_inputs(workload, case), 0)
    return recording
