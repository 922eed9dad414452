"""Where the lanes of a warp must wait for each other, when they do together what one thread did alone.

A thread sees its own writes in the order of the text. Lanes do not see each other's: a shuffle hands over values and
orders no memory, and any two buffers may be one. So whatever writes memory waits for what was touched before it, and
what is touched after it waits for the write.
"""

from __future__ import annotations

from itertools import takewhile

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import above, contains
from kernel_lineage.rewrite.assists.layout import descendants

_MEMORY = ("subscript_expression", "pointer_expression", "call_expression")


class LaneOrder:
    """The barriers of a warp in some statements; asked in the order of the text."""

    def __init__(self, statements: list[Node]) -> None:
        self._statements = statements
        self._touches = [n for s in statements for n in descendants(s) if n.type in _MEMORY]
        self._barriers: list[tuple[Node | None, int]] = []
        """The block that each one stands in, and the byte behind it."""

    def around(self, first: Node, last: Node) -> tuple[bool, bool]:
        """Whether lanes wait before and after statements that write memory."""
        again = self.is_repeated(first)
        since = max(
            (at for block, at in self._barriers if block is None or contains(block, first)), default=0
        )
        before = again or any(since <= n.start_byte < first.start_byte for n in self._touches)
        after = again or any(n.start_byte >= last.end_byte for n in self._touches)
        if after:
            self._barriers.append((first.parent, last.end_byte))
        return before, after

    def is_repeated(self, node: Node) -> bool:
        """Whether a loop that all threads run together is around a statement."""
        around = takewhile(lambda n: any(contains(s, n) for s in self._statements), above(node))
        return any(outer.type == "for_statement" for outer in around)
