"""The record of one call of a wrapper: storages, launches, memsets, library calls. Knows neither torch nor Triton."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kernel_gate.capture.record import (
    Address,
    Delegated,
    Number,
    Record,
    RecordedBuffer,
    RecordedLaunch,
    RecordedMemset,
)


class CaptureError(Exception):
    """Something that a recording cannot hold; the message says what and where."""


@dataclass(frozen=True, slots=True)
class Place:
    """A tensor as a kernel sees it: bytes of a storage."""

    storage: int
    """What tells storages apart while they live."""
    offset: int
    """Bytes."""
    nbytes: int
    dense: bool
    """Whether its elements are row-major without gaps."""


@dataclass(slots=True)
class _Storage:
    dtype: str
    nbytes: int
    itemsize: int
    name: str = ""
    """The workload's name, once it is known."""
    delegated: list[int] = field(default_factory=list)
    """Library calls that wrote it: indices into the recorder's list."""


@dataclass(slots=True)
class _Launch:
    image: int
    entry: str
    grid: tuple[int, int, int]
    operands: Mapping[str, Place | Number]


@dataclass(slots=True)
class _Zeroed:
    place: Place


@dataclass(slots=True)
class _Call:
    op: str
    place: str
    matters: bool = False


class Recorder:
    """Collects what one call does. Storages must stay alive meanwhile, so that none takes another's place."""

    def __init__(self) -> None:
        self._storages: dict[int, _Storage] = {}
        self._steps: list[_Launch | _Zeroed] = []
        self._calls: list[_Call] = []
        self.notes: list[str] = []

    def argument(self, name: str, place: Place, dtype: str, itemsize: int) -> None:
        """A tensor of the workload."""
        self._storages[place.storage] = _Storage(dtype, place.nbytes, itemsize, name)

    def allocated(self, storage: int, nbytes: int, dtype: str, itemsize: int) -> None:
        """A tensor that the wrapper allocates."""
        self._storages[storage] = _Storage(dtype, nbytes, itemsize)

    def knows(self, storage: int) -> bool:
        """Whether a storage is an argument, an allocation or the result of a library call."""
        return storage in self._storages

    def is_aligned(self, storage: int) -> bool:
        """Whether an address is an allocator's: the workload's buffers may lie anywhere."""
        return not self._storages[storage].name

    def name_of(self, storage: int) -> str:
        """The workload's name of a storage, or ""."""
        return self._storages[storage].name

    def zeroed(self, place: Place, op: str, at: str) -> None:
        """Torch fills a tensor with zeros."""
        if place.dense:
            self._steps.append(_Zeroed(place))
        else:
            self.library_call(op, at, (place.storage,))

    def library_call(self, op: str, at: str, written: Iterable[int]) -> None:
        """Torch computes; the storages hold what is not replayed."""
        index = next((i for i, c in enumerate(self._calls) if (c.op, c.place) == (op, at)), len(self._calls))
        if index == len(self._calls):
            self._calls.append(_Call(op, at))
        for storage in written:
            self._storages[storage].delegated.append(index)

    def launched(
        self, image: int, entry: str, grid: tuple[int, int, int], operands: Mapping[str, Place | Number]
    ) -> None:
        """A kernel is launched."""
        self._steps.append(_Launch(image, entry, grid, operands))
        for operand in operands.values():
            if isinstance(operand, Place):
                if operand.storage not in self._storages:
                    raise CaptureError(
                        f"{entry} is given a tensor that was made in a way that is not recorded"
                    )
                self._use(self._storages[operand.storage])

    def _use(self, storage: _Storage) -> None:
        for index in storage.delegated:
            self._calls[index].matters = True

    def returned(self, name: str, place: Place, nbytes: int) -> bool:
        """A tensor is returned as an output of the workload; whether the wrapper allocated it itself."""
        storage = self._storages[place.storage]
        if storage.name and storage.name != name:
            raise CaptureError(f"{name} is returned in the buffer of {storage.name}; name that as inout")
        if not place.dense or place.offset or place.nbytes != nbytes or storage.nbytes != nbytes:
            raise CaptureError(f"{name} is returned as a part or a transposed view of a buffer")
        self._use(storage)
        own = not storage.name
        storage.name = name
        return own

    def finish(self, dims: Mapping[str, int], returned: Iterable[str], written: Iterable[str]) -> Record:
        """The record; `written` are outputs of the workload that the call was given."""
        for storage in self._storages.values():
            if storage.name in set(written):
                self._use(storage)
        scratch: list[RecordedBuffer] = []
        names: dict[int, str] = {}
        used = {key for step in self._steps for key in _touched(step)}
        for key, storage in self._storages.items():
            names[key] = storage.name or f"allocation_{len(scratch)}"
            if not storage.name and key in used:
                elements = storage.nbytes // storage.itemsize
                scratch.append(RecordedBuffer(name=names[key], dtype=storage.dtype, elements=elements))
        steps = [_told(step, names) for step in self._steps]
        calls = [Delegated(op=c.op, place=c.place, matters=c.matters) for c in self._calls]
        return Record(
            dims=dict(dims),
            steps=tuple(steps),
            scratch=tuple(scratch),
            returned=tuple(returned),
            delegated=tuple(calls),
            notes=tuple(dict.fromkeys(self.notes)),
        )


def _touched(step: _Launch | _Zeroed) -> list[int]:
    if isinstance(step, _Zeroed):
        return [step.place.storage]
    return [operand.storage for operand in step.operands.values() if isinstance(operand, Place)]


def _told(step: _Launch | _Zeroed, names: Mapping[int, str]) -> RecordedLaunch | RecordedMemset:
    if isinstance(step, _Zeroed):
        place = step.place
        return RecordedMemset(buffer=names[place.storage], offset=place.offset, nbytes=place.nbytes)
    operands = {
        slot: Address(buffer=names[o.storage], offset=o.offset) if isinstance(o, Place) else o
        for slot, o in step.operands.items()
    }
    return RecordedLaunch(image=step.image, entry=step.entry, grid=step.grid, operands=operands)
