"""A kernel's text as the work for one place of its grid; of a product, what stands around the loop, with its sum told.

Each place of a tile does what its thread did: returns become `continue`, and whatever told the thread's place in the
grid is written as the place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import takewhile

from tree_sitter import Node

from kernel_gate.expr.terms import TRUTHS, Op, Term, Var, variables
from kernel_lineage.code.model import Model
from kernel_lineage.kernels.cuda_forms import above, changed_by, contains, declarators, text_of, uses_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import edited, replace_node
from kernel_lineage.kernels.source import Kernel, Span
from kernel_lineage.rewrite.assists.hidden_reads import check_hidden_reads
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    descendants,
    indent_at,
    indent_unit,
    newline_of,
    with_pragmas,
)
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.product_sum import LOADED, SumOfProducts
from kernel_lineage.rewrite.assists.products import PLACES, Placing, Product, placed
from kernel_lineage.rewrite.assists.term_text import c_text
from kernel_lineage.rewrite.assists.written import in_brackets
from kernel_lineage.rewrite.candidate import Edit

_THREAD = frozenset({"threadIdx.x", "threadIdx.y", "blockIdx.x", "blockIdx.y", "blockDim.x", "blockDim.y"})
_HIDDEN = re.compile(r"threadIdx|blockIdx|blockDim|gridDim|warpSize|__sync|__shfl|\basm\b")
_WIDE = re.compile(r"long|size_t|64")
"""Types whose values a product of 32 bits may not hold."""
_NEVER = re.compile(r"gridDim|warpSize|__shared__|\bgoto\b|\basm\b|\bstatic\b")


def outputs_of(
    kernel: Kernel,
    syntax: CudaSyntax,
    product: Product,
    total: SumOfProducts,
    names: Mapping[str, str],
    value: str,
) -> list[str]:
    """The lines of the work for one output.

    `names` says how the output's place along each axis is written, `value` its sum of products; "" leaves the loop as
    it is.
    """
    body = _body(kernel, syntax, total.loop)
    if not value:
        if total.moved:
            raise Refusal(f"`{min(total.moved)}` is moved on by the loop, and would be for each output")
        places = _places(body, None, product.model, product.placed, names, flat=product.flat is not None)
        return _lines(kernel, body, [*_returns(body, None), *places])
    edits = _returns(body, total.loop)
    behind = [n for n in descendants(body) if n.type == "identifier" and n.start_byte >= total.loop.end_byte]
    inside = {name for d in _declarations(total.loop) for name, *_ in declarators(d)}
    left = {text_of(n) for n in behind} & ((set(product.loop.counters) | total.moved) - inside)
    if left:
        raise Refusal(f"`{left.pop()}` is used behind the loop that has moved it on")
    places = _places(body, total.loop, product.model, product.placed, names, flat=product.flat is not None)
    return _lines(kernel, body, _summed(total, [*edits, *places], value))


def place_work(
    kernel: Kernel, syntax: CudaSyntax, model: Model, extents: Mapping[str, Term], names: Mapping[str, str]
) -> list[str]:
    """The lines of the work for one place, which `names` writes along each axis; `extents` are the block's."""
    body = _body(kernel, syntax, None)
    return _lines(
        kernel,
        body,
        [*_returns(body, None), *_places(body, None, model, lambda term: placed(term, extents), names)],
    )


def with_body(kernel: Kernel, syntax: CudaSyntax, lines: list[str]) -> Edit:
    """An edit that makes lines, indented by four blanks, the kernel's body."""
    node = syntax.entry.node.child_by_field_name("body")
    assert node is not None
    data, unit = data_of(kernel), indent_unit(kernel)
    margin, newline = indent_at(data, syntax.entry.node.start_byte), newline_of(data)
    text = newline.join(margin + unit + line.replace("    ", unit) if line else "" for line in lines)
    return replace_node(node, f"{{{newline}{text}{newline}{margin}}}")


def _body(kernel: Kernel, syntax: CudaSyntax, loop: Node | None) -> Node:
    """The body of a kernel. Refused where it would mean something else for several places of a thread."""
    body = syntax.entry.node.child_by_field_name("body")
    if body is None:
        raise Refusal(f"{kernel.name} has no body")
    never = _NEVER.search(text_of(body))
    if never is not None:
        raise Refusal(
            f"`{never[0]}` in {kernel.name} would mean something else for several outputs of a thread"
        )
    check_hidden_reads(kernel, syntax, _HIDDEN, "its place in the grid")
    if any(n.type.startswith(("preproc_if", "preproc_el")) for n in descendants(body)):
        raise Refusal(f"{kernel.name} is not the same in every build: it holds `#if`")
    outside = [n for n in descendants(body) if loop is None or not contains(loop, n)]
    for parameter in kernel.parameters:
        changes = [n for n in outside if changed_by(n) == parameter.name]
        uses = [n for n in outside if n.type == "identifier" and text_of(n) == parameter.name]
        if any(not any(contains(change, use) for change in changes) for use in uses if changes):
            raise Refusal(f"`{parameter.name}` is moved on by the kernel, and would be for each output")
    return body


def _returns(body: Node, loop: Node | None) -> list[Edit]:
    edits: list[Edit] = []
    for node in descendants(body):
        if node.type == "return_statement":
            for outer in takewhile(lambda n: n != body, above(node)):
                if outer.type in ("for_statement", "while_statement", "do_statement", "switch_statement"):
                    raise Refusal(f"the return in line {node.start_point.row + 1} leaves a loop")
                if outer.type == "lambda_expression":
                    raise Refusal("a lambda returns, which is another return")
            edits.append(replace_node(node, "continue;"))
        elif (
            loop is not None
            and node.type in ("break_statement", "continue_statement")
            and contains(loop, node)
        ):
            raise Refusal(
                f"`{text_of(node)}` in line {node.start_point.row + 1} ends a round of the product early"
            )
    return edits


def _declarations(node: Node) -> list[Node]:
    return [n for n in descendants(node) if n.type == "declaration"]


def _places(
    body: Node,
    loop: Node | None,
    model: Model,
    placing: Placing,
    names: Mapping[str, str],
    *,
    flat: bool = False,
) -> list[Edit]:
    """Edits that write the output's place where the thread's place was told. With `flat`, one index tells it, which is
    written as such only where nothing takes it apart.
    """
    spelling = {PLACES[axis].name: text for axis, text in names.items()}
    edits: dict[tuple[int, int], Edit] = {}
    dropped: set[str] = set()
    wide = False
    waiting = [n for n in descendants(body) if n.type == "field_expression" and _squeezed(n) in _THREAD]
    while waiting:
        node = waiting.pop(0)
        within = loop is not None and contains(loop, node)
        if within or any(a <= node.start_byte and node.end_byte <= b for a, b in edits):
            continue
        smallest = _smallest(node, body, model, placing, apart=flat)
        declared = _declared(node) if smallest is None else None
        if smallest is None and declared is None and flat:
            smallest = _smallest(node, body, model, placing)
        if smallest is not None:
            whole, term = smallest
            text = in_brackets(c_text(term, spelling, wide=wide))
            edits[whole.start_byte, whole.end_byte] = replace_node(whole, text)
            continue
        if declared is None:
            raise Refusal(
                f"`{text_of(node)}` in line {node.start_point.row + 1} tells more than the place of an output"
            )
        wide = wide or (flat and _WIDE.search(text_of(declared[0].child_by_field_name("type"))) is not None)
        for name in declared[1] - dropped:
            dropped.add(name)
            waiting += [n for n in uses_of(body, name) if not contains(declared[0], n)]
        edits[declared[0].start_byte, declared[0].end_byte] = replace_node(declared[0], "")
    # What is replaced as a whole takes the place of what was replaced within it.
    return [
        e for (a, b), e in edits.items() if not any((c, d) != (a, b) and c <= a and b <= d for c, d in edits)
    ]


def _smallest(
    node: Node, body: Node, model: Model, placing: Placing, *, apart: bool = False
) -> tuple[Node, Term] | None:
    """The smallest expression around a node that is told by the place of an output alone. With `apart`, it speaks of
    one axis or of bounds, and the smallest that is just a place goes before others.
    """
    best: tuple[Node, Term] | None = None
    both = {place.name for place in PLACES.values()}
    outer: Node | None = node
    while (
        outer is not None
        and outer != body
        and not outer.type.endswith(("statement", "declaration", "clause"))
    ):
        term = model.values.get((outer.start_byte, outer.end_byte))
        if term is not None:
            place = placing(term)
            moving = {n for n in variables(place) if n.startswith(("threadIdx", "blockIdx", "blockDim"))}
            joined = apart and both <= set(variables(place)) and not _is_bound(place)
            if not moving - {"blockIdx.z"} and not set(variables(place)) & set(model.unknowns) and not joined:
                best = best or (outer, place)
                if not apart or isinstance(place, Var):
                    return outer, place
        outer = outer.parent
    return best


def _is_bound(term: Term) -> bool:
    return isinstance(term, Op) and term.name in TRUTHS


def _declared(node: Node) -> tuple[Node, set[str]] | None:
    """The declaration whose values a node is used in, where it declares nothing but whole numbers of the thread."""
    outer: Node | None = node
    while outer is not None and outer.type != "declaration":
        if outer.type.endswith("statement"):
            return None
        outer = outer.parent
    if outer is None:
        return None
    names: set[str] = set()
    for name, value, sizes, pointer in declarators(outer):
        builtin = value is not None and any(_squeezed(n) in _THREAD for n in descendants(value))
        if (
            not builtin
            or sizes
            or pointer
            or (value is not None and "call_expression" in {n.type for n in descendants(value)})
        ):
            return None
        names.add(name)
    return outer, names


def _squeezed(node: Node) -> str:
    return re.sub(r"\s", "", text_of(node))


def _summed(total: SumOfProducts, edits: list[Edit], value: str) -> list[Edit]:
    """The edits outside of a product's loop, and one that tells its sum in the loop's place."""
    first = with_pragmas(total.loop)
    start, end = first.start_byte, total.loop.end_byte
    span = Span(start, end, first.start_point.row + 1, total.loop.end_point.row + 1)
    kept = [e for e in edits if not (start <= e.span.start and e.span.end <= end)]
    return [*kept, Edit(span, total.added.replace(LOADED, value))]


def _lines(kernel: Kernel, body: Node, edits: list[Edit]) -> list[str]:
    data = data_of(kernel)
    inner = Span(body.start_byte + 1, body.end_byte - 1, 0, 0)
    moved = [Edit(Span(e.span.start - inner.start, e.span.end - inner.start, 0, 0), e.text) for e in edits]
    text = edited(data[inner.start : inner.end], moved).decode("utf-8", "replace")
    margin = next((indent_at(data, s.start_byte) for s in body.named_children), "")
    lines = [line.removeprefix(margin).rstrip() for line in text.splitlines()]
    while lines and not lines[0]:
        del lines[0]
    while lines and not lines[-1]:
        del lines[-1]
    return lines
