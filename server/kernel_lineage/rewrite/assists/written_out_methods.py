"""Calls of functions that structures define, written as the expression that these return.

`y.at(i, j)` is `y.p[(size_t)i * y.cols + j]` where `at` returns `p[(size_t)i * cols + j]`. Nothing else changes: this
is no rewrite by itself, but what other rewrites start from, which look at a kernel's own expressions.
"""

from __future__ import annotations

import re
from functools import partial

from tree_sitter import Node

from kernel_lineage.code.cuda.names import names_of
from kernel_lineage.code.cuda.structs import Struct
from kernel_lineage.kernels.cuda_forms import contains, field_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.cuda_text import at_commas
from kernel_lineage.kernels.cuda_text import text_of as layers
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.words import WORD, with_meanings
from kernel_lineage.rewrite.assists.expression_types import type_of
from kernel_lineage.rewrite.assists.hidden_reads import macros_of
from kernel_lineage.rewrite.assists.layout import descendants, source_of, syntax_of
from kernel_lineage.rewrite.assists.loop_changes import is_of_the_language
from kernel_lineage.rewrite.assists.method_expressions import ACTS, Method, Written
from kernel_lineage.rewrite.assists.model import Refusal, attempt
from kernel_lineage.rewrite.assists.template_types import plain_type
from kernel_lineage.rewrite.assists.written_out_places import scope_of

_TYPE = re.compile(r"(?:(?:\w+::)*)(\w+)\s*(?:<(.*)>)?", re.DOTALL)
_QUALIFIERS = re.compile(r"\b(?:const|struct|class|typename|__restrict__|__grid_constant__)\b|&")
_CHANGES = {"assignment_expression", "update_expression", "lambda_expression", "comma_expression", "comment"}


def written_out_methods(kernel: Kernel) -> list[Edit]:
    """The edits that write calls of structures' functions as expressions; none where there is none.

    What stands in the arguments of another such call, and in what it returns, is left for another time.
    """
    if kernel.source is None:
        return []
    calls, edits, done = _Calls(kernel), list[Edit](), list[Node]()
    for node in sorted(descendants(calls.syntax.entry.node), key=lambda n: (n.end_byte, -n.start_byte)):
        if node.type not in ("call_expression", "subscript_expression") or any(
            contains(node, d) for d in done
        ):
            continue
        text = attempt(partial(calls.written, node))
        if isinstance(text, str):
            done.append(node)
            edits.append(replace_node(node, text))
    return edits


class _Calls:
    """The calls of a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel, self.syntax = kernel, syntax_of(kernel)
        self._names = names_of(source_of(kernel))
        self._declared = _declared(kernel, self.syntax)
        self._macros = {name: set(WORD.findall(text)) - own for name, own, text in macros_of(kernel)}

    def written(self, node: Node) -> str:
        """What stands for a call. Refused where it is none of a structure's function, or does more."""
        receiver, name, listed = _parts(node)
        if receiver is None:
            raise Refusal(f"`{text_of(node)}` is no call of a structure's function")
        kind = self._kind(receiver)
        stars, kind = kind.count("*"), kind.replace("*", "").strip()
        arrow = receiver.parent is not None and any(c.type == "->" for c in receiver.parent.children)
        if not kind or stars != arrow:
            raise Refusal(f"the type of `{text_of(receiver)}` is not known")
        struct, types = self._struct(kind)
        plain = partial(plain_type, self._kernel)
        method = Method(self._names, struct, name, types, kind, plain)
        before = text_of(receiver) + ("->" if arrow else ".")
        value, outside = method.expression(before, [self._argument(a) for a in listed])
        self._check_names(struct, outside)
        return value.within(None if _is_assigned(node) else node.parent)

    def _argument(self, node: Node) -> Written:
        for inner in descendants(node):
            function = (
                text_of(inner.child_by_field_name("function")) if inner.type == "call_expression" else ""
            )
            if inner.type in _CHANGES or (function and not is_of_the_language(function)):
                raise Refusal(f"`{text_of(node)}` is worked out first")
            if ACTS.match(function):
                raise Refusal(f"`{function}` is called once")
        kind = type_of(node, self._kind, partial(plain_type, self._kernel))
        return Written(" ".join(text_of(node).split()), kind, node)

    def _kind(self, node: Node) -> str:
        """The type that a name or a member is declared with, `*` for a pointer; "" where that is not known."""
        if node.type == "identifier":
            return self._declared.get(text_of(node), "")
        inner = field_of(node, "argument") if node.type == "field_expression" else None
        outer = self._kind(inner).replace("*", "").strip() if inner is not None else ""
        if not outer:
            return ""
        made = attempt(partial(self._struct, outer))
        if isinstance(made, Refusal):
            return ""
        struct, types = made
        field = text_of(node.child_by_field_name("field"))
        member = next((m for m in struct.members if m.name == field), None)
        written = member.type + "*" * len(member.sizes) if member is not None else ""
        return with_meanings(written, types)

    def _struct(self, written: str) -> tuple[Struct, dict[str, str]]:
        """A structure of the file, and what names of types stand for in it."""
        base = self._names.base(written, {})
        match = _TYPE.fullmatch(base)
        struct = self._names.struct(match[1]) if match is not None else None
        if match is None or struct is None:
            raise Refusal(f"`{written}` is no structure of this file")
        if len(_definitions(self._kernel, struct.name)) != 1:
            raise Refusal(f"`{struct.name}` is defined several times")
        actuals = at_commas(match[2] or "")
        if len(actuals) != len(struct.parameters):
            raise Refusal(f"not all of the template's arguments of `{written}` are told")
        types = {name: a for (_, name, _), a in zip(struct.parameters, actuals, strict=True)}
        for name, meant in struct.aliases.items():
            types[name] = with_meanings(meant, types)
        return struct, types

    def _check_names(self, struct: Struct, outside: set[str]) -> None:
        """Refuse names of a function that mean something else in the kernel."""
        own = {*self._declared, *(p.name for p in self._kernel.template_parameters)}
        waiting, seen = [*outside], set[str]()
        while waiting:
            name = waiting.pop()
            if name in own or (name not in outside and name in struct.names):
                raise Refusal(f"`{name}` means something else in {self._kernel.name} than in {struct.name}")
            waiting += [n for n in self._macros.get(name, ()) if n not in seen]
            seen |= {name, *self._macros.get(name, ())}
        (place,) = _definitions(self._kernel, struct.name)
        root = source_of(self._kernel).root
        node = root.descendant_for_byte_range(place, place) if root is not None else None
        scope = scope_of(node) if node is not None else -1
        if outside and scope not in (-1, scope_of(self.syntax.entry.node)):
            raise Refusal(f"{struct.name} is in another namespace than {self._kernel.name}")


def _parts(node: Node) -> tuple[Node | None, str, list[Node]]:
    """The structure, the function's name and the arguments of `x.f(i)`, `x(i)` or `x[i]`; no structure for others."""
    listed = node.child_by_field_name("arguments") or node.child_by_field_name("indices")
    arguments = [n for n in listed.named_children if n.type != "comment"] if listed is not None else []
    if node.type == "subscript_expression":
        receiver, name = node.child_by_field_name("argument"), "operator[]"
    else:
        function = node.child_by_field_name("function")
        receiver, name = function, "operator()"
        if function is not None and function.type == "field_expression":
            field = function.child_by_field_name("field")
            if field is not None and field.type == "field_identifier":
                receiver, name = function.child_by_field_name("argument"), text_of(field)
    here = receiver
    while here is not None and here.type == "field_expression":
        here = here.child_by_field_name("argument")
    return (receiver if here is not None and here.type == "identifier" else None), name, arguments


def _declared(kernel: Kernel, syntax: CudaSyntax) -> dict[str, str]:
    """Names of a kernel → their types without qualifiers, `*` for a pointer; "" for a name of several types."""
    declared: dict[str, str] = {}
    listed = [(p.name, p.type) for p in kernel.parameters if "[" not in p.type]
    listed += [(v.name, "" if v.sizes else v.type + "*" * v.pointer) for v in syntax.entry.variables]
    for name, written in listed:
        text = " ".join(_QUALIFIERS.sub(" ", written).split()).replace(" *", "*")
        declared[name] = text if declared.get(name, text) == text else ""
    return declared


def _definitions(kernel: Kernel, name: str) -> list[int]:
    """Where a structure of that name is defined."""
    code = layers(source_of(kernel).data).code
    head = rb"\b(?:struct|class|union)\b[^;{}()=]*?\b" + name.encode() + rb"\b(?:\s*<[^;{}]*>)?[^;{}()=]*\{"
    behind = rb"\}\s*" + name.encode() + rb"\s*;"
    return [m.start() for pattern in (head, behind) for m in re.finditer(pattern, code)]


def _is_assigned(node: Node) -> bool:
    parent = node.parent
    assigns = parent is not None and parent.type == "assignment_expression"
    return assigns and parent is not None and parent.child_by_field_name("right") == node
