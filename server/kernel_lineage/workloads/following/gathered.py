"""What is found while a launch that was followed is written down as a draft."""

from __future__ import annotations

from collections.abc import Mapping, Set

from kernel_gate.expressions import ExpressionError
from kernel_gate.expressions import names as names_in
from kernel_lineage.kernels.words import WORD, with_meanings
from kernel_lineage.workloads.following.launches import Launched
from kernel_lineage.workloads.following.library import buffer_at
from kernel_lineage.workloads.following.sizes import Sizes
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import Number, Opaque, Value
from kernel_lineage.workloads.following.ways import names_in_order, names_used
from kernel_lineage.workloads.following.written import tidy
from kernel_lineage.workloads.model import DraftArgument


class Gathered:
    """What is found while a launch is written down."""

    def __init__(self, unit: Unit, sizes: Sizes, types: dict[str, str], launch: Launched) -> None:
        self.unit, self.sizes = unit, sizes
        self.lists = names_used(launch) & set(sizes.lists)
        """The sizes of the launch that a caller goes through a list for."""
        parts = (a for a in launch.arguments if _is_part(a.written, launch, sizes.going))
        self.in_parts = {id(buffer_at(argument.value)) for argument in parts}
        """The buffers of which each round of a loop takes a part of its own."""
        self.types = types
        """Type parameter of a template → what it stands for, filled in as that is found."""
        self.type_parameters: set[str] = set()
        self.called: frozenset[str] = frozenset()
        """The kernel's parameters that it calls as functions."""
        self.addresses: dict[str, str] = {}
        """The address of a buffer of the host code → that of the kernel's parameter."""
        self.fixed: dict[str, str] = {}
        """Dims that are taken to be one number → that number."""
        self.missing: list[str] = []
        self.said: list[str] = []
        self.texts: list[str] = []

    def expression(self, number: Number) -> str:
        """A number as an expression."""
        self.texts.append(with_meanings(tidy(number.text), self.addresses))
        return self.texts[-1]

    def text(self, what: str, value: Value) -> str | None:
        """The same; None, and a note of what is missing, for another value."""
        if isinstance(value, Number):
            return self.expression(value)
        why = value.why if isinstance(value, Opaque) else "what it is"
        self.missing.append(f"{what}: nothing tells {why}")
        return None

    def dims(self, arguments: tuple[DraftArgument, ...]) -> tuple[dict[str, int], tuple[str, ...]]:
        """The dims that are used, in the order of the shapes and values, and the promises over them.

        A constant of the file that promises alone name is no dim: it is as large as it is written.
        """
        sizes = self.sizes
        used = {name for text in self.texts for name in names_in_order(text)} - self.fixed.keys()
        fixed = (self.unit.constants.keys() | self.unit.macros.keys()) & sizes.dims.keys() - used
        numbers = {**{n: str(sizes.dims[n]) for n in fixed}, **self.fixed}
        promises = (with_meanings(p, numbers) for p in sizes.promises)
        over = {tidy(p): names_in(p) for p in promises if _over(p, sizes.dims)}
        while more := {n for names in over.values() if names & used for n in names - used}:
            used |= more
        texts = [
            *(e for a in arguments for e in a.shape or ()),
            *(str(a.value) for a in arguments if a.value),
        ]
        order = [n for text in texts for n in names_in_order(text)]
        names = [n for n in dict.fromkeys((*order, *sizes.dims)) if n in used and n in sizes.dims]
        return {n: sizes.dims[n] for n in names}, tuple(p for p, about in over.items() if about & used)


def _is_part(written: str, launch: Launched, going: Set[str]) -> bool:
    """Whether an argument of a launch, or what a caller hands on for it, is told by the variable of a loop."""
    for frame in reversed(launch.frames):
        if going & {*WORD.findall(written)}:
            return True
        places = [p.name for p in frame.function.parameters]
        if written not in places or places.index(written) >= len(frame.arguments):
            return False
        written = frame.arguments[places.index(written)]
    return bool(going & {*WORD.findall(written)})


def _over(text: str, dims: Mapping[str, int]) -> bool:
    try:
        return names_in(text) <= set(dims)
    except ExpressionError:
        return False
