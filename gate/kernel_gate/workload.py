"""A workload: how to run a kernel. The file format is DESIGN's; unknown keys are refused, so that a typo is seen."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import (
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from kernel_gate import expressions
from kernel_gate.arguments import Argument
from kernel_gate.compile_time import constant
from kernel_gate.dtype_names import NAMES
from kernel_gate.expressions import ExpressionError, Number
from kernel_gate.files.reading import MOST_WORKLOAD, enclosing_repository, read_file, read_text
from kernel_gate.files.toml import toml_of
from kernel_gate.launch_tables import (
    Expression,
    FillTable,
    KernelLaunch,
    Launch,
    LaunchTable,
    MemsetTable,
    Name,
    PointerTable,
    StructureTable,
    Table,
    ValueTable,
    first_launch,
)
from kernel_gate.program import Step

MOST_DATA = 1 << 30
"""Bytes of a data file that a workload names."""
_MOST_EXTENTS = 1000
_TIMES_AS_MUCH = 4
_LARGEST_EXTENT = 1 << 40
"""Sizes around an extent are drawn and factored, which takes for ever far beyond what an array has."""


class Problem(NamedTuple):
    """One thing that is wrong with a workload."""

    place: tuple[str | int, ...]
    """Its key, `("args", 2, "dtype")`; () where it is of several."""
    message: str

    def __str__(self) -> str:
        key = _key(self.place)
        return f"{key}: {self.message}" if key else self.message


class WorkloadError(Exception):
    """A workload that cannot be used; the message says which file, which key, and what to do."""

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)
        """Everything that is wrong with a text that is TOML."""


class Oracle(Table):
    """The `[oracle]` table: a NumPy float64 function."""

    python: Annotated[str, StringConstraints(pattern=r"^[^:]+\.py:[A-Za-z_]\w*$")]
    """`file.py:function`, relative to the workload's folder."""


class Tolerance(Table):
    """The `[tolerance]` table: what the derivation is told, or replaced by."""

    relative: float | None = Field(default=None, gt=0)
    """Largest error relative to the expected value plus the scale of its row."""
    reduction: Expression | None = None
    """How many terms are summed into one output; by default the largest extent of an input."""


class Work(Table):
    """The `[work]` table: what every implementation has to do at least, as expressions over dims."""

    bytes: Expression | None = None
    """Read from and written to the device's memory, when nothing is in its cache."""
    flops: Expression | None = None
    """Floating-point operations; a fused multiply-add is two."""


def address_name(buffer: str) -> str:
    """The name by which launches ask for the address of a buffer."""
    return f"address_of_{buffer}"


class Workload(Table):
    """How to run a kernel: arguments, dimensions to sweep, launch, oracle, tolerance."""

    kernel: str
    """The kernel's name, or that of a host function that launches some."""
    language: Literal["cuda", "triton"]
    """CUDA C++ or Triton."""
    source: str = ""
    """The file, from the repository's root; for the record, and to tell kernels of one name apart."""
    dims: dict[Name, tuple[int, ...]] = Field(default_factory=dict)
    """Sizes by their names: every combination is checked."""
    profile_dims: tuple[dict[Name, int], ...] = ()
    """The sizes that are timed, one table each."""
    promises: tuple[str, ...] = ()
    """Conditions over dims that every caller keeps: `C % 4 == 0`. Hidden shapes keep them too."""
    args: tuple[Argument, ...] = Field(min_length=1)
    """The arguments, one table each, in the kernel's order."""
    launch: Launch
    """The launch; the first one where `launches` has more."""
    launches: tuple[LaunchTable, ...] = ()
    """A sequence of launches, memsets and variables to fill, in the place of `launch`."""
    oracle: Oracle | None = None
    """What is right: without it, the code before a change."""
    tolerance: Tolerance = Tolerance()
    """How far from right is right: without it, from the types, the depth of the reduction and the baseline's error."""
    work: Work = Work()
    """What every implementation has to do at least, for the roofline."""
    folder: Path | None = Field(default=None, exclude=True)
    """Where the file was; oracle and data files are looked up there."""

    @field_validator("dims", mode="before")
    @classmethod
    def _one_or_many(cls, value: object) -> object:
        if isinstance(value, dict):
            return {k: (v,) if isinstance(v, int) else v for k, v in value.items()}
        return value

    @model_validator(mode="before")
    @classmethod
    def _launch_of_a_sequence(cls, data: object) -> object:
        if not isinstance(data, dict) or "launch" in data:
            return data
        first = first_launch(data.get("launches"))
        return {**data, "launch": first} if first else data

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [a.name for a in self.args]
        if twice := {n for n in names if names.count(n) > 1}:
            raise ValueError(f"args: {', '.join(sorted(twice))} is declared twice")
        if not any(a.kind in {"output", "inout"} for a in self.args):
            raise ValueError(
                'args: none is an output; mark what the kernel writes with kind = "output" or "inout"'
            )
        for argument in self.args:
            for other in argument.may_alias:
                source = self.argument(other)
                if argument.kind != "output" or source is None or source.kind != "input":
                    raise ValueError(
                        f"args.{argument.name}: may_alias names inputs that an output may lie in; {other} in "
                        f'{argument.name} is not that; an argument that is read and written is kind = "inout"'
                    )
        for key, values in self.dims.items():
            if not values or min(values) < 0:
                raise ValueError(f"dims.{key}: give at least one extent, none negative")
            if len(values) > _MOST_EXTENTS:
                raise ValueError(f"dims.{key}: give at most {_MOST_EXTENTS} extents; every one is a case")
        profiled = ((key, (size,)) for one in self.profile_dims for key, size in one.items())
        for name, sizes in (*self.dims.items(), *profiled):
            if max(sizes) > _LARGEST_EXTENT:
                raise ValueError(f"{name}: {max(sizes)} is more than 2^40, of which no device holds an array")
        for index, profile in enumerate(self.profile_dims):
            if set(profile) != set(self.dims):
                raise ValueError(
                    f"profile_dims[{index}]: must name exactly the dims {', '.join(self.dims) or '(none)'}"
                )
        if self.launches and not any(isinstance(t, KernelLaunch) for t in self.launches):
            raise ValueError("launches: none of them launches a kernel")
        for dims in itertools.islice(self.shapes(), 1):
            self._try_expressions(dims)
        return self

    def _try_expressions(self, dims: Mapping[str, int]) -> None:
        for promise in self.promises:
            expressions.evaluate(promise, dims)
        for argument in self.args:
            self.extents(argument, dims)
        numbers = self.numbers(dims)
        for amount in (self.work.bytes, self.work.flops):
            if amount is not None:
                expressions.evaluate(amount, numbers)
        for table in self.launches or (self.launch,):
            if isinstance(table, MemsetTable):
                self._try_buffer(table.memset, (table.offset, table.bytes or 0), numbers)
            elif isinstance(table, FillTable):
                self._try_buffer(table.buffer, (), numbers)
            else:
                self._try_launch(table, numbers)
            if isinstance(table, KernelLaunch):
                self._try_arguments(table, numbers)

    def _try_launch(self, launch: Launch, numbers: Mapping[str, Number]) -> None:
        names = dict(numbers)
        for name, text in launch.constexpr.items():
            value = constant(text, names)
            if isinstance(value, (int, float)):
                names[name] = value
        for value in (*launch.grid, *launch.block, launch.shared_bytes):
            expressions.evaluate_int(value, names)

    def _try_arguments(self, launch: KernelLaunch, numbers: Mapping[str, Number]) -> None:
        arguments = launch.arguments or ()
        if self.language != "cuda" and any(isinstance(entry, StructureTable) for entry in arguments):
            raise ValueError(f"launches: {launch.kernel} is no CUDA C++, so it takes no structure by value")
        parts = [entry.fields if isinstance(entry, StructureTable) else (entry,) for entry in arguments]
        for entry in itertools.chain.from_iterable(parts):
            match entry:
                case PointerTable():
                    self._try_buffer(entry.buffer, (entry.offset,), numbers)
                case ValueTable():
                    expressions.evaluate(entry.value, numbers)
                    if entry.dtype not in NAMES:
                        raise ValueError(f"launches: {entry.dtype!r} is not one of {', '.join(NAMES)}")
                case _ if self.argument(entry) is None:
                    raise ValueError(f"launches: `{entry}` of {launch.kernel} is not among the args")

    def _try_buffer(self, name: str, numbers: tuple[Expression, ...], values: Mapping[str, Number]) -> None:
        argument = self.argument(name)
        if argument is None or not argument.is_pointer:
            raise ValueError(f"launches: `{name}` is not a buffer among the args")
        for number in numbers:
            expressions.evaluate_int(number, values)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The sequence as a program carries it; empty for a single launch."""
        filling = {table.buffer for table in self.launches if isinstance(table, FillTable)}
        everything = tuple(a.name for a in self.args if a.name not in filling)
        return tuple(table.step(everything) for table in self.launches)

    def argument(self, name: str) -> Argument | None:
        """The argument of that name, if there is one."""
        return next((a for a in self.args if a.name == name), None)

    def shapes(self) -> Iterator[dict[str, int]]:
        """Every combination of the dims, in the file's order."""
        for extents in itertools.product(*self.dims.values()):
            yield dict(zip(self.dims, extents, strict=True))

    def with_dims(self, more: Mapping[str, tuple[int, int]]) -> Workload:
        """The workload with further dims, which none of its arguments depends on: name → checked size, timed size."""
        more = {name: sizes for name, sizes in more.items() if name not in self.dims}
        if not more:
            return self
        timed = {name: size for name, (_, size) in more.items()}
        return self.model_copy(
            update={
                "dims": {**self.dims, **{name: (size,) for name, (size, _) in more.items()}},
                "profile_dims": tuple({**dims, **timed} for dims in self.profile_dims),
            }
        )

    def numbers(self, dims: Mapping[str, int], offsets: Mapping[str, int] | None = None) -> dict[str, Number]:
        """What names in a launch stand for: dims, scalars, and `address_of_x` for the address of the buffer x.

        Addresses count from a multiple of 256: a buffer lies `offsets[x]` bytes past one, by default none. Raises
        `ExpressionError` for a scalar that cannot be computed.
        """
        addresses = self._addresses(offsets or {})
        return {**addresses, **dims, **self._scalars({**addresses, **dims})}

    def _addresses(self, offsets: Mapping[str, int]) -> dict[str, Number]:
        return {address_name(a.name): offsets.get(a.name, 0) for a in self.args if a.is_pointer}

    def keeps_promises(self, dims: Mapping[str, int]) -> bool:
        """Whether a shape is one that callers may come with."""
        return all(expressions.evaluate(promise, dims) for promise in self.promises)

    def only_where(self, conditions: Sequence[str]) -> Workload:
        """The workload of callers whose shapes keep these conditions over dims, too.

        Where no shape that is checked keeps them and one that is timed does, a smaller one of that is checked.
        """
        if not conditions:
            return self
        own = self.model_copy(update={"promises": (*self.promises, *conditions)})
        timed = tuple(dims for dims in self.profile_dims if own.keeps_promises(dims))
        update: dict[str, object] = {"profile_dims": timed}
        if timed and not any(map(own.keeps_promises, self.shapes())):
            update["dims"] = {name: (size,) for name, size in own.halved(timed[0]).items()}
        return own.model_copy(update=update)

    def halved(self, dims: Mapping[str, int]) -> dict[str, int]:
        """A shape whose extents are halved, the largest first, as long as promises are kept.

        None gets smaller than it is checked with, as long as the buffers do not hold far more than they do there.
        """
        checked = {name: min(extents) for name, extents in self.dims.items()}
        room = _TIMES_AS_MUCH * max(map(self.elements, self.shapes()))
        sizes = dict(dims)
        left = set(sizes)
        while left:
            name = max(sorted(left), key=lambda n: (sizes[n] // 2 >= checked.get(n, 1), sizes[n]))
            half = {**sizes, name: sizes[name] // 2}
            is_less = half[name] < checked.get(name, 1)
            if half[name] and self.keeps_promises(half) and not (is_less and self.elements(sizes) <= room):
                sizes, left = half, set(sizes)
            else:
                left.discard(name)
        return sizes

    def elements(self, dims: Mapping[str, int]) -> int:
        """Elements of all buffers together: the size of a shape."""
        return sum(math.prod(self.extents(a, dims)) for a in self.args if a.is_pointer)

    def has_values(self, dims: Mapping[str, int]) -> bool:
        """Whether each range of whole numbers has a number in it: of `integers(17, V)` with V = 3 callers have none.

        Raises `ExpressionError` for a limit that cannot be computed.
        """
        names = self.numbers(dims)
        ranges = (a.values_spec for a in self.args if a.is_pointer)
        limits = (of for kind, of in ranges if kind == "integers" and of)
        return all(
            expressions.evaluate_int(low, names) < expressions.evaluate_int(high, names)
            for low, high in limits
        )

    def extents(self, argument: Argument, dims: Mapping[str, int]) -> tuple[int, ...]:
        """The shape of a buffer. Raises `ExpressionError` for one that is negative."""
        shape = tuple(expressions.evaluate_int(extent, dims) for extent in argument.shape or ())
        if any(extent < 0 for extent in shape):
            raise ExpressionError(f"{argument.name}: shape {shape} has a negative extent")
        return shape

    def scalars(self, dims: Mapping[str, int]) -> dict[str, Number]:
        """The value of each scalar argument, where each buffer lies at a multiple of 256 bytes."""
        return self._scalars({**self._addresses({}), **dims})

    def _scalars(self, names: Mapping[str, Number]) -> dict[str, Number]:
        return {
            a.name: expressions.evaluate(a.value, names)
            for a in self.args
            if a.kind == "scalar" and a.value is not None
        }


def _key(location: tuple[int | str, ...]) -> str:
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def parse_workload(text: str, *, name: str = "workload.toml", folder: Path | None = None) -> Workload:
    """The workload that a TOML text describes. Raises `WorkloadError` with every problem found."""
    try:
        data = toml_of(text)
    except ValueError as error:  # also of a number of thousands of digits
        raise WorkloadError(f"{name} is not valid TOML: {error}") from error
    try:
        return Workload.model_validate({**data, "folder": folder})
    except ValidationError as error:
        problems = [
            Problem(item["loc"], item["msg"].removeprefix("Value error, ")) for item in error.errors()
        ]
        raise WorkloadError(f"{name}: " + "; ".join(map(str, problems)), problems) from error


def read_companion(folder: Path | None, name: str, most: int = MOST_DATA) -> bytes:
    """A file that a workload names, from its folder or elsewhere in its repository. Raises `OSError`."""
    place = folder or Path()
    path = place / name
    return read_file(path, within=enclosing_repository(place / "workload.toml") or place, most=most)


def load_workload(path: Path) -> Workload:
    """The workload in a file. Raises `WorkloadError`."""
    try:
        text = read_text(path, most=MOST_WORKLOAD)
    except OSError as error:
        raise WorkloadError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise WorkloadError(f"{path} is not UTF-8 text; save it as UTF-8") from error
    return parse_workload(text, name=str(path), folder=path.resolve().parent)
