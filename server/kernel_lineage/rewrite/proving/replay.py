"""Counterexamples, replayed: the kernel is run at their sizes on the emulated device before they are shown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from kernel_gate.build.errors import BuildError, CompilerMissing
from kernel_gate.building import build_program
from kernel_gate.built import LoadedProgram
from kernel_gate.cases import ALLOCATED, Case, Memory
from kernel_gate.devices.base import DeviceError, Fault
from kernel_gate.devices.emulated import EmulatedDevice
from kernel_gate.devices.opening import EMULATED_ARCH
from kernel_gate.dtypes import DTYPES
from kernel_gate.emulated.launch import Checks, Limits
from kernel_gate.execution import Run
from kernel_gate.expressions import ExpressionError
from kernel_gate.inputs import make_inputs
from kernel_gate.launching import LaunchError, bind
from kernel_gate.program import Program
from kernel_gate.shapes import elements, hidden_shapes
from kernel_gate.workload import Workload, WorkloadError, address_name
from kernel_lineage.proofs.obligations.obligation import Counterexample, Kind, Obligation, Status

SEED = 91
RUN_SECONDS = 10.0
"""What one run may take."""
_MOST_ELEMENTS = 1 << 22
_MOST_THREADS = 1 << 20
_MOST_SHAPES = 3
_SLACK = 1 << 16
"""Elements that the other buffers get more, so that an access outside of one of them does not end the run first."""
_FAULTS = {Kind.IN_BOUNDS: "out_of_bounds", Kind.ALIGNED: "misaligned", Kind.WRITTEN_ONCE: "race"}


class NotReplayedError(Exception):
    """The kernel could not be run at these sizes; the message says why."""


@dataclass
class Replay:
    """One program in one workload, run at the sizes of counterexamples."""

    program: Program
    workload: Workload
    names: Mapping[str, str] = field(default_factory=dict)
    """The kernel's parameter → the workload's argument, where they differ."""
    seconds: float = RUN_SECONDS
    _runs: dict[tuple[tuple[tuple[str, int], ...], str, int, Memory], Run | str] = field(default_factory=dict)
    _endless: str = ""
    """What is said of a run that did not end; then no other is begun."""

    def confirmed(self, obligation: Obligation) -> Obligation:
        """A refutation as it was observed; undecided when running the kernel does not show it."""
        if obligation.kind is Kind.WRITTEN:
            return self._unwritten(obligation)
        if obligation.kind is Kind.BANK_CONFLICTS:
            return self._conflicts(obligation)
        example = obligation.counterexample
        if obligation.status is not Status.REFUTED or obligation.confirmed or example is None:
            return obligation
        try:
            run = self.run(example.dims, obligation.root, memory=_memory(example))
        except NotReplayedError as error:
            return replace(
                obligation, status=Status.UNDECIDED, reason=f"counterexample not confirmed: {error}"
            )
        kind = _FAULTS.get(obligation.kind)
        seen = next((f for f in run.faults if f.kind == kind and self._is_of(f, obligation)), None)
        if seen is None:
            other = next(iter(run.faults), None)
            observation = (
                f"the kernel stopped before: {other.message}" if other is not None else "nothing happens"
            )
            reason = f"counterexample not confirmed: at {_sizes(example.dims)} {observation}"
            return replace(obligation, status=Status.UNDECIDED, reason=reason)
        observed = Counterexample(
            example.dims,
            seen.block or example.block,
            seen.thread or example.thread,
            seen.buffer or example.buffer,
            seen.element if seen.element is not None else example.element,
            seen.message,
            example.addresses,
        )
        past = [
            f"{name} is {offset} bytes past a multiple of 256" for name, offset in example.addresses.items()
        ]
        reason = " where ".join([obligation.reason, *([" and ".join(past)] if past else [])])
        return replace(obligation, reason=reason, counterexample=observed, confirmed="interpreter")

    def _shapes(self) -> list[dict[str, int]]:
        """Small sizes that callers come with: the workload's own, and neighbours."""
        named = [d for d in self.workload.shapes() if self.workload.keeps_promises(d)]
        shapes = sorted(named, key=lambda d: elements(self.workload, d))[:_MOST_SHAPES]
        return [*shapes, *hidden_shapes(self.workload, SEED)[:_MOST_SHAPES]]

    def _unwritten(self, obligation: Obligation) -> Obligation:
        """That no witness was found proves nothing: an element has to be seen to stay unwritten."""
        if obligation.status is Status.PROVED:
            return obligation
        example = obligation.counterexample
        tried = [(example.dims, _memory(example))] if example is not None else []
        for dims, memory in (*tried, *((shape, ALLOCATED) for shape in self._shapes())):
            try:
                missed = self.missed(dims, self.argument(obligation.root), memory)
            except NotReplayedError:
                continue
            if missed is not None:
                reason = f"an element of {obligation.root} is not written"
                example = Counterexample(dims, buffer=obligation.root, element=missed)
                return replace(
                    obligation,
                    status=Status.REFUTED,
                    reason=reason,
                    counterexample=example,
                    confirmed="interpreter",
                )
        reason = obligation.reason.removesuffix(".")
        return replace(obligation, status=Status.UNDECIDED, reason=f"{reason}; every run wrote all elements")

    def missed(self, dims: Mapping[str, int], name: str, memory: Memory = ALLOCATED) -> int | None:
        """The first element of an output that holds the poison of two runs."""
        argument = self.workload.argument(name)
        if argument is None:
            return None
        dtype = DTYPES[argument.dtype]
        held = None
        for pattern in (0, 1):
            outputs = self.run(dims, "", pattern, memory).outputs
            if name not in outputs:
                return None
            poisoned = dtype.poisoned(outputs[name], pattern).reshape(-1)
            held = poisoned if held is None else held & poisoned
        return int(np.argmax(held)) if held is not None and held.any() else None

    def _conflicts(self, obligation: Obligation) -> Obligation:
        """A conflict is confirmed by the wavefronts that its line took."""
        if obligation.status is not Status.REFUTED or obligation.counterexample is None:
            return obligation
        why = "no run took more wavefronts than needed on its line"
        for dims in self._shapes():
            try:
                run = self.run(dims)
            except NotReplayedError as error:
                why = str(error)
                continue
            lines = run.result.counts.get("shared", {}).get("lines", [])
            rows = [row for row in lines if row["line"] == obligation.line]
            if any(row["wavefronts"] > row["ideal_wavefronts"] for row in rows):
                example = replace(obligation.counterexample, dims=dims)
                return replace(obligation, counterexample=example, confirmed="interpreter")
        reason = f"counterexample not confirmed: {why}"
        return replace(obligation, status=Status.UNDECIDED, reason=reason)

    def _is_of(self, fault: Fault, obligation: Obligation) -> bool:
        """Whether a fault is the one that an obligation speaks of: by its line, and its buffer where that is told."""
        if fault.line is not None and fault.line != obligation.line:
            return False
        name = self.argument(obligation.root)
        return fault.buffer is None or fault.buffer == name or self.workload.argument(name) is None

    def argument(self, parameter: str) -> str:
        """The workload's argument for a parameter of the kernel."""
        return self.names.get(parameter, parameter)

    def run(
        self, dims: Mapping[str, int], root: str = "", pattern: int = 0, memory: Memory = ALLOCATED
    ) -> Run:
        """One run at some sizes; buffers other than `root` have room behind them.

        Raises `NotReplayedError`, also for a run that does not end in its time, and for all others after it.
        """
        key = (tuple(sorted(dims.items())), root, pattern, memory)
        if key not in self._runs:
            try:
                self._runs[key] = self._endless or self._run(dims, self.argument(root), pattern, memory)
            except (
                BuildError,
                CompilerMissing,
                LaunchError,
                DeviceError,
                ExpressionError,
                WorkloadError,
            ) as error:
                self._runs[key] = str(error)
        done = self._runs[key]
        if not isinstance(done, str) and (
            late := next((f for f in done.faults if f.kind == "timeout"), None)
        ):
            done = self._runs[key] = self._endless = (
                f"at {_sizes(dims)} the kernel did not end: {late.message}"
            )
        if isinstance(done, str):
            raise NotReplayedError(done)
        return done

    def _run(self, dims: Mapping[str, int], root: str, pattern: int, memory: Memory) -> Run:
        roomy = _with_room(self.workload, dims, root)
        total = sum(math.prod(self.workload.extents(a, dims)) for a in self.workload.args if a.is_pointer)
        if total > _MOST_ELEMENTS:
            raise DeviceError(f"{_sizes(dims)} is too large for the emulated device ({total} elements)")
        for launch in bind(roomy, self.program, dims, memory).launches:
            if math.prod(launch.grid) * math.prod(launch.block) > _MOST_THREADS:
                raise DeviceError(f"{_sizes(dims)} is too large for the emulated device")
        device = EmulatedDevice(EMULATED_ARCH, Checks(counts=True), Limits(seconds=self.seconds))
        try:
            loaded = LoadedProgram(
                device, build_program(self.program, roomy, [dims], arch=EMULATED_ARCH), roomy
            )
            with loaded.execution(dims, memory=memory) as execution:
                return execution.run(make_inputs(roomy, Case(dims, SEED)), pattern)
        finally:
            device.close()


def _memory(example: Counterexample) -> Memory:
    """The buffers as they lie in a counterexample."""
    return Memory(tuple((n.removeprefix(address_name("")), past) for n, past in example.addresses.items()))


def _with_room(workload: Workload, dims: Mapping[str, int], root: str) -> Workload:
    """The workload with more elements in all buffers but one, scalars and launch unchanged."""
    if not root:
        return workload
    args = tuple(
        a.model_copy(update={"shape": (math.prod(workload.extents(a, dims)) + _SLACK,)})
        if a.is_pointer and a.name != root
        else a
        for a in workload.args
    )
    return workload.model_copy(update={"args": args})


def _sizes(dims: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in dims.items()) or "these sizes"
