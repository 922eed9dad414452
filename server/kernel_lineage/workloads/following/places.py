"""Where values are kept: elements, fields, what pointers lead to; and what assignments put there."""

from __future__ import annotations

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.workloads.device_size import MULTIPROCESSORS
from kernel_lineage.workloads.following.casts import is_written_out
from kernel_lineage.workloads.following.lists import GivenList
from kernel_lineage.workloads.following.literals import DEVICE, DEVICE_LISTS
from kernel_lineage.workloads.following.members import Members
from kernel_lineage.workloads.following.names import Names, fetched, stored
from kernel_lineage.workloads.following.types import INTEGERS
from kernel_lineage.workloads.following.values import (
    Buffer,
    ElementReference,
    FieldReference,
    FunctionName,
    KernelName,
    NotFollowed,
    Number,
    Opaque,
    Place,
    Pointer,
    Record,
    Reference,
    Tensor,
    Typed,
    Value,
    plain,
)

_AXES = ("x", "y", "z", "w")
"""Fields of CUDA's own vectors, which are no sizes of the data."""


class Places(Members):
    """Follows what names a place, and what is put there."""

    def _subscript_expression(self, node: Node, names: Names) -> Value:
        base = self.value(node.child_by_field_name("argument"), names)
        index = _index_of(node)
        if isinstance(base, Typed):
            return base
        if isinstance(base, list):
            numbers = whole_numbers(base)
            if len(numbers) > 1 and index is not None and text_of(index) in self.sizes.going:
                list_name = text_of(node.child_by_field_name("argument"))
                return self.sizes.of_list(list_name, numbers, self.function)
            place = self.number(index, names)
            if isinstance(base, GivenList) and not place.is_constant:
                raise NotFollowed(f"`{text_of(node)}`")
            at = self.decided(place)
            if isinstance(base, GivenList):
                base.reach(int(at) + 1)
            if not base:
                raise NotFollowed(f"`{text_of(node)}`")
            return base[int(at)] if -len(base) <= at < len(base) else base[-1]
        if isinstance(base, Record) and isinstance(tensor := base.fields.get("tensor"), Tensor):
            return self.sizes.extent(tensor, int(self.number(index, names).value))
        if isinstance(base, Pointer) and base.buffer is not None and base.dtype in INTEGERS:
            place = self.number(index, names)
            untold = base.buffer.size is None and base.buffer.tensor is None and base.buffer.name
            if untold and place.is_constant:
                # An array of whole numbers that a caller gives.
                return self.sizes.free(f"{base.buffer.name}_{int(place.value)}")
        raise NotFollowed(f"`{text_of(node)}`")

    def _field_expression(self, node: Node, names: Names) -> Value:
        base = self.either(node.child_by_field_name("argument"), names)
        name = text_of(node.child_by_field_name("field"))
        if isinstance(base, Place):
            inner = fetched(base)
            base = inner if inner is not None else base
        if isinstance(base, list) and len(base) == 2 and name in ("first", "second"):
            return base[name == "second"]
        if isinstance(base, Record):
            if name in base.fields:
                value = base.fields[name]
                if isinstance(value, Pointer) and value.buffer is None:
                    return Pointer(None, value.dtype, place=f".{name}")
                return value
            if base.type == "dim3" and name in "xyz":
                return plain(1)
            of_class = self.members(base.type)
            if of_class is not None and (constant := of_class.values.get(name)) is not None:
                return constant
        if isinstance(base, Number) and name == "value":  # of a tag
            return base
        if name == MULTIPROCESSORS:
            return self.sizes.multiprocessors()
        if name in DEVICE:
            return plain(DEVICE[name])
        if name in DEVICE_LISTS:
            return [plain(n) for n in DEVICE_LISTS[name]]
        raise NotFollowed(f"`{text_of(node)}`")

    def _pointer_expression(self, node: Node, names: Names) -> Value:
        inner = node.child_by_field_name("argument")
        if text_of(node.child_by_field_name("operator")) == "*":
            value = self.value(inner, names)
            target = fetched(value) if isinstance(value, Place) else value
            if target is None:
                raise NotFollowed(f"`{text_of(node)}`")
            return target
        if inner is not None and inner.type == "identifier":
            name = text_of(inner)
            if names.get(name) is None and (name in self.unit.kernels or name in self.unit.functions):
                return self.named(name, names)
            return Reference(names, name)
        if inner is not None and inner.type == "field_expression":
            base = self.value(inner.child_by_field_name("argument"), names)
            if isinstance(base, Record):
                return FieldReference(base, text_of(inner.child_by_field_name("field")))
        if inner is not None and inner.type == "subscript_expression":
            return self._address_of_element(inner, names)
        value = self.value(inner, names)
        if isinstance(value, (KernelName, FunctionName)):
            return value
        raise NotFollowed(f"`{text_of(node)}`")

    def _address_of_element(self, node: Node, names: Names) -> Value:
        """`&dev[1]` of an array of pointers, and `&x[n]` as `x + n`. Raises `NotFollowed`."""
        element = self._element_at(node, names)
        if element is not None:
            return element
        base = self.value(node.child_by_field_name("argument"), names)
        if not isinstance(base, (Pointer, Buffer)):
            raise NotFollowed(f"`&{text_of(node)}`")
        return self.operated("+", base, self.number(_index_of(node), names), text_of(node))

    def place_at(self, node: Node, names: Names) -> Place | None:
        """What a reference stands for: a variable, a field, an element; None for what is no place."""
        if node.type == "identifier":
            holder = names.holder(text_of(node))
            return Reference(holder, text_of(node)) if holder is not None else None
        if node.type == "field_expression":
            base = self.either(node.child_by_field_name("argument"), names)
            field = text_of(node.child_by_field_name("field"))
            return FieldReference(base, field) if isinstance(base, Record) and field in base.fields else None
        return self._element_at(node, names) if node.type == "subscript_expression" else None

    def _element_at(self, node: Node, names: Names) -> ElementReference | None:
        """The element of an array that a subscript stands for; None for one of something else, or of no place."""
        array = node.child_by_field_name("argument")
        base, at = self.either(array, names), self.either(_index_of(node), names)
        if not isinstance(base, list) or not isinstance(at, Number) or not at.is_constant:
            return None
        return ElementReference(base, int(at.value), text_of(array)) if 0 <= at.value < len(base) else None

    def _assignment_expression(self, node: Node, names: Names) -> Value:
        left, right = (node.child_by_field_name(side) for side in ("left", "right"))
        operator = text_of(node.child_by_field_name("operator"))
        value = self.either(right, names)
        is_name = left is not None and left.type == "identifier" and operator == "="
        if operator == "=" and right is not None and right.type == "number_literal" and left is not None:
            field = left.child_by_field_name("field") if left.type == "field_expression" else None
            if field is not None and text_of(field) not in _AXES:
                value = self.sizes.of_literal(value, text_of(field), self.function)
        if is_name and isinstance(value, Number) and value.text in self.sizes.lists:
            value = self.sizes.again(value.text, text_of(left), self.function)
        if is_name:
            is_told = self.function == "main" and right is not None and is_written_out(right)
            value = self.sizes.of_number(value, text_of(left), self.function) if is_told else value
        if is_name and isinstance(value, Opaque) and text_of(left) in self.sizes.dims:
            # A size that the code tells, and then sets to what nothing tells: it stays a size of that name.
            self.sizes.say(f"{text_of(left)} is set to `{text_of(right)}`: {value.why} is not followed")
            value = names.get(text_of(left)) or value
        if operator != "=":
            value = self._updated(self.either(left, names), operator[:-1], value, text_of(node))
        self.store(left, value, names)
        return value

    def _updated(self, old: Value, operator: str, by: Value, written: str) -> Value:
        try:
            return self.operated(operator, old, by, written)
        except NotFollowed as error:
            return Opaque(str(error))

    def store(self, target: Node | None, value: Value, names: Names) -> None:
        """Give what stands on the left of an assignment a value."""
        if target is None:
            return
        if target.type == "identifier":
            name = text_of(target)
            is_outside = name in self.unit.variables and names.holder(name) is None
            (self.unit_names(names) if is_outside else names).set(name, value)
        elif target.type == "parenthesized_expression":
            self.store(target.named_child(0), value, names)
        elif target.type == "field_expression":
            base = self.value(target.child_by_field_name("argument"), names)
            base = (fetched(base) or base) if isinstance(base, Place) else base
            if isinstance(base, Record):
                base.fields[text_of(target.child_by_field_name("field"))] = value
        elif target.type == "subscript_expression":
            base = self.value(target.child_by_field_name("argument"), names)
            at = self.either(_index_of(target), names)
            if isinstance(base, list) and isinstance(at, Number) and at.is_constant and 0 <= at.value < 64:
                base.extend([Opaque("not set")] * (int(at.value) + 1 - len(base)))
                base[int(at.value)] = value
        elif target.type == "pointer_expression":
            base = self.value(target.child_by_field_name("argument"), names)
            if isinstance(base, Place):
                stored(base, value)
        elif target.type == "call_expression":
            self._store_at_end(target.child_by_field_name("function"), value, names)

    def _store_at_end(self, method: Node | None, value: Value, names: Names) -> None:
        """`shape.back() = n`: the method gives a place in the list."""
        if method is None or method.type != "field_expression":
            return
        base = self.value(method.child_by_field_name("argument"), names)
        end = {"back": -1, "front": 0}.get(text_of(method.child_by_field_name("field")))
        if isinstance(base, list) and base and end is not None:
            base[end] = value

    def _update_expression(self, node: Node, names: Names) -> Value:
        target = node.child_by_field_name("argument")
        operator = "+" if text_of(node.child_by_field_name("operator")) == "++" else "-"
        value = self._updated(self.either(target, names), operator, plain(1), text_of(node))
        self.store(target, value, names)
        return value


def _index_of(subscript: Node) -> Node | None:
    """What stands between the brackets."""
    listed = subscript.child_by_field_name("indices") or subscript.child_by_field_name("index")
    return listed.named_child(0) if listed is not None and listed.named_child_count else None


def whole_numbers(values: Value) -> tuple[int, ...]:
    """The numbers of a list of constant whole numbers; none of another value."""
    numbers = [v for v in values if isinstance(v, Number)] if isinstance(values, list) else []
    whole = tuple(int(n.value) for n in numbers if n.is_constant and n.whole)
    return whole if isinstance(values, list) and len(whole) == len(values) else ()
