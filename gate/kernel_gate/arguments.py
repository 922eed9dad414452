"""One argument of a kernel as a workload describes it: its type, shape and values, and what callers promise of it."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from kernel_gate.dtype_names import FLOAT_NAMES, NAMES
from kernel_gate.launch_tables import Expression, Name, Table
from kernel_gate.value_kinds import FLOATS_ONLY, values_kind


class Argument(Table):
    """One argument of the kernel, in the kernel's order."""

    name: Name
    """The kernel's parameter."""
    kind: Literal["output", "input", "inout", "scalar", "scratch"]
    """What the kernel does with it; scratch is poisoned before each run and never compared."""
    dtype: str
    """The type of an element, or of the number."""
    shape: tuple[str | int, ...] | None = None
    """Pointers: extents, row-major."""
    values: str = "normal"
    """Inputs: how they are drawn; scratch: `integers(0, 1)` for one that is cleared and not poisoned."""
    value: Expression | None = None
    """Scalars: a number, or an expression over dims."""
    align: int | None = Field(default=None, gt=0)
    """Pointers: bytes that the caller promises for the address; None says nothing (allocators give 256)."""

    noalias: bool = False
    """Pointers: no caller passes memory that overlaps another argument's."""
    may_alias: tuple[Name, ...] = ()
    """Outputs: inputs that callers do pass the same memory for."""
    descriptor: tuple[Expression, ...] = ()
    """Triton: the block of a tensor descriptor by which callers pass the buffer, as expressions over `constexpr`."""

    @property
    def is_pointer(self) -> bool:
        """Whether the argument is a buffer."""
        return self.kind != "scalar"

    @property
    def is_cleared(self) -> bool:
        """Whether a scratch buffer is zero before each run, as a launcher leaves it: `values = "integers(0, 1)"`."""
        return self.kind == "scratch" and self.values_spec == ("integers", ("0", "1"))

    @property
    def has_free_values(self) -> bool:
        """Whether nothing is promised of the values, so that they may be varied."""
        return self.values_spec in {("normal", ()), ("integers", ())}

    @property
    def has_limits(self) -> bool:
        """Whether the values may be any within limits that are declared."""
        kind, limits = self.values_spec
        return kind in ("uniform", "positive", "offsets", "ascending") or (
            kind == "integers" and bool(limits)
        )

    @property
    def has_structure(self) -> bool:
        """Whether the values stand to each other in a way that single ones may not leave."""
        return self.values_spec[0] in ("file", "listed", "offsets", "ascending", "permutation", "steps")

    @property
    def values_spec(self) -> tuple[str, tuple[str, ...]]:
        """`integers(0, V)` as ("integers", ("0", "V"))."""
        return values_kind(self.values)

    @field_validator("dtype")
    @classmethod
    def _known_dtype(cls, value: str) -> str:
        if value not in NAMES:
            raise ValueError(f"{value!r} is not one of {', '.join(NAMES)}")
        return value

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.kind == "scalar" and self.value is None:
            raise ValueError(
                'a scalar needs a value: a number, or an expression over dims such as value = "C"'
            )
        if self.kind == "scalar" and self.shape is not None:
            raise ValueError(
                'a scalar has no shape; a buffer is kind = "input", "output", "inout" or "scratch"'
            )
        if self.kind != "scalar" and self.shape is None:
            raise ValueError('a buffer needs a shape, such as shape = ["N", "C"]')
        if self.kind != "scalar" and self.value is not None:
            raise ValueError('a buffer has `values`, not `value`; a number is kind = "scalar"')
        if self.descriptor and len(self.descriptor) != len(self.shape or ()):
            raise ValueError("a descriptor's block has as many axes as the shape of its buffer")
        kind, _ = self.values_spec
        exact = self.dtype not in FLOAT_NAMES
        if exact and self.kind in {"input", "inout"} and kind in FLOATS_ONLY:
            raise ValueError(
                f'{self.dtype} inputs need values = "integers(lo, hi)", "integers" (any of the type), "boundary", '
                '"one_hot", "listed(a, b, …)", "ascending(lo, hi)", "offsets(total)", "permutation(total)", '
                '"steps(first, step)" or "file(path)"'
            )
        if not exact and (kind, self.values_spec[1]) == ("integers", ()):
            raise ValueError(f'{self.dtype} inputs need limits: values = "integers(lo, hi)"')
        return self
