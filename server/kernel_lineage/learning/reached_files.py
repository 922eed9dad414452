"""The files that a change of other files reaches: those that include or import them and use what has changed there."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from kernel_lineage.history.named_files import names_in, readers
from kernel_lineage.history.outline import Outline
from kernel_lineage.history.reference_graph import ReferenceGraph
from kernel_lineage.history.trees import Tree
from kernel_lineage.kernels.source import Language
from kernel_lineage.kernels.words import WORD

_FROM = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*import[ \t]+([^\n]+)", re.MULTILINE)
_DOTTED = re.compile(r"[A-Za-z_][\w.]*")


def reached(before: Tree, after: Tree, touched: Collection[str]) -> set[str]:
    """The files of `after` that touched files reach, directly or not, by what either state includes or imports."""
    modules = [p for p in touched if p.endswith(".py")]
    return (_including(before, after, touched) | _using(before, after, modules)) & after.files


def _including(before: Tree, after: Tree, touched: Collection[str]) -> set[str]:
    """What may include a touched file, and the headers beside it, which may stand on what is included before them."""
    files: set[str] = set()
    for tree in (before, after):
        names = {p: names_in(p, data) for p in tree.files if (data := tree.read(p)) is not None}
        reading = readers(names, touched) - set(touched)
        by_name = {PurePosixPath(p).name: p for p in names if not p.endswith((".cu", ".py"))}
        files |= reading
        waiting = list(reading)
        for path in waiting:
            beside = {by_name[name] for name in names.get(path, ()) if name in by_name} - files
            files |= beside
            waiting += beside
    return files


def _using(before: Tree, after: Tree, modules: Collection[str]) -> set[str]:
    """What imports a module and names one of its definitions that changed, or imports what does."""
    if not modules:
        return set()
    states = [{p: _text(tree, p) for p in tree.files if p.endswith(".py")} for tree in (before, after)]
    graphs = [_graph({p: _imports(text) for p, text in texts.items()}) for texts in states]
    reading = sorted({r for g in graphs for p in modules if p in g.blobs for r in g.readers(p)})
    changed: dict[str, set[str]] = {}
    for p in modules:
        old, new = _definitions(states[0].get(p, "")), _definitions(states[1].get(p, ""))
        if old is None or new is None:  # not to be read: whatever imports it may be meant
            return set(reading)
        changed[p] = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
    texts = {p: states[1].get(p, "") for p in reading}
    words = {p: set(WORD.findall(text)) for p, text in texts.items()}
    grows = True
    while grows:
        grows = False
        for reader in reading:
            reads = {p for g in graphs for p in g.resolved.edges.get(reader, ())}
            used = {name for p in reads for name in changed.get(p, ())} & words[reader]
            if not used:
                continue
            names = changed.setdefault(reader, set())
            through = {name for name, one in (_definitions(texts[reader]) or {}).items() if one.names & used}
            grows = grows or not through <= names
            names |= through
    return set(changed)


@dataclass(frozen=True, slots=True)
class _Definition:
    """A top-level name: what Python reads of it, and the names that it uses."""

    dump: str
    names: frozenset[str]


def _definitions(text: str) -> dict[str, _Definition] | None:
    """What each top-level name of a module is; None for a text that is no Python."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return None
    definitions: dict[str, _Definition] = {}
    for node in body:
        stored: set[str] = set()
        used: set[str] = set()
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                (stored if isinstance(inner.ctx, ast.Store) else used).add(inner.id)
            elif isinstance(inner, ast.Attribute):
                used.add(inner.attr)
            elif isinstance(inner, ast.alias):
                stored.add(inner.asname or inner.name)
                used.add(inner.name)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            stored = {node.name}
        dump = ast.dump(node)
        for name in stored:
            other = definitions.get(name, _Definition("", frozenset()))
            definitions[name] = _Definition(other.dump + dump, other.names | used)
    return definitions


def _imports(text: str) -> list[tuple[str, str, str]]:
    """What a module imports, as an outline has it; seen by its lines alone."""
    taken = [("", m[1], name) for m in _FROM.finditer(text) for name in ("", *WORD.findall(m[2]))]
    return taken + [("", module, "") for m in _IMPORT.finditer(text) for module in _DOTTED.findall(m[1])]


def _graph(imports: Mapping[str, list[tuple[str, str, str]]]) -> ReferenceGraph:
    def outline_of(path: str, _blob: str) -> Outline:
        return Outline(imports=tuple(imports[path]), language=Language.TRITON)

    return ReferenceGraph({p: p for p in imports}, outline_of)


def _text(tree: Tree, path: str) -> str:
    return (tree.read(path) or b"").decode("utf-8", "replace")
