"""`#if` on a version that came around code: before, the compiler or the device had to be on the other side of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.preconditions.changes import CodeChange, Precondition
from kernel_lineage.skills.conditions.evaluate import judge
from kernel_lineage.skills.conditions.facts import Fact, Facts, FactSource
from kernel_lineage.skills.conditions.parse import ConditionError, parse
from kernel_lineage.skills.conditions.spelled import spelled
from kernel_lineage.skills.conditions.truth import Truth

_MACROS = {
    "__CUDACC_VER_MAJOR__": "toolchain.cuda",
    "CUDART_VERSION": "toolchain.cuda",
    "CUDA_VERSION": "toolchain.cuda",
    "__CUDA_ARCH__": "device.compute_capability",
}
_VERSIONS = tuple((major, minor) for major in range(5, 20) for minor in range(10))
_CONTINUED = re.compile(r"\\\n")
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)\b(.*)$", re.MULTILINE)
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*\w+\s*\)|\w+)")
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")


def read(change: CodeChange) -> Iterator[Precondition]:
    """What new conditions on a version need of the code that they came around."""
    if (
        change.after.language is not Language.CUDA
        or change.after.source is None
        or change.before.source is None
    ):
        return
    own = change.before.source.data, change.after.source.data
    for position, (before, after) in enumerate((own, *change.elsewhere)):
        old, new = (_CONTINUED.sub(" ", data.decode("utf-8", "replace")) for data in (before, after))
        for text, then, otherwise, line in _alternatives(new):
            if text in old or not any(macro in text for macro in _MACROS):
                continue
            is_new = [_is_new(branch, old) for branch in (then, otherwise)]
            fact = next(fact for macro, fact in _MACROS.items() if macro in text)
            condition = _side(text, fact, holds=is_new[1]) if is_new[0] is not is_new[1] else None
            if condition is not None:
                yield Precondition(condition, line if position == 0 else change.after.span.first_line)


def _alternatives(text: str) -> Iterator[tuple[str, str, str, int]]:
    """Each `#if`: its condition, what stands under it, what stands under its `#else`, and its line."""
    stack: list[tuple[str, int, int, int]] = []
    for match in _DIRECTIVE.finditer(text):
        word, rest = match[1], match[2]
        if word in ("if", "ifdef", "ifndef"):
            stack.append(
                (rest.partition("//")[0].strip() if word == "if" else "", match.end(), -1, match.start())
            )
        elif word == "elif" and stack:
            stack[-1] = ("", *stack[-1][1:])  # more than two ways
        elif word == "else" and stack:
            condition, start, _, at = stack[-1]
            stack[-1] = (condition, start, match.start(), at)
        elif word == "endif" and stack:
            condition, start, turn, at = stack.pop()
            then = text[start : turn if turn >= 0 else match.start()]
            otherwise = text[turn : match.start()] if turn >= 0 else ""
            if condition:
                yield condition, then, otherwise, text.count("\n", 0, at) + 1


def _is_new(branch: str, before: str) -> bool:
    """Whether a branch calls what the file did not call before."""
    return any(name not in before for name in _CALLED.findall(branch))


def _side(text: str, fact: str, *, holds: bool) -> str | None:
    """The versions on which a condition comes out so, where it cuts them in two."""
    plain = spelled(_DEFINED.sub(" True ", text))
    try:
        tree = parse(plain or "")
    except ConditionError:
        return None
    outcomes = []
    for major, minor in _VERSIONS:
        number = 1000 * major + 10 * minor
        values = {
            "__CUDACC_VER_MAJOR__": major,
            "__CUDACC_VER_MINOR__": minor,
            "CUDART_VERSION": number,
            "CUDA_VERSION": number,
            "__CUDA_ARCH__": 100 * major + 10 * minor,
        }
        facts = Facts({name: Fact((value,), "", FactSource.STATED) for name, value in values.items()})
        truth = judge(tree, facts).truth
        if truth is Truth.UNKNOWN:
            return None
        outcomes.append((truth is Truth.HOLDS) is holds)
    turns = [i for i in range(1, len(outcomes)) if outcomes[i] is not outcomes[i - 1]]
    if len(turns) != 1:
        return None
    last, first = _VERSIONS[turns[0] - 1], _VERSIONS[turns[0]]
    if _names(text, last) and not _names(text, first):
        return f"{fact} > {last}" if outcomes[-1] else f"{fact} <= {last}"
    return f"{fact} >= {first}" if outcomes[-1] else f"{fact} < {first}"


def _names(text: str, version: tuple[int, int]) -> bool:
    """Whether a condition names a version."""
    numbers = set(re.findall(r"\d+", text))
    major, minor = version
    return {str(major), str(minor)} <= numbers or str(1000 * major + 10 * minor) in numbers
