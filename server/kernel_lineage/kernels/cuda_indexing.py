"""The loads and stores of a CUDA C++ function in its syntax tree, each with where the reader of `code/` says it points.

An address is a linear form over *axes*: `x` and `y` (the thread's index), `lane` and `warp` (its place within and
among warps), `block`, `loop@N` (the loop whose text starts at byte N), and `?` for what is not known. A device
function is read by itself, with parameters of any value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property

from tree_sitter import Node

from kernel_gate.expr.polynomials import Polynomial, coefficient_of, polynomial
from kernel_gate.expr.terms import ZERO, Num, Op, Term, Var, variables
from kernel_lineage.code.cuda.read import read_function, read_open
from kernel_lineage.code.model import Address, Model
from kernel_lineage.kernels.cuda_expressions import all_indices
from kernel_lineage.kernels.cuda_forms import Loop, bare, field_of, operator_of, text_of
from kernel_lineage.kernels.cuda_handed import handed_spaces
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.linear_forms import (
    UNIFORM,
    UNKNOWN,
    Coefficient,
    Linear,
    add,
    divided,
    remainder,
    scale,
)

_AXES = {"threadIdx.x": "x", "threadIdx.y": "y", "threadIdx.z": "y",
         "blockIdx.x": "block", "blockIdx.y": "block", "blockIdx.z": "block"}  # fmt: skip
_LOADS = ("__ldg", "__ldcs", "__ldca", "__ldcg", "__ldlu", "__ldcv")
_STORES = ("__stcs", "__stcg", "__stwb", "__stwt")
_MOVES = re.compile(r"(?:(store)|load)(?![a-z])")
"""Functions whose name says that they read or write at their first argument, a pack at a time (`load128`)."""


def loop_axis(loop: Loop) -> str:
    """The axis that a loop's counter moves along."""
    return f"loop@{loop.node.start_byte}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a pointer expression points: the array it comes from, and how far into it."""

    root: str
    offset: Linear
    cast: str = ""
    """The element type of a pointer cast on the way (`float4`)."""
    address: Address | None = None
    """What the reader says of the place; None where the reader does not reach it."""


@dataclass(frozen=True, slots=True)
class Access:
    """One load or store of an array element."""

    node: Node
    root: str
    """The array or pointer it comes from: a parameter, a shared array, a local one."""
    space: str
    """`global`, `shared`, `local` (registers or stack) or `unknown`."""
    index: Linear
    """The whole element index, with the pointer's own offset."""
    indices: tuple[Node, ...]
    """The index expressions as written, one per dimension; empty for `*p` and for `load128(p)`."""
    reads: bool
    writes: bool
    via: str = ""
    """The function that does it (`__ldcs`, `load128`), "" for a plain expression."""
    cast: str = ""
    address: Address | None = None


@dataclass
class Indexing:
    """The accesses of one unit."""

    unit: Unit

    @cached_property
    def model(self) -> Model:
        """What the reader of `code/` says of the unit."""
        kernel = self.unit.kernel
        return read_open(kernel) if self.unit.entry else read_function(kernel, self.unit.node)

    @cached_property
    def _elements(self) -> Mapping[str, str]:
        """Each array → the type of its elements where it is first named."""
        elements: dict[str, str] = {}
        for address in self.model.addresses.values():
            elements.setdefault(address.root, address.element)
        return elements

    def form(self, node: Node | None) -> Linear:
        """The linear form of an integer expression."""
        node = bare(node)
        if node is None:
            return UNIFORM
        at = node.start_byte, node.end_byte
        if at not in self._forms:
            term = self.term(node)
            self._forms[at] = UNKNOWN if term is None else self.form_of(term)
        return self._forms[at]

    def term(self, node: Node) -> Term | None:
        """What an expression is; None where the reader does not reach it."""
        return self.model.values.get((node.start_byte, node.end_byte))

    @cached_property
    def _forms(self) -> dict[tuple[int, int], Linear]:
        """The forms that were asked for, kept with the model: one reading serves every version of a kernel's syntax."""
        kept = self.model.derived.setdefault("forms", {})
        assert isinstance(kept, dict)
        return kept

    def form_of(self, term: Term) -> Linear:
        """The linear form of a term."""
        return _linear(self.model, term)

    def along(self, access: Access, axis: str) -> Coefficient:
        """By how many elements an access moves with a thread's index along x, y or z; `?` where that is not known."""
        address, thread = access.address, Var(f"threadIdx.{axis}")
        if address is None:
            return "?"
        parts = coefficient_of(polynomial(address.offset), thread)
        if parts is None or any(thread.name in _names(self.model, Var(n)) for p in parts for n in _named(p)):
            return "?"
        size = f"sizeof({address.element})"
        steps = [
            _coefficient(number, [*factors], address.nbytes, size) for factors, number in parts[0].items()
        ]
        return 0 if not steps else "?" if len(steps) > 1 or steps[0] is None else steps[0]

    def counted(self, loop: Loop, counter: str) -> tuple[Term, Term | None]:
        """The first value and the step of a loop's counter; no step where it does not advance by one amount."""
        at = (loop.node.start_byte, loop.node.end_byte)
        read = next((one for one in self.model.loops.values() if one.at == at), None)
        return read.counters.get(counter, (ZERO, None)) if read is not None else (ZERO, None)

    def place(self, node: Node | None) -> Place:
        """Where an address expression, or the operand of a subscript, points."""
        node = bare(node)
        address = self.model.addresses.get((node.start_byte, node.end_byte)) if node is not None else None
        if address is None:
            name = _base(node)
            return Place(name if name in self._declared else "", UNKNOWN)
        form = _linear(self.model, address.offset, address.nbytes, f"sizeof({address.element})")
        cast = "" if self._elements[address.root] == address.element else address.element
        return Place(address.root, form, cast, address)

    def space_of(self, root: str) -> str:
        """The memory space of an array: `global`, `shared`, `local`, `constant` or `unknown`."""
        handed = {} if self.unit.entry else self._handed
        return handed.get(root) or self._reached.get(root) or self._declared.get(root, "unknown")

    @cached_property
    def _handed(self) -> Mapping[str, str]:
        """The memory that callers hand to a device function, by its pointers."""
        return handed_spaces(self.unit, _space_in)

    @cached_property
    def _reached(self) -> Mapping[str, str]:
        return {a.root: a.space for a in self.model.addresses.values()}

    @cached_property
    def _declared(self) -> Mapping[str, str]:
        """Arrays and pointers by what is declared: an access that the reader does not reach is still one."""
        spaces = dict.fromkeys(self.unit.pointer_parameters, "global" if self.unit.entry else "unknown")
        for v in self.unit.variables:
            if v.shared or v.sizes or v.pointer:
                spaces[v.name] = "shared" if v.shared else "local" if v.sizes else "unknown"
        return spaces

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        """Every load and store, in the order of the text."""
        written: dict[int, bool] = {}
        for node in self.unit.of("assignment_expression"):
            left = field_of(node, "left")
            # The members of a vector (`v.x = …`) are written through the element.
            while left is not None and left.type == "field_expression":
                left = field_of(left, "argument")
            if left is not None:
                written[left.id] = operator_of(node) != "="
        for node in self.unit.of("update_expression"):
            argument = field_of(node, "argument")
            if argument is not None:
                written[argument.id] = True
        accesses = [*self._subscripts(written), *self._dereferences(written), *self._through_calls()]
        return tuple(sorted(accesses, key=lambda access: (access.node.start_byte, -access.node.end_byte)))

    def _subscripts(self, written: Mapping[int, bool]) -> Iterator[Access]:
        addressed = {
            argument.id
            for node in self.unit.of("pointer_expression")
            if operator_of(node) == "&" and (argument := field_of(node, "argument")) is not None
        }
        subscripts = self.unit.of("subscript_expression")
        inner = {a.id for node in subscripts if (a := node.child_by_field_name("argument")) is not None}
        for node in subscripts:
            if node.id not in addressed and node.id not in inner:
                yield from self._access(node, node, all_indices(node), written)

    def _dereferences(self, written: Mapping[int, bool]) -> Iterator[Access]:
        for node in self.unit.of("pointer_expression"):
            if operator_of(node) == "*":
                yield from self._access(node, node, (), written)

    def _access(
        self, node: Node, address: Node, indices: tuple[Node, ...], written: Mapping[int, bool]
    ) -> Iterator[Access]:
        place = self.place(address)
        if place.root:
            writes = node.id in written
            yield Access(
                node, place.root, self.space_of(place.root), place.offset, indices,
                not writes or written[node.id], writes, cast=place.cast, address=place.address,
            )  # fmt: skip

    def _through_calls(self) -> Iterator[Access]:
        for call in self.unit.calls:
            packed = _MOVES.match(call.name)
            stores = call.name in _STORES or (packed is not None and packed[1] is not None)
            if call.arguments and (packed or stores or call.name in _LOADS):
                place = self.place(call.arguments[0])
                if place.root:
                    yield Access(
                        call.node, place.root, self.space_of(place.root), place.offset, (),
                        not stores, stores, call.name, "packed" if packed else place.cast, place.address,
                    )  # fmt: skip


def _base(node: Node | None) -> str:
    """The name that an address expression begins with."""
    while (node := bare(node)) is not None and node.type != "identifier":
        node = (
            node.child_by_field_name("argument")
            or node.child_by_field_name("value")
            or node.child_by_field_name("left")
        )
    return text_of(node)


def _space_in(unit: Unit, argument: Node) -> str:
    reach = indexing(unit)
    return reach.space_of(reach.place(argument).root)


def indexing(unit: Unit) -> Indexing:
    """The indexing of a unit, kept with it."""
    kept = unit.derived.get("indexing")
    if not isinstance(kept, Indexing):
        kept = unit.derived["indexing"] = Indexing(unit)
    return kept


def _linear(model: Model, term: Term, nbytes: int = 1, size: str = "") -> Linear:
    """The form of a term that counts so many bytes, or a type of that size, as one."""
    form: Linear = UNIFORM
    for monomial, number in polynomial(term).items():
        moving = [factor for factor in monomial if _axes(model, factor)]
        if not moving:
            continue
        by = _coefficient(number, [f for f in monomial if f not in moving], nbytes, size)
        if len(moving) == 1 and by is not None:
            form = add(form, scale(_factor(model, moving[0]), by))
        else:
            form = add(form, dict.fromkeys([axis for f in moving for axis in _axes(model, f)], "?"))
    return form


def _factor(model: Model, factor: Term) -> Linear:
    """What moves within one factor of a product."""
    match factor:
        case Var(name) if axis := _axis(model, name):
            return {axis: 1}
        case Var(name) if follows := model.depends.get(name):
            return _unordered(model, follows, name)
        case Op("//" | "quot", (a, b)) if not _axes(model, b):
            return divided(_linear(model, a), str(b))
        case Op("%" | "rem", (_, Num(number))) if number % 32:
            pass  # lanes of one warp start again
        case Op("%" | "rem", (a, b)) if not _axes(model, b):
            return remainder(_linear(model, a), str(b))
    return dict.fromkeys(_axes(model, factor), "?")


def _unordered(model: Model, follows: tuple[Term, ...], name: str) -> Linear:
    """The form of data that follow from terms: they change where one of these does, by any amount."""
    if any(name in _names(model, term) for term in follows):
        return dict.fromkeys(_axes(model, *follows), "?")  # round by round, from itself
    return {axis: "?" for term in follows for axis in _linear(model, term)}


def _axis(model: Model, name: str) -> str:
    loop = model.loops.get(name)
    if loop is not None:
        return f"loop@{loop.at[0]}" if loop.at is not None else "?"
    return _AXES.get(name, "")


def _named(parts: Polynomial) -> Iterator[str]:
    return (name for factors in parts for factor in factors for name in variables(factor))


def _names(model: Model, *terms: Term) -> Set[str]:
    """The variables of terms, and those that these follow from."""
    return model.sources(name for term in terms for name in variables(term))


def _axes(model: Model, *terms: Term) -> list[str]:
    """The axes that terms move along, directly or through data that follow from what moves."""
    axes = {
        _axis(model, n) or ("?" if model.depends.get(n, ()) is None else "") for n in _names(model, *terms)
    }
    return sorted(axes - {""})


def _coefficient(number: int, still: list[Term], nbytes: int, size: str) -> Coefficient | None:
    """What an index moves by: bytes over the element's size; None when it is no whole number of elements.

    Rows of C floats that are read as float4 lie `C/4` apart: whether C is such a multiple, the code does not tell.
    """
    if not nbytes:
        sized = next((factor for factor in still if str(factor) == size), None)
        if sized is None:
            return None
        still = [factor for factor in still if factor is not sized]
    symbols = [str(factor) for factor in still]
    if nbytes and number % nbytes:
        whole = symbols and number > 0 and nbytes % number == 0
        return f"{'*'.join(symbols)}/{nbytes // number}" if whole else None
    number //= nbytes or 1
    if not symbols:
        return number
    return "*".join(symbols if number == 1 else [*symbols, str(number)])
