"""A device that runs nothing and writes down what it was asked to: allocations, contents and launches, in order.

An `Execution` on it gives exactly the launches that the check makes, on plain buffers: no guard zones, and outputs and
scratch that hold nothing, so that a sanitizer sees every byte read or written outside and every read before a write.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from kernel_gate.devices.base import Arguments, Buffer, DeviceError, Dim3, Image, LaunchResult, LoadedKernel
from kernel_gate.devices.cuda_variables import declared_variables
from kernel_gate.devices.image import image_to_json
from kernel_gate.devices.variable_names import variable_named

CONTENTS, PLAN, ASKED, DONE = "contents.bin", "plan.json", "asked.txt", "done.json"
"""Files of a recording (the contents of buffers, the steps) and of its replay (which recording, its result)."""
LEAVE = ""
"""Asked instead of a recording: end."""


_MARK, _NUMBER_BITS, _OFFSET_BITS = 0x5AFE, 16, 32
"""Addresses here are made up: a mark, the buffer's number, an offset. They stand for those of the replay."""


@dataclass(slots=True)
class RecordedBuffer:
    """A buffer to be allocated at replay."""

    device: RecordingDevice = field(repr=False)
    name: str
    nbytes: int
    itemsize: int
    case: int
    number: int
    contents: npt.NDArray[np.uint8] | None = None
    fresh: bool = False
    """Whether the contents were written since the last launch."""

    @property
    def address(self) -> int:
        """What stands for its address; an offset may be added."""
        return ((_MARK << _NUMBER_BITS) + self.number) << _OFFSET_BITS

    def write(self, array: npt.NDArray[Any]) -> None:
        """Contents for the launches that follow."""
        self.contents = np.ascontiguousarray(array).view(np.uint8).reshape(-1).copy()
        self.fresh = True

    def declare_uninitialised(self) -> None:
        """Leave the buffer as an allocation gives it."""
        self.fresh = False

    def declare_input(self) -> None:
        """Nothing: the tools know of no inputs."""

    def memset(self, value: int, offset: int, nbytes: int) -> None:
        """Written down in its place between the launches."""
        self.device.flush()
        self.device.steps.append({"memset": self.number, "value": value, "offset": offset, "nbytes": nbytes})

    def read(self) -> npt.NDArray[np.uint8]:
        """What was written last; launches change nothing here."""
        return self.contents if self.contents is not None else np.zeros(self.nbytes, np.uint8)

    def damaged(self) -> int | None:
        """Always None: nothing runs here."""
        return None

    def free(self) -> None:
        """Nothing: at replay, buffers stay to the end, so that an address belongs to one of them only."""


@dataclass(slots=True)
class RecordingDevice:
    """Implements `kernel_gate.devices.base.Device`."""

    arch: str
    kind: Literal["cuda", "emulated"] = "cuda"
    launch_seconds: float = 0.0
    lost: bool = False
    case: int = 0
    """Number of the case that is being recorded."""
    images: list[Image] = field(default_factory=list)
    beside: list[int | None] = field(default_factory=list)
    """For each image, the one whose module it shares."""
    buffers: list[RecordedBuffer] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    _contents: list[bytes] = field(default_factory=list)
    _size: int = 0

    def describe(self) -> dict[str, Any]:
        """What it is."""
        return {"name": "recording"}

    def load(self, image: Image, beside: LoadedKernel | None = None) -> RecordedKernel:
        """An image whose launches are written down."""
        if image.cubin is None:
            raise DeviceError(f"{image.entry} was built without a cubin")
        self.images.append(image)
        self.beside.append(beside.image if isinstance(beside, RecordedKernel) else None)
        return RecordedKernel(self, len(self.images) - 1)

    def allocate(self, nbytes: int, name: str, itemsize: int, offset: int = 0) -> RecordedBuffer:  # noqa: ARG002
        """A plain buffer, at an address of the allocator's."""
        self.buffers.append(RecordedBuffer(self, name, nbytes, itemsize, self.case, len(self.buffers)))
        return self.buffers[-1]

    def reorder(self, seed: int | None) -> None:
        """Nothing: nothing runs here."""

    def close(self) -> None:
        """Nothing."""

    def flush(self) -> None:
        """Write down what buffers were given since the last step."""
        for buffer in self.buffers:
            if buffer.fresh and buffer.contents is not None and buffer.nbytes:
                data = buffer.contents.tobytes()
                self.steps.append({"write": buffer.number, "at": self._size, "nbytes": len(data)})
                self._contents.append(data)
                self._size += len(data)
            buffer.fresh = False

    def launched(self, image: int, grid: Dim3, block: Dim3, shared_bytes: int, arguments: Arguments) -> None:
        """Write down a launch."""
        self.flush()
        self.steps.append(
            {
                "launch": image,
                "grid": grid,
                "block": block,
                "shared_bytes": shared_bytes,
                "arguments": [_argument(value) for value in arguments],
            }
        )

    def filled(self, image: int, variable: str, buffer: Buffer) -> None:
        """Write down that a variable gets the bytes of a buffer."""
        self.flush()
        self.steps.append({"fill": variable, "image": image, "buffer": _argument(buffer)["buffer"]})

    def save(self, folder: Path) -> None:
        """The recording as the files that `kernel_gate.sanitizer.replay` reads."""
        (folder / CONTENTS).write_bytes(b"".join(self._contents))
        plan = {
            "images": [image_to_json(image) for image in self.images],
            "beside": self.beside,
            "buffers": [buffer.nbytes for buffer in self.buffers],
            "steps": self.steps,
        }
        (folder / PLAN).write_text(json.dumps(plan), "utf-8")


def _argument(value: Buffer | np.generic) -> dict[str, Any]:
    if isinstance(value, RecordedBuffer):
        return {"buffer": value.number, "offset": 0}
    if isinstance(value, np.uint64) and int(value) >> (_NUMBER_BITS + _OFFSET_BITS) == _MARK:
        number, offset = divmod(int(value) % (1 << (_NUMBER_BITS + _OFFSET_BITS)), 1 << _OFFSET_BITS)
        return {"buffer": number, "offset": offset}
    if isinstance(value, np.generic):
        return {"dtype": value.dtype.str, "bytes": base64.b64encode(value.tobytes()).decode()}
    raise DeviceError(f"{value!r} is not a buffer of this device")


@dataclass(frozen=True, slots=True)
class RecordedKernel:
    """An image of a recording."""

    device: RecordingDevice
    image: int

    def launch(self, grid: Dim3, block: Dim3, shared_bytes: int, arguments: Arguments) -> LaunchResult:
        """Write the launch down."""
        self.device.launched(self.image, grid, block, shared_bytes, arguments)
        return LaunchResult()

    def filling(self, variable: str, buffer: Buffer) -> Callable[[], None] | None:
        """What writes down that a variable is filled; None where the module has none of that name."""
        if variable_named(variable, declared_variables(self.device.images[self.image].ptx)) is None:
            return None
        return lambda: self.device.filled(self.image, variable, buffer)

    def overwrite_variables(self, seed: int) -> tuple[str, ...]:  # noqa: ARG002
        """None: nothing runs here that could change them."""
        return ()


def write_whole(path: Path, text: str) -> None:
    """Write a file that another process waits for: it is there with all of its text, or not at all."""
    beside = path.with_suffix(".part")
    beside.write_text(text, "utf-8")
    beside.replace(path)
