"""Maps of the standard library, which keep what a call works out for the next one, and references to what is kept."""

from __future__ import annotations

import re

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.cuda_text import at_commas
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.following.functions import bare_type
from kernel_lineage.workloads.following.names import Names
from kernel_lineage.workloads.following.sizes import Sizes
from kernel_lineage.workloads.following.statements import Follower
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import (
    FieldReference,
    NotFollowed,
    Number,
    Place,
    Pointer,
    Record,
    Text,
    Value,
    plain,
)

_MAP = re.compile(r"(?:std::)?(?:unordered_)?map\s*<(.*)>", re.DOTALL)
_ENTRY = "entry of a map"
_VALUE = "second"


class Maps(Follower):
    """Follows maps exactly: a record of entries by their keys."""

    def __init__(
        self, unit: Unit, sizes: Sizes, kernel: str, leading: frozenset[str], passes: int = 0
    ) -> None:
        super().__init__(unit, sizes, kernel, leading, passes)
        self.compared: set[str] = set()
        """Names in the keys of maps, and in numbers that are compared with what an earlier call keeps of them."""

    def value_as_made(self, kind: str, name: str) -> Value:
        """A value of a type that nothing but its own constructor sets."""
        return self.unset(kind, kind.count("*"), name)

    def unset(self, kind: str, stars: int, name: str) -> Value:
        return Record(kind) if not stars and _MAP.fullmatch(kind) else super().unset(kind, stars, name)

    def _new_expression(self, node: Node, names: Names) -> Value:
        kind = self.type_named(bare_type(text_of(node.child_by_field_name("type"))), names)
        return Record(kind) if _MAP.fullmatch(kind) else super()._new_expression(node, names)

    def _subscript_expression(self, node: Node, names: Names) -> Value:
        entry = self._entry_at(node, names)
        return entry.fields[_VALUE] if entry is not None else super()._subscript_expression(node, names)

    def store(self, target: Node | None, value: Value, names: Names) -> None:
        is_subscript = target is not None and target.type == "subscript_expression"
        entry = self._entry_at(target, names) if target is not None and is_subscript else None
        if entry is not None:
            entry.fields[_VALUE] = value
            return
        super().store(target, value, names)

    def operated(self, operator: str, left: Value, right: Value, written: str) -> Value:
        if operator in ("==", "!=") and isinstance(left, Number) and isinstance(right, Number):
            self.compared |= {*WORD.findall(left.text)} if left.text == right.text else set()
        return super().operated(operator, left, right, written)

    def _key(self, value: Value, base: Record, node: Node) -> str:
        """A key of a map by its text. Raises `NotFollowed` for one that may be the same as another at some sizes."""
        parts = value if isinstance(value, list) else [value]
        texts = [part.text if isinstance(part, (Number, Text)) else None for part in parts]
        key = ", ".join(text or "" for text in texts)
        if None in texts or base.fields.keys() - {key}:
            why = "several keys of a map" if None not in texts else "a key"
            raise NotFollowed(f"`{text_of(node)}`, {why},")
        self.compared |= {*WORD.findall(key)}
        return key

    def _entry_at(self, node: Node, names: Names) -> Record | None:
        """The entry that `map[key]` names, which is made where there is none; None for what is no map."""
        base = self.either(node.child_by_field_name("argument"), names)
        if not isinstance(base, Record) or not _MAP.fullmatch(base.type):
            return None
        listed = node.child_by_field_name("indices") or node.child_by_field_name("index")
        key = self._key(self.value(listed.named_child(0) if listed is not None else None, names), base, node)
        return self._entry(base, key)

    def _entry(self, base: Record, key: str, value: Value | None = None) -> Record:
        if key not in base.fields:
            match = _MAP.fullmatch(base.type)
            kind = at_commas(match[1])[1].strip() if match is not None else ""
            made = value if value is not None else self.value_as_made(kind, "a value of a map")
            base.fields[key] = Record(_ENTRY, {_VALUE: made})
        entry = base.fields[key]
        assert isinstance(entry, Record)
        return entry

    def _of_structure(self, base: Record, name: str, nodes: list[Node], names: Names) -> Value:
        if not _MAP.fullmatch(base.type):
            return super()._of_structure(base, name, nodes, names)
        if name in ("end", "cend"):
            return Pointer(None)
        if name == "empty":
            return plain(not base.fields)
        args = [self.value(node, names) for node in nodes]
        if name in ("insert", "emplace", "try_emplace") and len(args) == 1 and isinstance(args[0], list):
            args = args[0]
        if name not in ("find", "count", "contains", "at", "insert", "emplace", "try_emplace") or not args:
            raise NotFollowed(f"`{name}()` of a map")
        key = self._key(args[0], base, nodes[0])
        is_there = key in base.fields
        if name in ("count", "contains"):
            return plain(is_there)
        if name == "find":
            return self._entry(base, key) if is_there else Pointer(None)
        if name == "at" and is_there:
            return self._entry(base, key).fields[_VALUE]
        if name == "at" or len(args) != 2:
            raise NotFollowed(f"`{name}()` of a map")
        return [self._entry(base, key, args[1]), plain(not is_there)]

    def _equal(self, left: Value, right: Value) -> bool | None:
        sides = (left, right)
        if any(isinstance(s, Record) and s.type == _ENTRY for s in sides):
            return False if any(isinstance(s, Pointer) and s.buffer is None for s in sides) else left is right
        return super()._equal(left, right)

    def place_at(self, node: Node, names: Names) -> Place | None:
        entry = self._entry_at(node, names) if node.type == "subscript_expression" else None
        return FieldReference(entry, _VALUE) if entry is not None else super().place_at(node, names)
