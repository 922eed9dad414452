"""Which values all lanes of a warp have alike, and which places of a kernel they come to together.

Blocks are as wide as whole warps, so that what tells lanes apart is `threadIdx.x` and what is worked out from it. What
lies at one address is one value for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import (
    above,
    arguments_of,
    bare,
    changed_by,
    contains,
    declarators,
    field_of,
    is_function,
    operator_of,
    text_of,
)
from kernel_lineage.kernels.cuda_syntax import CudaSyntax, Unit
from kernel_lineage.kernels.cuda_tests import conditions
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.words import WORD
from kernel_lineage.rewrite.assists.hidden_reads import macros_of
from kernel_lineage.rewrite.assists.layout import descendants
from kernel_lineage.rewrite.assists.loop_changes import is_of_the_language
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.template_types import type_parameters
from kernel_lineage.rewrite.assists.written import dense

_LANE = re.compile(r"threadIdx(?!\s*\.\s*[yz])|\basm\b|laneid|__activemask|clock")
_TELLS_APART = re.compile(
    r"__shfl|__ballot|__any|__all|__reduce|__match|__activemask|__lane|clock|atomic|__sync|cg::|cooperative_groups::"
)
"""Functions of the language whose value may differ from lane to lane, or that do more than work out a value."""
_LOOPS = ("for_statement", "while_statement", "do_statement")
_LEAVES = ("return_statement", "break_statement", "continue_statement", "goto_statement")


class WarpValues:
    """The values of one function of a kernel; `alike` says of its parameters which are alike, all of a kernel's are."""

    def __init__(
        self, kernel: Kernel, syntax: CudaSyntax, unit: Unit, alike: Mapping[str, bool] | None = None
    ) -> None:
        self._kernel, self._syntax, self._unit, self._alike = kernel, syntax, unit, alike or {}
        self._within: tuple[Unit, ...] = (unit,)
        """The functions that call each other down to this one."""
        self._body = unit.node.child_by_field_name("body") or unit.node
        self._waiting: set[tuple[str, int]] = set()
        self._macros = {name: text for name, _, text in macros_of(kernel)}

    def is_same(self, node: Node | None) -> bool:
        """Whether an expression has one value for all lanes of a warp that come to it together."""
        if node is None:
            return True
        match node.type:
            case "field_expression" if _LANE.match(text_of(node)):
                return False
            case "assignment_expression" | "update_expression" | "lambda_expression":
                return False
            case "identifier":
                return is_function(node) or self.name_is_same(text_of(node), node)
            case "call_expression":
                unit = self._called(node)
                if unit is not None:
                    return self._gives_the_same(unit, node)
                if not self._is_plain(node):
                    return False
        return all(map(self.is_same, node.named_children))

    def name_is_same(self, name: str, at: Node) -> bool:
        """Whether what a name stands for at a place is alike for all lanes."""
        if name in self._macros:
            return self._macro_is_same(name, at)
        if name == "threadIdx":
            return text_of(at.parent).replace(" ", "") in ("threadIdx.y", "threadIdx.z")
        key = (name, at.start_byte)
        if key in self._waiting:
            # A value that is worked out from itself is alike as long as all that is put into it is.
            return True
        self._waiting.add(key)
        try:
            return self._before(name, at)
        finally:
            self._waiting.discard(key)

    def _macro_is_same(self, name: str, at: Node) -> bool:
        waiting, seen = [name], set[str]()
        while waiting:
            one = waiting.pop()
            seen.add(one)
            words = set(WORD.findall(self._macros[one]))
            called = set(re.findall(r"(\w+)\s*\(", self._macros[one])) - self._macros.keys()
            if _LANE.search(self._macros[one]) or not all(map(is_of_the_language, called)):
                return False
            own = {v.name for v in self._unit.variables} | set(self._unit.parameters)
            if not all(self.name_is_same(w, at) for w in words & own):
                return False
            waiting += [w for w in words if w in self._macros and w not in seen]
        return True

    def _before(self, name: str, at: Node) -> bool:
        """Whether a name is alike before a node, by the statements in front of it and the loops around it."""
        node = at
        while node.parent is not None and node != self._body:
            parent = node.parent
            if parent.type in _LOOPS:
                changes = list(_changes_in(parent, name))
                if changes and not self._all_same(parent, changes):
                    return False
            if parent.type == "compound_statement" or parent.type == "for_statement":
                for statement in reversed(
                    [c for c in parent.named_children if c.end_byte <= node.start_byte]
                ):
                    decided = self._through(statement, name)
                    if decided is not None:
                        return decided
            node = parent
        variable = next((v for v in self._unit.variables if v.name == name), None)
        if variable is not None:
            return variable.shared or not contains(self._unit.node, variable.node)
        return self._alike.get(name, True)

    def _through(self, statement: Node, name: str) -> bool | None:
        """What a statement leaves in a name: alike or not; None where it leaves the name alone."""
        if statement.type == "declaration":
            for declared, value, sizes, _ in declarators(statement):
                if declared == name:
                    shared = any(v.shared for v in self._unit.variables if v.node == statement)
                    changed = bool(sizes) and not shared and bool(list(_elements_in(self._body, name)))
                    return not changed and not self._is_handed_out(name) and self.is_same(value)
            return None
        changes = list(_changes_in(statement, name))
        if not changes:
            return None
        whole = statement.named_children[0] if statement.type == "expression_statement" else None
        if whole is not None and whole.type == "assignment_expression" and operator_of(whole) == "=":
            return (
                self.is_same(field_of(whole, "right")) if text_of(field_of(whole, "left")) == name else False
            )
        return self._all_same(statement, changes) and self.name_is_same(name, statement)

    def _all_same(self, outer: Node, changes: list[Node]) -> bool:
        """Whether all lanes make such changes within a statement, and put the same into them."""
        for leaving in (n for n in descendants(outer) if n.type in _LEAVES):
            if not all(self._head_is_same(one) for one in above(leaving) if contains(outer, one)):
                return False
        return all(
            (change.type == "update_expression" or self.is_same(field_of(change, "right")))
            and all(self._head_is_same(one) for one in above(change) if contains(outer, one))
            for change in changes
        )

    def _is_handed_out(self, name: str) -> bool:
        """Whether the address of a variable is taken, or it is bound to a reference or handed to one."""
        plain = {
            u.name
            for u in self._syntax.units[1:]
            if not any(d.type == "reference_declarator" for d in descendants(u.node))
        }
        for node in descendants(self._body):
            if node.type == "pointer_expression" and changed_by(node, addressed=True) == name:
                return True
            if node.type == "reference_declarator" and text_of(field_of(node.parent, "value")) == name:
                return True
            called = text_of(node.child_by_field_name("function")) if node.type == "call_expression" else ""
            plainly = called in plain or is_of_the_language(called) or _is_a_type(called)
            if called and not plainly and name in [text_of(a) for a in arguments_of(node)]:
                return True
        return False

    def _head_is_same(self, node: Node) -> bool:
        """Whether all lanes go the same way at a statement."""
        if node.type in ("if_statement", *_LOOPS):
            # The test of a loop is compared as a whole; what it assigns is a change like others.
            return self.is_same(node.child_by_field_name("condition"))
        return node.type not in ("conditional_expression", "switch_statement", "for_range_loop")

    def _called(self, call: Node) -> Unit | None:
        """The one function of the file that a call may mean."""
        name = text_of(call.child_by_field_name("function")).partition("<")[0]
        listed = [u for u in self._syntax.units[1:] if u.name == name]
        return listed[0] if len(listed) == 1 and all(u is not listed[0] for u in self._within) else None

    def _is_plain(self, call: Node) -> bool:
        """Whether a function that the file does not define gives the same for the same arguments."""
        name = text_of(call.child_by_field_name("function"))
        if is_of_the_language(name):
            return _TELLS_APART.match(name) is None
        return name in type_parameters(self._kernel) or name in self._macros or _is_a_type(name)

    def _gives_the_same(self, unit: Unit, call: Node) -> bool:
        """Whether a function of the file returns the same to all lanes."""
        alike = dict(zip(unit.parameters, map(self.is_same, arguments_of(call)), strict=False))
        inner = WarpValues(self._kernel, self._syntax, unit, alike)
        inner._within = (*self._within, unit)
        returns = [n for n in descendants(unit.node) if n.type == "return_statement"]
        return all(
            inner.is_same(r) and all(inner._head_is_same(a) for a in above(r) if contains(unit.node, a))
            for r in returns
        )

    def needs_together(self, node: Node, columns: Collection[str]) -> list[str]:
        """What has to be a multiple of a warp for all lanes to come to a statement together, as code.

        `columns` are the names that number the lanes, as they may be compared with a bound. Refused where some lanes
        may be elsewhere for another reason.
        """
        needs: list[str] = []
        for outer in above(node):
            if outer == self._body:
                break
            if outer.type == "if_statement":
                then = outer.child_by_field_name("consequence")
                needs += self._needs(outer, columns, holds=then is not None and contains(then, node))
            elif outer.type in _LOOPS:
                if not self._loop_is_same(outer):
                    raise Refusal(f"lanes may leave the loop in line {outer.start_point.row + 1} one by one")
            elif outer.type not in ("compound_statement", "else_clause"):
                raise Refusal(f"lanes may go different ways in line {outer.start_point.row + 1}")
        for leaving in (n for n in descendants(self._body) if n.type in _LEAVES):
            loop = next((a for a in above(leaving) if a.type in _LOOPS), None)
            earlier = leaving.start_byte < node.start_byte and leaving.type in (
                "return_statement",
                "goto_statement",
            )
            around = [a for a in above(leaving) if a.type in _LOOPS and contains(a, node) and a != node]
            leaves = leaving.type in ("return_statement", "goto_statement") and bool(around)
            ends = leaving.type in ("break_statement", "continue_statement") and loop in around
            if not (earlier or leaves or ends) or contains(node, leaving):
                continue
            for outer in above(leaving):
                if outer == self._body:
                    break
                if outer.type == "if_statement" and not contains(outer, node):
                    then = outer.child_by_field_name("consequence")
                    needs += self._needs(outer, columns, holds=then is None or not contains(then, leaving))
                elif outer.type in _LOOPS and not self._loop_is_same(outer):
                    raise Refusal(f"line {leaving.start_point.row + 1} is left by one lane and not by others")
        return list(dict.fromkeys(needs))

    def _loop_is_same(self, loop: Node) -> bool:
        head = loop.child_by_field_name("initializer")
        values = (
            [v for _, v, *_ in declarators(head)] if head is not None and head.type == "declaration" else []
        )
        return all(map(self.is_same, values)) and self.is_same(loop.child_by_field_name("condition"))

    def _needs(self, statement: Node, columns: Collection[str], *, holds: bool) -> Iterator[str]:
        """What has to be a multiple of a warp for the lanes to go the same way at an `if`."""
        condition = statement.child_by_field_name("condition")
        if self.is_same(condition):
            return
        test = field_of(condition, "value") if condition is not None else None
        parts = conditions(test, holds=holds) if test is not None else []
        for part in parts:
            if self.is_same(part.node):
                continue
            below = part.below
            bound = below[1] if below is not None and dense(below[0]) in columns else None
            if bound is None or not self.is_same(bound):
                raise Refusal(f"lanes may go different ways at `{text_of(part.node)}`")
            yield text_of(bound)
        if not parts:
            raise Refusal(f"lanes may go different ways in line {statement.start_point.row + 1}")


_TYPES = re.compile(r"unsigned|size_t|half|__half2?|__nv_bfloat16|u?int\d+_t|float\d")


def _is_a_type(name: str) -> bool:
    return _TYPES.fullmatch(name) is not None


def _changes_in(part: Node, name: str) -> Iterator[Node]:
    """The nodes that give a variable another value, or hand out its address."""
    return (n for n in descendants(part) if changed_by(n) == name)


def _elements_in(part: Node | None, name: str) -> Iterator[Node]:
    """The nodes that give an element of an array another value."""
    for node in descendants(part) if part is not None else ():
        if node.type in ("assignment_expression", "update_expression"):
            target = bare(node.child_by_field_name("left") or node.child_by_field_name("argument"))
            if target is not None and target.type != "identifier" and text_of(target).startswith(name):
                yield node
