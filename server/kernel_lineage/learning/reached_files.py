"""The files that a change of other files reaches: those that include or import them and use what has changed there."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping

from kernel_lineage.history.outline import Outline
from kernel_lineage.history.reference_graph import ReferenceGraph
from kernel_lineage.history.trees import Tree

HEADERS = (".cuh", ".h", ".hpp", ".inl")
_INCLUDE = re.compile(r"^\s*#\s*include\s*[\"<]([^\">\n]+)", re.MULTILINE)
_FROM = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*import[ \t]+([^\n]+)", re.MULTILINE)
_DOTTED = re.compile(r"[A-Za-z_][\w.]*")
_WORD = re.compile(r"[A-Za-z_]\w*")


def reached(before: Tree, after: Tree, touched: Collection[str]) -> set[str]:
    """The files of `after` that touched headers and modules reach, directly or not."""
    headers = [p for p in touched if p.endswith(HEADERS) and p in after.files]
    modules = [p for p in touched if p.endswith(".py") and p in after.files]
    return (_including(after, headers) if headers else set()) | (
        _using(before, after, modules) if modules else set()
    )


def _including(tree: Tree, headers: Collection[str]) -> set[str]:
    """What includes a header, and the headers beside it, which may stand on what is included before them."""
    texts = {p: _text(tree, p) for p in tree.files if p.endswith((".cu", *HEADERS))}
    graph = _graph(
        {p: [("", m[1].strip(), "") for m in _INCLUDE.finditer(text)] for p, text in texts.items()}
    )
    readers = {reader for p in headers for reader in graph.readers(p)}
    return readers | {p for reader in readers for p in graph.closure(reader) if p.endswith(HEADERS)}


def _using(before: Tree, after: Tree, modules: Collection[str]) -> set[str]:
    """What imports a module and names one of its definitions that changed, or one that names such a one."""
    texts = {p: _text(after, p) for p in after.files if p.endswith(".py")}
    graph = _graph({p: _imports(text) for p, text in texts.items()})
    readers = {reader for p in modules for reader in graph.readers(p)}
    words = {p: set(_WORD.findall(texts[p])) for p in readers}
    names: set[str] = set()
    for p in modules:
        old, new = _definitions(_text(before, p)), _definitions(texts[p])
        if old is None or new is None:
            return readers
        names |= {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
    found = set(modules)
    while more := {p for p in readers - found if words[p] & names}:
        found |= more
        for p in more:
            for name, said in (_definitions(texts[p]) or {}).items():
                if not names.isdisjoint(_WORD.findall(said)):
                    names.add(name)
    return found


def _definitions(text: str) -> dict[str, str] | None:
    """What each top-level name of a module is, as Python reads it; None for a text that it does not read."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return None
    found: dict[str, str] = {}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names = {node.name}
        else:  # an assignment, an import, a branch with some of them
            names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            names |= {
                a.asname or a.name
                for n in ast.walk(node)
                if isinstance(n, (ast.Import, ast.ImportFrom))
                for a in n.names
            }
        for name in names:
            found[name] = found.get(name, "") + ast.dump(node)
    return found


def _imports(text: str) -> list[tuple[str, str, str]]:
    """What a module imports, as an outline has it; seen by its lines alone."""
    taken = [("", m[1], name) for m in _FROM.finditer(text) for name in ("", *_WORD.findall(m[2]))]
    return taken + [("", module, "") for m in _IMPORT.finditer(text) for module in _DOTTED.findall(m[1])]


def _graph(imports: Mapping[str, list[tuple[str, str, str]]]) -> ReferenceGraph:
    return ReferenceGraph({p: p for p in imports}, lambda p, _blob: Outline(imports=tuple(imports[p])))


def _text(tree: Tree, path: str) -> str:
    return (tree.read(path) or b"").decode("utf-8", "replace")
