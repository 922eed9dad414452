"""Which thread, block and loop an index of a CUDA C++ kernel moves with: the basis of every memory-access detector.

An index is read as a linear form over *axes*: `x` and `y` (the thread's index), `lane` and `warp` (its place within
and among warps), `block`, and `loop@N` (the loop whose text starts at byte N). A coefficient is a number, or the
text of a symbol (`C`), or `?` when the form is not linear. This is a reading of the text as it is usually written:
a variable has the value that it was last given above, and a name of unknown value is the same for all threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tree_sitter import Node

from kernel_lineage.kernels.cuda_access import Access, Place
from kernel_lineage.kernels.cuda_expressions import all_indices, indices_of, integer_of, is_nested, pointee
from kernel_lineage.kernels.cuda_forms import Loop, bare, operator_of, text_of
from kernel_lineage.kernels.cuda_handed import handed_spaces
from kernel_lineage.kernels.cuda_read import forms_of, value_form
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.linear_forms import (
    UNIFORM,
    Coefficient,
    Linear,
    add,
    builtin,
    divided,
    remainder,
    scale,
)

_GROUP_RANKS: Mapping[str, Linear] = {
    "thread_rank": {"lane": 1},
    "meta_group_rank": {"warp": 1},
    "group_index": {"block": 1},
}
_CASTS = frozenset({"reinterpret_cast", "static_cast", "const_cast"})
_LOADS = frozenset({"__ldg", "__ldcs", "__ldca", "__ldcg", "__ldlu", "__ldcv"})
_STORES = frozenset({"__stcs", "__stcg", "__stwb", "__stwt"})
_PACKED_LOADS = frozenset({"load128", "load128cs", "load128cg"})
_PACKED_STORES = frozenset({"store128", "store128cs", "store128cg"})


def loop_axis(loop: Loop) -> str:
    """The axis that a loop's counter moves along."""
    return f"loop@{loop.node.start_byte}"


@dataclass
class Indexing:
    """The accesses of one unit. Forms are worked out once per node."""

    unit: Unit
    _forms: dict[int, Linear] = field(default_factory=dict, repr=False)
    _busy: set[str] = field(default_factory=set, repr=False)

    @cached_property
    def _values(self) -> dict[str, list[tuple[int, int, Node]]]:
        """Name → where a value holds from and to, and the value: declarations, and assignments outside loops."""
        values: dict[str, list[tuple[int, int, Node]]] = {}
        given = [(v.name, v.start, v.value) for v in self.unit.variables if v.value is not None]
        declared = {name for name, _, _ in given}
        for node in self.unit.of("assignment_expression"):
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is None or right is None or left.type != "identifier" or operator_of(node) != "=":
                continue
            if text_of(left) not in declared or not self.unit.loops_around(node):
                given.append((text_of(left), node.start_byte, right))
        for name, start, value in sorted(given, key=lambda g: g[1]):
            values.setdefault(name, []).append((start, self._scope_end(start), value))
        return values

    def _scope_end(self, start: int) -> int:
        """Where the innermost braces around a byte end."""
        blocks = self.unit.of("compound_statement")
        return min(
            (b.end_byte for b in blocks if b.start_byte <= start < b.end_byte),
            default=self.unit.node.end_byte,
        )

    @cached_property
    def _counters(self) -> dict[str, list[Loop]]:
        counters: dict[str, list[Loop]] = {}
        for loop in self.unit.loops:
            if loop.counter:
                counters.setdefault(loop.counter, []).append(loop)
        return counters

    @cached_property
    def _advances(self) -> dict[str, list[Node]]:
        """`inp += row * C` outside loops: pointer name → what is added."""
        advances: dict[str, list[Node]] = {}
        for node in self.unit.of("assignment_expression"):
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if (
                left is not None
                and right is not None
                and left.type == "identifier"
                and operator_of(node) == "+="
            ):
                name = text_of(left)
                if name in self.spaces and not self.unit.loops_around(node):
                    advances.setdefault(name, []).append(right)
        return advances

    @cached_property
    def spaces(self) -> dict[str, str]:
        """Each array or pointer that is known by name → its memory space."""
        if self.unit.entry:
            spaces = {p.name: "global" for p in self.unit.kernel.parameters if p.pointer}
        else:
            spaces = dict(handed_spaces(self.unit, _space_in))
        for variable in self.unit.variables:
            if variable.shared:
                spaces[variable.name] = "shared"
            elif variable.sizes:
                spaces[variable.name] = "local"
            elif variable.pointer or (variable.value is not None and self._is_address(variable.value)):
                spaces.setdefault(variable.name, "pointer")
        return spaces

    @staticmethod
    def _is_address(node: Node) -> bool:
        value = bare(node)
        return value is not None and value.type == "pointer_expression" and operator_of(value) == "&"

    def value_of(self, name: str, before: int) -> Node | None:
        """What a variable was given, at its latest declaration above a byte; None when that is not told."""
        values = self._values.get(name)
        if not values:
            return None
        holding = [value for start, end, value in values if start <= before < end]
        return holding[-1] if holding else values[0][2]

    def form(self, node: Node | None) -> Linear:
        """The linear form of an integer expression."""
        node = bare(node)
        if node is None:
            return UNIFORM
        if node.id not in self._forms:
            place = (node.start_byte, node.end_byte)
            read = value_form(self.unit.kernel, place) if self.unit.entry else None
            self._forms[node.id] = self._read_form(node) if read is None else read
        return self._forms[node.id]

    def _read_form(self, node: Node) -> Linear:
        match node.type:
            case "identifier":
                return self._name_form(text_of(node), node)
            case "field_expression":
                return builtin(text_of(node))
            case "binary_expression":
                return self._binary_form(node)
            case "cast_expression":
                return self.form(node.child_by_field_name("value"))
            case "conditional_expression":
                return self.form(node.child_by_field_name("consequence"))
            case "call_expression":
                return self._call_form(node)
            case "subscript_expression":
                return dict.fromkeys(self.place(node).offset, "?")
        return UNIFORM

    def _name_form(self, name: str, at: Node) -> Linear:
        if name in self._busy:
            return UNIFORM
        self._busy.add(name)
        try:
            for loop in reversed(self._counters.get(name, ())):
                if loop.node.start_byte <= at.start_byte < loop.node.end_byte:
                    step = loop.step
                    stride: Coefficient = int(step) if step.lstrip("-").isdigit() else step or "?"
                    # A counter that strides over a block's or a warp's threads still visits neighbours in order.
                    own = self.form(loop.start)
                    return add(own, {loop_axis(loop): stride})
            value = self.value_of(name, at.start_byte)
            return self.form(value) if value is not None else UNIFORM
        finally:
            self._busy.discard(name)

    def _binary_form(self, node: Node) -> Linear:
        left_node, right_node = node.child_by_field_name("left"), node.child_by_field_name("right")
        left, right, operator = self.form(left_node), self.form(right_node), operator_of(node)
        if operator == "+":
            return add(left, right)
        if operator == "-":
            return add(left, right, -1)
        if not left and not right:
            return UNIFORM
        if operator == "*":
            if left and right:
                return dict.fromkeys({*left, *right}, "?")
            moving, still = (left, right_node) if left else (right, left_node)
            number = integer_of(still)
            return scale(moving, number if number is not None else text_of(still))
        if operator == "<<" and left:
            number = integer_of(right_node)
            return scale(left, 1 << number if number is not None and number < 31 else "?")
        if operator in ("/", ">>"):
            return divided(left, text_of(bare(right_node)), operator)
        if operator in ("%", "&"):
            return remainder(left or right, text_of(bare(right_node)), operator)
        return dict.fromkeys({*left, *right}, "?")

    def _call_form(self, node: Node) -> Linear:
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        if function is None or arguments is None:
            return UNIFORM
        if function.type == "field_expression":
            return self._group_form(
                text_of(function.child_by_field_name("argument")),
                text_of(function.child_by_field_name("field")),
            )
        forms = [self.form(a) for a in arguments.named_children]
        return next((f for f in forms if f), UNIFORM)

    def _group_form(self, receiver: str, method: str) -> Linear:
        form = _GROUP_RANKS.get(method, UNIFORM)
        if method == "thread_rank":
            value = self.value_of(receiver, self.unit.node.end_byte)
            kind = next((v.type for v in self.unit.variables if v.name == receiver), "")
            written = text_of(value) + kind
            if "grid" in written:
                return {"x": 1, "block": "blockDim"}
            if "thread_block" in written and "tile" not in written and "partition" not in written:
                return {"x": 1}
        return form

    def place(self, node: Node | None) -> Place:
        """Where an address expression, or the operand of a subscript, points."""
        node = bare(node)
        if node is None:
            return Place("", UNIFORM)
        match node.type:
            case "identifier":
                return self._name_place(text_of(node), node)
            case "subscript_expression":
                inner = self.place(node.child_by_field_name("argument"))
                offset = inner.offset
                for index in indices_of(node):
                    # An outer index of `tile[row][col]` moves by a whole row: keep it apart from the last one.
                    offset = add(scale(offset, "row") if is_nested(node) else offset, self.form(index))
                return Place(inner.root, offset, inner.cast)
            case "pointer_expression":
                return self.place(node.child_by_field_name("argument"))
            case "binary_expression":
                left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
                base = self.place(left)
                if base.root:
                    return Place(base.root, add(base.offset, self.form(right)), base.cast)
                base = self.place(right)
                return Place(base.root, add(base.offset, self.form(left)), base.cast)
            case "cast_expression":
                base = self.place(node.child_by_field_name("value"))
                return Place(base.root, base.offset, pointee(node.child_by_field_name("type")) or base.cast)
            case "call_expression":
                return self._call_place(node)
            case "conditional_expression":
                return self.place(node.child_by_field_name("consequence"))
        return Place("", UNIFORM)

    def _name_place(self, name: str, at: Node) -> Place:
        space = self.spaces.get(name)
        if space is None:
            return Place("", UNIFORM)
        if name in self._busy:
            return Place(name, UNIFORM)
        self._busy.add(name)
        try:
            base = Place(name, UNIFORM)
            value = self.value_of(name, at.start_byte)
            if space == "pointer" and value is not None:
                found = self.place(value)
                base = found if found.root else base
            offset = base.offset
            for advance in self._advances.get(name, ()):
                if advance.start_byte < at.start_byte:
                    offset = add(offset, self.form(advance))
            return Place(base.root, offset, base.cast)
        finally:
            self._busy.discard(name)

    def _call_place(self, node: Node) -> Place:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is None or arguments is None or not arguments.named_children:
            return Place("", UNIFORM)
        if function.type == "template_function" and text_of(function.child_by_field_name("name")) in _CASTS:
            base = self.place(arguments.named_children[0])
            types = function.child_by_field_name("arguments")
            described = (
                next((c for c in types.named_children if c.type == "type_descriptor"), None)
                if types
                else None
            )
            return Place(base.root, base.offset, pointee(described) or base.cast)
        return Place("", UNIFORM)

    def space_of(self, root: str) -> str:
        """The memory space of a root."""
        space = self.spaces.get(root, "unknown")
        return "unknown" if space == "pointer" else space

    @cached_property
    def _forms_read(self) -> Mapping[tuple[int, int], Linear]:
        """What the reader of whole kernels says of this function's accesses."""
        return forms_of(self.unit.kernel) if self.unit.entry else {}

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        """Every load and store, in the order of the text."""
        written: dict[int, bool] = {}
        for node in self.unit.of("assignment_expression"):
            left = bare(node.child_by_field_name("left"))
            if left is not None:
                # The members of a vector (`v.x = …`) are written through the element.
                while left is not None and left.type == "field_expression":
                    left = bare(left.child_by_field_name("argument"))
                if left is not None:
                    written[left.id] = operator_of(node) != "="
        for node in self.unit.of("update_expression"):
            argument = bare(node.child_by_field_name("argument"))
            if argument is not None:
                written[argument.id] = True
        found = [*self._subscripts(written), *self._dereferences(written), *self._through_calls()]
        return tuple(sorted(found, key=lambda access: (access.node.start_byte, -access.node.end_byte)))

    def _access(
        self, node: Node, place: Place, indices: tuple[Node, ...], reads: bool, writes: bool, via: str
    ) -> Access:
        space = self.space_of(place.root)
        form = self._forms_read.get((node.start_byte, node.end_byte), place.offset)
        return Access(node, place.root, space, form, indices, reads, writes, via, place.cast)

    def _subscripts(self, written: dict[int, bool]) -> list[Access]:
        addressed = {
            argument.id
            for node in self.unit.of("pointer_expression")
            if operator_of(node) == "&"
            and (argument := bare(node.child_by_field_name("argument"))) is not None
        }
        inner = {
            argument.id
            for node in self.unit.of("subscript_expression")
            if (argument := node.child_by_field_name("argument")) is not None
        }
        found = []
        for node in self.unit.of("subscript_expression"):
            if node.id in addressed or node.id in inner:
                continue
            place = self.place(node)
            if place.root:
                writes = node.id in written
                reads = not writes or written[node.id]
                found.append(self._access(node, place, all_indices(node), reads, writes, ""))
        return found

    def _dereferences(self, written: dict[int, bool]) -> list[Access]:
        found = []
        for node in self.unit.of("pointer_expression"):
            if operator_of(node) == "*":
                place = self.place(node.child_by_field_name("argument"))
                if place.root:
                    writes = node.id in written
                    found.append(self._access(node, place, (), not writes or written[node.id], writes, ""))
        return found

    def _through_calls(self) -> list[Access]:
        found = []
        for call in self.unit.calls:
            loads = call.name in _LOADS or call.name in _PACKED_LOADS
            stores = call.name in _STORES or call.name in _PACKED_STORES
            if (loads or stores) and call.arguments:
                place = self.place(call.arguments[0])
                if place.root:
                    packed = call.name in _PACKED_LOADS or call.name in _PACKED_STORES
                    place = Place(place.root, place.offset, "packed" if packed else place.cast)
                    found.append(self._access(call.node, place, (), loads, stores, call.name))
        return found


def _space_in(unit: Unit, argument: Node) -> str:
    reach = indexing(unit)
    return reach.space_of(reach.place(argument).root)


def indexing(unit: Unit) -> Indexing:
    """The indexing of a unit, kept with it."""
    kept = unit.derived.get("indexing")
    if not isinstance(kept, Indexing):
        kept = unit.derived["indexing"] = Indexing(unit)
    return kept
