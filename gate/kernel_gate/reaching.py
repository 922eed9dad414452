"""All that is reached from some things, one by the other."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, KeysView
from typing import TypeVar

_T = TypeVar("_T", bound=Hashable)


def reachable(start: Iterable[_T], following: Callable[[_T], Iterable[_T]]) -> KeysView[_T]:
    """Some things and all that follow them, each once, as a set that keeps the order in which they are reached."""
    reached: dict[_T, None] = {}
    waiting = [*start]
    while waiting:
        one = waiting.pop()
        if one not in reached:
            reached[one] = None
            waiting += following(one)
    return reached.keys()
