"""Statements of CUDA C++, read symbolically along every path."""

from __future__ import annotations

from collections.abc import Mapping

from tree_sitter import Node

from kernel_gate.expr import terms
from kernel_lineage.code.cuda.calls import Calls, substituted_text
from kernel_lineage.code.cuda.declarations import declare, declare_misread, declared_names
from kernel_lineage.code.cuda.expressions import Expressions
from kernel_lineage.code.cuda.loops import changed_names, read_loop
from kernel_lineage.code.cuda.places import place
from kernel_lineage.code.cuda.scope import Scope, shown
from kernel_lineage.code.integers import truth_of
from kernel_lineage.code.values import (
    BOOL,
    INT32,
    Int,
    Opaque,
    Pointer,
    Record,
    Reference,
    Value,
    merged,
    unknown,
)
from kernel_lineage.kernels.cuda_forms import read_call, text_of

_LEAVES = frozenset(
    {"return_statement", "break_statement", "continue_statement", "goto_statement", "throw_statement"}
)
_IGNORED = frozenset({"comment", "preproc_call", "using_declaration",
                      "namespace_alias_definition",
                      "static_assert_declaration", ";", "empty_statement"})  # fmt: skip

_MOST_EXPANSIONS = 12


class Statements:
    """Reads the statements of one function."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.at = Expressions(scope, Calls(lambda _, node: self.run(node)))

    def run(self, node: Node | None) -> bool:
        """Read a statement; False when no path goes on behind it."""
        if node is None or node.type in _IGNORED:
            return True
        match node.type:
            case "compound_statement":
                return self._block(node)
            case "declaration" | "alias_declaration" | "type_definition":
                declare(self.at, node)
            case "expression_statement":
                for child in node.named_children:
                    if child.type != "comment" and not declare_misread(self.at, child):
                        self._expression(child)
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
            case "switch_statement":
                self._switch(node)
            case "function_definition":
                return self._macro_with_block(node)
            case "labeled_statement":
                self._unmodelled(node, "a labeled statement")
                return self.run(node.named_children[-1])
            case "attributed_statement":
                return self.run(node.named_children[-1])
            case "return_statement":
                self._return(node)
                return False
            case kind if kind in _LEAVES:
                return False
            case "preproc_if" | "preproc_ifdef" | "preproc_else" | "preproc_elif":
                self._unmodelled(node, "code behind `#if`")
            case _:
                self._unmodelled(node, f"a {node.type.replace('_', ' ')}")
        return True

    def _return(self, node: Node) -> None:
        value = next((c for c in node.named_children if c.type != "comment"), None)
        if value is None:
            return
        outcome: Value = Opaque()
        if self.at.returns_places:
            outcome = place(self.at, value)
        if isinstance(outcome, Pointer) and self.at.returns_places:
            outcome = Reference(outcome)
        else:
            outcome = self.at.value(value)
        self.scope.returned.append((self.scope.path, outcome))

    def _expression(self, node: Node) -> None:
        """An expression, or a macro that stands for statements."""
        if node.type == "call_expression":
            call = read_call(node)
            macro = self.scope.names.macros.get(call.name)
            if macro is not None and macro.parameters is not None and not call.receiver:
                text = substituted_text(macro.body, macro.parameters, list(call.arguments))
                names = self.scope.names
                if names.snippets.expression(text) is None and self._text(text + ";", node, in_place=False):
                    return
        self.at.value(node)

    def _macro_with_block(self, node: Node) -> bool:
        """`LOOP_OVER(i, n) { … }`, which the grammar takes for the definition of a function."""
        declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
        name = text_of(declarator.child_by_field_name("declarator")) if declarator is not None else ""
        arguments = declarator.child_by_field_name("parameters") if declarator is not None else None
        macro = self.scope.names.macros.get(name)
        if macro is not None and macro.parameters is not None and declarator is not None and body is not None:
            passed = list(arguments.named_children) if arguments is not None else []
            head = substituted_text(macro.body, macro.parameters, passed)
            if self._text(" ".join(head.split()) + text_of(body), node, in_place=True):
                return True
        self._unmodelled(node, f"the macro `{name}`")
        before = dict(self.scope.variables)
        for child in arguments.named_children if arguments is not None else ():
            what = f"`{text_of(child)}` is set by the macro `{name}` on line {self.scope.line(node)}"
            self.scope.variables[text_of(child)] = unknown(self.scope.model, text_of(child), INT32, what)
        self.run(body)
        self.scope.variables = {key: self.scope.variables[key] for key in before}
        return True

    def _text(self, text: str, node: Node, *, in_place: bool) -> bool:
        """Read a text as statements that stand where a node does; False when it is none."""
        parsed = self.scope.names.snippets.statements(text, node.start_point[0] if in_place else 0)
        if parsed is None or self.scope.depth >= _MOST_EXPANSIONS:
            return False
        kept = self.scope.at_line, self.scope.in_file
        self.scope.depth += 1
        self.scope.in_file = False
        if not in_place:
            self.scope.at_line = self.scope.line(node)
        try:
            for child in parsed.named_children:
                self.run(child)
        finally:
            self.scope.at_line, self.scope.in_file = kept
            self.scope.depth -= 1
        return True

    def _switch(self, node: Node) -> None:
        """Each case under its own unknown condition; what several of them change is unknown behind them."""
        clause = node.child_by_field_name("condition")
        value = self.at.integer(clause.child_by_field_name("value") if clause is not None else None)
        body = node.child_by_field_name("body")
        before, path, line = dict(self.scope.variables), self.scope.path, self.scope.line(node)
        after = before
        for case in body.named_children if body is not None else ():
            if case.type != "case_statement":
                continue
            label = case.child_by_field_name("value")
            reason = f"which case of the switch on line {line} is taken"
            condition = (
                terms.equal(value.term, self.at.integer(label).term)
                if label is not None
                else truth_of(unknown(self.scope.model, "case", BOOL, reason, (value.term,)).term)
            )
            self.scope.variables, self.scope.path = dict(before), (*path, condition)
            for child in case.named_children:
                if child != label and not self.run(child):
                    break
            ended = self.scope.variables
            after = {name: merged(condition, ended.get(name), after.get(name), name, line) for name in before}
        self.scope.variables, self.scope.path = after, path

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
        parts = alternative.named_children if alternative is not None else ()
        other = next((c for c in parts if c.type != "comment"), None)
        then = node.child_by_field_name("consequence")
        before, line = tuple(self.scope.variables), self.scope.line(node)

        def both(yes: Mapping[str, Value], no: Mapping[str, Value]) -> dict[str, Value]:
            return {name: merged(condition, yes.get(name), no.get(name), name, line) for name in before}

        return self.scope.branch(condition, lambda: self.run(then), lambda: self.run(other), both)

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
            elif isinstance(value, Pointer | Record):
                self.scope.variables[name] = Opaque(f"`{name}` is changed on line {self.scope.line(node)}")
