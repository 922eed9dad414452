"""What a fact's name is: its type, unit, source and arguments, and how a sentence speaks of it."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel

from kernel_lineage.skills.conditions.facts import FactSource


class Type(StrEnum):
    """What a part of a condition stands for."""

    TRUTH = "truth value"
    NUMBER = "number"
    TEXT = "text"
    DTYPE = "data type"
    VERSION = "version"
    """A tuple of numbers, compared from the left: `(8, 0)`."""
    INTERVAL = "interval"
    """Lowest and highest value; a comparison with a number speaks of every value in it."""


class Argument(StrEnum):
    """What a fact's name takes between its parentheses."""

    TENSOR = "tensor"
    AXIS = "axis"
    MECHANISM = "mechanism"


class FactName(BaseModel, frozen=True, extra="forbid"):
    """One declared name."""

    name: str
    """Dotted, without arguments: `align`, `launch.block.x`."""
    type: Type
    source: FactSource
    doc: str
    """One sentence."""
    noun: str
    """How a sentence speaks of it; `{0}`, `{1}` are the arguments."""
    unit: str = ""
    """"" for what has none."""
    arguments: tuple[Argument, ...] = ()
    choices: tuple[str, ...] = ()
    """The only texts that it takes; empty: any."""
    symmetric: bool = False
    """Whether the arguments may be swapped."""
    at_run_time: bool = False
    """Whether the running kernel can test it, so that a fast path may stand behind it."""

    @property
    def form(self) -> str:
        """The name as a condition writes it, with example arguments: `stride(x, 0)`."""
        if not self.arguments:
            return self.name
        tensors = iter("xyz")
        written = {Argument.AXIS: "0", Argument.MECHANISM: '"warp_shuffle"'}
        return f"{self.name}({', '.join(written.get(a) or next(tensors) for a in self.arguments)})"
