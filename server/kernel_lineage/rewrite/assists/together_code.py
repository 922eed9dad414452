"""The code of the elements that a thread has together: loops once, what is in them for each element."""

from __future__ import annotations

from tree_sitter import Node

from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import Loop, contains, declarators, test_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.element_work import ElementWork
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    dedented,
    descendants,
    fresh_name,
    indent_unit,
    statements_of,
)
from kernel_lineage.rewrite.assists.loop_changes import changed_in
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.together_values import TogetherValues, holds_loop
from kernel_lineage.rewrite.assists.wide_loads import WideLoads, check_unconditional

_NAMES = {4: "four", 8: "eight", 16: "sixteen"}


class TogetherCode:
    """Writes the work of several elements."""

    def __init__(
        self,
        kernel: Kernel,
        syntax: CudaSyntax,
        work: ElementWork,
        values: TogetherValues,
        lane: str,
        count: int,
        wide: tuple[WideLoads, str, int] | None,
    ) -> None:
        """`wide`: loads of neighbours, which of them an element is, as code, and how many they are."""
        self._data, self._unit = data_of(kernel), indent_unit(kernel)
        self._syntax, self._work, self._values, self._lane, self._count = syntax, work, values, lane, count
        self._loops = {loop.node.id: loop for loop in syntax.entry.loops}
        self._wide, self._neighbour, self._neighbours = wide or (WideLoads({}, []), "", 0)
        self._each: set[str] = set()
        """Variables that every element has one of, and that more than one round of `lane` uses."""
        self._names: dict[str, str] = {}
        """What is loaded at once → the array that keeps it."""

    def lines(self) -> list[str]:
        """The lines, without outer indentation."""
        for statement in (n for s in self._work.inner for n in descendants(s)):
            if self._is_wide_if(statement) and statement.parent is not None:
                self._values.blocks.add(statement.parent.id)
        return self._block(self._work.inner)

    def _block(self, statements: list[Node]) -> list[str]:
        """Statements of one level, of which some hold loops."""
        lines: list[str] = []
        waiting: list[Node] = []

        def flush() -> None:
            if waiting:
                lines.extend(self._for_each(waiting))
                waiting.clear()

        for statement in statements:
            if statement.type == "preproc_call":
                flush()
                lines.append(text_of(statement).strip())
            elif self._is_nest(statement):
                flush()
                lines += self._nest(statement)
            elif self._is_once(statement):
                flush()
                lines += dedented(self._data, [statement], [])
            else:
                declared = self._own(statement)
                if declared:
                    flush()
                    lines += declared
                waiting.append(statement)
        flush()
        return lines

    def _is_nest(self, statement: Node) -> bool:
        return holds_loop(statement) or self._is_wide_if(statement)

    def _is_wide_if(self, statement: Node) -> bool:
        """Whether a statement is an `if` that all elements go through alike, around loads for all of them."""
        test = test_of(statement) if statement.type == "if_statement" else None
        if (
            test is None
            or statement.child_by_field_name("alternative") is not None
            or not self._values.is_same(test)
        ):
            return False
        return any(n.id in self._wide.kinds for n in descendants(statement) if n != test)

    def _nest(self, statement: Node) -> list[str]:
        """A loop, or an `if` around one, that all elements go through together."""
        line = statement.start_point.row + 1
        if statement.type == "compound_statement":
            return ["{", *self._indented(self._block(statements_of(statement))), "}"]
        if statement.type == "if_statement" and statement.child_by_field_name("alternative") is None:
            test, then = test_of(statement), statement.child_by_field_name("consequence")
            if test is not None and then is not None and self._values.is_same(test):
                inside = statements_of(then)
                nested = any(self._is_nest(s) for s in inside)
                inner = self._indented(self._block(inside) if nested else self._for_each(inside))
                return [f"if ({text_of(test).strip()}) {{", *inner, "}"]
        loop = self._loops.get(statement.id)
        if loop is None or loop.body is None:
            raise Refusal(f"elements may go different ways from line {line} on")
        self._check_head(loop)
        head = self._data[statement.start_byte : loop.body.start_byte].decode("utf-8", "replace").rstrip()
        body = statements_of(loop.body)
        if any(self._is_nest(s) for s in body):
            inner = self._block(body)
        else:
            inner = self._for_each(body)
        return [*f"{head} {{".splitlines(), *self._indented(inner), "}"]

    def _check_head(self, loop: Loop) -> None:
        line = loop.node.start_point.row + 1
        header = loop.node.child_by_field_name("initializer")
        parts = [loop.start, loop.condition, loop.update]
        one = header is not None and header.type == "declaration" and len(list(declarators(header))) == 1
        if loop.node.type != "for_statement" or not one or not loop.counter or None in parts:
            raise Refusal(f"the loop in line {line} has no counter of its own in its head")
        body = loop.body
        assert body is not None and loop.start is not None and loop.condition is not None
        if loop.counter in changed_in(self._syntax, body):
            raise Refusal(f"`{loop.counter}` is changed in the loop in line {line}")
        amount = loop.update.child_by_field_name("right") if loop.update is not None else None
        for part in (loop.start, loop.condition, *([amount] if amount is not None else [])):
            if not self._values.is_same(part):
                raise Refusal(f"`{text_of(part)}` in line {line} may differ from element to element")
        for node in descendants(body):
            if node.type in ("break_statement", "goto_statement", "return_statement"):
                raise Refusal(
                    f"line {node.start_point.row + 1} ends a loop for one element and not for others"
                )

    def _is_once(self, statement: Node) -> bool:
        """Whether a statement beside loops is for all elements: it works out an index, or goes on for all alike."""
        if statement.type == "comment":
            return True
        if statement.type == "if_statement" and statement.child_by_field_name("alternative") is None:
            test, then = test_of(statement), statements_of(statement.child_by_field_name("consequence"))
            goes_on = [s.type for s in then] == ["continue_statement"]
            if goes_on and (test is None or not self._values.is_same(test)):
                raise Refusal(f"`{text_of(statement)}` may differ from element to element")
            return goes_on
        if any(n.type == "continue_statement" for n in descendants(statement)):
            raise Refusal(
                f"line {statement.start_point.row + 1} may go on for one element and not for others"
            )
        names: list[str] = []
        if statement.type == "declaration":
            names = [name for name, *_ in declarators(statement)]
        elif statement.type == "expression_statement" and statement.named_children:
            target = statement.named_children[0]
            if target.type == "assignment_expression":
                names = [text_of(target.child_by_field_name("left"))]
        if not names or not all(
            name in self._values.declared and self._values.follows(name) for name in names
        ):
            return False
        used = [n for n in descendants(statement) if n.type == "identifier" and not self._values.is_target(n)]
        plain = all(n.type != "call_expression" for n in descendants(statement))
        goes_on = all(self._values.follows(text_of(n)) for n in used if text_of(n) in self._values.declared)
        return plain and goes_on and not self._reads_what_moves(statement)

    def _reads_what_moves(self, statement: Node) -> bool:
        reads = [
            n for n in descendants(statement) if n.type in ("subscript_expression", "pointer_expression")
        ]
        return any(not self._values.is_same(n) for n in reads if not (text_of(n).startswith("&")))

    def _own(self, statement: Node) -> list[str]:
        """Declarations of what each element has one of, where later rounds of `lane` need it."""
        if statement.type != "declaration":
            return []
        lines: list[str] = []
        for name, *_ in declarators(statement):
            variable = self._values.declared.get(name)
            if variable is None or variable.sizes or variable.pointer or "&" in text_of(statement):
                raise Refusal(f"`{name}` is no plain variable that each element can have one of")
            self._each.add(name)
            kind = text_of(statement.child_by_field_name("type"))
            if kind == "auto":
                raise Refusal(f"the type of `{name}` is not written")
            lines.append(f"{kind} {name}[{self._count}];")
        return lines

    def _for_each(self, statements: list[Node]) -> list[str]:
        """Statements that are done for one element after the other."""
        groups = self._loaded(statements)
        lines = [
            *groups.values(),
            "#pragma unroll",
            f"for (int {self._lane} = 0; {self._lane} < {self._count}; {self._lane}++) {{",
        ]
        for statement in statements:
            changes = self._changes(statement)
            if statement.type == "declaration" and any(n in self._each for n, *_ in declarators(statement)):
                lines += self._indented(self._assigned(statement, changes))
            else:
                lines += self._indented(dedented(self._data, [statement], changes))
        stored = [n for n in (self._wide.stored,) if n is not None and contains(statements[-1], n)]
        return [*lines, "}", *map(self._stored, stored)]

    def _loaded(self, statements: list[Node]) -> dict[str, str]:
        """The wide loads of some statements, by what they load; named for `_changes`."""
        loads = [n for s in statements for n in descendants(s) if n.id in self._wide.kinds]
        check_unconditional(statements, [n for n in loads if n != self._wide.stored])
        lines: dict[str, str] = {}
        for load in loads:
            inside = identifiers_in(load) & self._values.own
            if bad := next(
                (n for n in inside if not self._values.follows(n) or self._values.is_inner(n)), ""
            ):
                raise Refusal(
                    f"`{bad}`, which tells where `{text_of(load)}` is, is worked out for each element"
                )
            kind, vector = self._wide.kinds[load.id]
            taken = identifiers_in(self._syntax.entry.node) | set(self._names.values())
            count = self._neighbours
            wanted = "stored" if load == self._wide.stored else _NAMES[count]
            name = self._names.setdefault(text_of(load), fresh_name(wanted, taken))
            lines[name] = f"alignas(16) {kind} {name}[{count}];"
            if load != self._wide.stored:
                lines[name] += (
                    f" *reinterpret_cast<{vector}*>({name}) = *reinterpret_cast<const {vector}*>(&{text_of(load)});"
                )
        return lines

    def _stored(self, target: Node) -> str:
        """The wide store of what a round of all elements has put aside."""
        _, vector = self._wide.kinds[target.id]
        wide = f"*reinterpret_cast<{vector}*>"
        return f"{wide}(&{text_of(target)}) = {wide}({self._names[text_of(target)]});"

    def _assigned(self, declaration: Node, changes: list[tuple[Node, str]]) -> list[str]:
        lines: list[str] = []
        for name, value, *_ in declarators(declaration):
            if value is not None:
                inner = [c for c in changes if contains(value, c[0])]
                first, *rest = dedented(self._data, [value], inner)
                lines += [f"{name}[{self._lane}] = {first.strip()}", *rest]
                lines[-1] += ";"
        return lines

    def _changes(self, statement: Node) -> list[tuple[Node, str]]:
        """What stands for an element's own names in its round."""
        changes: list[tuple[Node, str]] = []
        local = {n for n, v in self._values.declared.items() if contains(statement, v.node)} - self._each
        wide = [n for n in descendants(statement) if n.id in self._wide.kinds]
        changes += [(n, f"{self._names[text_of(n)]}[{self._neighbour}]") for n in wide]
        for node in descendants(statement):
            name = text_of(node) if node.type == "identifier" else ""
            if any(contains(w, node) for w in wide):
                continue
            if name in self._each:
                changes.append((node, f"{name}[{self._lane}]"))
            elif name in self._values.own and name not in local:
                steps = self._values.steps(node)
                if steps is None or self._values.is_target(node):
                    if self._values.is_inner(name):
                        continue
                    raise Refusal(f"how `{name}` in line {node.start_point.row + 1} goes on is not known")
                text = self._values.moved(name, steps)
                if text != name:
                    changes.append((node, f"({text})"))
        return changes

    def _indented(self, lines: list[str]) -> list[str]:
        return [self._unit + line if line.strip() else "" for line in lines]
