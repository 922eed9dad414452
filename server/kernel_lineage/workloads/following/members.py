"""Static members of classes, by which templates hand constants and types on: `Traits::kThreads`, `Traits::input_t`."""

from __future__ import annotations

import re

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import inside, text_of
from kernel_lineage.kernels.cuda_text import at_commas
from kernel_lineage.workloads.following.casts import Casts
from kernel_lineage.workloads.following.functions import bare_type, declared_name
from kernel_lineage.workloads.following.names import Names
from kernel_lineage.workloads.following.sizes import Sizes
from kernel_lineage.workloads.following.unit import ClassCode, Unit, is_field
from kernel_lineage.workloads.following.values import (
    KernelName,
    NotFollowed,
    Number,
    Record,
    TypeName,
    Value,
    plain,
)

_WRAPPERS = frozenset({"type_descriptor", "dependent_type"})
_SCOPES = frozenset({"std", "at", "c10", "torch", "cuda", "cub", "thrust"})


_TAGS = frozenset({"integral_constant", "bool_constant"})
"""Templates of the library of which each instance stands for its last argument."""


def constant(text: str) -> Number | None:
    """The number that a template's argument is; None for a type."""
    if re.fullmatch(r"-?\d+", text):
        return plain(int(text))
    return plain(text == "true") if text in ("true", "false") else None


class Members(Casts):
    """Follows expressions and types that stand in classes."""

    def __init__(self, unit: Unit, sizes: Sizes) -> None:
        super().__init__(unit, sizes)
        self._members: dict[str, Names] = {}

    def type_named(self, name: str, names: Names) -> str:
        kind = super().type_named(name, names)
        scope, colons, member = kind.rpartition("::")
        if not colons or scope in _SCOPES or scope.count("<") != scope.count(">"):
            return kind
        of_class = self.members(super().type_named(scope, names))
        return (of_class.type_of(member) if of_class is not None else "") or kind

    def type_at(self, node: Node | None, names: Names) -> str:
        """The type that a piece of code names, with a template's arguments as they come out."""
        while node is not None and node.type in _WRAPPERS and node.named_child_count:
            inner = node.child_by_field_name("type") or node.named_children[-1]
            if any(c.type.startswith("abstract_") for c in node.named_children):
                break
            node = inner
        if node is None:
            return ""
        if node.type == "template_type":
            return self._instance(node, names)
        if node.type == "qualified_identifier":
            scope, name = node.child_by_field_name("scope"), node.child_by_field_name("name")
            if text_of(scope) == "std" and name is not None and name.type == "template_type":
                return self._instance(name, names)
            of_class = self.members(self.type_at(scope, names))
            kind = of_class.type_of(text_of(name)) if of_class is not None else ""
            if kind:
                return kind
        return self.type_named(bare_type(text_of(node)), names)

    def _instance(self, node: Node, names: Names) -> str:
        """A class template with its arguments, or the type that `std::conditional_t` chooses."""
        name = text_of(node.child_by_field_name("name"))
        if name not in self.unit.classes and name != "conditional_t":
            return self.type_named(bare_type(text_of(node)), names)
        written = self.template(node.child_by_field_name("arguments"), names)
        if name == "conditional_t" and len(written) == 3 and written[0] in ("true", "false"):
            return written[1 if written[0] == "true" else 2]
        return f"{name}<{', '.join(written)}>"

    def _template_type(self, node: Node, names: Names) -> Value:
        same = self._same(node, names)
        return same if same is not None else TypeName(self._instance(node, names))

    def _same(self, node: Node, names: Names) -> Value | None:
        """What `is_same_v` says; None for another template."""
        if text_of(node.child_by_field_name("name")) != "is_same_v":
            return None
        written = self.template(node.child_by_field_name("arguments"), names)
        return plain(len(written) == 2 and written[0] == written[1])

    def _dependent_type(self, node: Node, names: Names) -> Value:
        return TypeName(self.type_at(node, names))

    def _qualified_identifier(self, node: Node, names: Names) -> Value:
        scope, name = node.child_by_field_name("scope"), node.child_by_field_name("name")
        if scope is not None and scope.type == "decltype" and text_of(name) == "value":
            held = self.either(scope.named_child(0), names)
            if isinstance(held, Number):
                return held
        if scope is not None and name is not None and text_of(scope) not in _SCOPES:
            of_class = self.members(self.type_at(scope, names))
            member = text_of(name)
            if of_class is not None and (value := of_class.values.get(member)) is not None:
                return value
            if of_class is not None and (kind := of_class.type_of(member)):
                return TypeName(kind)
        if name is not None and name.type == "template_type":
            return self._template_type(name, names)
        return super()._qualified_identifier(node, names)

    def _template_function(self, node: Node, names: Names) -> Value:
        same = self._same(node, names)
        if same is not None:
            return same
        return super()._template_function(node, names)

    def _compound_literal_expression(self, node: Node, names: Names) -> Value:
        """Braces after a type; a tag is the number or the empty instance of a class template that it stands for."""
        kind = node.child_by_field_name("type")
        tag = self.tag(kind, names) if kind is not None else None
        if tag is not None:
            return tag
        code = self.unit.classes.get(text_of(kind.child_by_field_name("name"))) if kind is not None else None
        if (
            code is None
            or kind is None
            or kind.type != "template_type"
            or any(map(is_field, code.body.named_children))
        ):
            return super()._compound_literal_expression(node, names)
        return Record(self._instance(kind, names))

    def members(self, kind: str) -> Names | None:
        """The constants and types of a class, or of a class template's instance; None for another type."""
        name, _, rest = kind.partition("<")
        special = self.unit.classes.get("".join(kind.split()))
        code = special or self.unit.classes.get(name.rpartition("::")[2].strip())
        if code is None:
            return None
        if kind not in self._members:
            self._members[kind] = names = Names(Names())
            args = at_commas(rest.rpartition(">")[0]) if special is None else ()
            self._take(code, args, names)
            for child in code.body.named_children:
                self._keep(child, names)
        return self._members[kind]

    def _take(self, code: ClassCode, args: tuple[str, ...], names: Names) -> None:
        """Give a template's parameters what it is made with."""
        for at, parameter in enumerate(code.template):
            default = code.defaults[at] if at < len(code.defaults) else None
            if at < len(args):
                self.bind(parameter, args[at], names)
            elif default is not None:
                value = self.either(default, names)
                if isinstance(value, Number):
                    names.values[parameter] = value
                else:
                    names.types[parameter] = self.type_at(default, names)

    def tag(self, node: Node, names: Names) -> Number | None:
        """The number that a tag of the library is, as `std::integral_constant<int, 4>`; None for another type."""
        while node.type == "qualified_identifier" and (inner := node.child_by_field_name("name")) is not None:
            node = inner
        if text_of(node) in ("true_type", "false_type"):
            return plain(text_of(node) == "true_type")
        if text_of(node.child_by_field_name("name")) not in _TAGS:
            return None
        written = self.template(node.child_by_field_name("arguments"), names)
        return constant(written[-1]) if written else None

    def bind(self, parameter: str, text: str, names: Names) -> None:
        """Give a template's parameter an argument: a number, a truth value, a kernel or a type."""
        number = constant(text)
        if number is not None:
            names.values[parameter] = number
        else:
            names.types[parameter] = text
            if text in self.unit.kernels:
                names.values[parameter] = KernelName(text)

    def _keep(self, node: Node, names: Names) -> None:
        if node.type == "alias_declaration":
            kind = self.type_at(node.child_by_field_name("type"), names)
            names.types[text_of(node.child_by_field_name("name"))] = kind
            return
        default = node.child_by_field_name("default_value") if node.type == "field_declaration" else None
        if default is not None and any(text_of(c) == "static" for c in node.named_children):
            name, _ = declared_name(node.child_by_field_name("declarator"))
            kind = text_of(node.child_by_field_name("type"))
            try:
                names.values[name] = self.cast(kind, self.value(default, names), names)
            except NotFollowed:
                return
        for inner in inside(node) if node.type == "field_declaration" and default is None else ():
            value = inner.child_by_field_name("value") if inner.type == "enumerator" else None
            if value is not None:
                names.values[text_of(inner.child_by_field_name("name"))] = self.either(value, names)
