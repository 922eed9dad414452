"""Code that came under a condition on the launch as a whole: before, it was run for every launch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import inside, test_of, text_of
from kernel_lineage.kernels.reading import read as read_file
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.triton_syntax import triton_syntax
from kernel_lineage.learning.guard_conditions import condition_of, opposite
from kernel_lineage.learning.preconditions.changes import CodeChange, Precondition

_TESTS = re.compile(r"\bif\b|\?|\bwhere\(")
_LEAST = 6
"""A shorter text, without blanks, stands anywhere."""


@dataclass(frozen=True, slots=True)
class _Branch:
    condition: str
    then: str
    otherwise: str
    line: int


def read(change: CodeChange) -> Iterator[Precondition]:
    """The conditions that the change puts around code that stood there without them.

    Where the other way is new code, or none at all, the code before was right under the condition alone.
    """
    pointers = {p.name for p in change.after.parameters if p.pointer}
    for before, old, new in _states(change):
        for branch in new:
            needed = _needed(branch, before, old)
            condition = condition_of(needed[0], change.names.names - pointers) if needed else None
            if needed and condition is not None:
                yield Precondition(condition if needed[1] else opposite(condition), branch.line)


def _states(change: CodeChange) -> Iterator[tuple[str, list[_Branch], list[_Branch]]]:
    """The text before without blanks, its branches and those after: of the kernel, and of each file that it reaches."""
    if change.adds(_TESTS):
        before, after = change.before, change.after
        if before.node is not None and after.node is not None and after.language is Language.CUDA:
            yield _squeezed(before.text), list(_in_cuda(before.node)), list(_in_cuda(after.node))
        elif after.language is Language.TRITON:
            yield _squeezed(before.text), list(_in_triton(before)), list(_in_triton(after))
    for texts in change.elsewhere if change.after.language is Language.CUDA else ():
        roots = [read_file(text, Language.CUDA).root for text in texts]
        if roots[0] is not None and roots[1] is not None:
            yield (
                _squeezed(texts[0].decode("utf-8", "replace")),
                list(_in_cuda(roots[0])),
                list(_in_cuda(roots[1])),
            )


def _needed(branch: _Branch, before: str, old: list[_Branch]) -> tuple[str, bool] | None:
    """The condition of a branch, and whether the code before stands where it holds."""
    condition = _squeezed(branch.condition)
    if branch.condition.strip("() ").isidentifier():
        condition = condition.strip("()")
        ways = [b.then + "\n" + b.otherwise for b in old if _squeezed(b.condition).strip("()") == condition]
        tested = any(way and way in text for text in ways for way in (branch.then, branch.otherwise))
        tested = tested or f"if(!{condition})" in before
    else:
        tested = condition in before
    if tested:
        return None
    stood = [len(way) >= _LEAST and way in before for way in (branch.then, branch.otherwise)]
    return (branch.condition, stood[0]) if stood[0] is not stood[1] else None


def _in_cuda(root: Node) -> Iterator[_Branch]:
    for node in inside(root):
        if node.type not in ("if_statement", "conditional_expression"):
            continue
        condition = test_of(node) if node.type == "if_statement" else node.child_by_field_name("condition")
        then, otherwise = (node.child_by_field_name(name) for name in ("consequence", "alternative"))
        if otherwise is not None and otherwise.type == "else_clause":
            otherwise = otherwise.named_children[-1] if otherwise.named_children else None
        if condition is not None and then is not None:
            yield _Branch(text_of(condition), _way(then), _way(otherwise), node.start_point[0] + 1)


def _way(node: Node | None) -> str:
    text = _squeezed(text_of(node))
    return text[1:-1] if node is not None and node.type == "compound_statement" else text


def _in_triton(kernel: Kernel) -> Iterator[_Branch]:
    syntax = triton_syntax(kernel)
    if syntax is None:
        return
    unit = syntax.entry
    for call in unit.called("where"):
        if call.of_language and len(call.node.args) == 3:
            test, then, otherwise = map(ast.unparse, call.node.args)
            line = unit.span(call.node).first_line
            yield _Branch(test, _squeezed(then), _squeezed(otherwise), line)
    for node in unit.nodes.get(ast.If, ()):
        if isinstance(node, ast.If):
            then, otherwise = ("".join(map(ast.unparse, block)) for block in (node.body, node.orelse))
            line = unit.span(node).first_line
            yield _Branch(ast.unparse(node.test), _squeezed(then), _squeezed(otherwise), line)


def _squeezed(text: str) -> str:
    return "".join(text.split())
