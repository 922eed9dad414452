"""The tables of a workload that say what is launched: `[launch]`, or `[[launches]]` for a sequence."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, StringConstraints, field_validator, model_validator

from kernel_gate.program import (
    STAGES_MOST,
    WARPS_MOST,
    FillStep,
    LaunchSpec,
    LaunchStep,
    MemsetStep,
    Operand,
    Pointer,
    Structure,
    Value,
    Word,
)

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_]\w*$")]
KernelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_]\w*(::[A-Za-z_]\w*)*$")]
Expression = str | int | float | bool
Warps = Annotated[int, Field(ge=1, le=WARPS_MOST)]
Stages = Annotated[int, Field(ge=1, le=STAGES_MOST)]


MOST_STRUCTURE = 32764
"""Bytes of all parameters of a kernel, from compute capability 7.0 and CUDA 12.1 on."""


class Table(BaseModel, extra="forbid", frozen=True):
    """A table of a workload: unknown keys are refused, so that a typo is seen."""


class Launch(Table):
    """The `[launch]` table."""

    grid: tuple[Expression, ...] = Field(min_length=1, max_length=3)
    """Blocks (Triton: programs) along x, y, z: expressions over dims."""
    block: tuple[Expression, ...] = Field(default=(128,), min_length=1, max_length=3)
    """CUDA: threads of a block along x, y, z."""
    shared_bytes: Expression = 0
    """CUDA: dynamic shared memory of a block."""
    constexpr: dict[Name, Expression] = Field(default_factory=dict)
    """What is known when the kernel is compiled. Triton: parameters; CUDA: macros and constants of the source that are
    sizes."""
    num_warps: Warps | str = 4
    """Triton: warps of a program."""
    num_stages: Stages | str = 3
    """Triton: stages of the software pipeline."""

    @field_validator("grid", "block", mode="before")
    @classmethod
    def _one_or_many(cls, value: object) -> object:
        return (value,) if isinstance(value, (str, int)) else value

    def spec(self) -> LaunchSpec:
        """The same as a program carries it."""
        return LaunchSpec(
            grid=tuple(map(str, self.grid)),
            block=tuple(map(str, self.block)),
            shared_bytes=str(self.shared_bytes),
            constexpr={name: str(value) for name, value in self.constexpr.items()},
            num_warps=self.num_warps,
            num_stages=self.num_stages,
        )


class PointerTable(Table):
    """`{ buffer = "x", offset = "4 * N" }` among the arguments of a launch."""

    buffer: Name
    """The argument that it points into."""
    offset: Expression = 0
    """Bytes from its beginning."""


class ValueTable(Table):
    """`{ value = "N * C", dtype = "int32" }` among the arguments of a launch."""

    value: Expression
    """A number, or an expression over dims and scalars."""
    dtype: str
    """The type of the number."""


class StructureTable(Table):
    """`{ fields = ["x", "n"], at = [0, 8], bytes = 16 }` among the arguments of a launch: a structure by value."""

    fields: tuple[Name | PointerTable | ValueTable, ...]
    """What the structure holds."""
    at: tuple[Annotated[int, Field(ge=0)], ...]
    """Bytes from the structure's start to each field."""
    bytes: int = Field(gt=0, le=MOST_STRUCTURE)
    """Its size."""
    align: Literal[1, 2, 4, 8, 16] = 8
    """What its address is a multiple of."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if len(self.fields) != len(self.at):
            raise ValueError(f"{len(self.fields)} fields need as many places in `at`; it has {len(self.at)}")
        if self.bytes % self.align or max(self.at, default=0) >= self.bytes:
            raise ValueError(
                f"`bytes` is a multiple of `align` ({self.align}), and more than every place in `at`"
            )
        return self


class KernelLaunch(Launch):
    """One `[[launches]]` table that launches a kernel."""

    kernel: KernelName
    """The kernel that this launch runs."""
    arguments: tuple[Name | PointerTable | ValueTable | StructureTable, ...] | None = None
    """In the kernel's order; None: all arguments of the workload."""
    template_arguments: tuple[str, ...] = ()
    """What a template is instantiated with."""

    def step(self, everything: tuple[str, ...]) -> LaunchStep:
        """The same as a program carries it; `everything` are the workload's arguments."""
        operands = everything if self.arguments is None else tuple(map(_operand, self.arguments))
        return LaunchStep(self.kernel, self.spec(), operands, self.template_arguments)


class MemsetTable(Table):
    """One `[[launches]]` table that sets bytes."""

    memset: Name
    """The buffer."""
    value: int = Field(default=0, ge=0, le=255)
    """The value of each byte."""
    bytes: Expression | None = None
    """How many; all of them by default."""
    offset: Expression = 0
    """Where it begins, in bytes."""

    def step(self, _everything: tuple[str, ...]) -> MemsetStep:
        """The same as a program carries it."""
        nbytes = None if self.bytes is None else str(self.bytes)
        return MemsetStep(self.memset, self.value, nbytes, str(self.offset))


class FillTable(Table):
    """One `[[launches]]` table that fills a variable of the device's code, as `cudaMemcpyToSymbol` does."""

    variable: KernelName
    """The variable, such as one that is `__constant__`."""
    buffer: Name
    """The argument whose bytes it gets; it is none of the kernel's."""

    def step(self, _everything: tuple[str, ...]) -> FillStep:
        """The same as a program carries it."""
        return FillStep(self.variable, self.buffer)


LaunchTable = KernelLaunch | MemsetTable | FillTable
"""One of `[[launches]]`."""


def _operand(table: str | PointerTable | ValueTable | StructureTable) -> Operand:
    if isinstance(table, StructureTable):
        fields = zip(table.at, map(_word, table.fields), strict=True)
        return Structure(tuple(fields), table.bytes, table.align)
    return _word(table)


def _word(table: str | PointerTable | ValueTable) -> Word:
    match table:
        case PointerTable():
            return Pointer(table.buffer, str(table.offset))
        case ValueTable():
            return Value(str(table.value), table.dtype)
        case _:
            return table


def first_launch(tables: object) -> dict[str, object] | None:
    """What the first `[[launches]]` table with a grid says of a single launch, before it is validated."""
    for table in tables if isinstance(tables, (list, tuple)) else ():
        if isinstance(table, dict) and "grid" in table:
            return {key: value for key, value in table.items() if key in Launch.model_fields}
    return None
