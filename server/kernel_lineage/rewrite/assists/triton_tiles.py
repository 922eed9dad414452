"""The tiles of a Triton kernel whose sizes are its launch's to choose.

A block has an axis for each tile, and a tile's size is a `tl.constexpr` parameter. All programs together, or all rounds
of a loop, count along such an axis from 0 to a bound: the axis's *place* is `program * SIZE + lane` or
`start + round * SIZE + lane`. A size is free where every address and every mask says no more than places, and every
access is masked by the bounds of its places: then any size reaches the same elements. A read may wrap at the bound
instead, `(program * SIZE + lane) % bound`; programs may be numbered along one axis of the grid and taken apart, in any
order in which their numbers reach every tile once (`triton_programs`).

Read from the addresses' terms (`proofs/triton`), so that it does not matter how they are written.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kernel_gate.expr.polynomials import Polynomial, coefficient_of, normal, plus, polynomial, term_of, times
from kernel_gate.expr.terms import (
    ZERO,
    Num,
    Op,
    Term,
    Var,
    is_truth,
    mul,
    rebuilt,
    sub,
    substituted,
    variables,
)
from kernel_lineage.code.model import Access, Model, UnreadableError
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.proofs.triton.read import ITEM, open_setting, read_triton
from kernel_lineage.proofs.triton.scope import is_lane
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.triton_places import calls_of, function_of
from kernel_lineage.rewrite.assists.triton_programs import check_enumerated

_PROGRAM = "blockIdx."
"""Bytes of an element in the terms; every buffer is taken to have the same, for only whole elements matter."""


@dataclass(frozen=True, slots=True)
class Place:
    """What one axis counts, all programs and rounds together."""

    size: str
    """The parameter that is the tile's size."""
    by: Term
    """`blockIdx.x` or what a program makes of it, or the variable that counts a loop's rounds."""

    @property
    def axis(self) -> str:
        """The axis of the grid along which programs share it out; "" where the rounds of a loop do."""
        return next((n[-1] for n in variables(self.by) if n.startswith(_PROGRAM)), "")

    @property
    def of_grid(self) -> bool:
        """Whether programs share it out; else the rounds of a loop do."""
        return bool(self.axis)

    @property
    def variable(self) -> Var:
        """What stands for it in terms."""
        return Var(f"place {self.by} {self.size}")


Extents = tuple[Term, ...]
"""How many lanes a block has along each axis of more than one, over the parameters that are constants."""


@dataclass(slots=True)
class Tiles:
    """The free sizes of a kernel, and what is counted in tiles of them."""

    bounds: dict[Place, Term] = field(default_factory=dict)
    """Place → the number that all its values are below."""
    along: set[Place] = field(default_factory=set)
    """The places with which an address of several tiles moves by one element."""
    touched: dict[str, set[Term]] = field(default_factory=dict)
    """Buffer → where it is read and written, over places without what they are counted by."""
    fixed: dict[str, str] = field(default_factory=dict)
    """Parameter → why it is not free."""
    blocks: frozenset[Extents] = frozenset()
    """The extents of what is read and written at a time."""

    @property
    def sizes(self) -> list[str]:
        """The free sizes, in the order in which the kernel uses them."""
        return [s for s in dict.fromkeys(p.size for p in self.bounds) if s not in self.fixed]

    def places(self, size: str) -> list[Place]:
        """What is counted in tiles of a size."""
        return [p for p in self.bounds if p.size == size]


def model_of(kernel: Kernel) -> Model:
    """What a kernel reads and writes. Refused where a part of it cannot be read."""
    try:
        model = read_triton(kernel, open_setting(kernel))
    except (UnreadableError, RecursionError) as error:
        raise Refusal(f"the addresses of {kernel.name} could not be read: {error}") from error
    if model.problems:
        line, what = model.problems[0]
        raise Refusal(f"what line {line} does could not be read: {what}")
    return model


def tiles_of(kernel: Kernel) -> Tiles:
    """The tiles of a kernel. Refused where its addresses cannot be read, or no size is free."""
    function = function_of(kernel)
    constants = [p.name for p in kernel.parameters if p.constexpr]
    if next(calls_of(function, "num_programs"), None) is not None:
        raise Refusal(f"{kernel.name} asks how many programs there are")
    model = model_of(kernel)
    if not model.accesses:
        raise Refusal(f"{kernel.name} is not known to read or write anything")
    tiles = Tiles(blocks=_blocks(model, constants))
    left = [(access, _take_in(tiles, model, access, constants)) for access in model.accesses]
    for access, names in left:
        # Another access may tell that programs or rounds count tiles.
        for place in tiles.bounds:
            if names & set(variables(place.by)) & model.instance:
                why = f"`{access.text}` in line {access.line} depends on which tile of {place.size} it is for"
                tiles.fixed.setdefault(place.size, why)
    written = {a.root for a in model.accesses if a.writes and not a.atomic}
    for root in sorted(written & {a.root for a in model.accesses if a.reads}):
        if len(tiles.touched.get(root, ())) > 1:
            raise Refusal(
                f"`{root}` is written where it is not read, and how far a tile goes tells which is first"
            )
    check_enumerated((place.size, place.by, bound) for place, bound in tiles.bounds.items())
    if model.claims:
        line, what = model.claims[0].line, model.claims[0].text
        raise Refusal(f"`{what}` in line {line} tells the compiler what may not be so for other tiles")
    if not tiles.sizes:
        why = next(iter(tiles.fixed.values()), f"no parameter of {kernel.name} is the size of a tile")
        raise Refusal(why)
    return tiles


def blocks_of(kernel: Kernel) -> frozenset[Extents]:
    """The extents of what a kernel reads and writes at a time; nothing where its addresses cannot be read."""
    try:
        model = read_triton(kernel, open_setting(kernel))
    except (UnreadableError, RecursionError):
        return frozenset()
    return _blocks(model, [p.name for p in kernel.parameters if p.constexpr])


def elements_of(extents: Extents, sizes: Mapping[str, int]) -> int:
    """The elements of a block with these sizes; an extent that they do not tell counts as 1."""
    terms = (normal(substituted(e, {name: Num(n) for name, n in sizes.items()})) for e in extents)
    return math.prod(max(1, t.value) for t in terms if isinstance(t, Num))


def _blocks(model: Model, constants: list[str]) -> frozenset[Extents]:
    return frozenset(tuple(_extents(access, constants).values()) for access in model.accesses)


def _extents(access: Access, constants: list[str]) -> dict[str, Term]:
    """Lane → how many there are; a mask may look the same, and comes behind."""
    extents: dict[str, Term] = {}
    for condition in access.path:
        match condition:
            case Op("<", (Var(name), extent)) if is_lane(name) and set(variables(extent)) <= set(constants):
                extents.setdefault(name, extent)
    return extents


def _take_in(tiles: Tiles, model: Model, access: Access, constants: list[str]) -> set[str]:
    """Note the places of one access with their bounds, and which sizes it does not leave free; gives the variables that
    it depends on besides.
    """
    if access.offset is None:
        reason = f"where `{access.text}` lies is not known{': ' + access.reason if access.reason else ''}"
        tiles.fixed |= dict.fromkeys(constants, reason)
        return set()
    where = f"`{access.text}` in line {access.line}"
    counted: dict[Place, Var] = {}
    wraps: list[Op] = []
    whole = access.offset if access.writes else _unwrapped(access.offset, wraps)
    wrapped = {name for end in wraps for name in variables(end)}
    lanes = list(_lanes(access, constants))
    for lane, size in lanes:
        place = _place(model, whole, lane, size, [other for other, its in lanes if its == size])
        # Rounds of a loop that wrap would take elements twice.
        if place is not None and (place.of_grid or lane.name not in wrapped):
            counted[place] = lane
        else:
            tiles.fixed.setdefault(size, f"{where} takes one tile of {size}, and no other")
    offset = _over_places(whole, counted)
    conditions = [_over_places(c, counted) for c in _conjuncts((*access.path, *wraps), constants)]
    for place in counted:
        bound = next((b for c in conditions if (b := _bound(c, place.variable)) is not None), None)
        if bound is None or tiles.bounds.setdefault(place, bound) != bound:
            tiles.fixed.setdefault(place.size, f"{where} is not masked where the tiles of {place.size} end")
            continue
        ends = [c for c in conditions if _ends_at(c, place, bound)]
        if not place.of_grid and not ends:
            tiles.fixed.setdefault(place.size, f"the loop around {where} does not end where its mask does")
        conditions = [c for c in conditions if c not in ends]
        moved = coefficient_of(polynomial(offset), place.variable)
        if len(counted) > 1 and moved is not None and moved[0] == {(): ITEM}:
            tiles.along.add(place)
    of_size = {p.variable.name: Var(f"place {p.size}") for p in counted}
    tiles.touched.setdefault(access.root, set()).add(normal(substituted(offset, of_size)))
    left = {n for term in (offset, *conditions) for n in variables(term)}
    for size in left & set(constants):
        tiles.fixed.setdefault(size, f"{where} depends on {size} beside its tiles")
    return left


def _lanes(access: Access, constants: list[str]) -> Iterator[tuple[Var, str]]:
    """The lanes of an access along axes whose extent is a parameter, with that."""
    for condition in access.path:
        match condition:
            case Op("<", (Var(name) as lane, Var(size))) if is_lane(name) and size in constants:
                yield lane, size


def _unwrapped(term: Term, ends: list[Op]) -> Term:
    """A term without the remainders that lanes are taken to, which are noted as what the lanes stay below."""
    if not isinstance(term, Op):
        return term
    args = tuple(_unwrapped(a, ends) for a in term.args)
    lanes = [any(map(is_lane, variables(a))) for a in args]
    if term.name in ("rem", "%") and lanes == [True, False]:
        ends.append(Op("<", args))
        return args[0]
    return rebuilt(term.name, args)


def _place(model: Model, offset: Term, lane: Var, size: str, others: Iterable[Var]) -> Place | None:
    """What a lane counts together with programs or with rounds, beside other lanes of its size; None where it is alone,
    or with several.
    """
    whole = polynomial(offset)
    own = coefficient_of(whole, lane)
    if own is None or not own[0]:
        return None
    step = times(own[0], polynomial(Var(size)))
    places = []
    for name in dict.fromkeys(variables(offset)):
        other = coefficient_of(whole, Var(name)) if name in model.instance and not is_lane(name) else None
        if other is not None and other[0] == step:
            places.append(Place(size, Var(name)))
    strides = [other[0] for name in others if (other := coefficient_of(whole, name)) is not None]
    if not places and (programs := _programs(model, whole, own[0], size, strides)) is not None:
        places.append(Place(size, programs))
    return places[0] if len(places) == 1 else None


def _programs(
    model: Model, whole: Polynomial, own: Polynomial, size: str, strides: Iterable[Polynomial]
) -> Term | None:
    """What is made of the number of a program and counts tiles; None where there is no such thing, or more in it."""
    ((factors, step),) = own.items() if len(own) == 1 else (((), 0),)
    longer = [Counter(f) for stride in strides for f in stride if Counter(f) > Counter(factors)]
    made: dict[tuple[Term, ...], int] = {}
    for monomial, coefficient in whole.items():
        rest = Counter(monomial)
        mine = rest >= Counter((*factors, Var(size))) and not any(rest >= other for other in longer)
        if mine and step and coefficient % step == 0:
            rest -= Counter((*factors, Var(size)))
            made[tuple(sorted(rest.elements(), key=str))] = coefficient // step
    counts = term_of(made)
    used = set(variables(counts)) & model.instance
    return counts if len(used) == 1 and min(used).startswith(_PROGRAM) else None


def _over_places(term: Term, counted: Mapping[Place, Var]) -> Term:
    """A term over places instead of their lanes, in normal form: a program or a round is left where it says more."""
    own = {lane.name: sub(p.variable, mul(p.by, Var(p.size))) for p, lane in counted.items()}
    return _normal(substituted(term, own))


def _normal(term: Term) -> Term:
    match term:
        case Op("<" | "<=" as name, (left, right)):
            return rebuilt(name, (normal(sub(left, right)), ZERO))
        case Op(name, args) if is_truth(term):
            return rebuilt(name, tuple(_normal(a) for a in args))
        case _:
            return normal(term)


def _conjuncts(path: tuple[Term, ...], constants: list[str]) -> Iterator[Term]:
    """The conditions of a path one by one, those aside that only say that a lane lies within its tile."""
    for term in path:
        match term:
            case Op("and", parts):
                yield from _conjuncts(parts, constants)
            case Op("<", (Var(name), Var(size))) if is_lane(name) and size in constants:
                pass
            case Op("==", (Var(name), Num(0))) if is_lane(name):
                pass
            case _:
                yield term


def _bound(condition: Term, place: Var) -> Term | None:
    """The number that a condition keeps a place below; None where it does not."""
    if not isinstance(condition, Op) or condition.name not in ("<", "<="):
        return None
    left, right = condition.args
    room = coefficient_of(plus(polynomial(right), times({(): -1}, polynomial(left))), place)
    if room is None or room[0] != {(): -1}:
        return None
    return term_of(plus(room[1], {(): int(condition.name == "<=")}))


def _ends_at(condition: Term, place: Place, bound: Term) -> bool:
    """Whether a loop over a place goes on just as long as rounds begin below its bound."""
    if not isinstance(condition, Op) or condition.name != "<":
        return False
    left, right = condition.args
    room = plus(polynomial(right), times({(): -1}, polynomial(left)))
    if plus(room, polynomial(mul(place.by, Var(place.size)))) == polynomial(bound):
        return True
    match list(plus(room, polynomial(place.by)).items()):
        case [((Op("//" | "quot", (rounded_up, Var(place.size))),), 1)]:
            return polynomial(rounded_up) == plus(polynomial(bound), {(Var(place.size),): 1, (): -1})
    return False
