"""Add up in shared memory first, and to global memory once for each block and address: a histogram, and its like.

Before:
    for (int i = …; i < n; i += stride) { atomicAdd(&bins[data[i]], 1); }
After: a block has its own copy of the first 8 KiB of `bins`, cleared before the loop and added to `bins` after it. How
many bins there are need not be known: an address beyond the copy is added to as before. Where each thread takes one
element, or what lies in one row, it is given a grid-stride loop first, so that a block has more elements than bins.

Additions come later than before and in another order, so that nothing may read the bins meanwhile.
"""

from __future__ import annotations

from tree_sitter import Node

from kernel_lineage.code.types import dtype_bytes
from kernel_lineage.kernels.anchors.global_atomic import PATTERN
from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import Call, bare, contains, field_of, operator_of, text_of, uses_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import edited, replace_node
from kernel_lineage.kernels.linear_forms import lane_stride
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists import loop_over_grid
from kernel_lineage.rewrite.assists.layout import (
    data_of,
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
from kernel_lineage.rewrite.assists.loop_changes import is_of_the_language
from kernel_lineage.rewrite.assists.model import Assist, Refusal, attempt
from kernel_lineage.rewrite.assists.template_types import dtypes_meant, pointee_of, spelt
from kernel_lineage.rewrite.candidate import Candidate, Edit

_COPY_BYTES = 8 * 1024
"""Enough for 2048 counts; clearing it costs a block less than a few of its elements each."""
SUMMED_IN = {
    "int32": "int",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
}


def _rewrite(kernel: Kernel, anchor: Anchor) -> Candidate:
    if kernel.source is None:
        raise Refusal(f"{kernel.name} does not parse completely")
    edits = attempt(lambda: _privatised(kernel))
    if isinstance(edits, Refusal):
        data = data_of(kernel)
        strided = attempt(lambda: loop_over_grid.ASSIST.make(kernel, anchor))
        if isinstance(strided, Refusal):
            raise edits if syntax_of(kernel).entry.loops else strided
        text = strided.apply(data)
        again = read(text, kernel.language).kernel(kernel.name)
        if again is None:
            raise edits
        edits = [_difference(kernel, edited(text, _privatised(again)))]
    return ASSIST.candidate(
        kernel,
        edits,
        explanation="Each block adds up in shared memory, then once to each address, in another order.",
    )


def _difference(kernel: Kernel, after: bytes) -> Edit:
    """One edit that makes another text of the kernel's file."""
    before, start = data_of(kernel), 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    new = after[start : len(after) - end].decode("utf-8", "surrogateescape")
    return replace_between(kernel, start, len(before) - end, new)


def _privatised(kernel: Kernel) -> list[Edit]:
    syntax = syntax_of(kernel)
    places = [a.span.start for a in PATTERN.find(kernel)]
    calls = [c for c in syntax.entry.calls if c.name.startswith("atomic")]
    call = calls[0] if len(calls) == 1 else None
    if (
        call is None
        or call.node.start_byte not in places
        or call.name != "atomicAdd"
        or len(call.arguments) != 2
    ):
        raise Refusal(f"{kernel.name} does not make one atomic addition to global memory")
    index = element_added_to(call)
    if index is None:
        raise Refusal(f"`{text_of(call.arguments[0])}` is not an element of a named pointer")
    pointer, place = index
    written = pointee_of(kernel.parameter(pointer))
    kind = spelt(kernel, written, SUMMED_IN)
    if not kind:
        raise Refusal(f"`{pointer}` is not known to point to a type that shared memory adds to")
    if lane_stride(indexing(syntax.entry).place(call.arguments[0]).offset) == 0:
        raise Refusal(f"all threads add to `{text_of(call.arguments[0])}`; their sum is better made first")
    loop = _loop_around(kernel, syntax, call, pointer, place)
    count = _COPY_BYTES // max(map(dtype_bytes, dtypes_meant(kernel, written)))
    return _edits(kernel, syntax, call, loop, (pointer, place, kind, count))


def element_added_to(call: Call) -> tuple[str, Node] | None:
    """The pointer and the index of `&p[i]` or `p + i`."""
    target = bare(call.arguments[0])
    if target is not None and target.type == "pointer_expression" and operator_of(target) == "&":
        element = field_of(target, "argument")
        listed = element.child_by_field_name("indices") if element is not None else None
        base = element.child_by_field_name("argument") if element is not None else None
        one = listed is not None and len(listed.named_children) == 1
        if one and listed is not None and base is not None and base.type == "identifier":
            return text_of(base), listed.named_children[0]
    if target is not None and target.type == "binary_expression" and operator_of(target) == "+":
        left, right = target.child_by_field_name("left"), target.child_by_field_name("right")
        if left is not None and right is not None and left.type == "identifier":
            return text_of(left), right
    return None


def _loop_around(kernel: Kernel, syntax: CudaSyntax, call: Call, pointer: str, place: Node) -> Node:
    """The loop at whose ends the block can wait. Refused where an addition may not come later."""
    entry = syntax.entry
    body = entry.node.child_by_field_name("body")
    left = next(
        (n for n in descendants(entry.node) if n.type in ("return_statement", "goto_statement")), None
    )
    if left is not None:
        raise Refusal(
            f"some threads leave in line {left.start_point.row + 1}, and would be missing at the barriers"
        )
    if entry.shared_variables or "asm" in identifiers_in(entry.node) or "extern __shared__" in kernel.text:
        raise Refusal(f"{kernel.name} has shared memory of its own")
    if call.node.parent is None or call.node.parent.type != "expression_statement":
        raise Refusal(f"what `{text_of(call.node)}` returns is used; a block's copy returns something else")
    used = uses_of(entry.node, pointer)
    if sum(n.parent is not None and n.parent.type != "pointer_declarator" for n in used) > 1:
        raise Refusal(f"{pointer} is used at another place as well; the addition comes later than before")
    for argument in (place, call.arguments[1]):
        for node in descendants(argument):
            called = text_of(node.child_by_field_name("function")) if node.type == "call_expression" else ""
            if node.type in ("update_expression", "assignment_expression") or (
                called and not is_of_the_language(called)
            ):
                raise Refusal(f"`{text_of(node)}` may do more than to compute a value")
    loop = next((x.node for x in entry.loops if contains(x.node, call.node)), None)
    if loop is None or body is None or loop not in statements_of(body):
        raise Refusal(f"{kernel.name} does not add in a loop that all threads of a block come to")
    return loop


def _edits(
    kernel: Kernel, syntax: CudaSyntax, call: Call, loop: Node, what: tuple[str, Node, str, int]
) -> list[Edit]:
    data, unit = data_of(kernel), indent_unit(kernel)
    newline, margin = newline_of(data), indent_at(data, loop.start_byte)
    pointer, place, kind, size = what
    taken = identifiers_in(syntax.entry.node)
    own, bin_, at = (fresh_name(n, taken) for n in (f"own_{pointer}", "bin", "at"))
    first, step = _thread_of_block(text_of(syntax.entry.node))
    each = f"for (int {bin_} = {first}; {bin_} < {size}; {bin_} += {step})"
    before = [
        f"// A block adds to its own copy; what lies beyond the first {size} goes to {pointer} at once.",
        f"__shared__ {kind} {own}[{size}];",
        f"{each} {{ {own}[{bin_}] = 0; }}",
        "__syncthreads();",
    ]
    after = [
        "__syncthreads();",
        f"{each} {{",
        f"{unit}if ({own}[{bin_}] != 0) {{ atomicAdd(&{pointer}[{bin_}], {own}[{bin_}]); }}",
        "}",
    ]
    statement = call.node.parent
    assert statement is not None
    inner, value = indent_at(data, statement.start_byte), text_of(call.arguments[1])
    added = [
        "{",
        f"{unit}const long long {at} = {text_of(place)};",
        f"{unit}if ({at} >= 0 && {at} < {size}) {{",
        f"{unit}{unit}atomicAdd(&{own}[{at}], {value});",
        f"{unit}}} else {{",
        f"{unit}{unit}atomicAdd(&{pointer}[{at}], {value});",
        f"{unit}}}",
        "}",
    ]
    return [
        insert_before(kernel, loop.start_byte, "".join(x + newline + margin for x in before)),
        replace_node(statement, (newline + inner).join(added)),
        insert_before(kernel, loop.end_byte, "".join(newline + margin + x for x in after)),
    ]


def _thread_of_block(text: str) -> tuple[str, str]:
    """The number of a thread in its block, and how many threads there are, along the axes that a kernel counts on."""
    if "threadIdx.z" in text:
        rank = "(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x"
        return rank, "blockDim.x * blockDim.y * blockDim.z"
    if "threadIdx.y" in text:
        return "threadIdx.y * blockDim.x + threadIdx.x", "blockDim.x * blockDim.y"
    return "threadIdx.x", "blockDim.x"


ASSIST = Assist(
    title="Add up in shared memory before global memory",
    skill="privatised-atomics",
    pattern="global_atomic",
    make=_rewrite,
)
