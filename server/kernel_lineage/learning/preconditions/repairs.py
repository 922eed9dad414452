"""Host code that repairs what a launch is given: where it does, the launch was wrong before.

`if (threads == 768) threads = 1024;` and `rows == 0 ? 0 : total / rows` say that the launch was right only where the
condition does not hold.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import field_of, inside, operator_of, test_of, text_of
from kernel_lineage.kernels.source import Kernel, Language, Launch, SourceFile
from kernel_lineage.learning.guard_conditions import condition_of, opposite
from kernel_lineage.learning.preconditions.changes import CodeChange, Precondition
from kernel_lineage.learning.preconditions.wording import is_said

_WORD = re.compile(r"[A-Za-z_]\w*")
_ZERO = re.compile(r"\(*\s*([A-Za-z_]\w*)\s*==\s*0\s*\)*")
_NOT_ZERO = re.compile(r"\(*\s*([A-Za-z_]\w*)\s*(?:!=|>)\s*0\s*\)*")


@dataclass(frozen=True, slots=True)
class _Repair:
    condition: str
    """Where the value is replaced, as written."""
    line: int


def read(change: CodeChange) -> Iterator[Precondition]:
    """What the change's new repairs need of a launch."""
    old = {_squeezed(repair.condition) for repair in _repairs(change.before)}
    for repair in _repairs(change.after):
        condition = condition_of(change.names.resolved(repair.condition), change.names.names)
        if condition is not None and _squeezed(repair.condition) not in old:
            needed = opposite(condition)
            if is_said(needed, change.names.names):
                yield Precondition(needed, repair.line)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _repairs(kernel: Kernel) -> Iterator[_Repair]:
    if kernel.source is None:
        return
    for launch in kernel.launches:
        if kernel.language is Language.CUDA:
            yield from _in_cuda(kernel.source, launch)
        else:
            yield from _in_python(kernel.source, launch)


def _used(launch: Launch) -> set[str]:
    sizes = (*launch.grid, *launch.block, *launch.arguments, *launch.definitions.values())
    return {word for size in sizes for word in _WORD.findall(size)}


def _in_cuda(source: SourceFile, launch: Launch) -> Iterator[_Repair]:
    extent = launch.launcher_span
    function = (
        source.root.descendant_for_byte_range(extent.start, extent.end) if source.root and extent else None
    )
    for node in inside(function) if function is not None else ():
        if node.start_byte >= launch.span.start:
            return
        condition = test_of(node) if node.type == "if_statement" else field_of(node, "condition")
        if condition is None:
            continue
        replaced = (
            _is_division(text_of(condition), field_of(node, "consequence"), field_of(node, "alternative"))
            if node.type == "conditional_expression"
            else node.type == "if_statement" and _assigned(node) <= _used(launch) and _assigned(node)
        )
        if replaced:
            text = text_of(condition).strip()
            zero = node.type == "conditional_expression" and _NOT_ZERO.fullmatch(text)
            yield _Repair(f"{zero[1]} == 0" if zero else text, node.start_point[0] + 1)


def _is_division(condition: str, then: Node | None, otherwise: Node | None) -> bool:
    """Whether a ternary divides only where the divisor is not 0."""
    zero, not_zero = _ZERO.fullmatch(condition), _NOT_ZERO.fullmatch(condition)
    name, branch = (zero[1], otherwise) if zero else (not_zero[1], then) if not_zero else ("", None)
    return branch is not None and any(
        node.type == "binary_expression"
        and operator_of(node) in ("/", "%")
        and name in _WORD.findall(text_of(field_of(node, "right")))
        for node in inside(branch)
    )


def _assigned(branch: Node) -> set[str]:
    """The variables that an `if` does nothing but assign."""
    then = branch.child_by_field_name("consequence")
    if then is None or branch.child_by_field_name("alternative") is not None:
        return set()
    statements = then.named_children if then.type == "compound_statement" else [then]
    names: set[str] = set()
    for statement in statements:
        if statement.type == "comment":
            continue
        inner = statement.named_children[0] if statement.type == "expression_statement" else None
        left = (
            field_of(inner, "left") if inner is not None and inner.type == "assignment_expression" else None
        )
        if left is None or left.type != "identifier" or operator_of(inner or left) != "=":
            return set()
        names.add(text_of(left))
    return names


def _in_python(source: SourceFile, launch: Launch) -> Iterator[_Repair]:
    extent = launch.launcher_span
    for function in ast.walk(source.module) if source.module is not None and extent is not None else ():
        if not isinstance(function, ast.FunctionDef) or extent is None:
            continue
        if not extent.first_line <= function.lineno <= extent.last_line:
            continue
        for node in ast.walk(function):
            if getattr(node, "lineno", launch.span.first_line) >= launch.span.first_line:
                continue
            if isinstance(node, ast.IfExp) and (zero := _python_division(node)):
                yield _Repair(f"{zero} == 0", node.lineno)
            elif isinstance(node, ast.If) and not node.orelse:
                targets = [t for s in node.body if isinstance(s, ast.Assign) for t in s.targets]
                names = {t.id for t in targets if isinstance(t, ast.Name)}
                only = all(isinstance(s, ast.Assign) for s in node.body) and len(names) == len(targets)
                if only and names and names <= _used(launch):
                    yield _Repair(ast.unparse(node.test), node.lineno)


def _python_division(node: ast.IfExp) -> str:
    test = ast.unparse(node.test)
    zero, not_zero = _ZERO.fullmatch(test), _NOT_ZERO.fullmatch(test)
    name, branch = (zero[1], node.orelse) if zero else (not_zero[1], node.body) if not_zero else ("", None)
    divides = branch is not None and any(
        isinstance(part, ast.BinOp)
        and isinstance(part.op, ast.Div | ast.FloorDiv | ast.Mod)
        and name in _WORD.findall(ast.unparse(part.right))
        for part in ast.walk(branch)
    )
    return name if divides else ""
