"""Calls of a Triton file's own functions, written out in the kernel that calls them.

`total = row_sum(x_ptr, n, BLOCK)` is what the function does, with names of its own, and then `total = …`. Nothing else
changes: this is no rewrite by itself, but what other rewrites start from, which look at a kernel's own statements.

Written out are functions that return at their end, and nowhere else: as the whole of what a statement gives to names,
or as a part of it where nothing is written on the way.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain

from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_syntax import TritonUnit
from kernel_lineage.rewrite.assists.layout import (
    begins_line,
    data_of,
    indent_at,
    newline_of,
    replace_between,
    taken_name,
)
from kernel_lineage.rewrite.assists.model import Refusal, attempt
from kernel_lineage.rewrite.assists.triton_places import (
    called,
    function_of,
    holds_text_of_lines,
    span_of,
    stored_names,
    triton_syntax_of,
)
from kernel_lineage.rewrite.candidate import Edit

_SCOPES = (
    ast.Lambda, ast.FunctionDef, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Global,
    ast.Nonlocal, ast.NamedExpr, ast.With, ast.Try, ast.Delete, ast.Import, ast.ImportFrom,
)  # fmt: skip
"""What gives names a meaning of its own."""
_IN_SOME_CASES = (ast.IfExp, ast.BoolOp, *_SCOPES)
_WRITES = re.compile(r"store|atomic_\w+|inline_asm_elementwise|debug_barrier|device_print|device_assert")


def written_out_functions(kernel: Kernel) -> list[Edit]:
    """The edits that write out the first call of each statement that can be; none where there is none.

    What calls stand in functions that are written out is left for another time.
    """
    function, functions = function_of(kernel), _functions(kernel)
    if not functions or any(isinstance(n, _SCOPES) for s in function.body for n in ast.walk(s)):
        return []
    taken = names_in(function) | {p.name for p in kernel.parameters} | functions.keys()
    taken |= set().union(*(names_in(f.function) for f in functions.values()))
    edits: list[Edit] = []
    for statement in _statements(function.body):
        for call in _calls(statement, functions):
            edit = attempt(partial(_written_out, kernel, statement, call, functions, taken))
            if not isinstance(edit, Refusal):
                edits.append(edit)
                break
    return edits


def _functions(kernel: Kernel) -> dict[str, TritonUnit]:
    """The file's own functions that the kernel reaches, by their names; not those that are there twice."""
    assert kernel.source is not None
    module = kernel.source.module
    body = module.body if module is not None else []
    names = [s.name for s in body if isinstance(s, ast.FunctionDef)] + [
        n for s in body for n in stored_names(s)
    ]
    return {u.name: u for u in triton_syntax_of(kernel).units[1:] if names.count(u.name) == 1}


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that give a value or do something, in the order of the text, with those of loops and branches."""
    for statement in body:
        match statement:
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.Expr():
                yield statement
            case ast.For() | ast.While() | ast.If():
                yield from _statements(statement.body)
                yield from _statements(statement.orelse)


def _calls(statement: ast.stmt, functions: Mapping[str, TritonUnit]) -> list[ast.Call]:
    """The calls of a statement that are made whatever the values are, the innermost first."""
    made: list[ast.Call] = []

    def walk(node: ast.AST) -> None:
        if isinstance(node, _IN_SOME_CASES):
            return
        for child in ast.iter_child_nodes(node):
            walk(child)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
            made.append(node)

    walk(statement)
    return made


def _written_out(
    kernel: Kernel,
    statement: ast.stmt,
    call: ast.Call,
    functions: Mapping[str, TritonUnit],
    taken: set[str],
) -> Edit:
    assert isinstance(call.func, ast.Name)
    unit = functions[call.func.id]
    function = unit.function
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    _check_function(kernel, function, body)
    whole = statement.value if isinstance(statement, ast.Assign | ast.Expr) else None
    # What the call is handed to is done behind it.
    beside = [n for n in ast.walk(statement) if isinstance(n, ast.Call) and call not in ast.walk(n)]
    writing = _does_more(unit, functions) or any(_may_write(n, functions) for n in beside)
    if whole is not call and writing:
        raise Refusal(f"{function.name} writes memory, or its statement does")
    data, span = data_of(kernel), span_of(kernel, statement)
    if not begins_line(data, span.start) or data[span.end :].split(b"\n", 1)[0].strip().startswith(b";"):
        raise Refusal(f"line {statement.lineno} holds several statements")
    renamed, first = _parameters(function, call, taken)
    for name in dict.fromkeys(stored_names(ast.Module(list(body), []))):
        if name not in renamed:
            renamed[name] = taken_name(name, taken)
    *_, last = body
    value = ast.unparse(_named(last.value, renamed)) if isinstance(last, ast.Return) and last.value else ""
    lines = [*first]
    for inner in body[:-1] if isinstance(last, ast.Return) else body:
        lines += _text(unit, data, inner, renamed)
    lines += _behind(kernel, statement, call, whole is call, value, function, taken)
    margin, newline = indent_at(data, span.start), newline_of(data)
    text = newline.join(margin + line if line.strip() else "" for line in lines)[len(margin) :]
    return replace_between(kernel, span.start, span.end, text)


def _check_function(kernel: Kernel, function: ast.FunctionDef, body: list[ast.stmt]) -> None:
    """Refuse a function that does not do the same where its statements stand in the kernel."""
    everything = list(chain.from_iterable(map(ast.walk, body)))
    returns = [n for n in everything if isinstance(n, ast.Return)]
    if not body or any(n is not body[-1] for n in returns):
        raise Refusal(f"{function.name} returns before its end")
    if any(isinstance(n, (*_SCOPES, ast.AnnAssign)) for n in everything) or holds_text_of_lines(body):
        raise Refusal(f"{function.name} holds what cannot be moved")
    own = set(stored_names(function)) | {a.arg for a in function.args.args}
    kernels = set(stored_names(function_of(kernel))) | {p.name for p in kernel.parameters}
    if hidden := (set().union(*map(names_in, body)) - own) & kernels:
        raise Refusal(f"`{min(hidden)}` means something else in {kernel.name} than in {function.name}")


def _parameters(
    function: ast.FunctionDef, call: ast.Call, taken: set[str]
) -> tuple[dict[str, str], list[str]]:
    """What stands for each parameter of a function, and the lines that give a value to those that need a name."""
    arguments = function.args
    if arguments.vararg or arguments.kwarg or arguments.posonlyargs or arguments.kwonlyargs:
        raise Refusal(f"{function.name} takes other arguments than plain ones")
    names = [a.arg for a in arguments.args]
    handed = dict(zip(names, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}
    if len(call.args) + len(call.keywords) != len(handed) or any(
        isinstance(a, ast.Starred) for a in call.args
    ):
        raise Refusal(f"what {function.name} is handed is not told one by one")
    usual = arguments.defaults
    defaults = dict(zip(names[len(names) - len(usual) :], usual, strict=True))
    renamed, lines = dict[str, str](), list[str]()
    for argument in arguments.args:
        name = argument.arg
        value = handed.pop(name, None) or defaults.get(name)
        if value is None or (name in defaults and not isinstance(defaults[name], ast.Constant)):
            raise Refusal(f"what {function.name} gets for `{name}` is not told")
        text, changed = ast.unparse(value), name in stored_names(function)
        constexpr = argument.annotation is not None and ast.unparse(argument.annotation).endswith("constexpr")
        if constexpr and changed:
            raise Refusal(f"{function.name} changes the constant `{name}`")
        if constexpr or (isinstance(value, ast.Name | ast.Constant) and not changed):
            renamed[name] = text if isinstance(value, ast.Name | ast.Constant) else f"({text})"
            continue
        renamed[name] = taken_name(name, taken)
        lines.append(f"{renamed[name]} = {text}")
    if handed:
        raise Refusal(f"{function.name} has no `{min(handed)}`")
    return renamed, lines


def _does_more(unit: TritonUnit, functions: Mapping[str, TritonUnit]) -> bool:
    """Whether a function, or one that it calls, may write memory."""
    calls = (n for n in ast.walk(unit.function) if isinstance(n, ast.Call))
    return any(_may_write(c, {n: u for n, u in functions.items() if u is not unit}) for c in calls)


def _may_write(call: ast.Call, functions: Mapping[str, TritonUnit]) -> bool:
    """Whether a call may do more than give a value."""
    own = functions.get(ast.unparse(call.func))
    if own is not None:
        return _does_more(own, functions)
    return _WRITES.fullmatch(called(call) or ast.unparse(call.func).rpartition(".")[2]) is not None


def _named(node: ast.expr, renamed: Mapping[str, str]) -> ast.expr:
    """An expression with other names."""

    class Named(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.AST:
            return ast.parse(renamed[name.id], mode="eval").body if name.id in renamed else name

    changed = Named().visit(ast.parse(ast.unparse(node), mode="eval").body)
    assert isinstance(changed, ast.expr)
    return changed


def _text(unit: TritonUnit, data: bytes, statement: ast.stmt, renamed: Mapping[str, str]) -> list[str]:
    """A function's statement with other names, in lines without the indentation of its first."""
    whole = unit.span(statement)
    text, margin = data[whole.start : whole.end], indent_at(data, whole.start)
    names = [n for n in ast.walk(statement) if isinstance(n, ast.Name) and n.id in renamed]
    for span, name in sorted(((unit.span(n), n.id) for n in names), key=lambda p: -p[0].start):
        text = text[: span.start - whole.start] + renamed[name].encode() + text[span.end - whole.start :]
    first, *rest = text.decode().splitlines()
    return [first, *(line.removeprefix(margin) for line in rest)]


def _behind(
    kernel: Kernel,
    statement: ast.stmt,
    call: ast.Call,
    is_whole: bool,
    value: str,
    function: ast.FunctionDef,
    taken: set[str],
) -> list[str]:
    """What stands behind a function's statements in the place of the statement that called it."""
    if isinstance(statement, ast.Expr) and is_whole:
        return []
    if not value:
        raise Refusal(f"{function.name} returns nothing, and is called for a value")
    data, whole, span = data_of(kernel), span_of(kernel, statement), span_of(kernel, call)
    name, lines, tree = value, list[str](), ast.parse(value, mode="eval").body
    match statement, tree:
        case ast.Assign(targets=[ast.Tuple(elts=names)]), ast.Tuple(elts=values) if (
            is_whole and len(names) == len(values) and not set(stored_names(statement)) & names_in(tree)
        ):
            return [f"{ast.unparse(n)} = {ast.unparse(v)}" for n, v in zip(names, values, strict=True)]
    if not is_whole:
        if isinstance(tree, ast.Tuple):
            raise Refusal(
                f"{function.name} returns several values, of which line {statement.lineno} uses some"
            )
        name = taken_name(function.name.lstrip("_"), taken)
        lines.append(f"{name} = {value}")
    text = (data[whole.start : span.start] + name.encode() + data[span.end : whole.end]).decode()
    first, *rest = text.splitlines()
    margin = indent_at(data, whole.start)
    return [*lines, first, *(line.removeprefix(margin) for line in rest)]
