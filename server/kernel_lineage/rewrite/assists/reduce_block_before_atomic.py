"""Add up a block's values in shared memory, and make one atomic addition of the block's sum.

Before:
    if (i < n) { atomicAdd(out, x[i]); }
After: each thread puts its value aside, or 0; a tree in shared memory adds them up, and the first thread adds the sum.
The tree takes a block of any size and shape. What a thread adds in a loop it adds up for itself first. Every thread
must come to the barriers: `if (i >= n) return;` becomes `if (!(i >= n)) { … }` around what follows, where the addition
is the last thing that the kernel does; one that threads leave otherwise is left alone.
"""

from __future__ import annotations

from itertools import takewhile

from tree_sitter import Node

from kernel_lineage.kernels.anchors.block_uniform_atomic import PATTERN
from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import (
    Call,
    above,
    bare,
    changed_by,
    contains,
    test_of,
    text_of,
    uses_of,
)
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel, Launch
from kernel_lineage.rewrite.assists.element_work import check_alone
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    dedented,
    descendants,
    fresh_name,
    indent_at,
    indent_unit,
    insert_before,
    newline_of,
    replace_between,
    statements_of,
    syntax_of,
)
from kernel_lineage.rewrite.assists.loop_changes import changed_in
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.row_loops import LOOPS
from kernel_lineage.rewrite.assists.template_types import pointee_of, spelt
from kernel_lineage.rewrite.candidate import Candidate, Edit
from kernel_lineage.skills.kernel_facts import constant
from kernel_lineage.workloads.constants import constants_of

SUMMED = {"float32": "float", "float64": "double", "int32": "int", "uint32": "unsigned int"}
_THE_SAME = frozenset({"blockIdx", "blockDim", "gridDim", "warpSize"})
_AROUND = frozenset({"if_statement", "else_clause", "compound_statement", "expression_statement", *LOOPS})
"""What an addition may stand in."""
_MOST_THREADS = 1024
"""Threads of a block (CUDA C++ Programming Guide, technical specifications)."""


def _rewrite(kernel: Kernel, anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    places = [a.span.start for a in PATTERN.find(kernel)]
    call = next(
        (
            c
            for c in syntax.entry.calls
            if c.node.start_byte in places
            and c.node.start_byte < anchor.span.end
            and anchor.span.start < c.node.end_byte
        ),
        None,
    )
    if call is None:
        raise Refusal(
            f"{kernel.name} has no atomic addition here that several threads of a block make to one element"
        )
    place = indexing(syntax.entry).place(call.arguments[0])
    kind = spelt(kernel, pointee_of(kernel.parameter(place.root)), SUMMED)
    if not kind:
        raise Refusal(
            f"`{text_of(call.arguments[0])}` is not known to point to float, double, int or unsigned int"
        )
    outer = _outermost(syntax, call.node)
    guards = _guards(syntax, call, outer)
    _check_safe(kernel, syntax, call, place.root, guards)
    return ASSIST.candidate(
        kernel,
        _edits(kernel, syntax, call, outer, guards, kind),
        explanation="One atomic addition for each block; the sum is rounded in another order.",
    )


def _guards(syntax: CudaSyntax, call: Call, outer: Node) -> list[Node]:
    """The checks of the kernel's body that threads leave by before an addition, where it is the last thing done and its
    address is told in front of them.
    """
    statements = statements_of(syntax.entry.node.child_by_field_name("body"))
    guards = [s for s in statements if s.end_byte <= outer.start_byte and leaves_by(s) is not None]
    if not guards:
        return []
    first = guards[0]
    behind = [s for s in statements if s.start_byte >= first.start_byte]
    used = identifiers_in(call.arguments[0])
    late = next((v.name for v in syntax.entry.variables if v.start > first.start_byte and v.name in used), "")
    plain = not any(s.type.startswith("preproc") for s in behind)
    if statements[-1] != outer or not plain or late:
        return []
    check_alone(
        syntax.kernel, syntax
    )  # Who has left is not waited for, and would be at a barrier within the checks.
    return guards


def leaves_by(statement: Node) -> Node | None:
    """The test by which `if (…) return;` lets threads leave; None for any other statement."""
    if statement.type != "if_statement" or statement.child_by_field_name("alternative") is not None:
        return None
    then = statements_of(statement.child_by_field_name("consequence"))
    return test_of(statement) if [text_of(s).replace(" ", "") for s in then] == ["return;"] else None


def _check_safe(kernel: Kernel, syntax: CudaSyntax, call: Call, root: str, guards: list[Node]) -> None:
    """Refuse an addition that may not wait for the other threads of the block, or not be the first thread's."""
    body = syntax.entry.node
    left = next(
        (
            n
            for n in descendants(body)
            if n.type in ("return_statement", "goto_statement") and not any(contains(g, n) for g in guards)
        ),
        None,
    )
    if left is not None or "asm" in identifiers_in(body) or "__trap" in kernel.text:
        line = left.start_point.row + 1 if left is not None else kernel.span.first_line
        raise Refusal(f"some threads may leave in line {line}, and would be missing at the barriers")
    if root not in identifiers_in(call.arguments[0]):
        raise Refusal(f"`{text_of(call.arguments[0])}` comes to {root} through another pointer")
    others = uses_of(body, root)
    if sum(1 for n in others if n.parent is not None and n.parent.type != "pointer_declarator") > 1:
        raise Refusal(f"{root} is used at another place as well; the addition comes later than before")
    doubtful = _differs(kernel, syntax, call.arguments[0], set())
    if doubtful:
        raise Refusal(f"`{doubtful}` in `{text_of(call.arguments[0])}` may differ from thread to thread")


def _differs(kernel: Kernel, syntax: CudaSyntax, node: Node, seen: set[str]) -> str:
    """A name of an address that is not known to have one value in all threads of a block; "" when there is none."""
    changed = changed_in(syntax, syntax.entry.node)
    variables = {v.name: v for v in syntax.entry.variables}
    parameters = {p.name for p in kernel.parameters} | {t.name for t in kernel.template_parameters}
    written = {changed_by(n) for n in descendants(syntax.entry.node)}
    for part in descendants(node):
        if part.type == "call_expression":
            return text_of(part)
        if part.type == "subscript_expression" and part != node and part.parent != node:
            return text_of(part)
        if part.type != "identifier" or text_of(part) in seen:
            continue
        name = text_of(part)
        seen.add(name)
        if name in written:
            return name
        if name in variables:
            value = variables[name].value
            inside = any(
                contains(s, variables[name].node) and contains(s, node)
                for s in syntax.entry.of("if_statement")
            )
            if value is None or inside or [v.name for v in syntax.entry.variables].count(name) > 1:
                return name
            if culprit := _differs(kernel, syntax, value, seen):
                return culprit
        elif name in parameters:
            if name in changed:
                return name
        elif name not in _THE_SAME and constant(name, constants_of(kernel)) is None:
            return name
    return ""


def _outermost(syntax: CudaSyntax, node: Node) -> Node:
    """The statement of the kernel's body that holds the addition."""
    body = syntax.entry.node.child_by_field_name("body")
    for statement in statements_of(body):
        if contains(statement, node):
            kinds = {p.type for p in _parents(node, statement)}
            if kinds - _AROUND:
                raise Refusal(f"`{text_of(node)}` stands in more than plain conditions")
            return statement
    raise Refusal(f"`{text_of(node)}` is not a statement of the kernel's body")


def _parents(node: Node, last: Node) -> list[Node]:
    return list(takewhile(lambda n: n != last.parent, above(node)))


def _edits(
    kernel: Kernel, syntax: CudaSyntax, call: Call, outer: Node, guards: list[Node], kind: str
) -> tuple[Edit, ...]:
    data = data_of(kernel)
    taken = identifiers_in(syntax.entry.node)
    value, sums, stride, number = (
        fresh_name(n, taken) for n in ("own_value", "block_sums", "stride", "thread")
    )
    first = guards[0] if guards else outer
    unit, gap = indent_unit(kernel), newline_of(data) + indent_at(data, first.start_byte)
    flat = bool(kernel.launches) and all(_one_dimension(launch) for launch in kernel.launches)
    thread, threads = "threadIdx.x", "blockDim.x"
    numbered = []
    if not flat:
        every = "threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)"
        thread, threads = number, "blockDim.x * blockDim.y * blockDim.z"
        numbered = [f"const unsigned int {number} = {every};"]
    tree = [
        "",
        *numbered,
        f"__shared__ {kind} {sums}[{_MOST_THREADS}];",
        f"{sums}[{thread}] = {value};",
        f"for (unsigned int {stride} = {_MOST_THREADS // 2}; {stride} > 0; {stride} /= 2) {{",
        f"{unit}__syncthreads();",
        f"{unit}if ({thread} < {stride} && {thread} + {stride} < {threads}) {{",
        f"{unit * 2}{sums}[{thread}] += {sums}[{thread} + {stride}];",
        f"{unit}}}",
        "}",
        f"if ({thread} == 0{_where_one_added(kernel, call, first, sums)}) {{",
        f"{unit}atomicAdd({text_of(call.arguments[0])}, {sums}[0]);",
        "}",
    ]
    zero = {"float": "0.0f", "double": "0.0"}.get(kind, "0")
    declared, kept = f"{kind} {value} = {zero};{gap}", f"{value} = {text_of(call.arguments[1])}"
    if syntax.entry.loops_around(call.node):
        kept = f"{value} += {text_of(call.arguments[1])}"
    after = insert_before(kernel, outer.end_byte, gap.join(tree))
    if guards:
        lines = _within_checks(data, syntax, guards, outer, [(call.node, kept)], unit)
        text = declared + gap.join([*lines, *tree[1:]])
        return (replace_between(kernel, first.start_byte, outer.end_byte, text),)
    if call.node.start_byte == outer.start_byte:
        return (replace_node(call.node, declared + kept), after)
    return (insert_before(kernel, outer.start_byte, declared), replace_node(call.node, kept), after)


def _where_one_added(kernel: Kernel, call: Call, first: Node, sums: str) -> str:
    """What is asked beside for a sum of a block of which no thread may have come to the addition, and whose element may
    not be there: a sum that is not zero is one of a thread that did.
    """
    fixed = {p.name for p in kernel.parameters} | {t.name for t in kernel.template_parameters}
    always = contains(first, call.node) and first.type == "expression_statement"
    return "" if always or identifiers_in(call.arguments[0]) <= fixed else f" && {sums}[0] != 0"


def _within_checks(
    data: bytes,
    syntax: CudaSyntax,
    guards: list[Node],
    outer: Node,
    changes: list[tuple[Node, str]],
    unit: str,
) -> list[str]:
    """The lines from the first of some checks on, each with what follows it as its body."""
    lines: list[str] = []
    ends = [*(g.start_byte for g in guards[1:]), outer.end_byte]
    body = syntax.entry.node.child_by_field_name("body")
    for depth, (guard, end) in enumerate(zip(guards, ends, strict=True)):
        parts = [n for n in body.named_children if guard.end_byte <= n.start_byte < end] if body else []
        lines.append(f"{unit * depth}if (!({text_of(bare(leaves_by(guard)))})) {{")
        inner = (
            dedented(data, parts, [c for c in changes if any(contains(p, c[0]) for p in parts)])
            if parts
            else []
        )
        lines += [unit * (depth + 1) + line if line.strip() else "" for line in inner]
    return lines + [f"{unit * depth}}}" for depth in reversed(range(len(guards)))]


def _one_dimension(launch: Launch) -> bool:
    extents = [constant(extent, launch.definitions) for extent in launch.block[1:]]
    return bool(launch.block) and "dim3" not in launch.block[0] and all(extent == 1 for extent in extents)


ASSIST = Assist(
    title="Add up a block before the atomic",
    skill="block-reduction",
    pattern="block_uniform_atomic",
    make=_rewrite,
)
