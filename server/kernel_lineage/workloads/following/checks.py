"""What checks in host code say of sizes and types: every caller keeps it."""

from __future__ import annotations

from tree_sitter import Node

from kernel_gate.expressions import names as names_in
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.workloads.device_size import MULTIPROCESSORS
from kernel_lineage.workloads.following.lists import GivenList
from kernel_lineage.workloads.following.names import Names
from kernel_lineage.workloads.following.places import Places
from kernel_lineage.workloads.following.tensors import (
    RANKS,
    SIZES_OF,
    extents_of,
)
from kernel_lineage.workloads.following.values import (
    NotFollowed,
    Number,
    Record,
    Tensor,
    TypeName,
    Value,
    combined,
)

_COMPARED = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}

_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_AROUND = frozenset({"parenthesized_expression", "condition_clause"})


class Checks(Places):
    """Follows checks."""

    def check(self, name: str, listed: Node | None, names: Names) -> None:
        """What a check says is kept by every caller."""
        nodes = arguments_of(listed)
        compared = _COMPARED.get(name.rsplit("_", 1)[-1])
        if compared is not None and len(nodes) >= 2:
            left, right = (self.value(n, names) for n in nodes[:2])
            self._hold(compared, left, right, name)
        elif nodes:
            self.hold(nodes[0], names)

    def hold(self, condition: Node, names: Names, holds: bool = True) -> None:
        """Note that a condition holds, or that it does not. Raises `NotFollowed` where it is not known what it says."""
        node = condition
        while node.type in _AROUND and node.named_child_count == 1:
            node = node.named_child(0) or node
        operator = text_of(node.child_by_field_name("operator")) if node.type == "binary_expression" else ""
        sides = [node.child_by_field_name(side) for side in ("left", "right")]
        if node.type == "unary_expression" and text_of(node.child_by_field_name("operator")) == "!":
            self.hold(node.child_by_field_name("argument") or node, names, not holds)
            return
        if operator == ("&&" if holds else "||"):
            for side in sides:
                try:
                    self.hold(side or node, names, holds)
                except NotFollowed:
                    continue
            return
        if operator in _OPPOSITE:
            operator = operator if holds else _OPPOSITE[operator]
            if not any(self._ranked(operator, pair, names) for pair in (sides, sides[::-1])):
                left, right = (self.value(side, names) for side in sides)
                self._hold(operator, left, right, text_of(node))
            return
        value = self.value(node, names)
        if isinstance(value, Number):
            self.sizes.require(value, holds)

    def _ranked(self, operator: str, sides: list[Node | None], names: Names) -> bool:
        """Whether a comparison tells how many extents a tensor has that nothing else told, or elements a list."""
        asked, count = sides
        method = asked.child_by_field_name("function") if asked is not None else None
        if method is not None and text_of(method.child_by_field_name("field")) == "size":
            return self._counted(operator, method, count, names)
        if operator != "==" or method is None or text_of(method.child_by_field_name("field")) not in RANKS:
            return False
        tensor = self.value(method.child_by_field_name("argument"), names)
        rank = self.value(count, names)
        if not isinstance(tensor, Tensor) or tensor.rank is not None or not isinstance(rank, Number):
            return False
        tensor.rank = int(rank.value)
        return True

    def _counted(self, operator: str, method: Node, count: Node | None, names: Names) -> bool:
        """Whether a comparison tells how many elements a list of a caller has."""
        listed = self.value(method.child_by_field_name("argument"), names)
        number = self.value(count, names)
        least = {"==": 0, ">=": 0, ">": 1}.get(operator)
        if not isinstance(listed, GivenList) or not isinstance(number, Number) or least is None:
            return False
        if number.is_constant:
            listed.reach(int(number.value) + least)
        return number.is_constant

    def _hold(self, operator: str, left: Value, right: Value, written: str) -> None:
        if isinstance(left, Record) and isinstance(right, Record) and operator == "==":
            self._same_shape(left, right)
            return
        for shape, listed in ((left, right), (right, left)):
            if operator == "==" and isinstance(shape, Record) and isinstance(listed, list):
                self._shaped(shape, listed)
                return
        for one, other in ((left, right), (right, left)):
            if (
                operator == "=="
                and isinstance(one, TypeName)
                and isinstance(other, TypeName)
                and one.of is not None
            ):
                one.of.dtype = other.name
                return
        value = self.operated(operator, left, right, written)
        if not isinstance(value, Number):
            return
        sides = (left, right)
        if operator == "==" and all(isinstance(s, Number) and s.text in self.sizes.chosen for s in sides):
            names = [s.text for s in sides if isinstance(s, Number) and s.text != MULTIPROCESSORS]
            if len(set(names)) == 2:
                self.sizes.equal[names[1]] = names[0]
            return
        for one, other in ((left, right), (right, left)) if operator == "==" else ():
            if not isinstance(one, Number) or not isinstance(other, Number):
                continue
            if one.text == other.text:
                return
            if one.text in self.sizes.nameless and one.text not in names_in(other.text):
                self.sizes.equal[one.text] = other.text
                return
        self.sizes.require(value)

    def _shaped(self, shape: Record, listed: list[Value]) -> None:
        """A tensor whose sizes are those of a list."""
        tensor = shape.fields.get("tensor")
        extents = [v for v in listed if isinstance(v, Number)]
        if not isinstance(tensor, Tensor) or len(extents) != len(listed):
            return
        for place, extent in enumerate(extents):
            before = tensor.sizes.get(place)
            if before is not None and before.text != extent.text and before.text in self.sizes.nameless:
                self.sizes.equal[before.text] = extent.text
            elif before is not None and before.text != extent.text:
                self.sizes.require(combined("==", before, extent))
            tensor.sizes[place] = extent
        tensor.rank = len(extents)

    def _same_shape(self, left: Record, right: Record) -> None:
        """Two tensors of the same sizes: what is known of one is known of the other."""
        first, second = left.fields.get("tensor"), right.fields.get("tensor")
        if not isinstance(first, Tensor) or not isinstance(second, Tensor):
            return
        if first.rank is None:
            first, second = second, first
        extents = extents_of(Record(SIZES_OF, {"tensor": first}), self.sizes)
        for place, extent in enumerate(extents or ()):
            there = second.sizes.get(place)
            if (
                there is not None
                and there.text != extent.text
                and {there.text, extent.text} <= set(self.sizes.chosen)
            ):
                self.sizes.equal[there.text] = extent.text
            second.sizes[place] = extent
        second.rank = first.rank


def arguments_of(listed: Node | None) -> list[Node]:
    """The arguments of a call."""
    return [c for c in listed.named_children if c.type != "comment"] if listed is not None else []
