"""What host code works out from results that it has copied back from the device, statement by statement.

A bit mask that a kernel fills may be read by a loop of the host. Where a change makes the kernel leave words alone and
the loop skip them, only the whole function is compared.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import inside, text_of
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.following.checks import arguments_of

_COPIES = re.compile(r"\.(?:cpu|item|tolist|numpy)\s*(?:<[^<>]*>)?\(|\bkCPU\b|[\"']cpu[\"']")
_BACK = "cudaMemcpyDeviceToHost"
_LOOPS = frozenset({"for_statement", "for_range_loop", "while_statement", "do_statement"})
_WORKS = frozenset({"assignment_expression", "update_expression", "return_statement", "init_declarator"})


def read_back_in_cuda(function: Node) -> Iterator[str]:
    """The loops of a C++ function, and its assignments outside of them, that read what was copied back.

    A loop around a launch counts by the conditions in it, and by what it does beside the launch.
    """
    nodes = list(inside(function))
    statements = [n for n in nodes if n.type in _WORKS]
    copied = {
        _first_word(into)
        for node in nodes
        if node.type == "call_expression" and _BACK in text_of(node)
        for into in arguments_of(node.child_by_field_name("arguments"))[:1]
    }
    assigned = ((_target(n), text_of(n)) for n in statements if n.type != "return_statement")
    held = _held(assigned, copied)
    loops = [n for n in nodes if n.type in _LOOPS]
    launching = {n.id for n in loops if any(part.type == "kernel_call_syntax" for part in inside(n))}
    around = [n for n in loops if n.id in launching]
    branches = [n for loop in around for n in (loop, *inside(loop)) if n.type in (*_LOOPS, "if_statement")]
    conditions = {c.id: c for n in branches if (c := n.child_by_field_name("condition")) is not None}
    loops = [n for n in loops if n.id not in launching]
    outer = [n for n in loops if not any(_holds(other, n) for other in loops)]
    for node in (
        *conditions.values(),
        *outer,
        *(n for n in statements if not any(_holds(loop, n) for loop in outer)),
    ):
        if node.type != "init_declarator" and held & {*WORD.findall(text_of(node))}:
            yield " ".join(text_of(node).split())


def read_back_in_python(function: ast.AST) -> Iterator[str]:
    """The same of a Python function."""
    nodes = list(ast.walk(function))
    assigned = [
        (WORD.findall(ast.unparse(target))[0], ast.unparse(node.value))
        for node in nodes
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if WORD.search(ast.unparse(target))
    ]
    held = _held(assigned, set())
    for node in nodes:
        if isinstance(node, (ast.For, ast.While)) and held & {*WORD.findall(ast.unparse(node))}:
            yield " ".join(ast.unparse(node).split())


def _target(node: Node) -> str:
    """The name that a statement gives a value."""
    return _first_word(node.child_by_field_name("left") or node.child_by_field_name("declarator") or node)


def _first_word(node: Node) -> str:
    return next(iter(WORD.findall(text_of(node))), "")


def _held(assigned: Iterable[tuple[str, str]], copied: set[str]) -> set[str]:
    """The names that hold what was copied back, or what is worked out from it, in the order of the statements."""
    held = set(copied)
    for target, value in assigned:
        if _COPIES.search(value) or held & {*WORD.findall(value)} - {target}:
            held.add(target)
    return held


def _holds(outer: Node, node: Node) -> bool:
    return outer != node and outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte
