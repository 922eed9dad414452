"""Changes that no launch of a workload compiles: they stand in branches that constants decide the other way.

A kernel with `if HAS_BIAS:` is compiled for one value of the constant. Where a workload has no other, a change in that
branch is in no image, and agreement of all cases says nothing of it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kernel_gate.built import Built
from kernel_gate.compile_time import Constant
from kernel_gate.cuda_text import code_alone
from kernel_gate.emulated.ptx.parser import file_of
from kernel_gate.expressions import ExpressionError, evaluate
from kernel_gate.program import Program
from kernel_gate.stages.changed_lines import align

_PLACE = re.compile(r"(?:\.loc|inlined_at)\s+(\d+)\s+(\d+)")
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b([^\n]*)", re.MULTILINE)
_CONTROL = re.compile(r"\b(if|else|for|while|do|switch)\b")
_FUNCTION = re.compile(r"\)\s*(?:const|noexcept|volatile|\s)*$")
_CONSTANT = re.compile(r"\bif\s+constexpr\b")
_WORK = re.compile(r"[\[(]")
_MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class Branch:
    """Lines of a function that are compiled together or not at all; numbers count from 1."""

    lines: range
    function: range
    names: frozenset[str]
    """What decides on it."""
    works: bool
    """Whether something is called in it or an element touched, which leaves instructions at its lines."""
    test: str = ""
    """What holds where it is compiled, in Python; "" where that is not read."""

    def holds(self, constants: Mapping[str, Constant]) -> bool | None:
        """Whether it is compiled with these values; None where the test says more than numbers tell."""
        numbers = {name: value for name, value in constants.items() if isinstance(value, (int, float))}
        try:
            return bool(evaluate(self.test, numbers)) if self.test else None
        except ExpressionError:
            return None


@dataclass(frozen=True, slots=True)
class Uncompiled:
    """Changed lines that no image holds, with what decides on them."""

    added: tuple[int, ...]
    """Lines of the candidate."""
    removed: tuple[int, ...]
    """Lines of the baseline."""
    constants: Mapping[str, Constant]
    """The values that the launches have."""
    alone: bool
    """Whether both programs are compiled to the same code: nothing else changed."""

    def __str__(self) -> str:
        named = [
            f"line{'s' if len(some) > 1 else ''} {', '.join(map(str, some[:_MOST_NAMED]))}{whose}"
            for some, whose in ((self.added, ""), (self.removed, " of the baseline"))
            if some
        ]
        where = ", ".join(f"{name} = {value}" for name, value in self.constants.items())
        values = f" (it has {where})" if where else ""
        return f"no launch of the workload compiles {' and '.join(named)}, which changed{values}"


def uncompiled_changes(baseline: Built, candidate: Built) -> Uncompiled | None:
    """What differs between two programs and is in none of their images; None where there is no such difference."""
    before, after = baseline.program, candidate.program
    if before.source == after.source:
        return None
    alignment = align(before.source, after.source)
    if not alignment.alike:
        return None
    added, by_added = _outside(candidate, [n for hunk in alignment.hunks for n in hunk.after])
    uncompiled = set(added)
    gone = [n for hunk in alignment.hunks if uncompiled.isdisjoint(hunk.after) for n in hunk.before]
    removed, by_removed = _outside(baseline, gone)
    if not added and not removed:
        return None
    constants = {
        name: value
        for built in (baseline, candidate)
        for unit in built.images
        for name, value in unit.constexpr
        if name in by_added | by_removed
    }
    both = baseline.images.keys() & candidate.images.keys()
    return Uncompiled(
        tuple(n + after.first_line - 1 for n in added),
        tuple(n + before.first_line - 1 for n in removed),
        constants,
        bool(both) and all(baseline.images[u].sha256 == candidate.images[u].sha256 for u in both),
    )


def _outside(built: Built, changed: Sequence[int]) -> tuple[list[int], set[str]]:
    """Those of the changed lines that stand in branches without code, and what decides on these."""
    changed_branches = (
        [b for b in branches(built.program) if any(n in b.lines for n in changed)] if changed else []
    )
    if not changed_branches:
        return [], set()
    compiled = set[int]().union(*(_lines(image.ptx, image.entry) for image in built.images.values()))
    outside: set[int] = set()
    names: set[str] = set()
    for branch in changed_branches:
        if compiled.isdisjoint(branch.function):
            continue
        holds = {branch.holds(dict(unit.constexpr)) for unit in built.images}
        if holds == {False} or (holds == {None} and branch.works and compiled.isdisjoint(branch.lines)):
            outside.update(n for n in changed if n in branch.lines)
            names |= branch.names
    return sorted(outside), names


def _lines(ptx: str, entry: str) -> Iterator[int]:
    own = file_of(ptx, entry)
    return (int(line) for file, line in _PLACE.findall(ptx) if int(file) == own)


def branches(program: Program) -> list[Branch]:
    """The branches of a program's functions."""
    return list(_of_triton(program.source) if program.language == "triton" else _of_cuda(program.source))


def _of_triton(source: str) -> Iterator[Branch]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
        whole = range(function.lineno, (function.end_lineno or function.lineno) + 1)
        for node in (n for n in ast.walk(function) if isinstance(n, ast.If)):
            names = frozenset(n.id for n in ast.walk(node.test) if isinstance(n, ast.Name))
            test = ast.unparse(node.test)
            for body, holds in ((node.body, test), (node.orelse, f"not ({test})")):
                if body:
                    works = any(isinstance(n, ast.Call) for statement in body for n in ast.walk(statement))
                    lines = range(body[0].lineno, (body[-1].end_lineno or 0) + 1)
                    yield Branch(lines, whole, names, works, holds)


def _of_cuda(source: str) -> Iterator[Branch]:
    text = code_alone(source)
    groups = list(_groups(text))
    functions = [lines for head, lines in groups if _FUNCTION.search(head) and not _CONTROL.search(head)]
    by_line = text.split("\n")

    def branch(head: str, lines: range) -> Iterator[Branch]:
        around = [f for f in functions if f.start <= lines.start and lines.stop <= f.stop]
        works = _CONSTANT.search(head) is not None or any(_WORK.search(by_line[n - 1]) for n in lines)
        if around and len(lines):
            yield Branch(lines, max(around, key=lambda f: f.start), frozenset(), works)

    for head, lines in groups:
        if re.search(r"\b(if|else)\b", head):
            yield from branch(head, range(lines.start + 1, lines.stop - 1))
    for first, second in pairwise(_DIRECTIVE.finditer(text)):
        if first[1] != "endif":
            start, end = (text.count("\n", 0, directive.start()) + 1 for directive in (first, second))
            yield from branch(f"if constexpr {first[2]}", range(start + 1, end))


def _groups(text: str) -> Iterator[tuple[str, range]]:
    """What stands before each `{`, and the lines from there to its `}`."""
    open_groups: list[tuple[str, int]] = []
    line, since = 1, 0
    for at, letter in enumerate(text):
        if letter == "\n":
            line += 1
        elif letter == "{":
            open_groups.append((text[since:at], line))
            since = at + 1
        elif letter == "}":
            if open_groups:
                head, start = open_groups.pop()
                yield head, range(start, line + 1)
            since = at + 1
        elif letter == ";" and text.count("(", since, at) == text.count(")", since, at):
            since = at + 1
