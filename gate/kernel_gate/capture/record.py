"""What a wrapper did on one shape, as the compiler child tells it. To the trusted process it is data to validate."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class _Told(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Address(_Told):
    """An argument that is a tensor: a buffer from a byte on."""

    buffer: str
    offset: int = Field(ge=0)


class Number(_Told):
    """An argument that is a number."""

    value: int | float | bool
    dtype: str


class RecordedLaunch(_Told):
    """One `kernel[grid](…)`."""

    image: int = Field(ge=0)
    """Index into the images that come with the record."""
    entry: str
    grid: tuple[int, int, int]
    operands: dict[str, Address | Number]


class RecordedMemset(_Told):
    """A tensor that torch filled with zeros."""

    buffer: str
    offset: int = Field(ge=0)
    nbytes: int = Field(ge=0)


class RecordedBuffer(_Told):
    """A tensor that the wrapper allocated for itself."""

    name: str = Field(pattern=r"^[A-Za-z_]\w*$")
    dtype: str
    elements: int = Field(ge=0, lt=1 << 48)


class Delegated(_Told):
    """A call of a library, which is not replayed."""

    op: str
    place: str
    """File and line of the program."""
    matters: bool
    """Whether a launch or an output uses what it gave."""


class Record(_Told):
    """All that a wrapper did on one shape."""

    dims: dict[str, int]
    steps: tuple[RecordedLaunch | RecordedMemset, ...] = ()
    scratch: tuple[RecordedBuffer, ...] = ()
    returned: tuple[str, ...] = ()
    """The workload's outputs that the wrapper allocates itself."""
    delegated: tuple[Delegated, ...] = ()
    notes: tuple[str, ...] = ()
    """Choices that were made, such as the first of several configurations."""
    error: str = ""
    """Why there is no record for this shape: what the wrapper raised."""
    unsupported: bool = False
    """Whether `error` is the recorder's own refusal and not the program's."""


class TensorSpec(_Told):
    """A tensor of the workload that a wrapper is called with."""

    dtype: str
    shape: tuple[int, ...]
    align: int | None = None


class CaptureCase(_Told):
    """One shape to call a wrapper on."""

    dims: dict[str, int]
    tensors: dict[str, TensorSpec]
    """What the call may be given."""
    outputs: dict[str, TensorSpec]
    """What it returns."""
    scalars: dict[str, int | float | bool]


class CaptureRequest(_Told):
    """What the child is asked to record."""

    calls: tuple[str, ...]
    """Python expressions; the first one that the function takes is used."""
    returns: tuple[str, ...]
    """What is returned, in order: the name of an output, or `_`."""
    configs: dict[str, dict[str, int | float | bool | str]]
    """Kernel → the configuration that stands for autotuning."""
    cases: tuple[CaptureCase, ...]
    want_cubin: bool
    multiprocessors: int
    capability: tuple[int, int]
