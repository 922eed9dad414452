"""The lines that are likeliest at fault for a wrong element, where the texts of the two programs say nothing of it.

Which clue counts for how much was found on the kernels of `tests/benchmarks/seeded_bugs.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from kernel_gate.stages.statements import (
    accumulates,
    first_value,
    givers,
    head_around,
    loop_around,
    placing,
    without_value,
)

if TYPE_CHECKING:
    from kernel_gate.emulated.slicing.clues import Clues
    from kernel_gate.emulated.slicing.inputs import InputClues

MOST = 3
"""Lines that are named."""


def ranked(clues: Clues, fed: Iterable[int], texts: Mapping[int, str]) -> tuple[int, ...]:
    """Lines, the likeliest first: by what was read of the inputs and by new values in turn, then all that fed it.

    `fed`: lines that fed the element, nearest first. `texts`: the lines of the program.
    """
    nearest = tuple(fed)
    by_value = [*_undefined(clues, texts), *_births(clues, texts)]
    if clues.stores:
        by_value = [*clues.stores[:1], *(n for line in clues.stores[:1] for n in placing(texts, line))]
    elif not by_value:
        # Nothing new arises: what is stored says nothing (a constant), or nothing of what should be is stored.
        by_value = [*nearest[:1]]
    by_input = [*_inputs(clues.inputs, texts)]
    first = (line for pair in zip_longest(by_input, by_value) for line in pair if line is not None)
    new, met = set(clues.values.new), set(clues.values.met)
    rest = sorted(nearest, key=lambda line: (line not in new, line not in met))
    return tuple(dict.fromkeys((*first, *rest)))


def leading_to(fed: Sequence[int], texts: Mapping[int, str]) -> tuple[int, ...]:
    """Lines likeliest at fault for an access: its own, the nearest that gave it an index, what guards or repeats it.

    `fed`: lines that led to the access, nearest first, its own the first.
    """
    if not fed:
        return ()
    head = head_around(texts, fed[0])
    lines = (fed[0], *givers(texts, fed[0])[:1], *([head] if head is not None else []), *fed[1:])
    return tuple(dict.fromkeys(lines))[:MOST]


def _undefined(clues: Clues, texts: Mapping[int, str]) -> Iterator[int]:
    """Where a name without a value may be declared, and what uses it."""
    for line in clues.undefined:
        yield from (*without_value(texts, line)[:1], line)


def _births(clues: Clues, texts: Mapping[int, str]) -> Iterator[int]:
    """Where new values arise. What accumulates may have begun wrong, or have gone round too often."""
    for line in clues.values.born:
        yield line
        began = first_value(texts, line)
        around = loop_around(texts, line) if accumulates(texts, line) else None
        yield from (n for n in (began, around) if n is not None)


def _inputs(clues: InputClues, texts: Mapping[int, str]) -> Iterator[int]:
    """Where too little is read, too much, or from another place."""
    readers, deciding = clues.readers[:2], clues.deciding[:2]
    around = [n for line in readers if (n := loop_around(texts, line)) is not None]
    if clues.another_place:
        yield from readers[:1]
        yield from (n for line in readers[:1] for n in givers(texts, line)[:2])
        yield from (*readers[1:], *deciding)
    elif clues.within:
        yield from (*readers[:1], *around[:1], *deciding, *readers[1:])
    else:
        yield from (*deciding[:1], *around[:1], *readers[:1], *deciding[1:], *readers[1:])
