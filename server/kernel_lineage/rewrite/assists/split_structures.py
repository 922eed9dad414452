"""Variables of a structure of numbers, written as a variable for each of its members.

`mine = other;` is `mine_v = other_v; mine_i = other_i;` for `struct Best { float v; int i; }`, and a shared array of
such pairs is two arrays. Nothing else changes: this is no rewrite by itself, but what other rewrites
start from, which hand over numbers. What lies in global memory keeps its layout.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

from tree_sitter import Node

from kernel_lineage.code.types import DTYPES, dtype_bytes
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import Variable, bare, contains, field_of, operator_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.words import WORD
from kernel_lineage.rewrite.assists.hidden_reads import macros_of
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    dedented,
    descendants,
    either_way,
    indent_at,
    indent_unit,
    newline_of,
    replace_between,
    syntax_of,
    taken_name,
)
from kernel_lineage.rewrite.assists.model import Refusal, attempt
from kernel_lineage.rewrite.candidate import Edit

_PLAIN = {"primitive_type", "sized_type_specifier"}
_INDEX = {
    "subscript_argument_list",
    "identifier",
    "number_literal",
    "binary_expression",
    "parenthesized_expression",
    "field_expression",
    "field_identifier",
}
"""What an index may be made of that is written twice."""
_BUILT_IN = re.compile(r"(?:threadIdx|blockIdx|blockDim|gridDim)\.[xyz]")


@dataclass(frozen=True, slots=True)
class NumberStructure:
    """A structure that is nothing but numbers."""

    name: str
    members: tuple[tuple[str, str], ...]
    """Type and name."""

    @property
    def bytes(self) -> int:
        """Its size, where nothing asks for another alignment than its members'; 0 where a member's is not known."""
        sizes = [dtype_bytes(DTYPES[kind]) if kind in DTYPES else 0 for kind, _ in self.members]
        if not all(sizes):
            return 0
        end = 0
        for size in sizes:
            end = -(-end // size) * size + size
        return -(-end // max(sizes)) * max(sizes)


def split_structures(kernel: Kernel) -> list[Edit]:
    """The edits that split the variables of the first structure that can be split; none where there is none."""
    syntax = syntax_of(kernel)
    for kind in dict.fromkeys(v.type for v in syntax.entry.variables):
        structure = structure_of(kernel, kind)
        if structure is None:
            continue
        edits = attempt(partial(_split, kernel, syntax, structure))
        if not isinstance(edits, Refusal):
            return edits
    return []


def _split(kernel: Kernel, syntax: CudaSyntax, structure: NumberStructure) -> list[Edit]:
    return _Splitting(kernel, syntax, structure).edits()


def structure_of(kernel: Kernel, name: str) -> NumberStructure | None:
    """A structure of the kernel's file that is nothing but numbers."""
    root = kernel.source.root if kernel.source is not None else None
    listed = [
        n
        for n in (descendants(root) if root is not None else ())
        if n.type == "struct_specifier"
        and name in (text_of(n.child_by_field_name("name")), *other_names(n))
        and n.child_by_field_name("body") is not None
    ]
    body = listed[0].child_by_field_name("body") if len(listed) == 1 else None
    if body is None or any(c.type == "base_class_clause" for c in listed[0].children):
        return None
    members: list[tuple[str, str]] = []
    for field in body.named_children:
        if field.type == "comment":
            continue
        kind, names = field.child_by_field_name("type"), field.children_by_field_name("declarator")
        plain = field.type == "field_declaration" and kind is not None and kind.type in _PLAIN
        if (
            not plain
            or any(n.type != "field_identifier" for n in names)
            or len(field.children) > 2 * len(names) + 1
        ):
            return None
        members += [(text_of(kind), text_of(n)) for n in names]
    return NumberStructure(name, tuple(members)) if len(members) > 1 else None


def other_names(structure: Node) -> list[str]:
    """What `typedef struct { … } Pair;` calls a structure."""
    around = structure.parent
    typedef = around is not None and around.type == "type_definition"
    return [text_of(d) for d in around.children_by_field_name("declarator")] if around and typedef else []


class _Splitting:
    """The edits for one structure; raises `Refusal` where a variable is used in another way."""

    def __init__(self, kernel: Kernel, syntax: CudaSyntax, structure: NumberStructure) -> None:
        self._kernel, self._syntax, self._structure = kernel, syntax, structure
        self._data = data_of(kernel)
        self._variables = {v.name: v for v in syntax.entry.variables if v.type == structure.name}
        names = [v.name for v in syntax.entry.variables] + [p.name for p in kernel.parameters]
        if any(names.count(n) != 1 for n in self._variables):
            raise Refusal("a variable of a structure has the name of another one")
        taken = identifiers_in(syntax.entry.node)
        taken |= {w for _, _, text in macros_of(kernel) for w in WORD.findall(text)}
        if set(self._variables) & {w for _, _, text in macros_of(kernel) for w in re.findall(r"\w+", text)}:
            raise Refusal("a macro uses a variable of a structure")
        self._named: dict[tuple[str, str], str] = {}
        for name, variable in self._variables.items():
            self._check(variable)
            for _, member in structure.members:
                new = taken_name(f"{name}_{member}", taken)
                self._named[name, member] = new

    def edits(self) -> list[Edit]:
        """The edits of the kernel, each in a statement of its own or in the place of one member."""
        edits: list[Edit] = []
        done: list[Node] = []
        for variable in self._variables.values():
            edits.append(self._replaced(variable.node, self._declared(variable)))
            done.append(variable.node)
        for node in self._syntax.entry.of("assignment_expression"):
            statement = node.parent
            if not self._is_whole(field_of(node, "left")) or any(contains(d, node) for d in done):
                continue
            if statement is None or statement.type != "expression_statement" or operator_of(node) != "=":
                raise Refusal("a structure is assigned within an expression")
            lines = self._assigned(node.child_by_field_name("left"), node.child_by_field_name("right"))
            edits.append(self._replaced(statement, lines))
            done.append(statement)
        for node in descendants(self._syntax.entry.node):
            if node.type == "field_expression" and not any(contains(d, node) for d in done):
                new = self._member(node)
                if new is not None:
                    edits.append(replace_node(node, new))
        left = [
            n
            for n in descendants(self._syntax.entry.node)
            if n.type == "identifier"
            and text_of(n) in self._variables
            and not any(e.span.start <= n.start_byte and n.end_byte <= e.span.end for e in edits)
        ]
        if left:
            raise Refusal(f"`{text_of(left[0].parent)}` uses a whole structure")
        return edits

    def _check(self, variable: Variable) -> None:
        alone = len(variable.node.children_by_field_name("declarator")) == 1
        text = text_of(variable.node).split("=")[0]
        other = re.search(r"\b(?:extern|static|volatile|constexpr|alignas|__align__)\b|&", text)
        in_block = variable.node.parent is not None and variable.node.parent.type == "compound_statement"
        if variable.pointer or not alone or other or not in_block or len(variable.sizes) > 1:
            raise Refusal(f"`{variable.name}` is declared in a way that is not split")

    def _is_whole(self, node: Node | None) -> bool:
        """Whether it is a variable of the structure, or an element of an array of such."""
        node = bare(node)
        if node is not None and node.type == "subscript_expression":
            node = field_of(node, "argument")
            return node is not None and node.type == "identifier" and self._sizes(node) == 1
        return node is not None and node.type == "identifier" and self._sizes(node) == 0

    def _sizes(self, node: Node) -> int:
        variable = self._variables.get(text_of(node))
        return len(variable.sizes) if variable is not None else -1

    def _declared(self, variable: Variable) -> list[str]:
        before = [
            text_of(c)
            for c in variable.node.children
            if c.type in ("type_qualifier", "storage_class_specifier")
        ]
        before = [w for w in before if w != "const"] + ["__shared__"] * (
            variable.shared and "__shared__" not in before
        )
        head = " ".join(dict.fromkeys(before)) + (" " if before else "")
        sizes = "".join(f"[{text_of(s)}]" for s in variable.sizes)
        members = [(kind, self._named[variable.name, m]) for kind, m in self._structure.members]
        value = bare(variable.value)
        if value is None:
            return [f"{head}{kind} {name}{sizes};" for kind, name in members]
        if variable.sizes:
            raise Refusal(f"the array `{variable.name}` is given values where it is declared")
        if value.type == "initializer_list":
            listed = [n for n in value.named_children if n.type != "comment"]
            if len(listed) != len(members) or any(n.type.endswith("initializer_pair") for n in listed):
                raise Refusal(f"`{variable.name}` is not given a value for each member")
            return [
                f"{kind} {name} = {self._text(n)};" for (kind, name), n in zip(members, listed, strict=True)
            ]
        if value.type != "conditional_expression":
            parts = self._parts(value)
            return [f"{kind} {name} = {part};" for (kind, name), part in zip(members, parts, strict=True)]
        return [
            *(f"{kind} {name};" for kind, name in members),
            *self._member_assignments([n for _, n in members], value),
        ]

    def _assigned(self, left: Node | None, right: Node | None) -> list[str]:
        value = bare(right)
        if left is None or value is None:
            raise Refusal("a structure is assigned in a way that is not split")
        return self._member_assignments(self._parts(left), value)

    def _member_assignments(self, targets: list[str], value: Node) -> list[str]:
        """The statements that give members the members of a value; none where these are the same."""
        if value.type == "conditional_expression":
            ways = [bare(value.child_by_field_name(f)) for f in ("consequence", "alternative")]
            then, other = (self._member_assignments(targets, way) if way is not None else [] for way in ways)
            test = self._text(value.child_by_field_name("condition"))
            return either_way(test, then, other, indent_unit(self._kernel))
        parts = self._parts(value)
        return [] if parts == targets else [f"{t} = {p};" for t, p in zip(targets, parts, strict=True)]

    def _parts(self, node: Node) -> list[str]:
        """The members of a variable, of an element of a shared array, or of an element of other memory."""
        inner = bare(node)
        if inner is None or (not self._is_whole(inner) and inner.type != "subscript_expression"):
            raise Refusal(f"`{text_of(node)}` is no variable of {self._structure.name}")
        members = [m for _, m in self._structure.members]
        if inner.type == "identifier":
            return [self._named[text_of(inner), m] for m in members]
        place, index = text_of(field_of(inner, "argument")), inner.child_by_field_name("indices")
        if index is None or not self._is_steady(index):
            raise Refusal(f"the index of `{text_of(inner)}` would be worked out twice")
        if self._is_whole(inner):
            return [f"{self._named[place, m]}{text_of(index)}" for m in members]
        parameter = self._kernel.parameter(place)
        words = re.findall(r"\w+|\*", parameter.type) if parameter is not None else []
        if words.count("*") != 1 or self._structure.name not in words or "volatile" in words:
            raise Refusal(f"`{text_of(inner)}` is not known to be a {self._structure.name}")
        return [f"{text_of(inner)}.{m}" for m in members]

    def _is_steady(self, index: Node) -> bool:
        nodes = list(descendants(index))
        fields = [n for n in nodes if n.type == "field_expression"]
        return all(n.type in _INDEX for n in nodes if n.is_named) and all(
            _BUILT_IN.fullmatch(text_of(f)) for f in fields
        )

    def _member(self, node: Node) -> str | None:
        """What stands for a member; None where it is none of this structure's variables."""
        argument, field = field_of(node, "argument"), node.child_by_field_name("field")
        if not self._is_whole(argument) or argument is None or field is None or "->" in text_of(node):
            return None
        at = argument if argument.type == "identifier" else field_of(argument, "argument")
        name = self._named.get((text_of(at), text_of(field)))
        if name is None:
            raise Refusal(f"`{text_of(node)}` is no member of {self._structure.name}")
        if argument.type == "identifier":
            return name
        index = argument.child_by_field_name("indices")
        return f"{name}{self._text(index)}"

    def _text(self, node: Node | None) -> str:
        """The text of an expression, its members replaced."""
        if node is None:
            raise Refusal("a part of an expression is missing")
        if any(n.type == "comment" for n in descendants(node)):
            raise Refusal("a comment stands within an expression of structures")
        changes = [
            (n, new)
            for n in descendants(node)
            if n.type == "field_expression" and (new := self._member(n)) is not None
        ]
        outer = [(n, t) for n, t in changes if not any(o != n and contains(o, n) for o, _ in changes)]
        rest = [n for n in descendants(node) if n.type == "identifier" and text_of(n) in self._variables]
        if any(not any(contains(o, n) for o, _ in outer) for n in rest):
            raise Refusal(f"`{text_of(node)}` uses a whole structure")
        return " ".join(line.strip() for line in dedented(self._data, [node], outer))

    def _replaced(self, statement: Node, lines: list[str]) -> Edit:
        margin, newline = indent_at(self._data, statement.start_byte), newline_of(self._data)
        if statement.parent is None or statement.parent.type != "compound_statement":
            lines = [" ".join(["{", *lines, "}"])]
        text = newline.join([lines[0], *(margin + line for line in lines[1:])]) if lines else ""
        return replace_between(self._kernel, statement.start_byte, statement.end_byte, text)
