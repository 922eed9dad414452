"""The calls that Python code makes of a compiled extension's functions: of tests, benchmarks and scripts."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from kernel_lineage.kernels.words import WORD, with_meanings
from kernel_lineage.workloads.equal_dims import is_named_for_want
from kernel_lineage.workloads.following.callers import Caller
from kernel_lineage.workloads.model import UNTYPED, USUALLY_TAKEN, DraftArgument
from kernel_lineage.workloads.triton.arguments import as_tensor, buffer, is_expression
from kernel_lineage.workloads.triton.cases import other_sizes
from kernel_lineage.workloads.triton.host_modules import HostModule
from kernel_lineage.workloads.triton.modules import Modules
from kernel_lineage.workloads.triton.promises import each_once
from kernel_lineage.workloads.triton.usages import Usage, is_test, tries_of, usages_of
from kernel_lineage.workloads.triton.values import text_of
from kernel_lineage.workloads.triton.ways import Reading, Ways

_MOST_CALLS = 4
_MOST_MODULES = 8


def extension_calls(names: frozenset[str], parameters: Sequence[str], modules: Modules) -> Iterator[Caller]:
    """The calls of a function that Python knows by some names and that has these parameters.

    Views of tensors are taken to lie row by row: their extents count.
    """
    nothing = ast.arguments([], [], None, [], [], None, [])
    target = ast.FunctionDef("", nothing, [ast.Pass()], [], lineno=1, col_offset=0)
    ways = Ways(target, modules, USUALLY_TAKEN, entries=names)
    usages = _usages(names, modules)
    calls = [*_callers(ways.from_tests(usages), parameters)]
    if any(call.absent for call in calls):
        others = {(call.way, *sorted(call.sizes.items())): call.others for call in calls}
        for call in _callers(ways.others_from_tests(usages), parameters):
            same = others.get((call.way, *sorted(call.sizes.items())), ())
            calls.append(replace(call, others=same))
    # A call that gives all shows more of a kernel than one that leaves out what may be.
    yield from sorted(calls, key=lambda call: len(call.absent))
    yield from (replace(call, is_timed=True) for call in _callers(ways.timed_in(usages), parameters))


def _callers(readings: Iterator[Reading], parameters: Sequence[str]) -> Iterator[Caller]:
    """The calls of the first readings; those of numbers alone say nothing of other sizes."""
    calls = (_caller(reading, parameters) for reading in islice(readings, _MOST_CALLS))
    return (call for call in calls if call is not None and call.sizes)


def _usages(names: frozenset[str], modules: Modules) -> list[Usage]:
    """Who calls a function, or tries the modules that do."""
    mentioning = map(modules.read, modules.mentioning(frozenset(n.encode() for n in names)))
    calling = [m for m in mentioning if m is not None and _calls(m, names)]
    usages: list[Usage] = []
    for module in sorted(calling, key=lambda m: is_test(m.path))[:_MOST_MODULES]:
        own = tries_of([module]) if is_test(module.path) else usages_of(module, modules)[0]
        usages += (u for u in own if not any(u.function is other.function for other in usages))
    return usages


def _calls(module: HostModule, names: frozenset[str]) -> bool:
    functions = (n.func for n in ast.walk(module.tree) if isinstance(n, ast.Call))
    return any(ast.unparse(f).rpartition(".")[2] in names for f in functions)


def _caller(reading: Reading, parameters: Sequence[str]) -> Caller | None:
    """What a call gives, as far as it is told; None where the function does not take it."""
    reader = reading.reader
    listed = [value for node in reading.call.args for value in reading.frame.spread(node)]
    passed = {**dict(zip(parameters, listed, strict=False)), **reading.frame.named(reading.call.keywords)}
    if len(listed) > len(parameters) or not passed.keys() <= {*parameters}:
        return None
    tensors: dict[str, DraftArgument] = {}
    numbers: dict[str, str] = {}
    lists: dict[str, tuple[str, ...]] = {}
    for name, value in passed.items():
        tensor = as_tensor(value, reading)
        if is_expression(value):
            numbers[name] = text_of(value)
        elif isinstance(value, (list, tuple)) and all(map(is_expression, value)):
            lists[name] = tuple(text_of(v) for v in value)
        elif tensor is not None and tensor.shape is not None:
            tensors[name] = _row_by_row(buffer(name, tensor, value, "input", False, reading))
    if reading.fixed:
        return None
    absent = frozenset(name for name, value in passed.items() if value is None)
    # The first note is whose sizes they are, which a draft says of each.
    notes = (*reading.said[1:], *(s for s in reader.said if not s.startswith(UNTYPED)), *reader.decided)
    sizes = {name: int(size) for name, size in reader.sizes.items()}
    promises = (*reader.promises, *each_once([*tensors.values()], reader.sizes))
    caller = Caller(reading.way, sizes, tensors, numbers, lists, absent, promises, notes=notes)
    caller = _named(caller, reading)
    return replace(caller, others=other_sizes(caller.sizes, reading.cases))


def _row_by_row(tensor: DraftArgument) -> DraftArgument:
    return replace(tensor, shape=tensor.view.extents, view=None) if tensor.view is not None else tensor


def _named(caller: Caller, reading: Reading) -> Caller:
    """The call with the sizes that it uses, those made of numbers by the first name that the code has for them."""
    of_tensors = (t for a in caller.tensors.values() for t in (*(a.shape or ()), a.values))
    of_lists = (t for listed in caller.lists.values() for t in listed)
    texts = (*of_tensors, *caller.numbers.values(), *of_lists)
    used = {word for text in texts for word in WORD.findall(text)}
    names: dict[str, str] = {}
    for name in (n for n in caller.sizes if n in used):
        wanted = reading.reader.called_as.get(name, name) if is_named_for_want(name) else name
        names[name] = name if wanted in {*names.values(), *caller.sizes} else wanted

    def renamed(text: str) -> str:
        return with_meanings(text, names)

    return replace(
        caller,
        sizes={names[n]: size for n, size in caller.sizes.items() if n in names},
        tensors={
            n: replace(a, shape=tuple(map(renamed, a.shape or ())), values=renamed(a.values))
            for n, a in caller.tensors.items()
        },
        numbers={n: renamed(text) for n, text in caller.numbers.items()},
        lists={n: tuple(map(renamed, listed)) for n, listed in caller.lists.items()},
        promises=tuple(renamed(p) for p in caller.promises if {*WORD.findall(p)} <= names.keys()),
    )
