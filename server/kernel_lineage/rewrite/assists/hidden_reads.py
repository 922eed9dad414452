"""Whether something that a kernel calls or expands may do what is not seen in the kernel's own text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import read_call, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.words import WORD
from kernel_lineage.rewrite.assists.layout import data_of, descendants
from kernel_lineage.rewrite.assists.loop_changes import is_of_the_language, methods_of
from kernel_lineage.rewrite.assists.model import Refusal

_MACRO = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n\\]|\\\r?\n)*)", re.MULTILINE)
_LAMBDA = "lambda_expression"
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")


def macros_of(kernel: Kernel) -> Iterator[tuple[str, set[str], str]]:
    """The macros of the kernel's file: name, parameters, what they stand for."""
    for match in _MACRO.finditer(data_of(kernel)):
        body = match[2].decode("utf-8", "replace")
        head, closed, rest = body.partition(")") if body.startswith("(") else ("", "", body)
        yield match[1].decode(), set(re.findall(r"\w+", head)) if closed else set(), rest


def check_hidden_reads(kernel: Kernel, syntax: CudaSyntax, words: re.Pattern[str], what: str) -> None:
    """Refuse a kernel of which a function or a macro holds one of the words, or is not in this file.

    `what` says in the reason what the words are: `threadIdx`, `the grid`.
    """
    for unit in syntax.units[1:]:
        if words.search(text_of(unit.node)):
            raise Refusal(f"{unit.name}, which {kernel.name} calls, reads {what} itself")
    macros = {m[1].decode(): m[2].decode("utf-8", "replace") for m in _MACRO.finditer(data_of(kernel))}
    here = {unit.name for unit in syntax.units} | set(macros)
    # `(half)(x)` reads as a call, but what a parameter or a variable is declared as is a type.
    here |= {word for p in kernel.parameters for word in re.findall(r"\w+", p.type)}
    here |= {v.type for unit in syntax.units for v in unit.variables}
    here |= {v.name for unit in syntax.units for v in unit.variables if v.value and v.value.type == _LAMBDA}
    methods = methods_of(kernel)
    called_as_functions = {v.name for unit in syntax.units for v in unit.variables}
    called_as_functions |= {name for unit in syntax.units for name in unit.parameters}
    calls = [c for unit in syntax.units for c in unit.calls]
    reached: dict[int, Node] = {}
    for called in calls:
        is_structure = not called.receiver and called.qualified in called_as_functions
        name = "operator()" if is_structure else called.name
        of_structures = methods.get(name, []) if called.receiver or is_structure else []
        if not of_structures and called.name not in here and not is_of_the_language(called.qualified):
            raise Refusal(f"{called.qualified} is not in this file, and may read {what} itself")
        for method in of_structures:
            if words.search(text_of(method)):
                raise Refusal(f"{called.name}, which {kernel.name} calls, reads {what} itself")
            if method.id not in reached:
                reached[method.id] = method
                calls += [read_call(n) for n in descendants(method) if n.type == "call_expression"]
    parts = [*(unit.node for unit in syntax.units), *reached.values()]
    waiting = [n for part in parts for n in identifiers_in(part) if n in macros]
    expanded = set[str]()
    while waiting:
        name = waiting.pop()
        if name in expanded:
            continue
        expanded.add(name)
        if words.search(macros[name]):
            raise Refusal(f"the macro {name} reads {what} itself")
        for called_there in _CALLED.findall(macros[name]):
            if called_there not in here and not is_of_the_language(called_there):
                raise Refusal(f"{called_there}, which the macro {name} calls, is not in this file")
        waiting += [n for n in WORD.findall(macros[name]) if n in macros]
