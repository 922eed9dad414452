"""Chunks of Python: cut at top-level statements, read with `ast`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kernel_lineage.history.outline import Chunk, ChunkReader, Piece, Role, digest

_TOP = re.compile(rb"^(?:@|(?:async\s+)?def\b|class\b|[A-Za-z_])", re.MULTILINE)
_CONTINUES = re.compile(rb"(?:else|elif|except|finally)\b")
_COMMENT_ABOVE = re.compile(r"(?:^[ \t]*#[^\n]*\n)+\Z", re.MULTILINE)
_TRITON = re.compile(rb"\btriton\b|\bjit\b")


def _relevant(data: bytes) -> bool:
    return b"triton" in data and _TRITON.search(data) is not None


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
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Chunk(
            open=True
        )  # a string with text in the first column, or broken code: try with what follows
    lines = text.splitlines(keepends=True)
    pieces: list[Piece] = []
    imports: list[tuple[str, str, str]] = []
    for statement in module.body:
        _collect(statement, lines, pieces, imports)
    return Chunk(tuple(pieces), tuple(imports))


def _collect(
    node: ast.stmt, lines: list[str], pieces: list[Piece], imports: list[tuple[str, str, str]]
) -> None:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        jitted = any(_is_jit(d) for d in node.decorator_list)
        pieces.append(_piece(Role.DEVICE if jitted else Role.HOST, node.name, node, lines))
        if not jitted:  # a kernel can be made inside a function
            inside = (n for n in ast.walk(node) if isinstance(n, ast.FunctionDef) and n is not node)
            pieces += [
                _piece(Role.DEVICE, n.name, n, lines) for n in inside if any(map(_is_jit, n.decorator_list))
            ]
    elif isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        imports += [(a.asname or a.name, module, a.name) for a in node.names]
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        pieces += [_piece(Role.HOST, t.id, node, lines) for t in targets if isinstance(t, ast.Name)]
    elif isinstance(node, ast.ClassDef | ast.If | ast.Try | ast.With):
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, ast.stmt):
                _collect(inner, lines, pieces, imports)
            elif isinstance(inner, ast.ExceptHandler):
                for statement in inner.body:
                    _collect(statement, lines, pieces, imports)


def _is_jit(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    if isinstance(target, ast.Attribute):
        owner = target.value
        return target.attr == "jit" and isinstance(owner, ast.Name) and owner.id in ("triton", "tl", "tt")
    return isinstance(target, ast.Name) and target.id in ("jit", "triton_jit")


def _piece(role: Role, name: str, node: ast.stmt, lines: list[str]) -> Piece:
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(d.lineno for d in decorators)])
    last = node.end_lineno or node.lineno
    text = "".join(lines[first - 1 : last])
    names: set[str] = set()
    launches: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            names.add(inner.id)
        elif isinstance(inner, ast.Call) and isinstance(inner.func, ast.Subscript):
            launches.update(_launched(inner.func.value))
    comment = _COMMENT_ABOVE.search("".join(lines[: first - 1]))
    return Piece(
        role=role,
        name=name,
        first_line=first,
        last_line=last,
        text=text,
        digest=digest(text.encode("utf-8", "replace")),
        names=frozenset(names - {name}),
        launches=frozenset(launches),
        entry=role is Role.DEVICE
        and not any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(node)),
        comment="\n".join(line.strip().lstrip("#").strip() for line in comment[0].splitlines())
        if comment
        else "",
    )


def _launched(value: ast.expr) -> Iterator[str]:
    if isinstance(value, ast.Name):
        yield value.id
    elif isinstance(value, ast.Attribute):
        yield value.attr
    elif isinstance(value, ast.Call):  # wrap_triton(kernel)[grid](…)
        for argument in value.args:
            yield from _launched(argument)


TRITON = ChunkReader(relevant=_relevant, cuts=_cuts, read=_read)
