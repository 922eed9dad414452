"""Whether candidate and baseline compute the same expression, whatever the order of its sums.

Both programs run on the emulated device with exact payloads beside their floats (`emulated.payloads`). Equal payloads:
the same expression over the reals. Different ones: another expression, however close the values are. Payloads follow
the paths that values choose, so the answer is about these inputs; rounding is judged by the check of values.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from kernel_gate.build.errors import BuildError, CompilerMissing
from kernel_gate.building import build_program
from kernel_gate.built import Built, LoadedProgram
from kernel_gate.cases import Case
from kernel_gate.devices.base import DeviceError
from kernel_gate.devices.emulated import EmulatedBuffer, EmulatedDevice
from kernel_gate.devices.opening import EMULATED_ARCH, open_quiet
from kernel_gate.dtypes import DTYPES, Array
from kernel_gate.emulated.payloads.fields import Payload
from kernel_gate.emulated.payloads.memory import Escape, PayloadMemory
from kernel_gate.emulated.payloads.outputs import different, granule_of, output_payload
from kernel_gate.execution import SANITIZER_KINDS
from kernel_gate.inputs import make_inputs
from kernel_gate.launching import LaunchError
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.shapes import elements
from kernel_gate.workload import Workload

_FAST_MATH = "--use_fast_math"
"""The precise `expf`, `logf` and `sinf` pick the bits of floats apart, which payloads cannot follow."""
_TRITON_ARCH = "sm_80"
"""Where `tl.dot` becomes `mma.sync`, which payloads are followed through."""


_MOST_ELEMENTS = 1 << 16
_NO_TIME = "no time was left for it (algebra_seconds)"


class Answer(StrEnum):
    """Whether two programs compute the same expression on some inputs."""

    SAME = "same"
    OTHER = "other"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Algebra:
    """What payloads say of two programs on one case."""

    answer: Answer
    why: str = ""
    """For `other` the first element; for `open` the instruction that payloads could not be followed through."""
    case: str = ""
    output: str = ""
    index: tuple[int, ...] = ()
    different: int = 0
    elements: int = 0
    """How many elements of the output differ, and how many it has."""
    decisions: tuple[int, ...] = ()
    """Lines of the candidate whose comparisons were decided by values."""
    lost: bool = False
    """Whether it is open because a payload ended at an instruction, which other compiler flags may avoid."""
    residues: bool = False
    """Whether the baseline computes what its sums and products round off, to put it back."""

    def document(self) -> dict[str, Any]:
        """For the evidence."""
        return {
            "answer": self.answer.value,
            "why": self.why,
            "case": self.case,
            "output": self.output,
            "index": list(self.index),
            "different": self.different,
            "elements": self.elements,
            "decisions": list(self.decisions),
            "residues": self.residues,
        }


@dataclass(frozen=True, slots=True)
class _Ran:
    """The payloads of one program's float outputs after a run."""

    payloads: Mapping[str, tuple[Payload, tuple[int, ...]]]
    memory: PayloadMemory
    problem: str = ""


class Expressions:
    """Two programs to be compared case by case; built again, so that payloads can be followed, where that is needed."""

    def __init__(self, baseline: Built, candidate: Built, workload: Workload, options: GateOptions) -> None:
        self._both = baseline, candidate
        self._workload = workload
        self._options = options
        self._left = options.algebra_seconds
        self._again = False
        """Whether the images that are judged lost payloads before."""

    @property
    def seconds_left(self) -> float:
        """What may still be spent on payloads in this run."""
        return self._left

    def _built(self, program: Program, dims: Mapping[str, int]) -> Built:
        arch = _TRITON_ARCH
        if program.language == "cuda":
            arch = EMULATED_ARCH
            flags = program.flags if _FAST_MATH in program.flags else (*program.flags, _FAST_MATH)
            program = replace(program, flags=flags)
        return build_program(program, self._workload, [dims], arch=arch, options=self._options)

    def compare(self, case: Case, inputs: Mapping[str, Array] | None = None) -> Algebra:
        """Whether both compute the same on a case. `open` where a program cannot be built or run for it."""
        if elements(self._workload, case.dims) > _MOST_ELEMENTS:
            return Algebra(Answer.OPEN, "the case is too large", str(case))
        started = time.monotonic()
        try:
            return self._compare(case, inputs, started + self._left)
        except (BuildError, CompilerMissing) as error:
            return Algebra(Answer.OPEN, f"not built for it: {error}", str(case))
        finally:
            self._left = max(0.0, self._left - (time.monotonic() - started))

    def _compare(self, case: Case, inputs: Mapping[str, Array] | None, deadline: float) -> Algebra:
        if time.monotonic() >= deadline:
            return Algebra(Answer.OPEN, _NO_TIME, str(case))
        values = make_inputs(self._workload, case) if inputs is None else inputs
        if not self._again:
            answer = self._on(self._both, case, values, deadline)
            self._again = answer.lost
            if not answer.lost:
                return answer
        baseline, candidate = (self._built(built.program, case.dims) for built in self._both)
        return self._on((baseline, candidate), case, values, deadline)

    def _on(
        self, both: tuple[Built, Built], case: Case, values: Mapping[str, Array], deadline: float
    ) -> Algebra:
        granule = granule_of(image.ptx for built in both for image in built.images.values())
        ran = []
        for built in both:
            ran.append(self._run(built, case, values, PayloadMemory(granule), deadline))
            if ran[-1].problem:
                return Algebra(Answer.OPEN, ran[-1].problem, str(case))
        return self._compared(ran[0], ran[1], case)

    def _run(
        self,
        built: Built,
        case: Case,
        inputs: Mapping[str, Array],
        memory: PayloadMemory,
        deadline: float,
    ) -> _Ran:
        left = deadline - time.monotonic()
        if left <= 0:
            return _Ran({}, memory, _NO_TIME)
        device = open_quiet(left, payloads=memory)
        try:
            return self._run_on(device, built, case, inputs, memory)
        except (LaunchError, DeviceError) as error:
            return _Ran({}, memory, str(error))
        finally:
            device.close()

    def _run_on(
        self,
        device: EmulatedDevice,
        built: Built,
        case: Case,
        inputs: Mapping[str, Array],
        memory: PayloadMemory,
    ) -> _Ran:
        loaded = LoadedProgram(device, built, self._workload)
        with loaded.execution(case.dims) as execution:
            ran = execution.run(inputs, 0)
            fault = next((f for f in ran.faults if f.kind not in SANITIZER_KINDS), None)
            if fault is not None:
                return _Ran({}, memory, fault.message)
            payloads = {}
            for name, values in ran.outputs.items():
                argument, buffer = self._workload.argument(name), execution.buffers[name]
                dtype = DTYPES[argument.dtype] if argument is not None else None
                if dtype is None or not dtype.is_float or not isinstance(buffer, EmulatedBuffer):
                    continue
                payloads[name] = output_payload(memory, buffer, values, dtype), values.shape
            lost = ran.result.tags_lost
        return _Ran(payloads, memory, f"payloads of {lost[0].what} did not fit" if lost else "")

    def _compared(self, before: _Ran, after: _Ran, case: Case) -> Algebra:
        if not before.payloads:
            return Algebra(Answer.OPEN, "no output is a float", str(case))
        roots = before.memory.roots or after.memory.roots
        decisions = tuple(sorted({escape.line for escape in after.memory.decided if escape.line}))
        for name, (expected, shape) in before.payloads.items():
            differs = different(expected, after.payloads[name][0], up_to_sign=roots)
            count = int(np.count_nonzero(differs))
            if not count:
                continue
            index = tuple(int(i) for i in np.unravel_index(int(np.argmax(differs)), shape)) if shape else ()
            place = f"{name}[{', '.join(map(str, index))}]"
            about = Algebra(Answer.OTHER, "", str(case), name, index, count, differs.size, decisions)
            escape = _first_escape(before.memory, after.memory)
            if escape is not None:
                line = f" at line {escape.line}" if escape.line else ""
                why = f"{place} differs, and a float {escape.why} ({escape.opcode}{line})"
                return replace(about, answer=Answer.OPEN, why=why, lost=True)
            return replace(about, why=f"{place} is another expression")
        residues = before.memory.residues
        return Algebra(Answer.SAME, "", str(case), decisions=decisions, residues=residues)


def _first_escape(*memories: PayloadMemory) -> Escape | None:
    """Where a payload ended, in the baseline first: a difference may come from there."""
    for memory in memories:
        ends = sorted(memory.lost | memory.escapes)
        if ends:
            return ends[0]
    return None
