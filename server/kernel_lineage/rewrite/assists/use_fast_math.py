"""Take the approximations of the special function unit: `__expf`, `__logf`, `__log2f`, and `rsqrtf`.

Before: `expf(x[i] - largest)` and `1.0f / sqrtf(v + eps)`.
After: `__expf(x[i] - largest)` and `rsqrtf(v + eps)`.

All places of the kernel that are known to be single precision are changed together; how far the results may move is
the check's tolerance. Left alone is what loses more than last bits: sines and cosines beyond a period, powers, `tanhf`
(11 bits), a logarithm near 1, and a division by what is not known to stay below 2**126.
"""

from __future__ import annotations

import re
from functools import partial

from tree_sitter import Node

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.anchors.slow_math import PATTERN
from kernel_lineage.kernels.cuda_floats import is_single
from kernel_lineage.kernels.cuda_forms import above, arguments_of, bare, field_of, operator_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax, Unit
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import data_of, descendants, source_of, syntax_of
from kernel_lineage.rewrite.assists.model import Assist, Refusal, attempt
from kernel_lineage.rewrite.candidate import Candidate, Edit

_RENAMED = {"expf": "__expf", "exp": "__expf", "logf": "__logf", "log": "__logf", "log2f": "__log2f"}
_MACRO = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_LOGARITHMS = ("logf", "log", "log2f")
_LEFT_ALONE = {
    "sinf": "__sinf is accurate only from -pi to pi, and nothing bounds {x}; reduce it to a period first",
    "cosf": "__cosf is accurate only from -pi to pi, and nothing bounds {x}; reduce it to a period first",
    "powf": "__powf goes through a logarithm and is NaN for a negative {x}; where that is positive, write it by hand",
    "tanhf": "tanh.approx.f32 keeps 11 bits; where that is enough for {x}, call __tanhf by hand",
    "/": "__fdividef is 0 for a divisor beyond 2**126, and nothing bounds {x}; multiply by its reciprocal instead",
}


def _rewrite(kernel: Kernel, anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    own = {f.name for f in source_of(kernel).device_functions}
    own |= {name.decode() for name in _MACRO.findall(data_of(kernel))}
    if own := own & {*_RENAMED, *_RENAMED.values(), "sqrtf", "sqrt", "rsqrtf"}:
        raise Refusal(f"{min(own)} is this file's own here, and not the function of CUDA")
    edits: list[Edit] = []
    changed: dict[str, int] = {}
    here: Refusal | None = None
    for place in PATTERN.find(kernel):
        made = attempt(partial(_at, syntax, place))
        if not isinstance(made, Refusal):
            edits += made
            fast = place.bindings["fast"]
            changed[fast] = changed.get(fast, 0) + 1
        elif anchor.span.contains(place.span):
            here = here or made
    if not any(anchor.span.contains(e.span) for e in edits):
        raise here or Refusal(f"{kernel.name} calls nothing here that has a fast path")
    changes = ", ".join(f"{fast} at {n} {'place' if n == 1 else 'places'}" for fast, n in changed.items())
    return ASSIST.candidate(
        kernel,
        edits,
        explanation=f"{changes}; the last bits of the results change, how many says the check on a GPU.",
    )


def _at(syntax: CudaSyntax, place: Anchor) -> list[Edit]:
    """The edits of one place, or why it stays as it is."""
    function, x = place.bindings["function"], place.bindings["x"]
    node = next(
        n
        for n in descendants(syntax.entry.node)
        if (n.start_byte, n.end_byte) == (place.span.start, place.span.end)
        and n.type in ("call_expression", "binary_expression")
    )
    if function in _LEFT_ALONE:
        raise Refusal(_LEFT_ALONE[function].format(x=f"`{x}`"))
    if function in _RENAMED:
        return _renamed(node, function, x)
    return _by_root(syntax.entry, node)


def _renamed(call: Node, function: str, x: str) -> list[Edit]:
    name = call.child_by_field_name("function")
    assert name is not None
    if text_of(name) != function:
        raise Refusal(f"`{text_of(name)}` is not called by its plain name")
    argument = bare(next(iter(arguments_of(call)), None))
    if function in _LOGARITHMS and argument is not None and _adds_to_one(argument):
        raise Refusal(
            f"{_RENAMED[function]} loses the digits of a result near 0, as that of `{x}` is; use log1pf"
        )
    return [replace_node(name, _RENAMED[function])]


def _adds_to_one(node: Node) -> bool:
    if node.type != "binary_expression" or operator_of(node) not in ("+", "-"):
        return False
    sides = (node.child_by_field_name("left"), node.child_by_field_name("right"))
    return any(_is_one(side) for side in sides)


def _is_one(node: Node | None) -> bool:
    return text_of(bare(node)).rstrip("fF").rstrip("0") in ("1", "1.")


def _by_root(unit: Unit, division: Node) -> list[Edit]:
    """`1.0f / sqrtf(v)` → `rsqrtf(v)`, `a / sqrtf(v)` → `a * rsqrtf(v)`."""
    left, right = division.child_by_field_name("left"), division.child_by_field_name("right")
    root = bare(right)
    slash = division.child_by_field_name("operator")
    assert left is not None and right is not None and root is not None and slash is not None
    inverse = "rsqrtf" + text_of(root.child_by_field_name("arguments"))
    one = _is_one(left)
    whole = text_of(bare(left)).isdigit()
    if not (is_single(unit, left) or whole or _is_rounded(unit, division)):
        raise Refusal(
            f"`{text_of(division)}` may be computed in double precision; rsqrtf has single precision only"
        )
    if one:
        return [replace_node(division, inverse)]
    return [replace_node(slash, "*"), replace_node(right, inverse)]


def _is_rounded(unit: Unit, division: Node) -> bool:
    """Whether the quotient of a double is rounded to a `float` at once: it is all that one is given."""
    outer = next((n for n in above(division) if n.type != "parenthesized_expression"), None)
    numerator = field_of(division, "left")
    if outer is None or numerator is None or numerator.type != "number_literal":
        return False
    if outer.type == "init_declarator":
        return is_single(unit, outer.child_by_field_name("declarator"))
    return outer.type == "assignment_expression" and is_single(unit, outer.child_by_field_name("left"))


ASSIST = Assist(
    title="Use fast-math intrinsics",
    skill="fast-math-intrinsics",
    pattern="slow_math",
    make=_rewrite,
)
