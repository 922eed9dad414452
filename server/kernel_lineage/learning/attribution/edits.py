"""The difference of two programs as edits that can be taken over one by one.

An edit is a changed statement, an inserted or a removed one, a block's head with its brace, or the launch. Edits that
only make sense together are one: a name's declaration with its only use, a removed name with all that used it. An edit
may need others (it uses a name that another one declares); sets of edits are always taken with what they need.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from itertools import pairwise

from kernel_gate.program import LaunchStep, Program
from kernel_gate.reaching import reachable
from kernel_lineage.history.groups import Groups
from kernel_lineage.history.similarity import code_tokens
from kernel_lineage.kernels.source import Language
from kernel_lineage.kernels.words import WORD
from kernel_lineage.learning.attribution.pieces import Piece, pieces

_HOST = ("launch", "template_arguments", "arguments", "defines", "flags", "steps", "scratch", "includes")
"""What of a program is not its text."""
_ALIKE = 0.5
"""Changed statements that share this much of their tokens are one statement, changed."""
_MOST_PAIRED = 4000
"""Pairs of statements compared in one changed stretch; a longer one is taken as a whole."""
_CUDA_DECLARES = (
    re.compile(
        r"\b[A-Za-z_][\w:]*(?:\s*<[^;={}]*>)?(?:\s+const\b)?[\s*&]+(?:__restrict__\s+)?([A-Za-z_]\w*)\s*(?=[=;\[,)({])"
    ),
    re.compile(r"^\s*#\s*define\s+([A-Za-z_]\w*)", re.MULTILINE),
    re.compile(r"\b(?:using|struct|class|typename)\s+([A-Za-z_]\w*)"),
)
_PYTHON_DECLARES = (
    re.compile(r"^\s*([A-Za-z_]\w*)\s*(?::[^=\n]+)?=(?!=)", re.MULTILINE),
    re.compile(r"\bfor\s+([A-Za-z_]\w*)\s+in\b"),
    re.compile(r"\bdef\s+([A-Za-z_]\w*)"),
    re.compile(r"[(,]\s*([A-Za-z_]\w*)\s*:\s*tl\.constexpr"),
    re.compile(r"\bimport\s+(?:[\w.]+\s+as\s+)?([A-Za-z_]\w*)\s*$", re.MULTILINE),
)
_NO_NAMES = frozenset({"return", "else", "new", "delete", "case", "goto", "throw"})


class UnsplittableError(Exception):
    """The two programs cannot be mixed; the message says why."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the text in both programs; the same, but for layout, when it belongs to no edit."""

    before: str
    after: str
    edit: int | None


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit."""

    number: int
    removed: tuple[str, ...]
    added: tuple[str, ...]
    """Its stretches of text, without those that are empty."""
    launch: bool
    """Whether it changes how the program is launched."""
    needs: frozenset[int]
    """Edits without which it cannot be taken."""


@dataclass(frozen=True)
class Edits:
    """All edits from one program to another."""

    before: Program
    after: Program
    """With the names of its kernels as `before` has them."""
    segments: tuple[Segment, ...]
    edits: tuple[Edit, ...]

    @cached_property
    def all(self) -> frozenset[int]:
        """The numbers of all edits."""
        return frozenset(edit.number for edit in self.edits)

    @cached_property
    def idle(self) -> frozenset[int]:
        """Those that only declare what others use: by themselves they change nothing that runs."""
        needed = frozenset().union(*(edit.needs for edit in self.edits))
        return frozenset(
            e.number for e in self.edits if e.number in needed and not e.removed and not e.launch
        )

    def with_needs(self, chosen: Collection[int]) -> frozenset[int]:
        """The chosen edits and all that they need."""
        return frozenset(reachable(chosen, lambda number: self.edits[number].needs))

    def program(self, chosen: Collection[int]) -> Program:
        """`before` with some edits made."""
        source = "".join(s.after if s.edit in chosen else s.before for s in self.segments)
        host = self.after if any(self.edits[n].launch for n in chosen) else self.before
        values = {name: getattr(host, name) for name in _HOST}
        label = f"{self.before.name} with {len(chosen)} of {len(self.edits)} edits"
        return replace(self.before, source=source, name=label, **values)


def edits_between(before: Program, after: Program) -> Edits:
    """The edits that lead from one program to the other.

    Raises `UnsplittableError` when the programs cannot be mixed: other languages, whole modules, other compilers.
    """
    if before.language != after.language or before.compiler != after.compiler:
        raise UnsplittableError("the two states are in different languages or for different compilers")
    if dict(before.includes) != dict(after.includes) and before.language == "triton":
        raise UnsplittableError("what the kernel takes from other modules changes too, which is not split")
    after = _renamed(after, before)
    language = Language(before.language)
    segments = list(_segments(pieces(before.source, language), pieces(after.source, language), language))
    changed = [i for i, segment in enumerate(segments) if segment.changed]
    groups = Groups(changed)
    _join_blocks(segments, changed, groups)
    needs = _dependencies(segments, changed, language, groups)
    launch = any(getattr(before, name) != getattr(after, name) for name in _HOST)
    return _numbered(before, after, segments, groups, needs, launch)


@dataclass(frozen=True, slots=True)
class _Stretch:
    before: str
    after: str
    changed: bool
    braces: int
    """Blocks that the change opens more than it closes."""


def _segments(old: Sequence[Piece], new: Sequence[Piece], language: Language) -> Iterator[_Stretch]:
    matcher = SequenceMatcher(None, [p.key for p in old], [p.key for p in new], autojunk=False)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            for one, other in zip(old[i:j], new[k:m], strict=True):
                yield _Stretch(one.text, other.text, False, 0)
        else:
            for a, b in _paired(old[i:j], new[k:m]):
                same = _code(a, language) == _code(b, language)
                braces = (b.braces if b else 0) - (a.braces if a else 0)
                yield _Stretch(a.text if a else "", b.text if b else "", not same, braces)


def _paired(old: Sequence[Piece], new: Sequence[Piece]) -> Iterator[tuple[Piece | None, Piece | None]]:
    """The pieces of a changed stretch: which became which, which went and which came."""
    if not old or not new:
        yield from ((a, None) for a in old)
        yield from ((None, b) for b in new)
        return
    if len(old) * len(new) > _MOST_PAIRED:
        yield (_joined(old), _joined(new))
        return
    # The best alignment in order: Needleman and Wunsch, J. Mol. Biol. 48, 1970, without a price for gaps.
    alike = [[_alike(a, b) for b in new] for a in old]
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            together = best[i + 1][j + 1] + alike[i][j] if alike[i][j] >= _ALIKE else 0.0
            best[i][j] = max(together, best[i + 1][j], best[i][j + 1])
    i = j = 0
    while i < len(old) or j < len(new):
        if (
            i < len(old)
            and j < len(new)
            and alike[i][j] >= _ALIKE
            and best[i][j] == best[i + 1][j + 1] + alike[i][j]
        ):
            yield old[i], new[j]
            i, j = i + 1, j + 1
        elif i < len(old) and (j == len(new) or best[i][j] == best[i + 1][j]):
            yield old[i], None
            i += 1
        else:
            yield None, new[j]
            j += 1


def _code(piece: Piece | None, language: Language) -> str:
    """What a piece says; a brace says nothing of the block that it closes."""
    if piece is None:
        return ""
    return " ".join(code_tokens(piece.text, False)) if language is Language.CUDA else piece.key


def _joined(parts: Sequence[Piece]) -> Piece:
    return Piece("".join(p.text for p in parts), " ".join(p.key for p in parts), sum(p.braces for p in parts))


def _alike(a: Piece, b: Piece) -> float:
    """Share of common tokens, in order; pieces that open other numbers of blocks are never one."""
    if a.braces != b.braces:
        return 0.0
    return SequenceMatcher(None, a.key.split(), b.key.split(), autojunk=False).ratio()


def _join_blocks(segments: Sequence[_Stretch], changed: Sequence[int], groups: Groups) -> None:
    """What opens a block and what closes it are one edit; a block that is all new, or all gone, is one."""
    waiting: list[int] = []
    for i in changed:
        braces = segments[i].braces
        while braces < 0 and waiting and segments[waiting[-1]].braces > 0:
            opened = waiting.pop()
            groups.join(opened, i)
            inside = range(opened, i + 1)
            if all(segments[k].changed and not (segments[k].before and segments[k].after) for k in inside):
                for k in inside:
                    groups.join(opened, k)
            braces += 1
        if braces:
            waiting.append(i)
    for one, other in pairwise(waiting):
        groups.join(one, other)


def _dependencies(
    segments: Sequence[_Stretch], changed: Sequence[int], language: Language, groups: Groups
) -> dict[int, set[int]]:
    """Changed stretch → those that it needs; a name with one user only is joined with it."""
    patterns = _CUDA_DECLARES if language is Language.CUDA else _PYTHON_DECLARES
    python = language is Language.TRITON
    old = {w for s in segments for w in _words(s.before, python)}
    new = {w for s in segments for w in _words(s.after, python)}
    needs: dict[int, set[int]] = {i: set() for i in changed}
    for side, gone in (("after", new - old), ("before", old - new)):
        for name in sorted(gone):
            holders = [i for i in changed if name in _words(getattr(segments[i], side), python)]
            declared = [i for i in holders if name in _declared(getattr(segments[i], side), patterns)]
            if not declared:
                continue
            declaration, users = declared[0], [i for i in holders if i != declared[0]]
            if len({groups.of(i) for i in users}) == 1:
                groups.join(declaration, users[0])
            for user in users:
                # A new name's users need its declaration; an old name's declaration goes only when its users go.
                (needs[user] if side == "after" else needs[declaration]).add(
                    declaration if side == "after" else user
                )
    return needs


def _words(text: str, python: bool) -> set[str]:
    return {t for t in code_tokens(text, python) if WORD.fullmatch(t)}


def _declared(text: str, patterns: Sequence[re.Pattern[str]]) -> set[str]:
    return {m[1] for pattern in patterns for m in pattern.finditer(text)} - _NO_NAMES


def _numbered(
    before: Program,
    after: Program,
    stretches: Sequence[_Stretch],
    groups: Groups,
    needs: Mapping[int, set[int]],
    launch: bool,
) -> Edits:
    """Edits in the order of the text, those that need each other joined; the launch is the last one."""
    groups.close(needs)
    number = {group: n for n, group in enumerate(groups.roots())}
    edit_of = {i: number[groups.of(i)] for i in needs}
    segments = tuple(Segment(s.before, s.after, edit_of.get(i)) for i, s in enumerate(stretches))
    edits = [
        Edit(
            n,
            tuple(s.before for s in segments if s.edit == n and s.before.strip()),
            tuple(s.after for s in segments if s.edit == n and s.after.strip()),
            launch=False,
            needs=frozenset(edit_of[k] for i in needs if edit_of[i] == n for k in needs[i]) - {n},
        )
        for n in sorted(number.values())
    ]
    if launch:
        signature = _signature_edits(before, after, segments)
        joined = next(iter(sorted(signature)), None)
        if joined is None:
            edits.append(Edit(len(edits), (), (), launch=True, needs=frozenset()))
        else:
            edits[joined] = replace(
                edits[joined], launch=True, needs=edits[joined].needs | (signature - {joined})
            )
    return Edits(before, after, segments, tuple(edits))


def _signature_edits(before: Program, after: Program, segments: Sequence[Segment]) -> frozenset[int]:
    """The edits of the kernels' parameters, when the arguments that are passed change with them."""
    passed = (before.arguments, before.template_arguments), (after.arguments, after.template_arguments)
    steps = tuple(
        [(s.arguments, s.template_arguments) for s in p.steps if isinstance(s, LaunchStep)]
        for p in (before, after)
    )
    if passed[0] == passed[1] and steps[0] == steps[1]:
        return frozenset()
    head = re.compile(r"\b__global__\b|\bdef\s+" + re.escape(before.entry) + r"\b|\btemplate\s*<")
    return frozenset(s.edit for s in segments if s.edit is not None and head.search(s.before + s.after))


def _renamed(after: Program, before: Program) -> Program:
    """`after` with the names of `before`'s kernels."""
    names = {after.entry: before.entry} if after.entry != before.entry else {}
    for old, new in zip(before.steps, after.steps, strict=False):
        if isinstance(old, LaunchStep) and isinstance(new, LaunchStep) and old.entry != new.entry:
            names[new.entry] = old.entry
    if not names:
        return after
    taken = {w for w in names.values() if re.search(rf"\b{re.escape(w)}\b", after.source)}
    if taken:
        raise UnsplittableError(
            f"the later state has a {', '.join(sorted(taken))} of its own beside its kernel"
        )
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, names)) + r")\b")
    steps = tuple(
        replace(s, entry=names.get(s.entry, s.entry)) if isinstance(s, LaunchStep) else s for s in after.steps
    )
    source = pattern.sub(lambda m: names[m[1]], after.source)
    return replace(after, source=source, entry=names.get(after.entry, after.entry), steps=steps)
