"""The body of a device function as statements in the place of a call: its names renamed, its returns as assignments.

An early return becomes the branch of an `if` whose `else` holds the rest, so that each way through the statements ends
where the function returned on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import field_of, test_of, text_of
from kernel_lineage.rewrite.assists.layout import dedented, descendants, either_way, statements_of
from kernel_lineage.rewrite.assists.model import Refusal

_LOOPS = {"for_statement", "while_statement", "do_statement", "switch_statement", "for_range_loop"}


@dataclass(frozen=True, slots=True)
class Body:
    """A function's statements, ready to be written elsewhere."""

    data: bytes
    statements: tuple[Node, ...]
    renamed: Mapping[str, str]
    """What stands for the names of its parameters and variables."""
    unit: str
    """One step of indentation."""

    @property
    def returns_at_its_end(self) -> bool:
        """Whether the function returns with its last statement, and with no other."""
        *early, last = self.statements or (None,)
        return (
            last is not None and last.type == "return_statement" and not any(s and _returns(s) for s in early)
        )

    def value(self, numbers: Mapping[str, str]) -> str | None:
        """The one expression that the function returns; None where it does more than that.

        Between several returns a conditional chooses where each is of the function's type: `numbers` are the types of
        its parameters and of what they point to, "return" its own.
        """
        *checks, last = self.statements or (None,)
        if last is None or last.type != "return_statement" or not last.named_children:
            return None
        parts: list[tuple[Node, Node]] = []
        for check in checks:
            test, then = test_of(check), statements_of(check.child_by_field_name("consequence"))
            returned = then[0].named_children if len(then) == 1 and then[0].type == "return_statement" else []
            if check.type != "if_statement" or test is None or not returned:
                return None
            if check.child_by_field_name("alternative") is not None:
                return None
            parts.append((test, returned[0]))
        end = last.named_children[0]
        if parts and not all(_is_of(n, numbers) for n in [*(value for _, value in parts), end]):
            return None
        return "".join(f"{self._text(t)} ? {self._text(v)} : " for t, v in parts) + self._text(end)

    def lines(self, target: str) -> list[str]:
        """The statements, with what is returned assigned to the target; "": nothing is returned."""
        if target and not _ends(self.statements):
            raise Refusal("a way through the function returns nothing")
        return self._written(self.statements, target)

    def _written(self, statements: Sequence[Node], target: str) -> list[str]:
        lines: list[str] = []
        for number, statement in enumerate(statements):
            if not _returns(statement):
                lines += self._plain(statement)
                continue
            if statement.type == "return_statement":
                value = self._text(statement.named_children[0]) if statement.named_children else ""
                return [*lines, f"{target} = {value};"] if target and value != target else lines
            return lines + self._chosen(statement, statements[number + 1 :], target)
        return lines

    def _chosen(self, statement: Node, rest: Sequence[Node], target: str) -> list[str]:
        """An `if` with returns in it, and what follows it."""
        test = test_of(statement)
        if statement.type != "if_statement" or test is None:
            raise Refusal(f"`{text_of(statement).splitlines()[0]}` returns from within")
        then, other = statements_of(statement.child_by_field_name("consequence")), _alternative(statement)
        if not _ends(then) and not _ends(other):
            raise Refusal("a branch of the function returns on some of its ways only")
        sides = [side if _ends(side) else [*side, *rest] for side in (then, other)]
        first, second = (self._written(side, target) for side in sides)
        return either_way(self._text(test), first, second, self.unit) if first or second else []

    def _plain(self, statement: Node) -> list[str]:
        changes = [(n, self.renamed[text_of(n)]) for n in _named(statement) if text_of(n) in self.renamed]
        return [line for line in dedented(self.data, [statement], changes) if line.strip()]

    def _text(self, node: Node) -> str:
        if any(n.type == "comment" for n in descendants(node)):
            raise Refusal("a comment stands within an expression of the function")
        return " ".join(line.strip() for line in self._plain(node))


def _named(node: Node) -> list[Node]:
    return [n for n in descendants(node) if n.type == "identifier"]


def _returns(statement: Node) -> bool:
    return any(n.type == "return_statement" for n in descendants(statement))


def _alternative(statement: Node) -> list[Node]:
    other = statement.child_by_field_name("alternative")
    if other is not None and other.type == "else_clause":
        other = next((n for n in other.named_children if n.type != "comment"), None)
    return statements_of(other)


def _ends(statements: Sequence[Node]) -> bool:
    """Whether every way through some statements returns, and none from within a loop."""
    for statement in statements:
        if statement.type == "return_statement":
            return True
        if statement.type in _LOOPS and _returns(statement):
            return False
        then = statements_of(statement.child_by_field_name("consequence"))
        if statement.type == "if_statement" and _ends(then) and _ends(_alternative(statement)):
            return True
        if statement.type == "if_statement" and _returns(statement):
            following = statements[statements.index(statement) + 1 :]
            return all(_ends(side) or _ends(following) for side in (then, _alternative(statement)))
    return False


def _is_of(node: Node, numbers: Mapping[str, str]) -> bool:
    """Whether an expression is known to be of the function's type."""
    wanted, text = numbers["return"], text_of(node)
    if node.type == "number_literal":
        whole = not set(text) & set(".eEfFxX")
        return (wanted == "float" and text[-1:] in "fF") or (wanted == "int" and whole and text.isdigit())
    if node.type == "subscript_expression":
        return numbers.get(f"{text_of(field_of(node, 'argument'))}[]") == wanted
    return node.type == "identifier" and numbers.get(text) == wanted
