"""A kernel as its accesses to memory and its address arithmetic, each under the conditions of its path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import TypeAlias

from kernel_gate.expr.terms import Num, Term, Var, at_most, less, variables
from kernel_gate.reaching import reachable


class UnreadableError(Exception):
    """The kernel has no syntax tree to read; the message says why."""


@dataclass(frozen=True, slots=True)
class Access:
    """One place in the code that reads or writes memory, on one path."""

    line: int
    text: str
    """As written: `out[row * C + col]`."""
    root: str
    """The buffer's parameter, or the shared array."""
    space: str
    """`global` or `shared`."""
    offset: Term | None
    """Bytes from the root's start; None when it could not be modelled."""
    nbytes: int
    reads: bool
    writes: bool
    path: tuple[Term, ...]
    atomic: bool = False
    arithmetic: frozenset[int] = frozenset()
    """The steps of `Model.arithmetic` that the address is computed by."""
    reason: str = ""
    """Why the offset could not be modelled."""
    element: str = ""
    """The type of what is read or written, as it is written; NumPy's name where that is known."""
    loops: tuple[str, ...] = ()
    """The loops around it, by their `Loop.round`, outermost first."""
    at: tuple[int, int] | None = None
    """First byte and the byte behind it in the file; None in an expanded macro."""
    via: str = ""
    """The function that makes the access, as `__ldg` does."""
    calls: tuple[int, ...] = ()
    """Lines of the calls that led to it from the kernel, outermost first."""

    @property
    def kind(self) -> str:
        """`load`, `store`, `update` (both), or `atomic`."""
        if self.atomic:
            return "atomic"
        return "update" if self.reads and self.writes else "store" if self.writes else "load"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a pointer or an lvalue of the kernel's own points."""

    root: str
    """The buffer's parameter, or the array."""
    space: str
    """`global`, `shared`, `constant` or `local`."""
    offset: Term
    """Bytes from the root's start."""
    nbytes: int
    """The size of an element; 0 when it is not known."""
    element: str
    """The type of an element as it is written, else NumPy's name."""


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop that was read."""

    round: str
    """The variable that counts its rounds from 0."""
    line: int
    at: tuple[int, int] | None
    counters: Mapping[str, tuple[Term, Term]]
    """What advances by the same amount in every round: its first value and the step."""
    condition: Term | None
    """Under which a round is entered."""
    parents: tuple[str, ...] = ()
    """The loops around it, outermost first."""


@dataclass(frozen=True, slots=True)
class Event:
    """A call that memory or other threads take part in: a barrier, an exchange between lanes, a copy."""

    kind: str
    """`barrier`, `exchange`, `vote`, `copy`, `matrix`, `asm` or `call`."""
    name: str


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """One operation on 32-bit integers that an address may depend on."""

    line: int
    text: str
    term: Term
    least: int
    most: int
    type: str


Ways: TypeAlias = tuple[tuple[Term, ...], ...]
"""Ways in which something can be so: in each of them all of some conditions hold, in one of them for every lane."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One place in the code that tells the compiler something of its values, on one path."""

    line: int
    text: str
    path: tuple[Term, ...]
    ways: Ways
    """None at all: what is claimed could not be modelled."""
    said: str
    """What is claimed, or why it could not be modelled."""


@dataclass(frozen=True, slots=True)
class SharedArray:
    """One array in shared memory."""

    name: str
    nbytes: Term
    dynamic: bool = False


@dataclass(slots=True)
class Model:
    """What reading a kernel symbolically left behind; filled while it is read."""

    ranges: dict[str, tuple[Term, ...]] = field(default_factory=dict)
    """Variable → what is known of it wherever it occurs."""
    naturals: set[str] = field(default_factory=set)
    """Variables that are never negative."""
    instance: set[str] = field(default_factory=set)
    """Variables that differ between threads, blocks or iterations; all others are the launch's."""
    places: dict[str, Term] = field(default_factory=dict)
    """The variables that tell one thread from another, with how many values each has: `blockIdx.x` → extent."""
    unknowns: dict[str, str] = field(default_factory=dict)
    """Variables that stand for what could not be modelled, with the reason."""
    loads: dict[str, str] = field(default_factory=dict)
    """Variables that stand for what an input holds, any within their ranges → the load as it is written."""
    read: dict[object, str] = field(default_factory=dict)
    """Places of inputs that were read → the variable that stands for what is there."""
    depends: dict[str, tuple[Term, ...] | None] = field(default_factory=dict)
    """Variable that stands for data → what its value follows from, None where that is not known."""
    constants: set[str] = field(default_factory=set)
    """Variables that stand for constants of the code whose values are not seen: template parameters, macros."""
    choices: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Variable → the values that it can have, or examples of them, where these are few."""
    accesses: list[Access] = field(default_factory=list)
    loops: dict[str, Loop] = field(default_factory=dict)
    """By `Loop.round`."""
    events: list[Event] = field(default_factory=list)
    values: dict[tuple[int, int], Term] = field(default_factory=dict)
    """Integers that the kernel's own expressions have where they are first reached, by where they stand in the file."""
    addresses: dict[tuple[int, int], Address] = field(default_factory=dict)
    """Pointers and lvalues, as `values`; of an lvalue that is a pointer itself, where it stands."""
    derived: dict[object, object] = field(default_factory=dict)
    """What other modules worked out of this model, kept with it."""
    claims: list[Claim] = field(default_factory=list)
    arithmetic: list[Arithmetic] = field(default_factory=list)
    shared: dict[str, SharedArray] = field(default_factory=dict)
    ends: set[str] = field(default_factory=set)
    """Variables that stand for how many rounds a loop went; there always is such a number."""
    data: set[str] = field(default_factory=set)
    """Variables whose values data decide: no thread or iteration can be chosen that has a certain one."""
    threads: bool = True
    """Whether blocks are of threads that the code tells apart; a Triton program has none."""
    cut: str = ""
    """Why a place in the code may not be reached although the conditions on its path hold."""
    problems: list[tuple[int, str]] = field(default_factory=list)
    """Line and construct that could not be modelled, when accesses may hide in it."""

    def take_places(self, what: str, extents: Iterable[Term]) -> None:
        """Tell the threads of a block (`threadIdx`) or the blocks of a grid (`blockIdx`) apart along their axes."""
        for axis, extent in zip("xyz", extents, strict=True):
            if extent != Num(1):
                variable = Var(f"{what}.{axis}")
                self.ranges[variable.name] = (at_most(Num(0), variable), less(variable, extent))
                self.places[variable.name] = extent
                self.naturals.add(variable.name)
                self.instance.add(variable.name)

    def facts(self, terms: tuple[Term, ...]) -> list[Term]:
        """What is known of every variable that occurs in some terms, directly or through what is known."""
        names = reachable(
            (name for term in terms for name in variables(term)),
            lambda name: (n for fact in self.ranges.get(name, ()) for n in variables(fact)),
        )
        return [fact for name in names for fact in self.ranges.get(name, ())]

    def sources(self, names: Iterable[str]) -> Set[str]:
        """Variables, and those that they follow from."""
        return reachable(names, lambda name: (n for t in self.depends.get(name) or () for n in variables(t)))

    def doubts(self, *terms: Term) -> Iterator[str]:
        """Why values in some terms are not known."""
        for name in dict.fromkeys(n for term in terms for n in variables(term)):
            if name in self.unknowns:
                yield self.unknowns[name]
