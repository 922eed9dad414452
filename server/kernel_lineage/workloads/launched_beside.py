"""Which kernels a change launches beside a kernel: those do a part of its work, or take its place."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tree_sitter import Node

from kernel_gate.reaching import reachable
from kernel_lineage.kernels.cuda_forms import inside, text_of
from kernel_lineage.kernels.source import Language, SourceFile
from kernel_lineage.kernels.words import with_meanings
from kernel_lineage.workloads.following.unit import Unit, unit_of
from kernel_lineage.workloads.torch_beside import same_functions
from kernel_lineage.workloads.triton.host_modules import module_of

_TESTS = ("if_statement", "switch_statement", "while_statement")
_CHOICES = (*_TESTS, "for_statement", "do_statement", "conditional_expression")
_LIMITS = re.compile(r"(?:std\s*::\s*)?(?:min|max|clamp)\b")
_LITERAL = re.compile(r"(?<![\w.])(\d+)(?![\w.])")
_WORD = re.compile(r"[^\W\d]\w*")


def launched_beside(kernel: str, before: SourceFile, after: SourceFile, since: str = "") -> tuple[str, ...]:
    """The kernels that functions which launch `kernel` before a change launch after it only; `since` is the kernel's
    name after it, by default the same.

    Functions go by their names (`same_functions`). Nothing is where a file does not parse.
    """
    reached, later = _by_cuda if after.language is Language.CUDA else _by_triton, since or kernel
    old, new = reached(kernel, before), reached(later, after)
    launching = [[n for n, host in hosts.items() if host.launches] for hosts in (old, new)]
    pairs = {(name, name) for name in launching[0] if name in new}
    names: set[str] = set()
    for function, renamed in pairs.union(same_functions(*launching)):
        names |= new[renamed].kernels - old[function].kernels
    return tuple(sorted(names - {kernel, later}))


def asks_more(kernel: str, before: SourceFile, after: SourceFile, since: str = "") -> bool:
    """Whether host code that leads to a launch of a CUDA C++ kernel tests what it did not test before a change; `since`
    is the kernel's name after it, by default the same.
    """
    if after.language is not Language.CUDA:
        return False
    old, new = _tests_of(kernel, before), _tests_of(since or kernel, after)
    return bool(new - old)


def _tests_of(kernel: str, file: SourceFile) -> set[str]:
    """The tests in the host functions that lead to a kernel's launch, and in those that these call."""
    unit = unit_of(file.data.decode("utf-8", "replace"))
    leading = [n for n in unit.functions if kernel in unit.launched_by(n)]
    conditions = (n.child_by_field_name("condition") for n in _reached(leading, unit) if n.type in _TESTS)
    return {" ".join(text_of(condition).split()) for condition in conditions if condition is not None}


def numbers_asked(function: str, name: str, before: SourceFile, after: SourceFile) -> tuple[int, ...]:
    """The whole numbers that tests, loops and limits about a variable of a CUDA C++ host function write out since a
    change, and those about any in the functions that it calls.
    """
    texts = []
    for file in (before, after):
        unit = unit_of(file.data.decode("utf-8", "replace"))
        constants = {n: text_of(c) for n, c in unit.constants.items()}
        constants |= {n: m.body for n, m in unit.macros.items() if m.parameters is None}
        own = [n for f in unit.hosts(function) if f.of_host for n in inside(f.body)]
        about = _hanging_on(name, own)
        mine = {text for text in _choices(own) if about & {*_WORD.findall(text)}}
        ids = {n.id for n in own}
        called = (n for n in _reached([function], unit) if n.id not in ids)
        texts.append({with_meanings(text, constants) for text in mine | {*_choices(called)}})
    return tuple(sorted({int(n) for text in texts[1] - texts[0] for n in _LITERAL.findall(text)}))


def _hanging_on(name: str, nodes: Sequence[Node]) -> set[str]:
    """A variable, those that are set to what names it, and those of loops whose conditions do."""
    about = {name}
    sides = {"init_declarator": ("declarator", "value"), "assignment_expression": ("left", "right")}
    sides["for_statement"] = ("initializer", "condition")
    pairs = [
        [node.child_by_field_name(side) for side in sides[node.type]] for node in nodes if node.type in sides
    ]
    words = [({*_WORD.findall(text_of(into))}, {*_WORD.findall(text_of(of))}) for into, of in pairs]
    while more := {word for into, of in words if of & about for word in into - about}:
        about |= more
    return about


def _choices(nodes: Iterable[Node]) -> Iterator[str]:
    for node in nodes:
        condition: Node | None = None
        if node.type in _CHOICES:
            condition = node.child_by_field_name("condition")
        elif node.type == "call_expression" and _LIMITS.match(text_of(node)):
            condition = node
        if condition is not None:
            yield " ".join(text_of(condition).split())


def _reached(functions: Collection[str], unit: Unit) -> Iterator[Node]:
    """The code of host functions and of those that they call."""
    hosts = {n: [f for f in fs if f.of_host] for n, fs in unit.functions.items()}
    reached = reachable(
        functions, lambda name: (w for f in hosts.get(name, ()) for w in f.words if w in hosts)
    )
    return (node for name in reached for f in hosts.get(name, ()) for node in inside(f.body))


@dataclass(frozen=True, slots=True)
class _Host:
    """A function of the host."""

    launches: bool
    """Whether its own text names the kernel that is judged."""
    kernels: frozenset[str]
    """Those that it launches, itself or by functions that it calls."""


def _by_cuda(kernel: str, file: SourceFile) -> Mapping[str, _Host]:
    unit = unit_of(file.data.decode("utf-8", "replace"))
    return {
        name: _Host(any(kernel in code.words for code in codes if code.of_host), unit.launched_by(name))
        for name, codes in unit.functions.items()
        if any(code.of_host for code in codes)
    }


def _by_triton(kernel: str, file: SourceFile) -> Mapping[str, _Host]:
    """Methods are `Class.method`; nothing where the file does not parse."""
    functions = module_of(Path(), file.module).functions if file.module is not None else {}
    kernels = {k.name for k in file.kernels}
    bodies = {n: "\n".join(map(ast.unparse, f.body)) for n, f in functions.items() if n not in kernels}
    words = {name: frozenset(_WORD.findall(body)) for name, body in bodies.items()}

    def launched(function: str) -> frozenset[str]:
        reached = reachable([function], lambda by: (n for n in words if words[by] & {*n.split(".")}))
        return frozenset(kernels & {word for name in reached for word in words[name]})

    return {name: _Host(kernel in own, launched(name)) for name, own in words.items()}
