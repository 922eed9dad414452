"""How host code goes through its launches: the loops around them, tensors that change places, and what it gives back.

A verdict on a kernel is on one launch. Where a change goes through the launches in another way, or gives back another
tensor, only the host function as a whole tells whether the result is the same.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import inside, text_of
from kernel_lineage.kernels.source import Language, SourceFile
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.following.functions import PROGRAM
from kernel_lineage.workloads.torch_beside import (
    SPACES,
    launching_in_cuda,
    launching_in_python,
    same_functions,
)

_LOOPS = frozenset({"for_statement", "while_statement", "do_statement", "for_range_loop"})


def steps_beside(kernel: str, before: SourceFile, after: SourceFile, since: str = "") -> tuple[str, ...]:
    """The loops around launches, exchanges and returns, in functions that launch a kernel, that a change leaves out or
    adds; `since` is the kernel's name after the change, by default the same.

    A change of names alone is none: the old ones are gone from the function, and the new ones were not in it. A
    program's `main` is left out: it repeats launches to time them.
    """
    steps_of = _in_cuda if after.language is Language.CUDA else _in_python
    old, new = steps_of(kernel, before), steps_of(since or kernel, after)
    differ: set[str] = set()
    for name, later in same_functions(old, new):
        if name != PROGRAM:
            differ |= _differing(*old[name], *new[later])
    return tuple(sorted(differ))


_Steps = tuple[list[str], frozenset[str]]
"""The steps of a function as they are written, and all words of it."""


def _differing(old: list[str], words: frozenset[str], new: list[str], later: frozenset[str]) -> set[str]:
    gone, came = Counter(old) - Counter(new), Counter(new) - Counter(old)
    for one in list(gone.elements()):
        twin = next((t for t in came.elements() if _is_renamed(one, t, words, later)), None)
        if twin is not None:
            gone[one] -= 1
            came[twin] -= 1
    return {*gone.elements(), *came.elements()}


def _is_renamed(one: str, other: str, words: frozenset[str], later: frozenset[str]) -> bool:
    """Whether two steps differ by names alone, of which the old ones are gone and the new ones are new."""
    pairs = list(zip(WORD.findall(one), WORD.findall(other), strict=False))
    names = {(a, b) for a, b in pairs if a != b}
    return WORD.sub("x", one) == WORD.sub("x", other) and all(
        a not in later and b not in words for a, b in names
    )


def _in_cuda(kernel: str, file: SourceFile) -> Mapping[str, _Steps]:
    return {
        name: (
            [step for code in codes for step in _of_cuda(kernel, code.body)],
            frozenset().union(*(code.words for code in codes)),
        )
        for name, codes in launching_in_cuda(kernel, file).items()
    }


def _of_cuda(kernel: str, body: Node) -> Iterator[str]:
    aliases = {
        text_of(n.child_by_field_name("declarator")): text_of(value)
        for n in inside(body)
        if n.type == "init_declarator"
        and (value := n.child_by_field_name("value")) is not None
        and value.type == "identifier"
    }
    for node in inside(body):
        if node.type in _LOOPS and kernel in WORD.findall(text_of(node)):
            ends = node.child_by_field_name("condition") or node.child_by_field_name("right")
            begins = node.child_by_field_name("initializer")
            value = (
                next((v for n in inside(begins) if (v := n.child_by_field_name("value"))), None)
                if begins
                else None
            )
            yield (
                f"the loop from `{_plain(value)}` while `{_plain(ends)}`"
                if value
                else f"the loop `{_plain(ends)}`"
            )
        elif node.type == "call_expression" and _callee(node) == "swap":
            yield f"`{_plain(node)}`"
        elif node.type == "return_statement":
            names = [text_of(n) for n in inside(node) if n.type == "identifier" and not _is_called(n)]
            yield from _back(names, aliases)


def _back(names: Iterable[str], aliases: Mapping[str, str]) -> Iterator[str]:
    """What a function gives back, by its variables: what PyTorch makes of them is told elsewhere."""
    if meant := list(dict.fromkeys(aliases.get(name, name) for name in names)):
        yield f"`return` of {', '.join(meant)}"


def _is_called(name: Node) -> bool:
    """Whether a name is that of a function, or of its namespace."""
    while name.parent is not None and name.parent.type in ("qualified_identifier", "template_function"):
        name = name.parent
    around = name.parent
    called = around.child_by_field_name("function") if around is not None else None
    return name.type == "qualified_identifier" or (called is not None and called.id == name.id)


def _callee(node: Node) -> str:
    return text_of(node.child_by_field_name("function")).rpartition("::")[2].partition("<")[0].strip()


def _plain(node: Node | None) -> str:
    return " ".join(text_of(node).split())


def _in_python(kernel: str, file: SourceFile) -> Mapping[str, _Steps]:
    return {
        name: ([*_of_python(kernel, function)], frozenset(WORD.findall(ast.unparse(function))))
        for name, function in launching_in_python(kernel, file).items()
    }


def _of_python(kernel: str, function: ast.AST) -> Iterator[str]:
    nodes = list(ast.walk(function))
    called = {id(n.func) for n in nodes if isinstance(n, ast.Call)}
    aliases = {
        one.targets[0].id: one.value.id
        for one in nodes
        if isinstance(one, ast.Assign)
        and isinstance(one.targets[0], ast.Name)
        and isinstance(one.value, ast.Name)
    }
    for node in nodes:
        match node:
            case ast.For(iter=head) | ast.While(test=head) if kernel in WORD.findall(ast.unparse(node)):
                yield f"the loop `{ast.unparse(head)}`"
            case ast.Assign(targets=[ast.Tuple()], value=ast.Tuple()) if _exchanges(node):
                yield f"`{ast.unparse(node)}`"
            case ast.Return(value=ast.expr() as value):
                named = [n for n in ast.walk(value) if isinstance(n, ast.Name) and id(n) not in called]
                yield from _back((n.id for n in named if n.id not in SPACES), aliases)


def _exchanges(node: ast.Assign) -> bool:
    """Whether names are set to each other: `a, b = b, a`."""
    sides = [
        {n.id for n in ast.walk(part) if isinstance(n, ast.Name)} for part in (node.targets[0], node.value)
    ]
    return bool(sides[0] & sides[1])
