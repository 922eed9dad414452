"""Statements of CUDA C++, read symbolically along every path."""

from __future__ import annotations

import re

from tree_sitter import Node

from kernel_lineage.kernels.cuda_syntax import bare, operator_of, text_of
from kernel_lineage.proofs.cuda.calls import evaluate_call
from kernel_lineage.proofs.cuda.expressions import Expressions, declared
from kernel_lineage.proofs.cuda.loops import changed_names, read_loop
from kernel_lineage.proofs.cuda.scope import Scope, shown
from kernel_lineage.proofs.model import SharedArray
from kernel_lineage.proofs.values import Group, Int, Opaque, Pointer, Value, merged, unknown
from kernel_lineage.solving import terms
from kernel_lineage.solving.terms import FALSE, TRUE, Num, Term

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
        self.at = Expressions(scope, lambda at, node: evaluate_call(at, node, self.inline))

    def run(self, node: Node | None) -> bool:
        """Read a statement; False when no path goes on behind it."""
        if node is None or node.type in _IGNORED:
            return True
        match node.type:
            case "compound_statement":
                return self._block(node)
            case "declaration":
                self._declaration(node)
            case "expression_statement":
                for child in node.named_children:
                    if child.type != "comment" and not self._misread_declaration(child):
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
                own |= set(_declared_names(child))
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
            own = _declared_names(first)
            self._declaration(first)
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

    def _declaration(self, node: Node) -> None:
        written = text_of(node)
        kind = text_of(node.child_by_field_name("type"))
        shared = "__shared__" in written.split("=")[0]
        for declarator in node.children_by_field_name("declarator"):
            self._declarator(declarator, kind, shared, dynamic=shared and written.startswith("extern"))

    def _declarator(self, declarator: Node, kind: str, shared: bool, *, dynamic: bool) -> None:
        value_node = declarator.child_by_field_name("value") if declarator.type == "init_declarator" else None
        node: Node | None = declarator
        sizes: list[Node | None] = []
        pointer = False
        while node is not None and node.type != "identifier":
            if node.type == "array_declarator":
                sizes.insert(0, node.child_by_field_name("size"))
            pointer = pointer or node.type == "pointer_declarator"
            if node.type == "function_declarator":
                return
            node = node.child_by_field_name("declarator") or next(
                (c for c in node.named_children if c.type.endswith(("declarator", "identifier"))), None
            )
        if node is None:
            return
        name = text_of(node)
        if sizes or shared:
            self._array(name, kind, sizes, declarator, shared, dynamic=dynamic)
            if value_node is not None:
                self.at.value(value_node)
            return
        value = self.at.value(value_node) if value_node is not None else None
        self.scope.variables[name] = declared(self.at, declarator, kind, pointer, value)

    def _array(
        self, name: str, kind: str, sizes: list[Node | None], node: Node, shared: bool, *, dynamic: bool
    ) -> None:
        element = self.scope.names.element(kind)
        extents: list[int] = []
        for size in sizes or [None]:
            value = self.at.integer(size).term if size is not None else Num(0 if dynamic else 1)
            if not isinstance(value, Num):
                self.scope.variables[name] = Opaque(f"the extent of `{shown(node)}` is no number")
                return
            extents.append(value.value)
        if not shared:
            self.scope.variables[name] = Pointer(name, "local", Num(0), element, tuple(extents))
            return
        nbytes = element.nbytes
        for extent in extents:
            nbytes *= extent
        known = self.scope.setting.launch.shared_bytes if dynamic else Num(nbytes)
        self.scope.model.shared[name] = SharedArray(name, known, dynamic)
        if sizes:
            self.scope.variables[name] = Pointer(name, "shared", Num(0), element, tuple(extents))
        else:
            self.scope.shared_scalars.add(name)
            self.scope.variables[name] = Opaque(f"`{name}` is shared by the threads of a block")

    def _misread_declaration(self, node: Node) -> bool:
        """`cg::thread_block_tile<32> warp = …;`, which the grammar takes for comparisons, with its value declared."""
        if node.type != "binary_expression" or operator_of(node) != ">":
            return False
        assignment = node.child_by_field_name("right")
        if assignment is None or assignment.type != "assignment_expression" or operator_of(assignment) != "=":
            return False
        left, right = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
        if (
            left is None
            or right is None
            or left.type != "identifier"
            or not re.match(r"[\w:]+\s*<", text_of(node))
        ):
            return False
        value = self.at.value(right)
        self.scope.variables[text_of(left)] = value if isinstance(value, Group) else Opaque()
        return True

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

    def inline(self, at: Expressions, node: Node, function: Node) -> Value:
        """What a device function returns, read with the call's arguments."""
        listed = node.child_by_field_name("arguments")
        arguments = [a for a in listed.named_children if a.type != "comment"] if listed is not None else []
        values = [at.value(argument) for argument in arguments]
        scope, outer = self.scope, self.scope.variables
        parameters = _parameters(function)
        types = dict(scope.names.types)
        bound: dict[str, Value] = {}
        for (name, kind, pointer, default), position in zip(parameters, range(len(parameters)), strict=True):
            value = (
                values[position]
                if position < len(values)
                else at.value(default)
                if default is not None
                else Opaque()
            )
            bound[name] = declared(at, node, kind, pointer, value)
        kept = scope.returned, scope.path, scope.depth
        scope.variables, scope.returned, scope.depth = bound, [], scope.depth + 1
        try:
            self.run(function.child_by_field_name("body"))
            returned = scope.returned
            after = scope.variables
        finally:
            scope.variables = outer
            scope.returned, scope.path, scope.depth = kept
            scope.names.types = types
        for (name, kind, _, _), argument in zip(parameters, arguments, strict=False):
            target = bare(argument)
            if "&" in kind and "const" not in kind and target is not None and target.type == "identifier":
                scope.variables[text_of(target)] = after.get(name, Opaque())
        return self._result(node, returned, len(scope.path))

    def _result(self, node: Node, returned: list[tuple[tuple[Term, ...], Value]], outside: int) -> Value:
        if not returned:
            return Opaque()
        *others, (_, value) = returned
        for path, other in reversed(others):
            condition = terms.conjunction(*path[outside:])
            value = merged(condition, other, value, shown(node), self.scope.line(node))
        return value


def _declared_names(node: Node) -> list[str]:
    found = []
    for declarator in node.children_by_field_name("declarator"):
        here: Node | None = declarator
        while here is not None and here.type != "identifier":
            here = here.child_by_field_name("declarator") or next(
                (c for c in here.named_children if c.type.endswith(("declarator", "identifier"))), None
            )
        if here is not None:
            found.append(text_of(here))
    return found


def _parameters(function: Node) -> list[tuple[str, str, bool, Node | None]]:
    """Name, type as written with `&`, whether it is a pointer, and default of each parameter."""
    declarator = function.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator") or next(
            (c for c in declarator.named_children if c.type.endswith("declarator")), None
        )
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    found = []
    for node in listed.named_children if listed is not None else ():
        if not node.type.endswith("parameter_declaration"):
            continue
        names = _declared_names(node)
        head = text_of(node).split("=")[0]
        kind = text_of(node.child_by_field_name("type")) + ("&" if "&" in head else "")
        prefix = "const " if re.match(r"\s*const\b", head) else ""
        found.append(
            (
                names[0] if names else "",
                prefix + kind,
                "*" in head or "[" in head,
                node.child_by_field_name("default_value"),
            )
        )
    return found
