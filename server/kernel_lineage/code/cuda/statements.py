"""Statements of CUDA C++, read symbolically along every path."""

from __future__ import annotations

from tree_sitter import Node

from kernel_gate.expr import terms
from kernel_gate.expr.terms import FALSE, TRUE, Term
from kernel_lineage.code.cuda.calls import evaluate_call
from kernel_lineage.code.cuda.declarations import declare, declare_misread, declared_names
from kernel_lineage.code.cuda.expressions import Expressions
from kernel_lineage.code.cuda.inlining import inlined
from kernel_lineage.code.cuda.loops import changed_names, read_loop
from kernel_lineage.code.cuda.scope import Scope, shown
from kernel_lineage.code.values import Int, Opaque, Pointer, Value, merged, unknown

_LEAVES = frozenset(
    {"return_statement", "break_statement", "continue_statement", "goto_statement", "throw_statement"}
)
_IGNORED = frozenset({"comment", "preproc_call", "using_declaration", "alias_declaration", "type_definition",
                      "namespace_alias_definition",
                      "static_assert_declaration", "attributed_statement", ";", "empty_statement"})  # fmt: skip


class Statements:
    """Reads the statements of one function."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.at = Expressions(scope, lambda at, node: evaluate_call(at, node, self._inline))

    def run(self, node: Node | None) -> bool:
        """Read a statement; False when no path goes on behind it."""
        if node is None or node.type in _IGNORED:
            return True
        match node.type:
            case "compound_statement":
                return self._block(node)
            case "declaration":
                declare(self.at, node)
            case "expression_statement":
                for child in node.named_children:
                    if child.type != "comment" and not declare_misread(self.at, child):
                        self.at.value(child)
            case "if_statement":
                return self._branch(node)
            case "for_statement":
                self._for(node)
            case "while_statement" | "do_statement":
                condition = node.child_by_field_name("condition")
                if condition is not None and condition.type == "condition_clause":
                    condition = condition.child_by_field_name("value")
                first = node.type == "while_statement"
                read_loop(
                    self.at,
                    node,
                    condition,
                    None,
                    node.child_by_field_name("body"),
                    self.run,
                    tested_first=first,
                )
            case "return_statement":
                value = next((c for c in node.named_children if c.type != "comment"), None)
                if value is not None:
                    self.scope.returned.append((self.scope.path, self.at.value(value)))
                return False
            case kind if kind in _LEAVES:
                return False
            case "preproc_if" | "preproc_ifdef" | "preproc_else" | "preproc_elif":
                self._unmodelled(node, "code behind `#if`")
            case _:
                self._unmodelled(node, f"a {node.type.replace('_', ' ')}")
        return True

    def _block(self, node: Node) -> bool:
        outer = dict(self.scope.variables)
        own: set[str] = set()
        alive = True
        for child in node.named_children:
            if child.type == "declaration":
                own |= set(declared_names(child))
            alive = self.run(child)
            if not alive:
                break
        for name in own:
            if name in outer:
                self.scope.variables[name] = outer[name]
            else:
                self.scope.variables.pop(name, None)
        return alive

    def _branch(self, node: Node) -> bool:
        clause = node.child_by_field_name("condition")
        first = clause.child_by_field_name("initializer") if clause is not None else None
        if first is not None:
            self.run(first)
        value = clause.child_by_field_name("value") if clause is not None else None
        condition = self.at.truth(value)
        alternative = node.child_by_field_name("alternative")
        other = (
            next((c for c in alternative.named_children if c.type != "comment"), None)
            if alternative is not None
            else None
        )
        before, path = dict(self.scope.variables), self.scope.path
        yes, yes_alive, yes_path = self._side(
            node.child_by_field_name("consequence"), before, path, condition
        )
        no, no_alive, no_path = self._side(other, before, path, terms.negation(condition))
        if yes_alive and no_alive:
            self.scope.path = path
            added = terms.disjunction(
                terms.conjunction(*yes_path[len(path) :]), terms.conjunction(*no_path[len(path) :])
            )
            if len(yes_path) > len(path) + 1 or len(no_path) > len(path) + 1:
                self.scope.path = (*path, added)
            line = self.scope.line(node)
            self.scope.variables = {
                name: merged(condition, yes.get(name), no.get(name), name, line) for name in before
            }
            return True
        self.scope.variables, self.scope.path = (yes, yes_path) if yes_alive else (no, no_path)
        return yes_alive or no_alive

    def _side(
        self, node: Node | None, before: dict[str, Value], path: tuple[Term, ...], condition: Term
    ) -> tuple[dict[str, Value], bool, tuple[Term, ...]]:
        """Variables, whether a path goes on, and its conditions, after one branch."""
        self.scope.variables = dict(before)
        if condition == FALSE or terms.negation(condition) in path:
            return before, False, path
        self.scope.path = path if condition == TRUE else (*path, condition)
        alive = self.run(node)
        return self.scope.variables, alive, self.scope.path

    def _for(self, node: Node) -> None:
        outer = dict(self.scope.variables)
        first = node.child_by_field_name("initializer")
        own: list[str] = []
        if first is not None and first.type == "declaration":
            own = declared_names(first)
            declare(self.at, first)
        elif first is not None:
            self.at.value(first)
        read_loop(
            self.at,
            node,
            node.child_by_field_name("condition"),
            node.child_by_field_name("update"),
            node.child_by_field_name("body"),
            self.run,
        )
        for name in own:
            self.scope.variables.pop(name, None)
            if name in outer:
                self.scope.variables[name] = outer[name]

    def _unmodelled(self, node: Node, what: str) -> None:
        """Forget what a statement may change, and remember that accesses may hide in it."""
        self.scope.problem(node, f"{what}: `{shown(node)}`")
        for name in changed_names(node):
            value = self.scope.variables.get(name)
            if isinstance(value, Int):
                why = f"`{name}` is changed on line {self.scope.line(node)}"
                self.scope.variables[name] = unknown(self.scope.model, name, value.type, why)
            elif isinstance(value, Pointer):
                self.scope.variables[name] = Opaque(f"`{name}` is changed on line {self.scope.line(node)}")

    def _inline(self, at: Expressions, node: Node, function: Node) -> Value:
        return inlined(at, node, function, self.run)
