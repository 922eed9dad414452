"""Macros of host code, and the dispatch over types that PyTorch's are for."""

from __future__ import annotations

import re
from abc import abstractmethod
from contextlib import suppress
from functools import lru_cache

from tree_sitter import Node

from kernel_lineage.kernels.budget import beyond_budget
from kernel_lineage.kernels.cuda_forms import inside, operator_of, sign_of_two, text_of
from kernel_lineage.kernels.cuda_launches import bind
from kernel_lineage.kernels.cuda_text import Macro, blank_literals
from kernel_lineage.kernels.cuda_trees import parsed
from kernel_lineage.kernels.reading import refusal
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.following.checks import Checks, arguments_of
from kernel_lineage.workloads.following.dispatches import AS_PYTORCH, types_of_dispatch
from kernel_lineage.workloads.following.functions import bare_type
from kernel_lineage.workloads.following.names import Names
from kernel_lineage.workloads.following.types import bytes_of, dtype_of
from kernel_lineage.workloads.following.values import NotFollowed, Opaque, TypeName, Value

DEEPEST = 24
"""Calls within calls that are followed."""
_ROUND = {
    "scalar_t": "float",
    "index_t": "int",
    "scalar_t_0": "float",
    "input_t": "float",
    "opmath_t": "float",
}
"""Types that PyTorch's dispatch gives names to, where no tensor tells them."""
_LOOSER = {
    "&&": frozenset({"||"}),
    "&": frozenset({"||", "&&", "|", "^"}),
    "+": frozenset({"||", "&&", "|", "^", "&", "==", "!=", "<", ">", "<=", ">=", "<<", ">>"}),
}
_LOOSER |= {"-": _LOOSER["+"], "*": _LOOSER["+"] | {"+", "-"}}
"""A sign between two operands → the operators that bind less."""
_OF_ONE = ("unary_expression", "pointer_expression", "cast_expression")
_CASES_FIRST = re.compile(r"\s*(?:case\b|default\s*:)")


def _binds_as(node: Node, sign: str) -> bool:
    """Whether what is around a cast takes a part of `(a) + b` only, were that a sum: its operator binds more."""
    around = node.parent
    if around is None or around.type != "binary_expression":
        return around is not None and around.type in _OF_ONE
    is_left = around.child_by_field_name("left") == node
    equal = {sign} if is_left or sign != "-" else {"+"}  # `x + (a - b)` is `x + a - b`
    return operator_of(around) not in _LOOSER[sign] | equal


@lru_cache(maxsize=2048)
def snippet(body: str, around: str) -> Node | None:
    """The block of a macro's body in a text; None where it is none."""
    data = f"void f() {{ {body} ; }}".encode()
    if refusal(data) or beyond_budget(data, Language.CUDA):
        return None
    tree, _ = parsed(data, around=lambda: _masked(around))
    function = next((n for n in inside(tree.root_node) if n.type == "function_definition"), None)
    return function.child_by_field_name("body") if function is not None else None


@lru_cache(maxsize=4)
def _masked(text: str) -> bytes:
    return blank_literals(text.encode())


def _written_out(macro: Macro, listed: Node | None) -> str:
    """What stands in the place of a macro with some arguments."""
    names = macro.parameters or ()
    bound = {name: "" for name in names if not name.endswith("...")}
    bound |= bind(names, [text_of(n) for n in arguments_of(listed)])
    body = macro.body
    if bound:
        pattern = "|".join(map(re.escape, bound))
        body = re.sub(rf"(?<!#)#\s*({pattern})\b", lambda m: f'"{m[1]}"', body)
        body = re.sub(rf"\b({pattern})\b", lambda m: bound[m[1]], body)
    return re.sub(r"\s*##\s*", "", body)


class Macros(Checks):
    """Follows macros."""

    _depth = 0

    @abstractmethod
    def run(self, node: Node, names: Names) -> None:
        """Follow a statement."""

    @abstractmethod
    def body(self, body: Node | None, names: Names) -> Value:
        """What a function's body gives."""

    def in_place_of(self, macro: Macro, listed: Node | None, names: Names) -> Value:
        """What a macro gives for some arguments."""
        return self.expanded(_written_out(macro, listed), names)

    def with_cases(self, body: Node | None) -> Node | None:
        """A switch's body with the cases that macros write, as `CASE(8);` does; the same body where none does."""
        if body is None:
            return None
        parts: list[str] = []
        end = body.start_byte
        for child in body.named_children:
            call = child.named_child(0) if child.type == "expression_statement" else None
            callee = call.child_by_field_name("function") if call is not None else None
            macro = self.unit.macros.get(text_of(callee))
            if call is not None and macro is not None and _CASES_FIRST.match(macro.body):
                before = text_of(body)[end - body.start_byte : child.start_byte - body.start_byte]
                parts += [before, _written_out(macro, call.child_by_field_name("arguments")), ";"]
                end = child.end_byte
        if not parts:
            return body
        rest = text_of(body)[end - body.start_byte :]
        block = snippet(f"switch (0) {''.join(parts)}{rest}", self.unit.text)
        written = next((n for n in inside(block) if n.type == "switch_statement"), None) if block else None
        return written.child_by_field_name("body") if written is not None else body

    def _cast_expression(self, node: Node, names: Names) -> Value:
        """A cast; `(a) + (b)` reads like one of `+(b)` to the type `a`, and is a sum where `a` is no type."""
        text, sign = self._calculated(node, names), sign_of_two(node)
        if text is not None:
            if sign and _binds_as(node, sign):
                raise NotFollowed(f"`{text_of(node.parent)}`")
            with suppress(NotFollowed):
                return self.expanded(text, names)
            if sign:
                raise NotFollowed(f"`{text_of(node)}`")
        return super()._cast_expression(node, names)

    def _calculated(self, node: Node, names: Names) -> str | None:
        """What reads like a cast of a sign's operand to something that is no type, without its first brackets."""
        written, operand = (text_of(node.child_by_field_name(part)) for part in ("type", "value"))
        inner = node.child_by_field_name("value")
        kind = self.type_named(bare_type(written), names)
        is_type = "*" in written or bytes_of(kind) is not None or kind in self.unit.fields
        if is_type or inner is None or inner.type not in ("unary_expression", "pointer_expression"):
            return None
        after = inner.child_by_field_name("argument")
        rest = (
            self._calculated(after, names) if after is not None and after.type == "cast_expression" else None
        )
        return f"{written} {operand if rest is None else operand[0] + rest}"

    def expanded(self, body: str, names: Names) -> Value:
        block = snippet(body.strip().rstrip(";"), self.unit.text)
        if block is None or self._depth >= DEEPEST:
            raise NotFollowed(f"`{body}`")
        statements = [c for c in block.named_children if c.type != "comment"]
        if len(statements) == 1 and statements[0].type == "declaration" and "=" not in body:
            # `A * B` reads like the declaration of a pointer.
            block = snippet(f"({body.strip().rstrip(';')})", self.unit.text) or block
            statements = [c for c in block.named_children if c.type != "comment"]
        self._depth += 1
        try:
            if len(statements) == 1 and statements[0].type == "expression_statement":
                inside_it = statements[0].named_children
                return self.value(inside_it[0] if inside_it else None, names)
            for statement in statements:
                self.run(statement, names)
        finally:
            self._depth -= 1
        return Opaque("a macro that gives nothing")

    def dispatched(self, name: str, listed: Node | None, names: Names) -> Value:
        """A dispatch over types that PyTorch defines: what it is handed is followed with the type that a caller gives,
        else with the first usual one.
        """
        nodes = arguments_of(listed)
        types = types_of_dispatch(name, text_of(listed))
        taken = {dtype_of(one): one for one in types}
        kind = AS_PYTORCH.get(types[0], types[0]) if types else "float"
        for node in nodes:
            value = self.either(node, names) if node.type == "call_expression" else None
            # What no code tells of a tensor is float: the dispatch may take other types.
            if not isinstance(value, TypeName) or value.of is not None or bytes_of(value.name) is None:
                continue
            if not taken or dtype_of(value.name) in taken:
                kind = value.name
                break
        for node in nodes:
            for inner in inside(node):
                if inner.type != "lambda_expression":
                    continue
                around = Names(names)
                if "INDEX" in name:
                    around.types["index_t"] = kind
                else:
                    around.types.update({n: t if n != "scalar_t" else kind for n, t in _ROUND.items()})
                others = [one for dtype, one in taken.items() if dtype != dtype_of(kind)]
                beside = f"; it takes {', '.join(others)} as well" if others else ""
                self.sizes.say(f"the dispatch over types is followed with {kind}{beside}")
                return self.body(inner.child_by_field_name("body"), around)
        raise NotFollowed(f"`{name}`")
