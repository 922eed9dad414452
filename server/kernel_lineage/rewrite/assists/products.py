"""A matrix product as a kernel's accesses tell it: one loop that multiplies what moves with one axis of the grid by
what moves with the other, each thread for its own place.

Everything is read from the addresses (`code/`), so that it does not matter how they are written: indices, pointers
that are moved on, macros, read-only loads. A block's extents are those of the launch. Where a block has one thread
along an axis, its number is the place, and an argument that is the launch's grid as well ends the places. One flat
index that is taken apart into rows and columns is two places (`flat_outputs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from kernel_gate.expr.polynomials import Polynomial, coefficient_of, plus, polynomial, term_of, times
from kernel_gate.expr.terms import (
    ZERO,
    Num,
    Op,
    Term,
    Var,
    less,
    negation,
    rebuilt,
    substituted,
    variables,
)
from kernel_lineage.code.model import Access, Loop, Model
from kernel_lineage.kernels.anchors.naive_matmul import factors_among
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.blocks_at_launch import block_extents, launches_of
from kernel_lineage.rewrite.assists.flat_outputs import FlatOutputs, flat_outputs, without_remainders
from kernel_lineage.rewrite.assists.model import Refusal, attempt
from kernel_lineage.rewrite.assists.named_sizes import by_names, named_sizes
from kernel_lineage.rewrite.launch_site import parameter_of_count

PLACES = {"x": Var("place along x"), "y": Var("place along y")}
"""A thread's number along each axis of the whole grid."""
DEPTH = Var("round of the product")
"""The round of the loop, from 0."""
_SCALAR = 4
"""Bytes of elements that are copied one by one."""
Placing = Callable[[Term], Term]
"""Writes a term over `PLACES`, where it says nothing else of the thread."""


@dataclass(frozen=True, slots=True)
class Operand:
    """One of the two factors, as it lies in memory; all in elements."""

    root: str
    access: Access
    axis: str
    """The axis of the grid, `x` or `y`, that it moves with."""
    outer: Term
    """From one place along the axis to the next."""
    inner: Term
    """From one round to the next."""
    base: Term
    """Where it begins: the same for all threads of a block."""
    bounds: tuple[Term, ...]
    """What holds where it is read, over `PLACES[axis]` and `DEPTH`."""
    uneven: Term | None = None
    """The element's number, where that does not go on evenly; `outer`, `inner` and `base` are nothing then."""

    @property
    def address(self) -> Term:
        """The element's number over `PLACES[axis]` and `DEPTH`."""
        return self.uneven or term_of(
            plus(
                polynomial(self.base),
                plus(
                    times(polynomial(self.outer), {(PLACES[self.axis],): 1}),
                    times(polynomial(self.inner), {(DEPTH,): 1}),
                ),
            )
        )

    @property
    def along_depth(self) -> bool:
        """Whether neighbouring rounds read neighbouring elements."""
        return self.inner == Num(1)


@dataclass(frozen=True, slots=True)
class Beside:
    """What a round reads besides the factors, such as the scale of a column or of a group of rounds."""

    root: str
    access: Access
    axis: str
    """The axis of the grid that it moves with; "" where with none."""
    address: Term
    """As `Operand.address`."""
    bounds: tuple[Term, ...]
    """As `Operand.bounds`."""


@dataclass(frozen=True, slots=True)
class Product:
    """The loop of a matrix product, and what it reads."""

    model: Model
    loop: Loop
    rounds: Term
    """How often the loop goes round: the same for all threads of a block."""
    first: Operand
    """What moves with the outputs' rows."""
    second: Operand
    """What moves along the outputs' rows, with neighbouring threads."""
    placed: Placing
    counted: Mapping[str, str]
    """Axis whose places nothing in the kernel ends → the argument that counts them, as each launch's grid does."""
    flat: FlatOutputs | None = None
    """How outputs are counted, where that is by one flat index."""
    beside: tuple[Beside, ...] = ()


def product_of(kernel: Kernel) -> Product:
    """The product that each thread of a kernel computes one element of, or why there is none that can be tiled."""
    return by_names(kernel, lambda model: _product(kernel, model))


def _product(kernel: Kernel, model: Model) -> Product:
    if model.problems:
        line, what = model.problems[0]
        raise Refusal(f"what line {line} does could not be read: {what}")
    if model.events:
        raise Refusal(
            f"threads of {kernel.name} work together (`{model.events[0].name}`), or call what is not here"
        )
    loops = [n for n in model.loops if len(factors_among(_loads(model, n), n)) == 2]
    if len(loops) != 1:
        raise Refusal(f"{kernel.name} has not one loop that reads two values in each round")
    loop = model.loops[loops[0]]
    if loop.parents or any(loops[0] in other.parents for other in model.loops.values()):
        raise Refusal("the loop of the product stands within another loop, or holds one")
    extents = block_extents_of(kernel)
    flats: list[FlatOutputs | None] = [*_flat(kernel, model, extents)]
    made = [attempt(partial(_read, kernel, model, loop, extents, flat)) for flat in flats or [None]]
    products = [one for one in made if not isinstance(one, Refusal)]
    if isinstance(made[0], Refusal) and not products:
        raise made[0]
    return products[0]


def _read(
    kernel: Kernel, model: Model, loop: Loop, extents: Mapping[str, Term], flat: FlatOutputs | None
) -> Product:
    """The product of a loop, where outputs are counted as `flat` says. Refused where it is none."""
    place = _placing(extents) if flat is None else partial(_over_places, flat, extents)
    rounds = _rounds(loop, place)
    if rounds is None:
        raise Refusal(f"how often the loop in line {loop.line} goes round is not told by one bound")
    loads = _loads(model, loop.round)
    counted = _counted(kernel, loads, extents, place) if flat is None else {}
    factors = factors_among(loads, loop.round)
    operands = [_operand(kernel, model, access, loop, place, counted) for access in factors]
    beside = tuple(_beside(kernel, model, a, loop, place, counted) for a in loads if a not in factors)
    if {o.axis for o in operands} != {"x", "y"}:
        raise Refusal("both factors move with the same axis of the grid: that is no matrix product")
    across = _across(model, place)
    first, second = sorted(operands, key=lambda o: o.axis == across)
    written = {a.root for a in model.accesses if a.writes} & {a.root for a in loads}
    if written:
        raise Refusal(f"`{written.pop()}` is written as well as multiplied")
    strange = _strange(kernel, rounds)
    if strange or any(place.name in variables(rounds) for place in PLACES.values()):
        raise Refusal(
            f"the bound of the loop in line {loop.line} depends on {strange or 'the place of an output'}"
        )
    return Product(model, loop, rounds, first, second, place, counted, flat, beside)


def _flat(kernel: Kernel, model: Model, extents: Mapping[str, Term]) -> list[FlatOutputs]:
    """How outputs may be counted by one flat index along x; in no way where a kernel has a place along y, too."""
    offsets = [a.offset for a in model.accesses if a.offset is not None]
    terms = [placed(t, extents) for t in (*offsets, *(c for a in model.accesses for c in a.path))]
    along_others = {"threadIdx.y", "blockIdx.y", "blockIdx.z", PLACES["y"].name}
    if along_others & {n for t in terms for n in variables(t)}:
        return []
    return list(flat_outputs(kernel, model, terms, PLACES["x"], {**PLACES, "z": Var("blockIdx.z")}))


def _over_places(flat: FlatOutputs, extents: Mapping[str, Term], term: Term) -> Term:
    return flat.over_places(placed(term, extents), PLACES["x"])


def _placing(extents: Mapping[str, Term]) -> Placing:
    """As `placed`; along an axis of which a block has one place, the block's number is the place."""
    alone = [axis for axis, extent in extents.items() if extent == Num(1)]
    numbers: dict[str, Term] = {f"blockIdx.{axis}": PLACES[axis] for axis in alone}
    numbers |= {f"threadIdx.{axis}": Num(0) for axis in alone}
    return lambda term: placed(substituted(term, numbers), extents)


def _counted(
    kernel: Kernel, loads: list[Access], extents: Mapping[str, Term], place: Placing
) -> Mapping[str, str]:
    """As `Product.counted`."""
    bounded = {n for a in loads for condition in a.path for n in variables(place(condition))}
    counted = {}
    for position, axis in enumerate("xy"):
        if extents[axis] == Num(1) and PLACES[axis].name not in bounded:
            blocks = [x.grid[position] if position < len(x.grid) else "1" for x in kernel.launches]
            if name := parameter_of_count(kernel, blocks):
                counted[axis] = name
    return counted


def placed(term: Term, extents: Mapping[str, Term]) -> Term:
    """A term with `blockIdx.x * blockDim.x + threadIdx.x` and its like replaced by `PLACES`, however it is written."""
    sizes = {f"blockDim.{axis}": extent for axis, extent in extents.items()}
    return _gathered(substituted(term, sizes), extents)


def _gathered(term: Term, extents: Mapping[str, Term]) -> Term:
    if not isinstance(term, Op):
        return term
    whole = rebuilt(term.name, tuple(_gathered(a, extents) for a in term.args))
    if not isinstance(whole, Op) or whole.name not in ("+", "*"):
        return whole
    form = polynomial(whole)
    for axis, place in PLACES.items():
        form = _with_place(form, axis, place, extents[axis])
    return term_of(form)


def _with_place(of: Polynomial, axis: str, place: Var, extent: Term) -> Polynomial:
    by_thread = coefficient_of(of, Var(f"threadIdx.{axis}"))
    if by_thread is None or not by_thread[0]:
        return of
    by_block = coefficient_of(by_thread[1], Var(f"blockIdx.{axis}"))
    if by_block is None or by_block[0] != times(by_thread[0], polynomial(extent)):
        return of
    return plus(times(by_thread[0], {(place,): 1}), by_block[1])


def _loads(model: Model, round_: str) -> list[Access]:
    """The places in a loop that read memory of the device, each once."""
    inside = [a for a in model.accesses if round_ in a.loops]
    if any(a.writes or a.space != "global" for a in inside):
        return []
    return list({a.at: a for a in inside}.values())


def block_extents_of(kernel: Kernel, depth: int = 1) -> Mapping[str, Term]:
    """Threads of a block along x and y: numbers where all launches of the file agree on them, else names. Refused where
    blocks have another depth than `depth`.
    """
    blocks = []
    for launch in launches_of(kernel):
        *block, deep = block_extents(kernel, launch)
        if deep != depth:
            raise Refusal(
                f"blocks of the launch in line {launch.span.first_line} may be deep as well as wide"
            )
        blocks.append(block)
    agree = all(block == blocks[0] for block in blocks)
    return {
        axis: Num(size) if agree and size is not None else Var(f"blockDim.{axis}")
        for axis, size in zip("xy", blocks[0], strict=True)
    }


def _rounds(loop: Loop, place: Placing) -> Term | None:
    """The rounds of a loop whose one condition compares something that grows by the same step."""
    condition = place(loop.condition) if loop.condition is not None else None
    if not isinstance(condition, Op) or condition.name not in ("<", "<="):
        return None
    left, right = condition.args
    room = plus(polynomial(right), times({(): -1}, polynomial(left)))
    apart = coefficient_of(room, Var(loop.round))
    if apart is None or set(apart[0]) != {()}:
        return None
    step, rest = -apart[0][()], apart[1]
    if step <= 0:
        return None
    last = Num(step - 1 if condition.name == "<" else step)
    return rebuilt("//", (term_of(plus(rest, polynomial(last))), Num(step)))


def _elements(kernel: Kernel, access: Access, loop: Loop, placing: Placing) -> tuple[Polynomial, list[str]]:
    """Which element of its buffer a round reads, over `PLACES` and `DEPTH`, and the axes that it moves with."""
    text = access.text
    if access.offset is None or access.at is None or access.calls:
        raise Refusal(f"where `{text}` lies is not known{': ' + access.reason if access.reason else ''}")
    offset = without_remainders(substituted(placing(access.offset), {loop.round: DEPTH}), DEPTH)
    strange = _strange(kernel, offset)
    if strange:
        raise Refusal(f"where `{text}` lies depends on {strange}")
    elements = polynomial(offset)
    if access.nbytes <= 0 or any(c % access.nbytes for c in elements.values()):
        raise Refusal(f"`{text}` is not read element by element")
    elements = {m: c // access.nbytes for m, c in elements.items()}
    return elements, [axis for axis, place in PLACES.items() if place.name in variables(offset)]


def _beside(
    kernel: Kernel, model: Model, access: Access, loop: Loop, placing: Placing, counted: Mapping[str, str]
) -> Beside:
    elements, axes = _elements(kernel, access, loop, placing)
    if len(axes) > 1:
        raise Refusal(f"`{access.text}` moves with both places of an output, and belongs to no one factor")
    axis = axes[0] if axes else ""
    bounds = _bounds(kernel, model, access, loop, placing, counted, axis)
    return Beside(access.root, access, axis, term_of(elements), bounds)


def _operand(
    kernel: Kernel, model: Model, access: Access, loop: Loop, placing: Placing, counted: Mapping[str, str]
) -> Operand:
    text = access.text
    elements, axes = _elements(kernel, access, loop, placing)
    moved = coefficient_of(elements, PLACES[axes[0]]) if len(axes) == 1 else None
    stepped = coefficient_of(moved[1], DEPTH) if moved is not None else None
    if moved is None or stepped is None or set(variables(term_of(moved[0]))) & {DEPTH.name}:
        whole = term_of(elements)
        # Narrow elements are for tensor cores, whose tiles are copied in pieces.
        if len(axes) != 1 or DEPTH.name not in variables(whole) or access.nbytes < _SCALAR:
            raise Refusal(f"`{text}` does not move with one axis of the grid and, evenly, with the loop")
        bounds = _bounds(kernel, model, access, loop, placing, counted, axes[0])
        return Operand(access.root, access, axes[0], ZERO, ZERO, ZERO, bounds, whole)
    if not stepped[0]:
        raise Refusal(f"`{text}` is the same in every round")
    bounds = _bounds(kernel, model, access, loop, placing, counted, axes[0])
    return Operand(
        access.root, access, axes[0], term_of(moved[0]), term_of(stepped[0]), term_of(stepped[1]), bounds
    )


def _bounds(
    kernel: Kernel,
    model: Model,
    access: Access,
    loop: Loop,
    placing: Placing,
    counted: Mapping[str, str],
    axis: str,
) -> tuple[Term, ...]:
    """The conditions of an access that speak of its own axis and of the round."""
    bounded = {one: one in counted for one in PLACES}
    own = [less(PLACES[axis], Var(counted[axis]))] if axis in counted else []
    others = {place.name for one, place in PLACES.items() if one != axis}
    for condition in (c for part in access.path for c in conjuncts(part)):
        if condition == loop.condition or set(variables(condition)) & model.ends:
            continue
        for term in conjuncts(substituted(placing(condition), {loop.round: DEPTH})):
            names = set(variables(term))
            if strange := _strange(kernel, term):
                raise Refusal(f"`{access.text}` is read under a condition on {strange}")
            if {p.name for p in PLACES.values()} <= names:
                raise Refusal(f"`{access.text}` is read under a condition on both places of an output")
            for one, place in PLACES.items():
                bounded[one] = bounded[one] or place.name in names
            if not others & names:
                own.append(term)
    if not all(bounded.values()):
        raise Refusal(f"no check of its bounds tells where `{access.text}` ends")
    return tuple(own)


def conjuncts(term: Term) -> Iterator[Term]:
    """The conditions that hold together where a condition holds."""
    match term:
        case Op("and", parts):
            for part in parts:
                yield from conjuncts(part)
        case Op("not", (Op("or", parts),)):
            for part in parts:
                yield from conjuncts(negation(part))
        case _:
            yield term


def _strange(kernel: Kernel, term: Term) -> str:
    """What in a term is neither an argument of the kernel, nor a size with a name, nor the block's own, nor a place."""
    names = {p.name for p in kernel.parameters} | {t.name for t in kernel.template_parameters}
    names |= named_sizes(kernel)
    names |= {p.name for p in PLACES.values()} | {DEPTH.name, "blockIdx.z"}
    return next((f"`{n}`" for n in variables(term) if n not in names), "")


def _across(model: Model, placing: Placing) -> str:
    """The axis along which neighbouring places store neighbouring outputs; `x` where that is not seen."""
    for access in model.accesses:
        if access.writes and access.offset is not None:
            form = polynomial(placing(access.offset))
            for axis, place in PLACES.items():
                moved = coefficient_of(form, place)
                if moved is not None and moved[0] == {(): access.nbytes}:
                    return axis
    return "x"
