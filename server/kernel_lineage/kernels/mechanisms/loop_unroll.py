"""Loops that are asked to be unrolled."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.code.cuda.names import names_of
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit
from kernel_lineage.kernels.mechanisms.seeing import parameters, seen, seen_in
from kernel_lineage.kernels.source import Span
from kernel_lineage.kernels.triton_syntax import TritonUnit
from kernel_lineage.kernels.units import in_units

_ABOVE_A_LOOP = re.compile(r'(?:_Pragma\s*\(\s*("[^"]*")\s*\)|\b(\w+))\s*(?=(?:for|while)\s*\(|do\s*\{)')


def _factor(directive: str) -> str | None:
    """How often a loop is repeated, `full` where no number says so; None when nothing is."""
    words = directive.replace("(", " ").replace(")", " ").replace('"', " ").split()
    while words[:1] in (["GCC"], ["clang"], ["loop"], ["nv_diag"]):
        words = words[1:]
    if words[:1] not in (["unroll"], ["unroll_count"]) or words[1:2] in (["1"], ["0"], ["disable"]):
        return None
    return words[1] if words[1:] and words[1].isdigit() else "full"


_LOOPS = ("for_statement", "while_statement", "do_statement")
_LIBRARY_MACROS = {"CUTLASS_PRAGMA_UNROLL": "unroll", "CUTE_UNROLL": "unroll", "C10_UNROLL": "unroll"}


def _stands_before_a_loop(pragma: Node) -> bool:
    """A `#pragma` belongs to the statement that follows; before any other one it unrolls nothing."""
    following = pragma.next_named_sibling
    while following is not None and following.type in ("comment", "preproc_call"):
        following = following.next_named_sibling
    return following is not None and following.type in _LOOPS


def _in_words(unit: Unit) -> Iterator[tuple[Span, str]]:
    """Loops below `_Pragma("unroll")`, or below a macro that stands for it: the loop's first word, and what is asked.

    Read from the text: a grammar takes a macro before `for` for a type.
    """
    source = unit.kernel.source
    texts = names_of(source).texts if source is not None else ()
    own = {m.name: m.body for text in texts for m in reversed(text.macros) if "unroll" in m.body}
    macros = {**_LIBRARY_MACROS, **own}
    data = unit.node.text or b""
    if b"_Pragma" not in data and not any(name.encode() in data for name in macros):
        return
    text = data.decode("latin-1")
    for match in _ABOVE_A_LOOP.finditer(text):
        written = match[1] or macros.get(match[2] or "", "")
        if (
            "unroll" in written
            and text.rfind("//", text.rfind("\n", 0, match.start()) + 1, match.start()) < 0
        ):
            line = unit.node.start_point[0] + 1 + text.count("\n", 0, match.end())
            at = unit.node.start_byte + match.end()
            yield Span(at, at + 1, line, line), re.sub(r'_Pragma|["()]', " ", written).strip()


def _detect_cuda(unit: Unit) -> Iterator[Site]:
    for directive, node in unit.directives:
        factor = _factor(directive)
        if factor is not None and _stands_before_a_loop(node):
            yield seen(node, f"#pragma {directive}", factor=factor)
    for span, directive in _in_words(unit):
        factor = _factor(directive)
        if factor is not None:
            yield Site(span, f"a macro asks to {directive}", "", parameters(factor=factor))


def _detect_triton(unit: TritonUnit) -> Iterator[Site]:
    for call in unit.called("static_range", "range"):
        asked = call.keyword("loop_unroll_factor")
        times = ast.unparse(asked) if asked is not None else "1"
        if call.of_language and (call.name == "static_range" or times != "1"):
            times = times if times.isdigit() and times != "1" else "full"
            yield seen_in(unit, call.node, f"{call.qualified} is unrolled", factor=times)


MECHANISM = Mechanism(
    title="Loop unrolling",
    direction=Direction.INSTRUCTION_THROUGHPUT,
    summary="Repeats the loop body, so that independent work overlaps and the loop's own instructions go.",
    looks_for="`#pragma unroll`, `tl.static_range`, `loop_unroll_factor`.",
    detect=in_units(_detect_cuda, _detect_triton),
    counted=True,
    conditions=(
        profit("kernel.spills == 0", "pipeline", "Unrolled bodies need registers."),
        profit("kernel.registers <= 128", "hardware", "Too many lower the occupancy."),
    ),
)
