"""What changed between two versions, read from their texts and facts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from kernel_lineage.history.facts import Facts
from kernel_lineage.history.model import GuardSeen
from kernel_lineage.history.narrowings import WIDENING
from kernel_lineage.history.outline import Role
from kernel_lineage.history.similarity import TOKEN, code_lines, code_statements
from kernel_lineage.history.variants import parameter_names, step_number
from kernel_lineage.history.walk import Node
from kernel_lineage.kernels.mechanisms.comparing import Change, added_and_removed, changes
from kernel_lineage.kernels.mechanisms.model import Occurrence
from kernel_lineage.kernels.source import Language

_QUALIFIERS = frozenset({"const", "constexpr", "static", "inline", "__forceinline__", "volatile"})
_WIDE = re.compile(r"\b(?:u?int64(?:_t)?|size_t|ptrdiff_t|long long)\b")
_FEW_LINES = 12
_FEW_MOVED = 3
_TEXTS_KEPT = 2000
"""Texts whose statements are remembered: a long history has more than memory should hold."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed from one version to the next."""

    moved: bool
    renamed: bool
    same_text: bool
    same_code: bool
    """Only comments or layout differ, if anything does."""
    same_but_names: bool
    """The code is the same when identifiers are renamed one for one."""
    same_but_qualifiers: bool
    """The code is the same without `const` and the like."""
    same_but_numbers: bool
    """The code is the same but for numbers that stand in it."""
    same_but_places: bool
    """Most lines that left the kernel's own body stand in a function that it calls now, or the other way round."""
    next_number: bool
    """Its new name is the old one with a larger number."""
    widens_integers: bool
    """Few lines change, and 64-bit integers come into them."""
    device_changed: bool
    launch_changed: bool
    parameters_added: tuple[str, ...]
    parameters_removed: tuple[str, ...]
    lines_added: tuple[str, ...]
    lines_removed: tuple[str, ...]
    """Lines of code, without comments and layout."""
    changed_share: float = 0.0
    """Device lines taken away or added, as a share of those before and after."""
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """Ids of mechanisms, sorted."""
    widens: int = 0
    """How many more places than before compute in 64 bits."""
    guards_added: tuple[GuardSeen, ...] = ()
    guards_removed: tuple[GuardSeen, ...] = ()
    occurrences: tuple[Change, ...] = ()


class Texts:
    """Texts of versions as lines and tokens, each worked out once."""

    def __init__(self, text_of: Callable[[str], str]):
        self.text_of = text_of
        kept = lru_cache(_TEXTS_KEPT)
        self._lines = kept(lambda digest, python: code_lines(text_of(digest), python))
        self._statements = kept(lambda digest, python: code_statements(text_of(digest), python))
        self._counts = kept(lambda digest, python: Counter(self._statements(digest, python)))
        self._parameters = kept(lambda body, symbol: parameter_names(text_of(body), symbol))
        self._tokens: dict[str, list[str]] = {}

    def lines(self, node: Node, *roles: Role) -> list[str]:
        """The lines of code of a version's parts (of some roles)."""
        return [line for text in _texts(node, roles) for line in self._lines(*text)]

    def statements(self, node: Node, *roles: Role) -> list[str]:
        """The statements of a version's parts (of some roles), whatever their layout."""
        return [statement for text in _texts(node, roles) for statement in self._statements(*text)]

    def count(self, node: Node, statement: str) -> int:
        """How often a version has a statement."""
        return sum(self._counts(*text)[statement] for text in _texts(node, ()))

    def tokens(self, lines: Sequence[str]) -> list[str]:
        """The tokens of lines of code."""
        by_line = self._tokens
        for line in lines:
            if line not in by_line:
                by_line[line] = TOKEN.findall(line)
        return [token for line in lines for token in by_line[line]]

    def parameters(self, node: Node) -> frozenset[str]:
        """The names of the kernel's parameters."""
        return self._parameters(node.body, node.symbol)


def _texts(node: Node, roles: Sequence[Role]) -> Iterable[tuple[str, bool]]:
    """The texts of a version's parts (of some roles), each once, by their digests, and whether they are Python."""
    python = node.language is Language.TRITON
    return dict.fromkeys((p.digest, python) for _, p in node.all_parts if not roles or p.role in roles)


def guards_seen(node: Node, facts: Facts) -> tuple[GuardSeen, ...]:
    """The guards of a version with their lines in its files."""
    parts = node.all_parts
    return tuple(
        GuardSeen(g.expr, g.kind, g.where, parts[g.part][1].first_line + g.line, g.leaves)
        for g in facts.guards
        if g.part < len(parts)
    )


def _occurrences(node: Node, facts: Facts) -> tuple[Occurrence, ...]:
    """The occurrences of a version with their lines in its files."""
    parts = node.all_parts
    return tuple(
        Occurrence(
            o.mechanism,
            o.root,
            o.parameters,
            tuple(parts[part][1].first_line + line for part, line in o.places if part < len(parts)),
            o.certain,
        )
        for o in facts.occurrences
    )


def text_difference(before: Node, after: Node, texts: Texts) -> Difference:
    """What the texts say of what changed from `before` to `after`: all but mechanisms and guards."""
    old_lines, new_lines = Counter(texts.lines(before)), Counter(texts.lines(after))
    old_device, new_device = (texts.lines(n, Role.KERNEL, Role.DEVICE) for n in (before, after))
    old_host, new_host = (texts.lines(n, Role.HOST) for n in (before, after))
    less, more = old_lines - new_lines, new_lines - old_lines
    same_device = old_device == new_device or _same_statements(before, after, texts, Role.KERNEL, Role.DEVICE)
    same_code = same_device and (old_host == new_host or _same_statements(before, after, texts, Role.HOST))
    old_code, new_code = old_device + old_host, new_device + new_host
    old_parameters = texts.parameters(before)
    new_parameters = texts.parameters(after)
    return Difference(
        moved=before.path != after.path,
        renamed=before.symbol != after.symbol,
        same_text={p.digest for _, p in before.all_parts} == {p.digest for _, p in after.all_parts},
        same_code=same_code,
        same_but_names=not same_code
        and len(old_code) == len(new_code)
        and _same_but_names(texts.tokens(old_code), texts.tokens(new_code)),
        same_but_qualifiers=not same_code
        and max(less.total(), more.total()) <= _FEW_LINES
        and _same_but_qualifiers(old_code, new_code, texts),
        same_but_numbers=not same_code and _same_but_numbers(texts.tokens(old_code), texts.tokens(new_code)),
        same_but_places=not same_device and _same_but_places(before, after, texts, less, more),
        next_number=before.symbol != after.symbol and _next_number(before.symbol, after.symbol),
        widens_integers=_widens(less, more),
        device_changed=not same_device,
        launch_changed=old_host != new_host,
        parameters_added=tuple(sorted(new_parameters - old_parameters)),
        parameters_removed=tuple(sorted(old_parameters - new_parameters)),
        lines_added=tuple(more.elements()),
        lines_removed=tuple(less.elements()),
        changed_share=_changed_share(old_device, new_device),
    )


def with_facts(
    texts: Difference, before: Node, after: Node, facts_before: Facts, facts_after: Facts
) -> Difference:
    """A difference of texts, completed by what was seen in both versions."""
    old_guards, new_guards = guards_seen(before, facts_before), guards_seen(after, facts_after)
    old, new = _occurrences(before, facts_before), _occurrences(after, facts_after)
    changed = () if texts.same_code else changes(old, new)
    added, removed = added_and_removed(changed, old, new, texts.parameters_added, texts.parameters_removed)
    return replace(
        texts,
        added=added,
        removed=removed,
        occurrences=changed,
        widens=sum(g.kind == WIDENING for g in new_guards) - sum(g.kind == WIDENING for g in old_guards),
        guards_added=_without(new_guards, old_guards),
        guards_removed=_without(old_guards, new_guards),
    )


def _same_statements(before: Node, after: Node, texts: Texts, *roles: Role) -> bool:
    """Whether the tokens of two versions are the same but for layout."""
    old, new = texts.statements(before, *roles), texts.statements(after, *roles)
    return old == new or "".join(old).replace(",", "") == "".join(new).replace(",", "")


def _without(guards: Sequence[GuardSeen], others: Sequence[GuardSeen]) -> tuple[GuardSeen, ...]:
    left = Counter((" ".join(g.expr.split()), g.where) for g in others)
    additions = []
    for guard in guards:
        key = " ".join(guard.expr.split()), guard.where
        if left[key] > 0:
            left[key] -= 1
        else:
            additions.append(guard)
    return tuple(additions)


def _same_but_qualifiers(old: Sequence[str], new: Sequence[str], texts: Texts) -> bool:
    start = 0
    shorter = min(len(old), len(new))
    while start < shorter and old[start] == new[start]:
        start += 1
    end = 0
    while end < shorter - start and old[-1 - end] == new[-1 - end]:
        end += 1
    one, other = (
        [t for t in texts.tokens(lines[start : len(lines) - end]) if t not in _QUALIFIERS]
        for lines in (old, new)
    )
    return one == other


def _changed_share(old: Sequence[str], new: Sequence[str]) -> float:
    before, after = Counter(old), Counter(new)
    changed = (before - after).total() + (after - before).total()
    return changed / max(len(old) + len(new), 1)


def _widens(removed: Counter[str], added: Counter[str]) -> bool:
    return (
        0 < removed.total() <= 6
        and added.total() <= 6
        and any(_WIDE.search(line) for line in added)
        and not any(_WIDE.search(line) for line in removed)
    )


def _same_but_places(before: Node, after: Node, texts: Texts, less: Counter[str], more: Counter[str]) -> bool:
    """Whether most of what left or entered the kernel's body went to, or came from, the functions around it."""
    old, new = (Counter(texts.lines(n, Role.KERNEL)) for n in (before, after))
    left, came = old - new, new - old
    moved = (left - less).total() + (came - more).total()
    return moved >= _FEW_MOVED and 2 * moved >= left.total() + came.total()


def _next_number(old: str, new: str) -> bool:
    one, other = step_number(old), step_number(new)
    return one is not None and other is not None and one[0] == other[0] and one[1] < other[1]


def _same_but_numbers(old: Sequence[str], new: Sequence[str]) -> bool:
    return len(old) == len(new) and all(
        a == b or (a[0].isdigit() and b[0].isdigit()) for a, b in zip(old, new, strict=True)
    )


def _same_but_names(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether one list of tokens becomes the other when identifiers are renamed one for one."""
    if len(old) != len(new):
        return False
    forth: dict[str, str] = {}
    back: dict[str, str] = {}
    for a, b in zip(old, new, strict=True):
        if forth.setdefault(a, b) != b or back.setdefault(b, a) != a:
            return False
        if a != b and not ((a[0].isalpha() or a[0] == "_") and (b[0].isalpha() or b[0] == "_")):
            return False
    return True
