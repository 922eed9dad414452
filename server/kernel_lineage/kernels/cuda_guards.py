"""Guards in CUDA C++."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import above, operator_of, span_of, test_of
from kernel_lineage.kernels.cuda_syntax import cuda_syntax
from kernel_lineage.kernels.cuda_text import arguments, one_line
from kernel_lineage.kernels.source import Guard, Kernel, Launch, SourceFile, Span

_GUARDING = (
    "if_statement",
    "conditional_expression",
    "for_statement",
    "call_expression",
    "static_assert_declaration",
)
_LEAVES = frozenset({"return_statement", "throw_statement", "continue_statement"})
_CHECK = re.compile(r"(?i)\w*(?:check|assert|require|expects|enforce)\w*\Z")
_COMPARING = re.compile(r"_(EQ|NE|LT|LE|GT|GE)\Z")
_SIGN = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
_OF_THE_RUNTIME = re.compile(r"(?i)\w*(?:cuda|cublas|cudnn|nccl|nvrtc|hip|last_?error|status)")
_ABORTS = re.compile(r"\b(?:exit|abort|_Exit|terminate)\b")
_RELATION = re.compile(r"(?<![<>=!-])[<>]=?(?![<>=])")
_OF_A_SIZE = re.compile(r"[/%]|>>")
_CALLERS = 2


def in_kernel(kernel: Kernel) -> Iterator[Guard]:
    """The guards of a kernel's own code."""
    syntax = cuda_syntax(kernel)
    if syntax is None:
        return
    nodes = [node for kind in _GUARDING for node in syntax.entry.of(kind)]
    for node in sorted(nodes, key=lambda node: (node.start_byte, -node.end_byte)):
        if node.type == "if_statement":
            yield from _of_branch(node, "kernel", passed=_is_of_the_body(node))
        elif node.type == "conditional_expression":
            condition = node.child_by_field_name("condition")
            if condition is not None and _RELATION.search(_text(condition)):
                yield from _each(condition, "mask", "kernel")
        elif node.type == "for_statement":
            condition = node.child_by_field_name("condition")
            if condition is not None and _OF_A_SIZE.search(_text(condition)):
                yield Guard(_text(condition), "loop_bound", span_of(condition), "kernel")
        else:
            yield from _of_check(node, "kernel")


def around(source: SourceFile, launch: Launch) -> Iterator[Guard]:
    """The guards on the way to a launch, in its launcher and in the functions of the file that call that."""
    if source.root is None:
        return
    site = source.root.descendant_for_byte_range(launch.span.start, launch.span.end)
    method = _around(site, "function_definition") if site is not None else None
    launcher = launch.launcher_span or (span_of(method) if method is not None else None)
    if site is None or launcher is None:
        return
    yield from _to(site, launcher)
    yield from _in_callers(source, launch.launcher, launcher, _CALLERS)


def _in_callers(source: SourceFile, name: str | None, extent: Span, depth: int) -> Iterator[Guard]:
    if not name or depth == 0 or source.root is None:
        return
    for match in re.finditer(rb"\b%s\b\s*(?:<[^;(){}]*>)?\s*\(" % re.escape(name.encode()), source.data):
        if extent.start <= match.start() < extent.end:
            continue
        call = source.root.descendant_for_byte_range(match.start(), match.start() + len(name))
        holder = _around(call, "function_definition") if call is not None else None
        if call is None or holder is None or match.start() < _body_start(holder):
            continue
        yield from (
            g
            for g in _to(call, span_of(holder))
            if g.kind in ("check", "assert", "static_assert", "early_return")
        )
        yield from _in_callers(source, _name(holder), span_of(holder), depth - 1)


def _to(site: Node, launcher: Span) -> Iterator[Guard]:
    """From the function's start to a site: tests that it lies in, and those before it that leave."""
    inner, node = site, site.parent
    while node is not None and node.start_byte >= launcher.start:
        if node.type == "if_statement":
            yield from _towards(node, inner)
        elif node.type == "compound_statement":
            for child in node.named_children:
                if child.start_byte >= site.start_byte:
                    break
                if child.type == "if_statement":
                    yield from (
                        g
                        for g in _of_branch(child, "launcher", passed=True)
                        if g.kind in ("check", "early_return")
                    )
                else:
                    for part in (child, *child.named_children):
                        yield from _of_check(part, "launcher")
                for nested in _returning_within(child):
                    yield from _of_branch(nested, "launcher")
        elif node.type == "case_statement":
            value, switch = node.child_by_field_name("value"), _around(node, "switch_statement")
            tested = switch.child_by_field_name("condition") if switch is not None else None
            if value is not None and tested is not None:
                expr = f"{_text(tested).strip('()')} == {_text(value)}"
                yield Guard(expr, "dispatch", span_of(value), "launcher")
        inner, node = node, node.parent


def _towards(branch: Node, inner: Node) -> Iterator[Guard]:
    """What holds in the branch of an `if` that leads to a site."""
    condition = test_of(branch)
    if condition is None or condition.start_byte <= inner.start_byte < condition.end_byte:
        return
    alternative = branch.child_by_field_name("alternative")
    if alternative is not None and alternative.start_byte <= inner.start_byte:
        yield Guard(f"!({_text(condition)})", "dispatch", span_of(condition), "launcher")
    else:
        yield from _each(condition, "dispatch", "launcher")


def _returning_within(statement: Node) -> Iterator[Node]:
    """The `if`s within a statement, such as a loop, by which its function returns."""
    for child in statement.named_children:
        if child.type == "lambda_expression":
            continue
        last = _last_of(child) if child.type == "if_statement" else None
        if last is not None and last.type == "return_statement":
            yield child
        yield from _returning_within(child)


def _last_of(branch: Node) -> Node | None:
    """The last statement of what an `if` does where its condition holds."""
    then = branch.child_by_field_name("consequence")
    if then is None or then.type != "compound_statement":
        return then
    return next((c for c in reversed(then.named_children) if c.type != "comment"), None)


def _is_of_the_body(node: Node) -> bool:
    """Whether a statement stands in a function's outermost block."""
    block = node.parent
    above = block.parent if block is not None else None
    return above is not None and above.type == "function_definition"


def _of_branch(branch: Node, where: str, *, passed: bool = False) -> Iterator[Guard]:
    """The guards of an `if`; with `passed`, what goes on behind it comes past it."""
    condition, then = test_of(branch), branch.child_by_field_name("consequence")
    if condition is None or then is None:
        return
    statements = [
        c
        for c in (then.named_children if then.type == "compound_statement" else [then])
        if c.type != "comment"
    ]
    last = _last_of(branch)
    if last is not None and last.type in _LEAVES:
        kind = "early_return" if last.type != "throw_statement" else "check" if passed else "branch"
        yield from _each(condition, kind, where, separator="||", leaves=passed)
    elif where == "launcher" and any(_ABORTS.search(_text(s)) for s in statements):
        always = any(s.type == "expression_statement" and _ABORTS.search(_text(s)) for s in statements)
        left = passed and always
        yield from _each(condition, "check" if left else "branch", where, separator="||", leaves=left)
    elif any(child.type == "constexpr" for child in branch.children):
        yield from _each(condition, "dispatch", where)
    elif branch.child_by_field_name("alternative") is None and _RELATION.search(_text(condition)):
        yield from _each(condition, "mask", where)
    else:
        yield from _each(condition, "branch", where)


def _of_check(node: Node, where: str) -> Iterator[Guard]:
    if node.type == "static_assert_declaration":
        condition = node.child_by_field_name("condition")
        if condition is not None:
            yield from _each(condition, "static_assert", where)
        return
    if node.type != "call_expression":
        return
    called, operands = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if called is None or operands is None or called.type not in ("identifier", "qualified_identifier"):
        return
    name = _text(called).rsplit("::", 1)[-1]
    if not _CHECK.match(name) or _OF_THE_RUNTIME.match(name):
        return
    listed = arguments(_text(operands)[1:-1])
    if not listed or _OF_THE_RUNTIME.match(listed[0]):
        return
    compared = _COMPARING.search(name)
    if compared and len(listed) > 1:
        yield Guard(f"{listed[0]} {_SIGN[compared.group(1)]} {listed[1]}", "check", span_of(node), where)
        return
    kind = "static_assert" if name == "static_assert" else "assert" if name.lower() == "assert" else "check"
    condition = operands.named_children[0]
    if kind == "check" and not re.search(r"[=<>!&|]|\bis_|has_", listed[0]):
        return  # a wrapper of a call, not a test
    yield from _each(condition, kind, where)


def _each(
    condition: Node, kind: str, where: str, separator: str = "&&", *, leaves: bool = False
) -> Iterator[Guard]:
    """One guard per operand of a chain of `&&`, or of `||` where either one leads out."""
    waiting = [condition]
    while waiting:
        part = waiting.pop()
        while part.type in ("condition_clause", "parenthesized_expression") and part.named_child_count == 1:
            part = part.named_children[0]
        operator = operator_of(part) if part.type == "binary_expression" else ""
        left, right = part.child_by_field_name("left"), part.child_by_field_name("right")
        if operator == separator and left is not None and right is not None:
            waiting += (right, left)
        else:
            yield Guard(_text(part), kind, span_of(part), where, leaves)


def _around(node: Node, kind: str) -> Node | None:
    return next((n for n in above(node) if n.type == kind), None)


def _name(function: Node) -> str | None:
    declarator = function.child_by_field_name("declarator")
    while declarator is not None and declarator.type not in ("identifier", "field_identifier"):
        declarator = declarator.child_by_field_name("declarator")
    return _text(declarator) if declarator is not None else None


def _body_start(function: Node) -> int:
    body = function.child_by_field_name("body")
    return body.start_byte if body is not None else function.end_byte


def _text(node: Node) -> str:
    return one_line(node.text or b"")
