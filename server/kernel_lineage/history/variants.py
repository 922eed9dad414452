"""Numbered variants: steps that live side by side in one file, or one file per step.

Both ways of keeping a lineage in the tree are read: `softmax_kernel1 … 4`, host functions `softmax1 … 4` whose kernels
have names of their own, and `01_naive.cu`, `02_tiled.cu`. Numbers that name a pass, a type or an architecture are not
steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from kernel_lineage.history.outline import Role
from kernel_lineage.history.seen import KernelSeen
from kernel_lineage.kernels.words import WORD

_LAST_NUMBER = re.compile(r"^(?P<stem>.*?[A-Za-z_])_?(?P<v>[vV])?(?P<n>\d{1,2})$")
_INNER_NUMBER = re.compile(r"^(?P<stem>\w*?(?:kernel|_v|_k))_?(?P<n>\d{1,2})_\w*[A-Za-z]\w*$")
_NOT_A_STEP = re.compile(
    r"(?:^|_)(?:b?f|fp|bf|tf|float|half|b?float|e|u?int|i|u|s|sm|x|h|w|d|pass|stage|phase|part|level|arg|top|log|exp)$",
    re.IGNORECASE,
)
_FILE_STEP = (
    re.compile(r"^(?P<n>\d{1,2})[_\-.](?P<stem>)"),
    re.compile(r"^(?P<stem>.*?[A-Za-z])[_\-]?[vV]?(?P<n>\d{1,2})$"),
    re.compile(r"^(?P<stem>\w*?(?:kernel|_v|step))_?(?P<n>\d{1,2})[_\-]"),
    re.compile(r"^(?P<stem>[A-Za-z]\w*?)[_\-](?P<n>[01]\d)[_\-][A-Za-z]"),
)
_STEP = r"^[ \t*/#]*(?:ver\w*|kernel|step|v)[ \t]*"
_NOTE = re.compile(
    _STEP + r"(\d{1,2})\b[ \t:.)\-]*(.+?)(?=" + _STEP + r"\d|^[ \t*/#]*(?:\./|$)|\Z)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_CALL = re.compile(r"\boperator\s*\(\s*\)\s*\(")
_BRANCHES = re.compile(r"\b(?:switch|case|if|elif|match)\b")


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its number and the keys of its kernels."""

    number: int
    kernels: tuple[str, ...]


def steps_in_file(seen: Sequence[KernelSeen], text_of: Callable[[str], str]) -> list[tuple[Step, ...]]:
    """The groups of numbered variants of one file, each in order of number, two steps at least."""
    groups: dict[str, dict[int, list[str]]] = {}
    by_own: dict[str, set[int]] = {}
    stems: dict[str, str] = {}
    numbered = {k.key: step_number(k.symbol) for k in seen}
    by_launcher = {k.key: _launcher_number(k) for k in seen}
    for key, own in numbered.items():  # a kernel that has both numbers says that the two stems are one group
        launcher = by_launcher[key]
        if own and launcher and own[1] == launcher[1]:
            stems[own[0]] = launcher[0]
    for kernel in seen:
        own, launcher = numbered[kernel.key], by_launcher[kernel.key]
        if own is not None:
            stem, number = stems.get(own[0], own[0]), own[1]
        elif launcher is not None:
            stem, number = launcher
        else:
            continue
        groups.setdefault(stem, {}).setdefault(number, []).append(kernel.key)
        by_own.setdefault(stem, set()).update([number] if own is not None else [])
    kernels = {k.key: k for k in seen}
    for stem, steps in groups.items():  # where a step has a kernel of its number, the others are its helpers
        for number in by_own.get(stem, ()):
            steps[number] = [k for k in steps[number] if numbered[k] is not None]
    return [
        tuple(Step(n, tuple(keys)) for n, keys in sorted(steps.items()))
        for _, steps in sorted(groups.items())
        if len(steps) > 1
        and not _passes_of_one_launch([kernels[k] for keys in steps.values() for k in keys], text_of)
    ]


def file_step(path: str) -> tuple[str, int] | None:
    """(what the file's steps have in common, its number): `("kernels/", 2)` for `kernels/02_tiled.cu`."""
    file = PurePosixPath(path)
    for pattern in _FILE_STEP:
        match = pattern.match(file.stem)
        if match and not _NOT_A_STEP.search(match["stem"]):
            return f"{file.parent}/{match['stem']}{file.suffix[:3]}", int(match["n"])
    return None


def parameter_names(text: str, symbol: str) -> frozenset[str]:
    """The names of a kernel's parameters, read from its head; what makes kernels of two files comparable."""
    at = re.search(rf"\b{re.escape(symbol)}\s*\(", text) or _CALL.search(text)
    if at is None:
        return frozenset()
    depth, start, names = 1, at.end(), []
    for i in range(at.end(), min(len(text), at.end() + 4000)):
        character = text[i]
        if character in "([{<":
            depth += character != "<"
        elif character in ")]}":
            depth -= 1
        if (character == "," and depth == 1) or depth == 0:
            words = WORD.findall(re.split(r"[:=]", text[start:i])[0])
            names += words[-1:]
            start = i + 1
            if depth == 0:
                break
    return frozenset(n.casefold() for n in names)


def same_task(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two kernels take so much the same parameters that they are taken to compute the same."""
    return bool(one and other) and len(one & other) / len(one | other) >= 0.6


def step_notes(header: str) -> Mapping[int, str]:
    """What a file's leading comment says of each step: `version 3 uses shuffles` → {3: "uses shuffles"}."""
    notes: dict[int, str] = {}
    for match in _NOTE.finditer(header):
        note = " ".join(match[2].split()).strip(" */#")
        if len(note.split()) > 1:
            notes.setdefault(int(match[1]), note[:200])
    return notes


def number_in(symbol: str, launchers: Iterable[str]) -> int | None:
    """The step that a kernel's name or that of its launcher gives it."""
    step = step_number(symbol)
    if step is None:
        numbers = [n for n in map(step_number, launchers) if n is not None]
        return min((n for _, n in numbers), default=None)
    return step[1]


def step_number(name: str) -> tuple[str, int] | None:
    """(what the names of a group's steps have in common, its number), None for a name that is no step's."""
    for pattern in (_LAST_NUMBER, _INNER_NUMBER):
        match = pattern.match(name)
        if match:
            stem = match["stem"].rstrip("_")
            marked = "v" in pattern.groupindex and bool(match["v"])
            if not marked and _NOT_A_STEP.search(stem):
                return None
            return stem, int(match["n"])
    return None


def _launcher_number(kernel: KernelSeen) -> tuple[str, int] | None:
    """The number of its launcher; a kernel that several steps launch is no step itself."""
    numbers = {n for n in map(step_number, kernel.launchers) if n is not None}
    return numbers.pop() if len(numbers) == 1 else None


def _passes_of_one_launch(kernels: Sequence[KernelSeen], text_of: Callable[[str], str]) -> bool:
    """Whether one host function launches them all one after the other: passes of one task, not variants of it."""
    shared = {(p.name, p.digest) for p in kernels[0].parts if p.role is Role.HOST}
    for kernel in kernels[1:]:
        shared &= {(p.name, p.digest) for p in kernel.parts if p.role is Role.HOST}
    return any(name != "main" and not _BRANCHES.search(text_of(digest)) for name, digest in shared)
