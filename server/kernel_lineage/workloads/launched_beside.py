"""Which kernels a change launches beside a kernel: those do a part of its work, or take its place."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from kernel_lineage.kernels.source import Language, SourceFile
from kernel_lineage.workloads.following.unit import unit_of

_WORD = re.compile(r"[^\W\d]\w*")


def launched_beside(kernel: str, before: SourceFile, after: SourceFile) -> tuple[str, ...]:
    """The kernels that functions which launch `kernel` before a change launch after it only.

    Functions go by their names: one that the change renames is not seen. Nothing is where a file does not parse.
    """
    if before.data == after.data:
        return ()
    old, new = _host_code(before), _host_code(after)
    names: set[str] = set()
    for function in old.keys() & new.keys():
        if kernel in old[function]:
            names |= _launched(function, new, after) - _launched(function, old, before)
    return tuple(sorted(names - {kernel}))


def _host_code(file: SourceFile) -> Mapping[str, frozenset[str]]:
    """Function of the host → the names in its body, its own not among them; methods are `Class.method`."""
    if file.language is Language.CUDA:
        functions = unit_of(file.data.decode("utf-8", "replace")).functions
        return {
            name: frozenset().union(*(code.words for code in codes if code.of_host))
            for name, codes in functions.items()
            if any(code.of_host for code in codes)
        }
    try:
        tree = ast.parse(file.data)
    except (SyntaxError, ValueError):
        return {}
    kernels = {kernel.name for kernel in file.kernels}
    own: dict[str, frozenset[str]] = {}
    for outer in tree.body:
        inner = outer.body if isinstance(outer, ast.ClassDef) else [outer]
        around = f"{outer.name}." if isinstance(outer, ast.ClassDef) else ""
        for code in inner:
            if isinstance(code, ast.FunctionDef) and code.name not in kernels:
                body = "\n".join(ast.unparse(statement) for statement in code.body)
                own[f"{around}{code.name}"] = frozenset(_WORD.findall(body))
    return own


def _launched(function: str, host: Mapping[str, frozenset[str]], file: SourceFile) -> set[str]:
    """The kernels of a file that a function names, or one that it calls."""
    reached, waiting = set(), {function}
    while waiting:
        reached |= waiting
        words = {word for name in waiting for word in host[name]}
        waiting = {name for name in host if words & {*name.split(".")}} - reached
    return {kernel.name for kernel in file.kernels} & {word for name in reached for word in host[name]}
