"""What has to hold for an element's work to be done, read from the test in front of it, however that is written:
`i < n`, `n > i`, `!(i >= n)`, `!(a || i >= n)`.
"""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import bare, field_of, operator_of, text_of

_BELOW = {
    True: {"<": ("left", "right"), ">": ("right", "left")},
    False: {">=": ("left", "right"), "<=": ("right", "left")},
}
"""Whether a comparison holds → the operators by which one side is then below the other."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A part of a test, and whether it holds where the work is done."""

    node: Node
    holds: bool

    @property
    def text(self) -> str:
        """The condition as code that is true where the work is done."""
        return text_of(self.node) if self.holds else f"!({text_of(self.node)})"

    @property
    def below(self) -> tuple[Node, Node] | None:
        """What the condition says to be below what; None where it says anything else."""
        if self.node.type != "binary_expression":
            return None
        fields = _BELOW[self.holds].get(operator_of(self.node))
        sides = [field_of(self.node, name) for name in fields or ()]
        return (sides[0], sides[1]) if sides and sides[0] is not None and sides[1] is not None else None

    def bound_of(self, name: str) -> Node | None:
        """What the condition says a variable to be below; None where it says anything else."""
        return self.below[1] if self.below is not None and text_of(self.below[0]) == name else None


def conditions(test: Node, *, holds: bool) -> list[Condition]:
    """The parts of a test that all have to hold, or not to hold, where the test as a whole does, or does not."""
    node = bare(test)
    if node is None:
        return []
    if node.type == "unary_expression" and operator_of(node) == "!":
        inner = field_of(node, "argument")
        return conditions(inner, holds=not holds) if inner is not None else []
    if node.type == "binary_expression" and operator_of(node) == ("&&" if holds else "||"):
        sides = (field_of(node, "left"), field_of(node, "right"))
        return [part for side in sides if side is not None for part in conditions(side, holds=holds)]
    return [Condition(node, holds)]
