"""Gather a row's maximum and the sum of its exponentials in one pass over it.

Before:
    for (int i = 0; i < C; i++) { m = fmaxf(m, x[i]); }
    for (int i = 0; i < C; i++) { sum += expf(x[i] - m); }
After: the first loop carries the sum along and rescales it whenever a larger element comes; the second one is gone.

One thread may own the row, or several a part of it each: what the kernel does between the two loops to find the row's
maximum stays, and a thread's sum is brought from its own maximum to that one. Where the second loop also kept the
exponentials for a third one, the third one works them out again. Infinities and NaN give what they gave before.
"""

from __future__ import annotations

import re
from functools import partial

from tree_sitter import Node

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import contains, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    fresh_name,
    indent_at,
    indent_unit,
    newline_of,
    syntax_of,
)
from kernel_lineage.rewrite.assists.loop_changes import changed_between, written_by_calls
from kernel_lineage.rewrite.assists.model import Assist, Refusal, attempt
from kernel_lineage.rewrite.assists.softmax_loops import (
    Exponentials,
    Maximum,
    Scaled,
    exponentials_of,
    maximum_of,
    scaled_of,
)
from kernel_lineage.rewrite.assists.template_types import pointee_of, spelt
from kernel_lineage.rewrite.assists.written import dense, header_of
from kernel_lineage.rewrite.candidate import Candidate, Edit

_FLOATING = {"float32": "float", "float64": "double"}


def _rewrite(kernel: Kernel, anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    refusal: Refusal | None = None
    for loop in syntax.entry.loops:
        if loop.node.start_byte >= anchor.span.end or anchor.span.start >= loop.node.end_byte:
            continue
        second = attempt(partial(exponentials_of, loop))
        if isinstance(second, Refusal):
            if refusal is None or "exp" in text_of(loop.body):
                refusal = second
            continue
        edits = attempt(partial(_fused, kernel, syntax, second))
        if isinstance(edits, Refusal):
            refusal = edits
            continue
        return ASSIST.candidate(
            kernel,
            edits,
            explanation=f"The pass over {second.written} for the sum is gone; the sum is rounded in another order. "
            "Infinities and NaN give what they gave before.",
            guarded=True,
        )
    raise refusal or Refusal(f"{kernel.name} has no loop here that sums exponentials")


def _fused(kernel: Kernel, syntax: CudaSyntax, second: Exponentials) -> list[Edit]:
    first = _maximum_before(syntax, second)
    types = {
        name: _type(kernel, syntax, name) for name in (first.name, second.sum, first.root, second.kept_root)
    }
    for name, kind in types.items():
        if name and kind is None:
            raise Refusal(f"`{name}` is not known to hold float or double")
    if second.kept_root and types[second.kept_root] != types[first.root]:
        raise Refusal(
            f"the exponentials are kept in `{second.kept_root}` in another precision than {first.root} has"
        )
    third = _third(syntax, first, second) if second.kept_root else None
    end = third.loop.node if third is not None else second.loop.node
    _check_still(syntax, first, second, end)
    return _edits(kernel, syntax, first, second, third, {n: t for n, t in types.items() if t})


def _maximum_before(syntax: CudaSyntax, second: Exponentials) -> Maximum:
    """The loop that finds the maximum of the same elements, in the same block of statements."""
    line = second.loop.node.start_point.row + 1
    maximum: Maximum | Refusal = Refusal(
        f"no loop before line {line} finds the maximum of `{second.element}`"
    )
    for loop in syntax.entry.loops:
        if loop.node.parent != second.loop.node.parent or loop.node.end_byte > second.loop.node.start_byte:
            continue
        first = maximum_of(loop)
        if first is None or first.element != second.element:
            continue
        if header_of(loop) != header_of(second.loop) and not _begins_with_first(syntax, first, second):
            maximum = Refusal(
                f"the loops in lines {loop.node.start_point.row + 1} and {line} do not run over the same elements"
            )
            continue
        maximum = first
    if isinstance(maximum, Refusal):
        raise maximum
    return maximum


def _begins_with_first(syntax: CudaSyntax, first: Maximum, second: Exponentials) -> bool:
    """Whether the maximum begins with the row's first element and its loop behind it: `m = x[0]; for (i = 1; …)`.

    The loop of the sum then finds the same maximum. Where threads share a row, each of them has taken another part for
    the maximum than for the sum, so the maxima of all have to come together in between.
    """
    one, other = first.loop, second.loop
    start, whole = dense(one.start), dense(other.start)
    heads = [(dense(x.condition), dense(x.update), x.counter) for x in (one, other)]
    shared = whole != "0"
    if start != ("1" if not shared else f"1+{whole}") or heads[0] != heads[1]:
        return False
    variable = next((v for v in syntax.entry.variables if v.name == first.name), None)
    if variable is None or variable.value is None or variable.node.parent != one.node.parent:
        return False
    if first.name in changed_between(syntax, variable.node.end_byte, one.node.start_byte):
        return False
    place = re.sub(rf"\b{re.escape(one.counter)}\b", "0", first.element)
    if dense(variable.value) not in (place, place.replace("+0]", "]")):
        return False
    own = second.maximum == first.name
    return not (shared and own and not _brought_together(syntax, first, second))


def _brought_together(syntax: CudaSyntax, first: Maximum, second: Exponentials) -> bool:
    """Whether the maximum changes between the two loops: by what the threads of a row make of theirs."""
    return first.name in changed_between(syntax, first.loop.node.end_byte, second.loop.node.start_byte)


def _type(kernel: Kernel, syntax: CudaSyntax, name: str) -> str | None:
    for variable in syntax.entry.variables:
        if variable.name == name:
            return spelt(kernel, variable.type, _FLOATING) or None
    return spelt(kernel, pointee_of(kernel.parameter(name)), _FLOATING) or None


def _third(syntax: CudaSyntax, first: Maximum, second: Exponentials) -> Scaled:
    """The loop that reads the kept exponentials back, when nothing else does."""
    third: Scaled | None = None
    for loop in syntax.entry.loops:
        after = (
            loop.node.parent == second.loop.node.parent and loop.node.start_byte >= second.loop.node.end_byte
        )
        if after and third is None and header_of(loop) == header_of(second.loop):
            third = scaled_of(loop, second.kept)
    if third is None:
        raise Refusal(f"no loop over the same elements only scales what was kept in `{second.kept}`")
    start, end = first.loop.node.start_byte, third.loop.node.end_byte
    accesses = [a for a in indexing(syntax.entry).accesses if start <= a.node.start_byte < end]
    outputs = {a.root for a in accesses if a.writes and dense(a.node) == second.kept}
    rows = {a.root for a in accesses if dense(a.node) == second.element}
    for access in accesses:
        within = any(contains(loop.node, access.node) for loop in (first.loop, second.loop, third.loop))
        own = within and dense(access.node) in (second.kept, second.element)
        again = contains(third.loop.node, access.node) and dense(access.node) != second.kept
        if (access.root in outputs and not own) or (access.root in rows and again):
            raise Refusal(f"`{text_of(access.node)}` is used besides the three passes")
    return third


def _check_still(syntax: CudaSyntax, first: Maximum, second: Exponentials, end: Node) -> None:
    """Refuse passes that may not see the same row and the same maximum."""
    start = first.loop.node.start_byte
    fixed = first.names | second.names
    moved = fixed & changed_between(syntax, start, end.end_byte)
    if moved:
        raise Refusal(f"`{min(moved)}` changes between the passes, which then walk over different rows")
    if second.maximum in changed_between(syntax, second.loop.node.start_byte, end.end_byte):
        raise Refusal(f"`{second.maximum}` changes after the loop for the sum has begun")
    passes = [second.loop.node, end]
    for access in indexing(syntax.entry).accesses:
        at = access.node.start_byte
        own = any(p.start_byte <= at < p.end_byte for p in passes)
        if access.writes and access.space in ("global", "unknown") and start <= at < end.end_byte and not own:
            raise Refusal(f"`{text_of(access.node)}` is written between the passes; it may lie in the row")
    reach = indexing(syntax.entry)
    for root, call in written_by_calls(syntax, start, end.end_byte).items():
        if reach.space_of(root) in ("global", "unknown"):
            raise Refusal(f"`{call}` between the passes may write the row")


def _edits(
    kernel: Kernel,
    syntax: CudaSyntax,
    first: Maximum,
    second: Exponentials,
    third: Scaled | None,
    types: dict[str, str],
) -> list[Edit]:
    data = data_of(kernel)
    taken = identifiers_in(syntax.entry.node)
    so_far, value, own = (fresh_name(n, taken) for n in ("sum_so_far", "value", f"own_{first.name}"))
    kind, exp, m = types[second.sum], second.function, first.name
    zero, one = ("0.0f", "1.0f") if kind == "float" else ("0.0", "1.0")
    unit = indent_unit(kernel)
    same = second.maximum == m and m not in changed_between(
        syntax, first.loop.node.end_byte, second.loop.node.end_byte
    )
    lines = [
        f"{kind} {so_far} = {zero};",
        f"{header_of(second.loop)} {{",
        f"{unit}const {types[first.root]} {value} = {first.written};",
        f"{unit}if ({value} > {m}) {{",
        f"{unit * 2}{so_far} = {so_far} * {exp}({m} - {value}) + {one};",
        f"{unit * 2}{m} = {value};",
        f"{unit}}} else {{",
        f"{unit * 2}// Equal elements are not subtracted: both may be -infinity at the start of a row.",
        f"{unit * 2}{so_far} += {value} == {m} ? {one} : {exp}({value} - {m});",
        f"{unit}}}",
        "}",
    ]
    if same:
        why, brought = (
            f"{m} - {m} is NaN where the maximum is infinite, as the exponentials were.",
            f"+ ({m} - {m})",
        )
    else:
        lines.append(f"const {types[m]} {own} = {m};")
        why, brought = "From this thread's maximum to the row's.", f"* {exp}({own} - {second.maximum})"
    combined = [f"// {why}", f"if ({so_far} != {zero}) {{", f"{unit}{second.sum} += {so_far} {brought};", "}"]

    def laid_out(node: Node, written: list[str]) -> Edit:
        gap = newline_of(data) + indent_at(data, node.start_byte)
        return replace_node(node, gap.join(written))

    edits = [laid_out(first.loop.node, lines), laid_out(second.loop.node, combined)]
    if third is not None:
        again = f"{exp}({second.written} - {second.maximum})"
        edits += [Edit(span, text.replace("#", again)) for span, text in third.edits]
    return edits


ASSIST = Assist(
    title="Gather maximum and sum in one pass",
    skill="online-softmax",
    pattern="two_pass_reduction",
    make=_rewrite,
)
