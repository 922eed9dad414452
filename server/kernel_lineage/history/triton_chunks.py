"""Chunks of Python: cut at top-level statements, read with `ast`."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

from kernel_lineage.history.outline import Chunk, ChunkReader, Piece, Role, Wrapped, digest
from kernel_lineage.kernels.triton import dotted

_TOP = re.compile(rb"^(?:@|(?:async\s+)?def\b|class\b|[A-Za-z_])", re.MULTILINE)
_CONTINUES = re.compile(rb"(?:else|elif|except|finally)\b")


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
    chunk = _Chunks(text.splitlines(keepends=True))
    for statement in module.body:
        _collect(statement, chunk)
    return Chunk(
        tuple(chunk.pieces),
        tuple(chunk.imports),
        tuple(chunk.wrapped),
        texts=tuple(chunk.texts.items()),
    )


@dataclass(slots=True)
class _Chunks:
    """What a chunk was seen to say so far."""

    lines: list[str]
    pieces: list[Piece] = field(default_factory=list)
    imports: list[tuple[str, str, str]] = field(default_factory=list)
    wrapped: list[Wrapped] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)


def _collect(node: ast.stmt, chunk: _Chunks) -> None:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        nodes = _below(node)
        chunk.pieces.append(_piece(node.name, node, nodes, chunk))
        for inner in nodes:  # a kernel can be made inside a function, and a module imported there
            if isinstance(inner, ast.FunctionDef) and inner.decorator_list:
                chunk.pieces.append(_piece(inner.name, inner, _below(inner), chunk))
            elif isinstance(inner, ast.Import | ast.ImportFrom):
                _import(inner, chunk)
            elif isinstance(inner, ast.Assign) and isinstance(inner.value, ast.Call):
                _wrap(inner, chunk, "jit")
    elif isinstance(node, ast.Import | ast.ImportFrom):
        _import(node, chunk)
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [t.id for t in targets if isinstance(t, ast.Name)]
        nodes = _below(node)
        chunk.pieces += [_piece(name, node, nodes, chunk) for name in names]
        if isinstance(node, ast.Assign):
            _wrap(node, chunk)
            module, _, attribute = dotted(node.value, {}).rpartition(".")
            if module:  # `jit = triton.jit` is as good as an import
                chunk.imports += [(name, module, attribute) for name in names]
    elif isinstance(node, ast.ClassDef | ast.If | ast.Try | ast.With | ast.For | ast.While):
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.stmt):
                _collect(part, chunk)
            elif isinstance(part, ast.ExceptHandler):
                for statement in part.body:
                    _collect(statement, chunk)


def _below(node: ast.AST) -> list[ast.AST]:
    """Every node below a node; `ast.walk` takes three times as long, and histories are long."""
    waiting: list[ast.AST] = [node]
    for current in waiting:
        for value in current.__dict__.values():
            if isinstance(value, ast.AST):
                waiting.append(value)
            elif isinstance(value, list):
                waiting += [part for part in value if isinstance(part, ast.AST)]
    return waiting[1:]


def _import(node: ast.Import | ast.ImportFrom, chunk: _Chunks) -> None:
    if isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        chunk.imports += [(a.asname or a.name, module, a.name) for a in node.names]
    else:
        chunk.imports += [(a.asname or a.name, a.name, "") for a in node.names]


def _wrap(node: ast.Assign, chunk: _Chunks, named: str = "") -> None:
    """`f = triton.jit(g)`, also with decorators in between; of those wrappers whose name has `named` in it."""
    for call in (node.value, *_below(node.value)):
        if isinstance(call, ast.Call) and len(call.args) >= 1 and isinstance(call.args[0], ast.Name):
            wrapper = _callee(call)
            for target in node.targets:
                if wrapper and named in wrapper and isinstance(target, ast.Name):
                    chunk.wrapped.append(Wrapped(target.id, wrapper, call.args[0].id))


def _callee(call: ast.Call) -> str:
    """What is called, with a call for its options taken off: `triton.jit(debug=True)(f)`."""
    return dotted(call.func.func if isinstance(call.func, ast.Call) else call.func, {})


def _piece(name: str, node: ast.stmt, nodes: list[ast.AST], chunk: _Chunks) -> Piece:
    function = node if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
    decorators = function.decorator_list if function else []
    first = min([node.lineno, *(d.lineno for d in decorators)])
    last = node.end_lineno or node.lineno
    text = "".join(chunk.lines[first - 1 : last])
    names: set[str] = set()
    launches: set[str] = set()
    parameters = {a.arg for a in function.args.args} if function else set()
    calls: list[ast.Call] = []
    gives = False
    for inner in nodes:
        kind = type(inner)
        if kind is ast.Name:
            names.add(inner.id)  # type: ignore[attr-defined]
        elif isinstance(inner, ast.Attribute):
            if isinstance(inner.value, ast.Name):
                names.add(f"{inner.value.id}.{inner.attr}")
        elif isinstance(inner, ast.Return):
            gives = gives or inner.value is not None
        elif isinstance(inner, ast.FunctionDef):
            parameters.update(a.arg for a in inner.args.args)
        elif isinstance(inner, ast.Call):
            if isinstance(inner.func, ast.Subscript):
                launches.update(_launched(inner.func.value))
            elif len(inner.args) == 1:
                calls.append(inner)
    above = first - 1
    while above > 0 and chunk.lines[above - 1].lstrip()[:1] == "#":
        above -= 1
    comment = chunk.lines[above : first - 1]
    key = digest(text.encode("utf-8", "replace"))
    chunk.texts[key] = text
    # As a decorator it stands for what it calls on the function that it is given.
    wraps = {_callee(c) for c in calls if isinstance(c.args[0], ast.Name) and c.args[0].id in parameters}
    return Piece(
        role=Role.HOST,
        name=name,
        first_line=first,
        last_line=last,
        digest=key,
        names=frozenset(names - {name}),
        launches=frozenset(launches),
        entry=function is not None and not gives,
        marks=frozenset(dotted(d.func if isinstance(d, ast.Call) else d, {}) for d in decorators) - {""},
        wraps=frozenset(wraps) - {""} if function else frozenset(),
        constant=function is None,
        comment="\n".join(line.strip().lstrip("#").strip() for line in comment),
    )


def _launched(value: ast.expr) -> Iterator[str]:
    if isinstance(value, ast.Name):
        yield value.id
    elif isinstance(value, ast.Attribute):
        yield value.attr
    elif isinstance(value, ast.Call):  # wrap_triton(kernel)[grid](…)
        for argument in value.args:
            yield from _launched(argument)


TRITON = ChunkReader(relevant=_relevant, cuts=_cuts, unclosed=_unclosed, read=_read)
