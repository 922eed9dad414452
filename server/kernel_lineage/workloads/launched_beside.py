"""Which kernels a change launches beside a kernel: those do a part of its work, or take its place."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kernel_gate.reaching import reachable
from kernel_lineage.kernels.cuda_forms import inside, text_of
from kernel_lineage.kernels.source import Language, SourceFile
from kernel_lineage.workloads.following.unit import unit_of
from kernel_lineage.workloads.torch_beside import same_functions
from kernel_lineage.workloads.triton.host_modules import module_of

_TESTS = ("if_statement", "switch_statement", "while_statement")
_WORD = re.compile(r"[^\W\d]\w*")


def launched_beside(kernel: str, before: SourceFile, after: SourceFile, since: str = "") -> tuple[str, ...]:
    """The kernels that functions which launch `kernel` before a change launch after it only; `since` is the kernel's
    name after it, by default the same.

    Functions go by their names (`same_functions`). Nothing is where a file does not parse.
    """
    reached, later = _by_cuda if after.language is Language.CUDA else _by_triton, since or kernel
    old, new = reached(kernel, before), reached(later, after)
    launching = [[n for n, host in hosts.items() if host.launches] for hosts in (old, new)]
    pairs = {(name, name) for name in launching[0] if name in new}
    names: set[str] = set()
    for function, renamed in pairs.union(same_functions(*launching)):
        names |= new[renamed].kernels - old[function].kernels
    return tuple(sorted(names - {kernel, later}))


def asks_more(kernel: str, before: SourceFile, after: SourceFile, since: str = "") -> bool:
    """Whether host code that leads to a launch of a CUDA C++ kernel tests what it did not test before a change; `since`
    is the kernel's name after it, by default the same.
    """
    if after.language is not Language.CUDA:
        return False
    old, new = _tests_of(kernel, before), _tests_of(since or kernel, after)
    return bool(new - old)


def _tests_of(kernel: str, file: SourceFile) -> set[str]:
    """The tests in the host functions that lead to a kernel's launch, and in those that these call."""
    unit = unit_of(file.data.decode("utf-8", "replace"))
    functions = {n: [f for f in fs if f.of_host] for n, fs in unit.functions.items()}
    leading = [n for n in functions if kernel in unit.launched_by(n)]
    reached = reachable(
        leading, lambda name: (w for f in functions.get(name, ()) for w in f.words if w in functions)
    )
    nodes = (node for name in reached for f in functions[name] for node in inside(f.body))
    conditions = (node.child_by_field_name("condition") for node in nodes if node.type in _TESTS)
    return {" ".join(text_of(condition).split()) for condition in conditions if condition is not None}


@dataclass(frozen=True, slots=True)
class _Host:
    """A function of the host."""

    launches: bool
    """Whether its own text names the kernel that is judged."""
    kernels: frozenset[str]
    """Those that it launches, itself or by functions that it calls."""


def _by_cuda(kernel: str, file: SourceFile) -> Mapping[str, _Host]:
    unit = unit_of(file.data.decode("utf-8", "replace"))
    return {
        name: _Host(any(kernel in code.words for code in codes if code.of_host), unit.launched_by(name))
        for name, codes in unit.functions.items()
        if any(code.of_host for code in codes)
    }


def _by_triton(kernel: str, file: SourceFile) -> Mapping[str, _Host]:
    """Methods are `Class.method`; nothing where the file does not parse."""
    functions = module_of(Path(), file.module).functions if file.module is not None else {}
    kernels = {k.name for k in file.kernels}
    bodies = {n: "\n".join(map(ast.unparse, f.body)) for n, f in functions.items() if n not in kernels}
    words = {name: frozenset(_WORD.findall(body)) for name, body in bodies.items()}

    def launched(function: str) -> frozenset[str]:
        reached = reachable([function], lambda by: (n for n in words if words[by] & {*n.split(".")}))
        return frozenset(kernels & {word for name in reached for word in words[name]})

    return {name: _Host(kernel in own, launched(name)) for name, own in words.items()}
