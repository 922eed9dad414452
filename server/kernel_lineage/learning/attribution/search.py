"""Which edits can be made one after the other, so that every state on the way works: delta debugging over edits.

The search knows nothing of programs: it is told which sets of edits work. Where no single edit works, the smallest set
that does is found by leaving out ever smaller shares (A. Zeller, R. Hildebrandt: Simplifying and isolating
failure-inducing input, IEEE TSE 28, 2002; the result is minimal in that no member of it can be left out).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

Works = Callable[[frozenset[int]], bool]
"""Whether the state with these edits made is right."""
Closure = Callable[[Collection[int]], frozenset[int]]
"""Edits with all that they need."""


class OutOfTrialsError(Exception):
    """No more states may be tried."""


def parts(
    edits: frozenset[int], with_needs: Closure, works: Works, idle: Collection[int] = ()
) -> Iterator[frozenset[int]]:
    """The edits in parts, in an order in which the state after each part works. All edits together are known to.

    `idle` edits do nothing until another one needs them: they come with those, and are tried by themselves at the end
    only. When `works` raises `OutOfTrialsError`, what is left is the last part.
    """
    done: frozenset[int] = frozenset()
    failed: dict[frozenset[int], frozenset[int]] = {}
    while done != edits:
        try:
            wanted = edits - done - frozenset(idle) or edits - done
            part = _single(done, edits, wanted, with_needs, works, failed) or _smallest(
                done, edits, with_needs, works
            )
        except OutOfTrialsError:
            part = edits - done
        yield part
        done |= part


def _single(
    done: frozenset[int],
    edits: frozenset[int],
    wanted: frozenset[int],
    with_needs: Closure,
    works: Works,
    failed: dict[frozenset[int], frozenset[int]],
) -> frozenset[int] | None:
    """The smallest closed addition of one wanted edit and what it needs that works; of equals the first in the text.

    `failed` holds the additions that did not work, with the state that they were tried on: they come last, since what
    is wrong without one edit is mostly wrong without the next one too.
    """
    additions = {with_needs({n}) - done for n in wanted}
    for addition in sorted(additions, key=lambda a: (a in failed, len(a), sorted(a))):
        if failed.get(addition) == done:
            continue
        if done | addition == edits or works(done | addition):
            return addition
        failed[addition] = done
    return None


def _smallest(
    done: frozenset[int], edits: frozenset[int], with_needs: Closure, works: Works
) -> frozenset[int]:
    """A minimal addition that works."""
    current = sorted(edits - done)
    chunks = 2
    while len(current) > 1:
        size = -(-len(current) // chunks)
        for start in range(0, len(current), size):
            dropped = set(current[start : start + size])
            kept = [n for n in current if not with_needs({n}) & dropped]
            if kept and works(done | frozenset(kept)):
                current, chunks = kept, max(chunks - 1, 2)
                break
        else:
            if chunks >= len(current):
                break
            chunks = min(2 * chunks, len(current))
    return frozenset(current)
