"""The `emulated` device: no GPU needed. Correctness, bounds, races and counts of transactions; never a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from kernel_gate.devices.base import Arguments, Buffer, DeviceError, Dim3, Fault, LaunchResult, LoadedKernel
from kernel_gate.devices.image import Image
from kernel_gate.devices.signature import misfit, with_structures
from kernel_gate.devices.variable_names import require_size, variable_named
from kernel_gate.emulated.addresses import AddressSpace, Reached, Segment, Watched, some_page
from kernel_gate.emulated.executed import Executed
from kernel_gate.emulated.guards import Decided, Guards
from kernel_gate.emulated.launch import Checks, Launch, Limits
from kernel_gate.emulated.layout import Layout, Place
from kernel_gate.emulated.program import DecodedKernel, decode
from kernel_gate.emulated.ptx.model import Module, PtxError
from kernel_gate.emulated.ptx.parser import parse
from kernel_gate.emulated.raced import Held, that_matter
from kernel_gate.emulated.slicing.idle_reads import can_be_told
from kernel_gate.emulated.slicing.trace import Trace
from kernel_gate.emulated.variables import place_variables, places_of
from kernel_gate.invariants.bound import Invariants
from kernel_gate.reasons import Reason


@dataclass(slots=True)
class Recording:
    """One block of one launch that is to be recorded."""

    launch: int
    """Number of the launch since `EmulatedDevice.record`."""
    block: int | Dim3
    """Its linear number in the grid, or its indices; only its cluster runs, and the launch counts as failed."""
    with_values: bool = False
    """Keep what instructions computed."""
    trace: Trace | None = None
    """There once the block has run to its end."""
    kernel: DecodedKernel | None = None
    """What was recorded."""

    def number_in(self, grid: Dim3) -> int:
        """Linear number of the block."""
        if isinstance(self.block, int):
            return self.block
        x, y, z = self.block
        return x + grid[0] * (y + grid[1] * z)


class EmulatedBuffer:
    """A buffer. Accesses outside it are faults that never take effect, so its surroundings cannot be damaged."""

    def __init__(self, space: AddressSpace, segment: Segment) -> None:
        self.name = segment.name
        self.segment = segment
        self._space = space

    @property
    def nbytes(self) -> int:
        """Without its guards."""
        return self.segment.nbytes

    @property
    def address(self) -> int:
        """The address of the first byte, as kernels see it."""
        return self.segment.base

    def write(self, array: npt.NDArray[Any]) -> None:
        """Copy an array of the buffer's size into it; all of it counts as initialised."""
        data = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
        if len(data) != self.segment.nbytes:
            raise DeviceError(f"{self.name} has {self.segment.nbytes} bytes; {len(data)} were given")
        self.segment.fill(data)
        self._forget_payloads(0, self.segment.nbytes)

    def _forget_payloads(self, start: int, stop: int) -> None:
        if self._space.payloads is not None:
            self._space.payloads.overwrite(self.segment, start, stop)

    def declare_uninitialised(self) -> None:
        """Report reads of what the kernel has not written, although the host wrote a pattern."""
        self.segment.written = np.zeros_like(self.segment.data)

    def declare_input(self) -> None:
        """Report stores that change it."""
        self.segment.input = True

    def written_bytes(self) -> npt.NDArray[np.uint8] | None:
        """Which bytes the kernel has written since they were declared uninitialised; None when all count as such."""
        segment = self.segment
        if segment.written is None:
            return None
        return segment.written[segment.offset : segment.offset + segment.nbytes]

    def memset(self, value: int, offset: int, nbytes: int) -> None:
        """Set bytes to one value; they count as initialised."""
        self.segment.contents[offset : offset + nbytes] = value
        if self.segment.written is not None:
            start = self.segment.offset + offset
            self.segment.written[start : start + nbytes] = 0xFF
        self._forget_payloads(offset, offset + nbytes)

    def copy_from(self, other: EmulatedBuffer) -> None:
        """Take the bytes of a buffer of the same size; they count as initialised."""
        self.segment.fill(other.segment.contents)
        self._forget_payloads(0, self.segment.nbytes)

    def same_as(self, other: EmulatedBuffer) -> bool:
        """Whether a buffer of the same size holds the same bytes."""
        return bool(np.array_equal(self.segment.contents, other.segment.contents))

    def read(self) -> npt.NDArray[np.uint8]:
        """The bytes of the buffer, copied."""
        return self.segment.contents.copy()

    def damaged(self) -> int | None:
        """Always None: an access outside the buffer is refused and is among the launch's faults."""
        return None

    def watch(self, offset: int, nbytes: int) -> Watched:
        """Remember who stores to these bytes last, from now on."""
        start = self.segment.offset + offset
        self.segment.watched = Watched(start, start + nbytes)
        return self.segment.watched

    def measure(self) -> Reached:
        """Remember how far into the buffer accesses go, from now on."""
        self.segment.reached = Reached()
        return self.segment.reached

    def free(self) -> None:
        """Give the memory back; later accesses through its address are faults."""
        self._space.free(self.segment)


_KEPT_KERNELS = 64


@lru_cache(maxsize=_KEPT_KERNELS)
def _parsed(ptx: str, entry: str) -> Module:
    """A module is not changed by running it, and reading it takes longer than running a small case."""
    return parse(ptx, entry)


@lru_cache(maxsize=_KEPT_KERNELS)
def _decoded(ptx: str, entry: str, places: tuple[tuple[str, Place], ...]) -> DecodedKernel:
    """A kernel, whose code knows of the memory where it runs no more than the places of its module's variables."""
    return decode(_parsed(ptx, entry), entry, dict(places))


@lru_cache(maxsize=_KEPT_KERNELS * 16)
def _page(_ptx: str, _variable: str) -> int:
    """Where a variable of a module lies in every device of this process, so that it is decoded once."""
    return some_page()


class EmulatedKernel:
    """A decoded image and its module's global variables, which live as long as it does."""

    def __init__(
        self,
        space: AddressSpace,
        image: Image,
        device: EmulatedDevice,
        beside: EmulatedKernel | None = None,
    ) -> None:
        try:
            module = _parsed(image.ptx, image.entry)
            self._declared = module.variables
            self.variables: dict[str, Segment] = (
                beside.variables if beside else place_variables(module, space, partial(_page, image.ptx))
            )
            places = tuple(places_of(self.variables).items())
            self.kernel = _decoded(image.ptx, image.entry, places)
        except PtxError as error:
            message = f"the emulated device cannot read this image: {error}"
            raise DeviceError(message, code=Reason.UNSUPPORTED_INSTRUCTION) from error
        self._space, self._image, self._device = space, image, device
        self._guards: Guards | None = None
        self.executed = Executed(self.kernel)
        self._follows_reads = image.replicates_elements and can_be_told(self.kernel)
        self.initial: dict[str, bytes] = (
            beside.initial
            if beside
            else {name: segment.contents.tobytes() for name, segment in self.variables.items()}
        )

    @property
    def unsupported(self) -> dict[str, int]:
        """Opcodes that stop a launch when a thread reaches them, with how often they stand in the kernel."""
        return dict(self.kernel.unsupported)

    def launch(self, grid: Dim3, block: Dim3, shared_bytes: int, arguments: Arguments) -> LaunchResult:
        """Run once and wait until it is done. Faults are returned, not raised."""
        scratch = None
        if self._image.scratch_bytes:
            nbytes = self._image.scratch_bytes * grid[0] * grid[1] * grid[2]
            scratch = self._space.allocate(nbytes, "global scratch", 1)
        try:
            parameters = _marshal(self.kernel.layout, arguments, self._image.extra_pointers, scratch)
            done = self._run(grid, block, shared_bytes, parameters)
            if any(fault.kind == "timeout" for fault in done.faults):
                self._load_anew()
            return done
        except DeviceError as error:
            return LaunchResult((Fault("launch", str(error)),))
        finally:
            if scratch is not None:
                self._space.free(scratch)

    def _load_anew(self) -> None:
        """A launch that hangs costs a GPU's context, and its modules with it: no lock stays taken."""
        for name, segment in self.variables.items():
            segment.fill(np.frombuffer(self.initial[name], np.uint8))

    def decided(self, grid: Dim3, block: Dim3, shared_bytes: int, arguments: Arguments) -> Decided:
        """What a launch would decide by arguments alone. Raises `DeviceError`."""
        if self._guards is None:
            self._guards = Guards(self.kernel)
        parameters = _marshal(self.kernel.layout, arguments, self._image.extra_pointers)
        quiet = Checks(races=False, uninitialised=False, overflow=False)
        shared = shared_bytes + self._image.shared_bytes
        launch = Launch(self.kernel, self._space, grid, block, shared, parameters, quiet)
        return self._guards.decided(launch)

    def lines(self) -> set[int]:
        """Lines of the source that have instructions."""
        return {ins.line for ins in self.kernel.flat.body if ins.line is not None}

    def _run(
        self,
        grid: Dim3,
        block: Dim3,
        shared_bytes: int,
        parameters: npt.NDArray[np.uint8],
    ) -> LaunchResult:
        recording, number = self._device.next_launch()

        def made() -> Launch:
            return Launch(
                self.kernel,
                self._space,
                grid,
                block,
                shared_bytes + self._image.shared_bytes,
                parameters,
                self._device.checks,
                self._device.limits,
                number=number,
                executed=self.executed.of(self._device.family),
                replicates_elements=self._image.replicates_elements,
                arrays=self._image.arrays,
            )

        launch = made()
        launch.only_blocks = self._device.only_blocks
        if recording is None:
            if not self._follows_reads:
                return launch.run(self._device.arch)
            before = Held.of(launch)
            done = launch.run(self._device.arch)
            return replace(done, faults=that_matter(done.faults, launch, before, made, self._device.arch))
        only = recording.number_in(grid)
        if only >= launch.blocks:
            return LaunchResult((Fault("launch", f"block {recording.block} is not in the grid {grid}"),))
        launch.only_blocks, launch.trace = (only,), Trace(recording.with_values)
        faults = launch.run(self._device.arch).faults
        if not any(fault.kind in ("timeout", "launch", "unsupported") for fault in faults):
            recording.trace, recording.kernel = launch.trace, self.kernel
        return LaunchResult((Fault("launch", "recorded: the other blocks did not run"), *faults))

    def filling(self, variable: str, buffer: Buffer) -> Callable[[], None] | None:
        """What copies a buffer into a variable of the module; None where it has none."""
        symbol = variable_named(variable, self._declared)
        if symbol is None:
            return None
        require_size(variable, self._declared[symbol].nbytes, buffer.name, buffer.nbytes)
        segment = self.variables.get(symbol)
        return lambda: segment.fill(buffer.read()) if segment is not None else None

    def overwrite_variables(self, seed: int) -> tuple[str, ...]:
        """Put random bytes into the module's variables that are not as the module was loaded; their names."""
        generator = np.random.default_rng(seed)
        changed = []
        for name, segment in self.variables.items():
            if segment.contents.tobytes() != self.initial[name]:
                segment.fill(generator.integers(0, 256, segment.nbytes, np.uint8))
                changed.append(name)
        return tuple(changed)


class EmulatedDevice:
    """Implements `kernel_gate.devices.base.Device`."""

    kind: Literal["cuda", "emulated"] = "emulated"
    lost = False

    def __init__(
        self, arch: str = "sm_80", checks: Checks | None = None, limits: Limits | None = None
    ) -> None:
        self.arch = arch
        self.checks = checks or Checks()
        self.limits = limits or Limits()
        self.launch_seconds = self.limits.seconds
        self.only_blocks: tuple[int, ...] | None = None
        """Later launches run just these blocks; None: all."""
        self.family = ""
        """What later launches are for: the instructions that they execute are kept by it."""
        self._space = AddressSpace(payloads=self.checks.payloads)
        self._launches = 0
        self._recording: Recording | None = None

    def record(self, recording: Recording | None) -> None:
        """Count launches from here on, and record that one; None: only count."""
        self._launches, self._recording = 0, recording

    @property
    def last_launch(self) -> int:
        """Number of the launch that was made last."""
        return self._launches - 1

    def next_launch(self) -> tuple[Recording | None, int]:
        """The number of a launch that begins, and what is to be recorded of it."""
        number = self._launches
        self._launches += 1
        wanted = self._recording
        return (wanted if wanted is not None and wanted.launch == number else None), number

    def describe(self) -> dict[str, Any]:
        """What goes into the evidence. Results of this device are about values, never about time."""
        return {
            "name": "emulated",
            "compute_capability": [int(self.arch[3:-1]), int(self.arch[-1])],
            "numpy": np.__version__,
            "races": self.checks.races,
            "order_seed": self.checks.order_seed,
        }

    def load(self, image: Image, beside: LoadedKernel | None = None) -> EmulatedKernel:
        """Decode an image. Raises `DeviceError` when its PTX cannot be read; opcodes fault when they are reached."""
        together = beside if isinstance(beside, EmulatedKernel) else None
        return EmulatedKernel(self._space, image, self, together)

    def allocate(self, nbytes: int, name: str, itemsize: int, offset: int = 0) -> EmulatedBuffer:
        """A buffer that starts `offset` bytes past a multiple of 256 and more; uninitialised until it is written."""
        return EmulatedBuffer(self._space, self._space.allocate(nbytes, name, itemsize, offset=offset))

    def reorder(self, seed: int | None) -> None:
        """Run the blocks of later launches in a random order; None: in the order of their numbers."""
        self.checks = replace(self.checks, order_seed=seed)

    def assert_invariants(self, invariants: Invariants | None) -> None:
        """Watch later launches for what is asserted of the tags of their data; None: for nothing."""
        self.checks = replace(self.checks, invariants=invariants)

    def close(self) -> None:
        """Give everything back."""
        self._space = AddressSpace()


def _marshal(
    layout: Layout,
    arguments: Arguments,
    extra_pointers: int,
    scratch: Segment | None = None,
) -> npt.NDArray[np.uint8]:
    """Arguments as the kernel's parameter bytes. Raises `DeviceError` when they do not fit its signature."""
    values: list[Buffer | np.generic] = [*arguments, *(np.uint64(0) for _ in range(extra_pointers))]
    if scratch is not None:
        values[len(arguments)] = np.uint64(scratch.base)
    block = np.zeros(max(layout.parameter_bytes, 1), np.uint8)
    plain = [_scalar(number, value) for number, value in enumerate(values)]
    declared = [nbytes for _, nbytes in layout.parameters.values()]
    fitting = with_structures(declared, plain) if len(plain) > len(declared) else None
    if fitting is None:
        if wrong := misfit(declared, [value.nbytes for value in plain]):
            raise DeviceError(wrong)
        fitting = [[value] for value in plain]
    for words, (offset, nbytes) in zip(fitting, layout.parameters.values(), strict=True):
        data = b"".join(word.tobytes() for word in words)
        block[offset : offset + nbytes] = np.frombuffer(data, np.uint8)
    return block


def _scalar(number: int, value: Buffer | np.generic) -> np.generic:
    if isinstance(value, EmulatedBuffer):
        return np.uint64(value.segment.base)
    if not isinstance(value, np.generic):
        raise DeviceError(f"argument {number} is neither a buffer of this device nor a NumPy scalar")
    return value
