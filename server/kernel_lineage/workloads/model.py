"""What a draft is: how a kernel is run as far as it is known, what was concluded, and what is missing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kernel_gate.expressions import ExpressionError, evaluate_int
from kernel_gate.workload import Workload, WorkloadError, parse_workload
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.promises import broken
from kernel_lineage.workloads.toml_text import written

NULL = "null"
"""The kind of a pointer that the launch gives nothing."""
CONSTANT = "constant"
"""The kind of a number in a structure that no name is known for; it stands at the launch, not among the arguments."""
UNSHAPED = "the shape of "
"""How what is missing of a shape begins."""
DESCRIPTOR = "it is a tensor descriptor, and nothing tells a row-major buffer and a block of it"
TABLED = " is a table of addresses, which a workload cannot give"
"""How it is said that a buffer's elements point elsewhere; the name stands before it."""
UNRANGED = "the range of the values of "
"""How what is missing of an index begins; the name follows."""
CHOSEN = " is chosen: nothing tells it"
"""How it is said that a size is chosen; the name stands before it."""
UNTYPED = "nothing tells the dtype of "
"""How it is said that a type is assumed; the name follows."""
UNMASKED = " is taken to hold: nothing masks the access on line "
"""How it is said that sizes are whole tiles; the condition stands before it, the line behind."""
MASKED_ON = "; others of the same tile are masked on line "
"""How it goes on where they are; the line follows."""
UNRECORDED = "not recorded: "
"""How the note begins that says why running the host code tells nothing."""
ZEROS = "integers(0, 1)"
"""How a buffer is drawn that is cleared before a launch."""
WHOLE_RANGES = {"bool": "integers(0, 2)", "int8": "integers", "uint8": "integers"}
"""Types whose values may all come: they are data, and no indices."""
Role = Literal["input", "output", "inout"]
"""What a kernel does with a buffer."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What is taken where the code of a Triton launch leaves a choice."""

    configuration: int = 0
    """Which of an autotuner's configurations, or the last one."""
    floats: str = "float32"
    """The dtype of data that nothing tells one of."""


USUALLY_TAKEN = Taken()


@dataclass(frozen=True, slots=True)
class View:
    """A tensor as host code sees it, which is a part of its memory or transposed in it, as expressions over dims."""

    extents: tuple[str, ...]
    strides: tuple[str, ...]
    """In elements."""
    channels_last: bool = False
    """Whether all of its memory is that of a tensor whose channels lie last, in PyTorch's format."""


@dataclass(frozen=True, slots=True)
class DraftArgument:
    """One argument as far as it is known; a missing part is None, with the reason among the draft's `missing`."""

    name: str
    kind: str
    dtype: str | None
    shape: tuple[str, ...] | None = None
    values: str = ""
    value: str | float | None = None
    place: tuple[int, int] | None = None
    """Where a field of a structure by value lies: the kernel's parameter, by number, and the bytes before the field."""
    asked: tuple[str, ...] = ()
    """Where the shape is not known: the extents that the host code asks a tensor for, "" for those that it does not."""
    descriptor: tuple[str, ...] = ()
    """Triton: the block of the tensor descriptor by which the launch gives the buffer."""
    variable: str = ""
    """The variable of the device's code that it fills; the launch does not give it."""
    noalias: bool = False
    """Whether nothing else lies in it, as its host function has made it."""
    view: View | None = None
    """Triton: the host's tensor, where `shape` is the memory that it lies in otherwise than row by row."""

    @property
    def is_buffer(self) -> bool:
        """Whether it is memory that the launch gives."""
        return self.kind not in ("scalar", NULL, CONSTANT)


@dataclass(frozen=True, slots=True)
class Structure:
    """The layout of a parameter that is a structure by value."""

    nbytes: int
    align: int


BENCHMARKED = " times"
"""How a note ends on sizes that a benchmark of the caller's times."""
_TIMES_LARGER = 64
"""Times the elements of a launch that is not worth timing beside a larger one."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What is known of how a kernel is run."""

    kernel: str
    language: Language
    source: str
    dims: Mapping[str, int]
    """As the file has them."""
    checked: Mapping[str, int]
    """As they are checked."""
    arguments: tuple[DraftArgument, ...]
    grid: tuple[str, ...] = ()
    block: tuple[str, ...] = ()
    shared_bytes: str = "0"
    constexpr: Mapping[str, str] = field(default_factory=dict)
    num_warps: int | str = 4
    num_stages: int | str = 3
    template_arguments: tuple[str, ...] = ()
    """Template arguments, for a kernel whose file does not tell them."""
    chosen: tuple[str, ...] = ()
    """Dims of which nothing tells a size."""
    told: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Those of them for which a caller goes through a list of sizes."""
    blocks: tuple[int, ...] = ()
    """Numbers of threads that a caller goes through, the one that is taken first; none where it has one only."""
    promises: tuple[str, ...] = ()
    """Conditions over dims that every caller keeps."""
    assumed: tuple[str, ...] = ()
    """What was concluded, for people: `C is 768 in main; checked with 96`."""
    missing: tuple[str, ...] = ()
    """What was not found, and so has to be filled in."""
    unbuilt: str = ""
    """Why the kernel does not build, which then cannot be run to see what is missing."""
    way: str = ""
    """The test or function that leads to the launch: the caller that chose what the draft has."""
    entry: str = ""
    """The kernel's name with its namespaces, where it has some."""
    has_fields: bool = False
    """Whether a structure that the kernel takes by value is given by its fields, one argument each."""
    structures: Mapping[int, Structure] = field(default_factory=dict)
    """By the number of the parameter: those whose fields have a place."""
    divided: tuple[tuple[str, str], ...] = ()
    """What is divided, and what by, as expressions over dims, such as channels by groups."""
    stepped: tuple[tuple[str, str], ...] = ()
    """What the kernel's loops go over, and in steps of what, by the names of its parameters."""
    unread_roles: frozenset[str] = frozenset()
    """Buffers of which no code tells whether they are read or written: what the kernel does when it is run tells it."""
    recorded: bool = False
    """Whether it is what host code did when it was run."""
    tested: bool = False
    """Whether that is a test, so that nothing had to be made up for what it gives."""
    others: tuple[Mapping[str, int], ...] = ()
    """Other sizes of the dims that the same caller comes with."""

    @property
    def timed(self) -> tuple[Mapping[str, int], ...]:
        """The sizes that are timed, those of its dims first: all that callers come with, as far as promises hold, but
        for those at the edges of tests, such as one row, beside which others are many times as large.
        """
        kept = [dict(self.dims)]
        for other in self.others:
            sizes = {name: other.get(name, size) for name, size in self.dims.items()}
            if sizes not in kept and not broken(sizes, self.promises):
                kept.append(sizes)
        if any(note.endswith(BENCHMARKED) for note in self.assumed):
            return tuple(kept)
        elements = [self.elements(one) for one in kept]
        return tuple(one for one, n in zip(kept, elements, strict=True) if n * _TIMES_LARGER >= max(elements))

    def elements(self, sizes: Mapping[str, int]) -> int:
        """Elements of all buffers at some sizes of the dims; 0 where an extent cannot be computed."""
        try:
            shapes = (a.shape for a in self.arguments if a.shape)
            return sum(math.prod(evaluate_int(extent, sizes) for extent in shape) for shape in shapes)
        except ExpressionError:
            return 0

    @property
    def launch_texts(self) -> tuple[str, ...]:
        """The expressions of the launch."""
        options = str(self.num_warps), str(self.num_stages)
        return *self.grid, *self.block, self.shared_bytes, *self.constexpr.values(), *options

    @property
    def untold(self) -> frozenset[str]:
        """The dims whose size was chosen, as the draft says; not those that are yet to be chosen."""
        return frozenset(name for name in self.dims if f"{name}{CHOSEN}" in self.assumed)

    @property
    def guesses_types(self) -> bool:
        """Whether some of its types are assumed, because no code tells them."""
        return any(note.startswith(UNTYPED) for note in self.assumed)

    @property
    def unrecorded(self) -> str:
        """Why running the host code tells nothing; "" where it tells something, or was not tried."""
        notes = (n for n in self.assumed if n.startswith(UNRECORDED))
        return next(notes, "").removeprefix(UNRECORDED)

    @property
    def text(self) -> str:
        """The draft as a workload file; what is missing is a comment."""
        return written(self)

    def workload(self) -> Workload:
        """The drafted workload. Raises `WorkloadError` when something is missing or does not fit together."""
        if self.missing:
            raise WorkloadError(f"the draft for {self.kernel} is not complete: {'; '.join(self.missing)}")
        return parse_workload(self.text, name=f"the draft for {self.kernel}")
