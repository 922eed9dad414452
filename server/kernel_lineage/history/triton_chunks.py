"""Chunks of Python: cut at top-level statements, read with `ast`."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

from kernel_lineage.history.outline import Chunk, ChunkReader, Piece, Role, Wrapped, digest

_TOP = re.compile(rb"^(?:@|(?:async\s+)?def\b|class\b|[A-Za-z_])", re.MULTILINE)
_CONTINUES = re.compile(rb"(?:else|elif|except|finally)\b")
_COMMENT_ABOVE = re.compile(r"(?:^[ \t]*#[^\n]*\n)+\Z", re.MULTILINE)


def _relevant(data: bytes) -> bool:
    if b"triton" in data:
        return True
    return b"import" in data and b"def " not in data  # a package that passes names on


def _unclosed(data: bytes) -> bool:
    """Whether a triple-quoted string is open at the end: text in the first column of one is no statement."""
    return data.count(b'"""') % 2 == 1 or data.count(b"'''") % 2 == 1


def _cuts(data: bytes) -> Iterator[int]:
    """Before the comment block above each top-level statement; decorators stay with what they decorate."""
    decorated = False
    started = False
    for top in _TOP.finditer(data):
        if _CONTINUES.match(data, top.start()):
            continue
        if started and not decorated:
            yield _above_comments(data, top.start())
        started = True
        decorated = data[top.start() : top.start() + 1] == b"@"
    yield len(data)


def _above_comments(data: bytes, at: int) -> int:
    while at > 1:
        line = data.rfind(b"\n", 0, at - 1) + 1
        if data[line : line + 1] != b"#":
            break
        at = line
    return at


def _read(data: bytes) -> Chunk:
    if b"def " not in data and b"=" not in data and b"import" not in data:
        return Chunk()
    text = data.decode("utf-8", "replace")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape in somebody's string is not ours to report
            module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Chunk(open=True)  # broken code, or a statement that goes on: try with what follows
    found = _Found(text.splitlines(keepends=True))
    for statement in module.body:
        _collect(statement, found)
    return Chunk(
        tuple(found.pieces),
        tuple(found.imports),
        tuple(found.wrapped),
        texts=tuple(found.texts.items()),
    )


@dataclass(slots=True)
class _Found:
    """What a chunk was seen to say so far."""

    lines: list[str]
    pieces: list[Piece] = field(default_factory=list)
    imports: list[tuple[str, str, str]] = field(default_factory=list)
    wrapped: list[Wrapped] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)


def _collect(node: ast.stmt, found: _Found) -> None:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        found.pieces.append(_piece(node.name, node, found))
        for inner in ast.walk(node):  # a kernel can be made inside a function, and a module imported there
            if isinstance(inner, ast.FunctionDef) and inner is not node and inner.decorator_list:
                found.pieces.append(_piece(inner.name, inner, found))
            elif isinstance(inner, ast.Import | ast.ImportFrom):
                _import(inner, found)
            elif isinstance(inner, ast.Assign):
                _wrap(inner, found, "jit")
    elif isinstance(node, ast.Import | ast.ImportFrom):
        _import(node, found)
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [t.id for t in targets if isinstance(t, ast.Name)]
        found.pieces += [_piece(name, node, found) for name in names]
        if isinstance(node, ast.Assign):
            _wrap(node, found)
            module, _, attribute = _dotted(node.value).rpartition(".")
            if module:  # `jit = triton.jit` is as good as an import
                found.imports += [(name, module, attribute) for name in names]
    elif isinstance(node, ast.ClassDef | ast.If | ast.Try | ast.With | ast.For | ast.While):
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.stmt):
                _collect(part, found)
            elif isinstance(part, ast.ExceptHandler):
                for statement in part.body:
                    _collect(statement, found)


def _import(node: ast.Import | ast.ImportFrom, found: _Found) -> None:
    if isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        found.imports += [(a.asname or a.name, module, a.name) for a in node.names]
    else:
        found.imports += [(a.asname or a.name, a.name, "") for a in node.names]


def _wrap(node: ast.Assign, found: _Found, named: str = "") -> None:
    """`f = triton.jit(g)`, also with decorators in between; of those wrappers whose name has `named` in it."""
    for call in ast.walk(node.value):
        if isinstance(call, ast.Call) and len(call.args) >= 1 and isinstance(call.args[0], ast.Name):
            wrapper = _dotted(call.func.func if isinstance(call.func, ast.Call) else call.func)
            for target in node.targets:
                if wrapper and named in wrapper and isinstance(target, ast.Name):
                    found.wrapped.append(Wrapped(target.id, wrapper, call.args[0].id))


def _dotted(expression: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(expression, ast.Attribute):
        parts.append(expression.attr)
        expression = expression.value
    return ".".join([expression.id, *reversed(parts)]) if isinstance(expression, ast.Name) else ""


def _piece(name: str, node: ast.stmt, found: _Found) -> Piece:
    function = node if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
    decorators = function.decorator_list if function else []
    first = min([node.lineno, *(d.lineno for d in decorators)])
    last = node.end_lineno or node.lineno
    text = "".join(found.lines[first - 1 : last])
    names: set[str] = set()
    launches: set[str] = set()
    gives = False
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            names.add(inner.id)
        elif isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
            names.add(f"{inner.value.id}.{inner.attr}")
        elif isinstance(inner, ast.Return):
            gives = gives or inner.value is not None
        elif isinstance(inner, ast.Call) and isinstance(inner.func, ast.Subscript):
            launches.update(_launched(inner.func.value))
    comment = _COMMENT_ABOVE.search("".join(found.lines[: first - 1]))
    key = digest(text.encode("utf-8", "replace"))
    found.texts[key] = text
    return Piece(
        role=Role.HOST,
        name=name,
        first_line=first,
        last_line=last,
        digest=key,
        names=frozenset(names - {name}),
        launches=frozenset(launches),
        entry=function is not None and not gives,
        marks=frozenset(_dotted(d.func if isinstance(d, ast.Call) else d) for d in decorators) - {""},
        wraps=_wraps(function) if function else frozenset(),
        constant=function is None,
        comment="\n".join(line.strip().lstrip("#").strip() for line in comment[0].splitlines())
        if comment
        else "",
    )


def _wraps(function: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """What a function calls on one of its own parameters, or on that of a function inside it: it may be a decorator."""
    own = {
        a.arg
        for inner in ast.walk(function)
        if isinstance(inner, ast.FunctionDef)
        for a in (*inner.args.posonlyargs, *inner.args.args)
    }
    calls = (c for c in ast.walk(function) if isinstance(c, ast.Call) and c.args)
    return frozenset(
        _dotted(c.func.func if isinstance(c.func, ast.Call) else c.func)
        for c in calls
        if isinstance(c.args[0], ast.Name) and c.args[0].id in own
    ) - {""}


def _launched(value: ast.expr) -> Iterator[str]:
    if isinstance(value, ast.Name):
        yield value.id
    elif isinstance(value, ast.Attribute):
        yield value.attr
    elif isinstance(value, ast.Call):  # wrap_triton(kernel)[grid](…)
        for argument in value.args:
            yield from _launched(argument)


TRITON = ChunkReader(relevant=_relevant, cuts=_cuts, unclosed=_unclosed, read=_read)
