"""Guards in Triton kernels and in the Python functions that launch them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from kernel_lineage.kernels.python_text import Module, module_lines, names_in, names_in_order
from kernel_lineage.kernels.source import Guard, Kernel, Launch, SourceFile
from kernel_lineage.kernels.triton_definitions import assigned_value, own_nodes
from kernel_lineage.kernels.words import WORD

_MASK_AT = {"load": 1, "store": 2}
_MASKED = frozenset({"load", "store", "atomic_add", "atomic_max", "atomic_min", "atomic_xchg", "atomic_cas"})
_OF_THE_DEVICE = re.compile(r"capability|dtype|element_size|is_hip|is_cuda|arch|is_contiguous")
_CHECKS = frozenset({"_check", "_assert", "_check_value", "_check_type", "check"})
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def in_kernel(kernel: Kernel) -> Iterator[Guard]:
    """The guards of a kernel's own code."""
    function, source = kernel.function, kernel.source
    if function is None or source is None or source.module is None:
        return
    module = module_lines(source.data, source.module)
    constexprs = {p.name for p in kernel.parameters if p.constexpr}
    for node in _in_order(function.body):
        if isinstance(node, ast.If):
            names = names_in(node.test)
            if _leaves(node.body):
                passed = node in function.body
                yield from _each(module, node.test, "early_return", "kernel", ast.Or, leaves=passed)
            elif names and names <= constexprs:
                yield from _each(module, node.test, "dispatch", "kernel")
            else:
                yield from _each(module, node.test, "branch", "kernel")
        elif isinstance(node, ast.For) and re.search(r"//|%", module.written(node.iter)):
            yield Guard(
                module.written(node.iter), "loop_bound", module.span(*module.range(node.iter)), "kernel"
            )
        elif isinstance(node, ast.Assert):
            yield from _each(module, node.test, "assert", "kernel")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("static_assert", "device_assert") and node.args:
                kind = "static_assert" if node.func.attr == "static_assert" else "assert"
                yield from _each(module, node.args[0], kind, "kernel")
            elif node.func.attr in _MASKED:
                yield from _mask(module, node, function)


def _mask(module: Module, call: ast.Call, function: ast.FunctionDef) -> Iterator[Guard]:
    at = _MASK_AT.get(call.func.attr if isinstance(call.func, ast.Attribute) else "", len(call.args))
    keyword = next((k.value for k in call.keywords if k.arg == "mask"), None)
    mask = keyword if keyword is not None else call.args[at] if len(call.args) > at else None
    boundary = next((k for k in call.keywords if k.arg == "boundary_check"), None)
    if boundary is not None:
        yield Guard(module.written(boundary), "mask", module.span(*module.range(boundary)), "kernel")
    if mask is None or (isinstance(mask, ast.Constant) and mask.value is None):
        return
    span = module.span(*module.range(mask))
    if isinstance(mask, ast.Name):  # what the variable was given says more than its name
        value = assigned_value((function,), mask.id, call.lineno)
        if value is not None and value[1] is None:
            mask = value[0]
    yield from (
        Guard(module.written(part), "mask", span, "kernel") for part in _operands(mask, ast.BitAnd, ast.And)
    )


def around(source: SourceFile, launch: Launch) -> Iterator[Guard]:
    """The guards on the way to a launch, and those that choose what it is given."""
    if source.module is None or launch.launcher_span is None:
        return
    module = module_lines(source.data, source.module)
    for function in _functions(source.module):
        if module.range(function) != (launch.launcher_span.start, launch.launcher_span.end):
            continue
        yield from _in_function(module, function, launch)


def _in_function(module: Module, function: _Function, launch: Launch) -> Iterator[Guard]:
    used = {*launch.definitions, *_words(launch)}
    passed = {id(statement) for statement in _on_the_way(module, function.body, launch)}
    for node in own_nodes(function):
        if isinstance(node, ast.If):
            holds = _holds(module, node.body, launch)
            if holds or _holds(module, node.orelse, launch):
                if holds:
                    yield from _each(module, node.test, "dispatch", "launcher")
                else:
                    span = module.span(*module.range(node.test))
                    yield Guard(f"not ({module.written(node.test)})", "dispatch", span, "launcher")
            elif raises(node.body) and node.lineno <= launch.span.first_line:
                leaves = id(node) in passed
                kind = "check" if leaves else "branch"
                yield from _each(module, node.test, kind, "launcher", ast.Or, leaves=leaves)
            elif _leaves(node.body) and node.lineno <= launch.span.first_line:
                leaves = id(node) in passed
                yield from _each(module, node.test, "early_return", "launcher", ast.Or, leaves=leaves)
            elif _of_the_device(module, node.test) or used & _assigned([*node.body, *node.orelse]):
                yield from _each(module, node.test, "branch", "launcher")
        elif isinstance(node, ast.Assert) and node.lineno <= launch.span.last_line:
            yield from _each(module, node.test, "assert", "launcher")
        elif isinstance(node, ast.IfExp) and (
            _of_the_device(module, node.test) or _holds(module, [node], launch)
        ):
            yield from _each(module, node.test, "branch", "launcher")
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.IfExp) and used & _assigned([node]):
            yield from _each(module, node.value.test, "branch", "launcher")
        elif isinstance(node, ast.Call) and _is_check(node):
            yield from _each(module, node.args[0], "check", "launcher")


def _of_the_device(module: Module, test: ast.expr) -> bool:
    return _OF_THE_DEVICE.search(module.written(test)) is not None


def _is_check(call: ast.Call) -> bool:
    named = isinstance(call.func, ast.Attribute) and call.func.attr in _CHECKS
    return named and bool(call.args) and names_in_order(call.func)[:1] == ["torch"]


def _words(launch: Launch) -> set[str]:
    written = " ".join((*launch.arguments, *launch.options.values(), *launch.grid))
    return set(WORD.findall(written))


def _assigned(statements: Sequence[ast.AST]) -> set[str]:
    return {
        name.id
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Assign)
        for target in node.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }


def _holds(module: Module, nodes: Sequence[ast.stmt | ast.expr], launch: Launch) -> bool:
    ranges = [module.range(node) for node in nodes]
    return any(start <= launch.span.start and launch.span.end <= end for start, end in ranges)


def _leaves(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], (ast.Return, ast.Continue))


def raises(body: Sequence[ast.stmt]) -> bool:
    """Whether some statements end in an error."""
    return bool(body) and isinstance(body[-1], ast.Raise)


def _on_the_way(module: Module, body: Sequence[ast.stmt], launch: Launch) -> Iterator[ast.stmt]:
    """The statements that are run before a launch whenever it is: those before it in the blocks that it lies in."""
    for statement in body:
        if not _holds(module, [statement], launch):
            yield statement
            continue
        blocks = (block for _, block in ast.iter_fields(statement) if isinstance(block, list))
        for block in blocks:
            if all(isinstance(part, ast.stmt) for part in block) and _holds(module, block, launch):
                yield from _on_the_way(module, block, launch)
        return


def _each(
    module: Module,
    test: ast.expr,
    kind: str,
    where: str,
    operator: type[ast.boolop] = ast.And,
    *,
    leaves: bool = False,
) -> Iterator[Guard]:
    """One guard per operand of a chain of `and`, or of `or` where either one leads out."""
    for part in _operands(test, operator):
        yield Guard(module.written(part), kind, module.span(*module.range(part)), where, leaves)


def _operands(test: ast.expr, *operators: type[ast.boolop] | type[ast.operator]) -> Iterator[ast.expr]:
    waiting = [test]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.BoolOp) and type(part.op) in operators:
            waiting.extend(reversed(part.values))
        elif isinstance(part, ast.BinOp) and type(part.op) in operators:
            waiting += (part.right, part.left)
        else:
            yield part


def _in_order(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes of a body, in source order. Not recursive: an expression can be deeper than Python's stack."""
    waiting: list[ast.AST] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(list(ast.iter_child_nodes(node))))


def _functions(tree: ast.AST) -> Iterator[_Function]:
    return (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
