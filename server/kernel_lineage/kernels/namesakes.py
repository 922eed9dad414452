"""A CUDA C++ file in which no two functions share a name: those of several namespaces are called by these as well.

All that reads host code goes by bare names; `plain::blend` and `biased::blend` are `plain_blend` and `biased_blend` to
it. Lines stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import above, inside, text_of
from kernel_lineage.kernels.edits import edited, replace_node
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language, SourceFile

_KEY = "told apart"
_Path = tuple[str, ...]


def told_apart(source: SourceFile) -> SourceFile:
    """The file with new names where kernels of several namespaces share one; its kernels stay in their order."""
    names = [k.name for k in source.kernels]
    if source.language is not Language.CUDA or source.root is None or len({*names}) == len(names):
        return source
    kept = source.derived.get(_KEY)
    if not isinstance(kept, SourceFile):
        kept = source.derived[_KEY] = _renamed(source, source.root)
    return kept


def _renamed(source: SourceFile, root: Node) -> SourceFile:
    places: dict[str, set[_Path]] = {}
    identifiers = [n for n in inside(root) if n.type == "identifier"]
    for node in identifiers:
        if _is_defined(node):
            places.setdefault(text_of(node), set()).add(namespaces_around(node))
    several = {name: paths for name, paths in places.items() if len(paths) > 1}
    if not any(k.name in several for k in source.kernels):
        return source
    used = [n for n in inside(root) if n.type == "using_declaration" and "namespace" in text_of(n)]
    opened = {
        _parts(text_of(n).removeprefix("using").strip().removeprefix("namespace").strip(" ;")) for n in used
    }
    edits = [
        replace_node(node, _apart(meant, node, places))
        for node in identifiers
        if (paths := several.get(text_of(node))) and (meant := _meant(node, paths, opened))
    ]
    return read(edited(source.data, edits), Language.CUDA)


def _apart(path: _Path, node: Node, places: Mapping[str, object]) -> str:
    name = "_".join((*path, text_of(node)))
    return f"{name}_" if name in places else name


def _is_defined(node: Node) -> bool:
    """Whether an identifier is the name of a function, not of a class, where that has its body."""
    declarator = node.parent
    if declarator is None or declarator.type != "function_declarator":
        return False
    around = [n.type for n in above(node)]
    members = {"class_specifier", "struct_specifier"}
    return "function_definition" in around and members.isdisjoint(around)


def namespaces_around(node: Node) -> _Path:
    """The namespaces that a piece of code stands in, the outermost first; those without a name left out."""
    written = (n.child_by_field_name("name") for n in above(node) if n.type == "namespace_definition")
    return tuple(part for name in reversed([*written]) if name is not None for part in _parts(text_of(name)))


def _meant(node: Node, paths: set[_Path], opened: set[_Path]) -> _Path:
    """The namespaces of the function that an identifier means; () for one outside of all, and where it is not known."""
    scope = tuple(_scope(node))
    around = namespaces_around(node)
    for depth in range(len(around), -1, -1):
        if (*around[:depth], *scope) in paths:
            return (*around[:depth], *scope)
    brought = [(*path, *scope) for path in opened if (*path, *scope) in paths]
    return brought[0] if len(brought) == 1 else ()


def _scope(node: Node) -> Iterator[str]:
    """What stands before an identifier: `a` and `b` of `a::b::f`."""
    around = [n for n in above(node) if n.type == "qualified_identifier"]
    for outer in reversed(around):
        scope, name = outer.child_by_field_name("scope"), outer.child_by_field_name("name")
        is_named = name is not None and name.start_byte <= node.start_byte and node.end_byte <= name.end_byte
        if scope is not None and is_named:
            yield from _parts(text_of(scope))


def _parts(written: str) -> _Path:
    return tuple(part.strip() for part in written.split("::") if part.strip())
