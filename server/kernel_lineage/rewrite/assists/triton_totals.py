"""What a Triton loop combines in each round, kept apart for each place of a tile until the loop has ended."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    fresh_name,
    indent_at,
    insert_before,
    replace_between,
)
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.triton_places import called, holds_text_of_lines, span_of, stored_names
from kernel_lineage.rewrite.assists.triton_values import IDENTITY, Value
from kernel_lineage.rewrite.candidate import Edit

_FLOAT = re.compile(r"(?:\w+\.)?(?:bfloat16|float(?:16|32|64))")
_BEGINS = {"sum": "0", "max": 'float("-inf")', "min": 'float("inf")'}


@dataclass(frozen=True, slots=True)
class Total:
    """What one name holds of a loop."""

    name: str
    how: str
    """`sum`, `max` or `min`."""
    statement: ast.stmt
    """The one of the loop that uses the name."""
    taken: ast.expr
    """What it takes in."""
    what: ast.expr
    """The tile that `taken` is, or combines."""
    shape: str
    """The shape of the tile whose places are kept apart: `(ROWS, WIDTH)`."""
    dtype: str
    along: str
    """By what the tile is combined in the end: `, axis=0`, or "" for all of it."""
    is_alone: bool = False
    """It is a number, and no block."""

    @property
    def begins(self) -> str:
        """What changes nothing when it is taken in."""
        return _BEGINS[self.how]

    def taken_in(self, apart: str) -> str:
        """The statement that takes in what the places of the tile have."""
        whole = f"tl.{self.how}({apart}{self.along})"
        if self.how == "sum":
            return f"{self.name} += {whole}"
        return f"{self.name} = tl.{self.how}imum({self.name}, {whole})"


def can_begin(how: str, held: Value, statements: Iterable[ast.stmt], name: str) -> bool:
    """Whether the type of a tile has what its places are kept apart from on: the 0 of a sum, or an infinity.

    It has an infinity where the tile begins with it, or as one of a float type that is written there, whatever that
    begins with: `tl.full((BLOCK,), -1e30, tl.float32)`.
    """
    if how == "sum" or held.beyond == IDENTITY[how]:
        return True
    begins = [s.value for s in statements if isinstance(s, ast.Assign) and stored_names(s) == [name]]
    made = begins[-1] if begins else None
    if not isinstance(made, ast.Call) or called(made) not in ("full", "zeros"):
        return False
    return any(_FLOAT.fullmatch(ast.unparse(a)) for a in (*made.args, *(k.value for k in made.keywords)))


def loop_at(kernel: Kernel, function: ast.FunctionDef, anchor: Anchor) -> ast.For:
    """The loop of an anchor, a statement of the kernel's own whose lines can be edited. Refused where there is none."""
    loops = [s for s in function.body if isinstance(s, ast.For)]
    spans = [(s, span_of(kernel, s)) for s in loops]
    here = [s for s, span in spans if span.contains(anchor.span) or anchor.span.contains(span)]
    if len(here) != 1:
        raise Refusal(f"{kernel.name} has no one loop here that stands by itself")
    lines = [s.lineno for s in here[0].body]
    if len(set(lines)) < len(lines) or lines[0] == here[0].lineno or holds_text_of_lines(here[0].body):
        raise Refusal(
            f"the loop in line {here[0].lineno} has several statements on one line, or a text of several"
        )
    return here[0]


def kept_apart(
    kernel: Kernel, loop: ast.For, totals: Iterable[Total], taken: set[str], inside: str = ""
) -> list[Edit]:
    """Edits by which the places of a tile are combined each by itself, and all of them behind the loop; with `inside`,
    only those where that holds.
    """
    data, whole = data_of(kernel), span_of(kernel, loop)
    outer = indent_at(data, whole.start)
    edits, behind = list[Edit](), list[Edit]()
    for total in totals:
        apart = fresh_name(f"{total.name}_parts", taken)
        begins = f"{apart} = tl.full({total.shape}, {total.begins}, {total.dtype})"
        edits.append(insert_before(kernel, whole.start, f"{begins}\n{outer}"))
        behind.append(insert_before(kernel, whole.end, f"\n{outer}{total.taken_in(apart)}"))
        names = (n for n in ast.walk(total.statement) if isinstance(n, ast.Name) and n.id == total.name)
        edits += [Edit(span_of(kernel, n), apart) for n in names]
        here, tile = span_of(kernel, total.taken), span_of(kernel, total.what)
        opened = "" if isinstance(total.what, ast.Name | ast.Call | ast.Attribute) else "("
        first, last = (f"tl.where({inside}, ", f", {total.begins})") if inside else ("", "")
        edits.append(replace_between(kernel, here.start, tile.start, first + opened))
        converted = f"{')' if opened else ''}.to({total.dtype})"
        edits.append(replace_between(kernel, tile.end, here.end, converted + last))
    return [*behind, *edits]  # Of two insertions at one place, the later one of the list stands first.
