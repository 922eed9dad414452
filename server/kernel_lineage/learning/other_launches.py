"""The launches of kernels from other files than their own, before a change and after it."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable
from contextlib import suppress

from kernel_lineage.history.similarity import code_lines
from kernel_lineage.history.trees import Tree
from kernel_lineage.kernels.reading import kernels_of, language_of
from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.same_kernel import Place
from kernel_lineage.workloads.launched_elsewhere import launchers_of
from kernel_lineage.workloads.triton.joined_modules import launches_in

_BLANK = re.compile(
    r"^\s+|\s+$|(?<=[^\w])\s+(?=\w)|(?<=\w)\s+(?=[^\w])|(?<=[(){}\[\],;])\s+|\s+(?=[(){}\[\],;])"
)
"""White space at an end, beside a bracket, or between a word and what is none: not what parts `a b` or `+ +`."""


def launched_otherwise(before: Tree, after: Tree, touched: Collection[str]) -> set[Place]:
    """The kernels that touched files launch from other files than the kernels' own, in another way than before."""
    old, new = (_launches_of(tree, touched) for tree in (before, after))
    names = {kernel for kernel in old.keys() & new.keys() if old[kernel] != new[kernel]}
    heads = (b"__global__", b"triton")
    holding = [
        p
        for p in sorted(after.files & before.files)
        if names and any(head in (after.read(p) or b"") for head in heads)
    ]
    return {
        (path, kernel.name)
        for path in holding
        for kernel in kernels_of(path, after.read(path))
        if kernel.name.rpartition("::")[2] in names and not kernel.launches
    }


def _launches_of(tree: Tree, paths: Collection[str]) -> dict[str, set[object]]:
    """Kernel → how files of a tree launch it, comments and layout aside."""
    launches: dict[str, set[object]] = {}
    for path in sorted(paths):
        data = tree.read(path) or b""
        if path.endswith(".py"):
            with suppress(SyntaxError, ValueError, RecursionError):
                for kernel, calls in launches_in(ast.parse(data)).items():
                    launches.setdefault(kernel, set()).update(calls)
        elif b"<<<" in data and language_of(path, data) is Language.CUDA:
            for kernel, functions in launchers_of(data).items():
                written = (tokens(code_lines(f.decode("utf-8", "replace"), False)) for f in functions)
                launches.setdefault(kernel, set()).update(written)
    return launches


def tokens(lines: Iterable[str]) -> tuple[str, ...]:
    """C++ without the blanks and line ends that part nothing; directives stay lines."""
    parts = [""]
    for line in lines:
        if line.startswith("#"):
            parts += [line, ""]
        else:
            parts[-1] += f" {line}"
    return tuple(_BLANK.sub("", part) for part in parts)
