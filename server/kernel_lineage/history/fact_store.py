"""The facts of versions: which are known, which are being worked out, and how those of a version are put together.

In CUDA C++ what is seen in device code does not depend on who launches it, and most changes touch only one of the two:
each is analysed by itself, the launchers beside a kernel of the same name that does nothing. A Triton version is read
as a whole, because its constants are shared by kernels and host code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from kernel_lineage.history.cache import Cache
from kernel_lineage.history.facts import FACTS, Facts, GuardFact, OccurrenceFact, Task
from kernel_lineage.history.outline import Role, digest
from kernel_lineage.history.seen import Part
from kernel_lineage.history.walk import Node
from kernel_lineage.history.workers import Workers
from kernel_lineage.kernels.source import Language

_NO_FACTS = Facts()


@dataclass(frozen=True, slots=True)
class _Share:
    """One task's share in the facts of a version."""

    key: str
    parts: tuple[int, ...]
    """Which part of the version each part of the task is."""


class FactStore:
    """Asks for facts while the history is read, and gives them once they are known."""

    def __init__(self, cache: Cache, workers: Workers, text_of: Callable[[str], str]):
        self._cache = cache
        self._workers = workers
        self._text_of = text_of
        self._facts = {key: FACTS.value(row) for key, row in cache.facts().items()}
        self._asked: set[str] = set()
        self._shares: dict[tuple[str, ...], tuple[_Share, ...]] = {}
        self._joined: dict[tuple[str, ...], Facts] = {}

    def ask(self, symbol: str, parts: Sequence[Part], language: Language) -> None:
        """Has a version analysed, unless it is known or under way."""
        key = _version_key(symbol, parts)
        if key in self._shares:
            return
        self._shares[key] = shares = _shares(symbol, parts, language)
        for position, share in enumerate(shares):
            if share.key in self._facts or share.key in self._asked:
                continue
            self._asked.add(share.key)
            texts = tuple(self._text_of(parts[i].digest) for i in share.parts if i >= 0)
            if position:
                texts = (f"__global__ void {symbol}() {{}}\n", *texts)
            self._workers.submit(Task(share.key, language, symbol, texts, device_code=not position))

    def wait(self, progress: Callable[[int, int], None]) -> None:
        """Waits until everything that was asked for is known; `progress` is told how much of it is."""
        total, done = len(self._asked), 0

        def keep(batch: Sequence[tuple[str, Facts]]) -> None:
            nonlocal done
            self._facts.update(batch)
            self._cache.put_facts({key: FACTS.row(facts) for key, facts in batch})
            done += len(batch)
            progress(done, total)

        self._workers.finish(keep)
        self._asked.clear()

    def of(self, node: Node) -> Facts:
        """The facts of a version; none when it was not analysed."""
        parts = [p for _, p in node.all_parts]
        key = _version_key(node.symbol, parts)
        facts = self._joined.get(key)
        if facts is None:
            shares = self._shares.get(key) or _shares(node.symbol, parts, node.language)
            facts = self._joined[key] = _joined((s, self._facts.get(s.key, _NO_FACTS)) for s in shares)
        return facts


def _version_key(symbol: str, parts: Iterable[Part]) -> tuple[str, ...]:
    return (symbol, *(p.digest for p in parts))


def _shares(symbol: str, parts: Sequence[Part], language: Language) -> tuple[_Share, ...]:
    """The task of the device code, then (CUDA) that of the launchers; -1 is the kernel that stands in for it there."""
    everything = tuple(range(len(parts)))
    if language is not Language.CUDA:
        return (_share(symbol, parts, everything, b"all"),)
    host = tuple(i for i in everything if parts[i].role is Role.HOST)
    device = _share(symbol, parts, tuple(i for i in everything if parts[i].role is not Role.HOST), b"device")
    return (device, _share(symbol, parts, (-1, *host), b"host")) if host else (device,)


def _share(symbol: str, parts: Sequence[Part], chosen: tuple[int, ...], what: bytes) -> _Share:
    texts = (parts[i].digest.encode() for i in chosen if i >= 0)
    return _Share(digest(what, symbol.encode(), *texts), chosen)


def _joined(shares: Iterable[tuple[_Share, Facts]]) -> Facts:
    occurrences: list[OccurrenceFact] = []
    guards: list[GuardFact] = []
    cut: dict[str, None] = {}
    for share, facts in shares:
        occurrences += [
            replace(o, places=tuple((share.parts[p], line) for p, line in o.places))
            for o in facts.occurrences
        ]
        if facts.cut:
            cut[facts.cut] = None
        guards += [replace(g, part=share.parts[g.part]) for g in facts.guards]
    return Facts(tuple(occurrences), tuple(guards), "; ".join(cut))
