"""Tensors that do not lie row by row in memory: parts of wider ones, as `x[:, :n]` and `x[:, ::2]`, and images whose
channels lie last.

A host function that asks a tensor's strides or format, or copies it to have it row by row, is made for such callers,
whether any of a repository's own comes with one or not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from kernel_gate.arguments import Argument
from kernel_gate.workload import Workload
from kernel_lineage.workloads.model import View

BETWEEN = (8, 3)
"""Elements between the end of a row and the next row: so many that the alignment of rows stays what their length makes
it, and so many that the rows of whole vectors do not begin where vectors do.
"""
_STEP = 2
"""Elements from one element of a row to the next, where these lie apart too."""
_ASKED = re.compile(
    r"(\w+)(?:\.|->)(?:stride\s*\(\s*(-?\d+)\s*\)|(?:strides?|contiguous|expect_contiguous)\s*\()"
)
_FORMATS = re.compile(r"\bsuggest_memory_format\s*\(|\bMemoryFormat::ChannelsLast|\bis_channels_last")
_IMAGES = (4, 5)
"""Extents of the tensors that PyTorch's formats with the channels last are for."""
_ANY = None
"""The axis of a question for all strides, and of a copy."""


@dataclass(frozen=True, slots=True)
class Apart:
    """A workload of a host function in which tensors lie apart. Nothing is timed."""

    workload: Workload
    views: Mapping[str, View] = field(default_factory=dict)
    """Argument → the tensor as the function is given it."""
    where: str = ""
    """Which tensors lie how: `the rows of x lie apart`."""

    @property
    def is_channels_last(self) -> bool:
        """Whether some tensor's channels lie last."""
        return any(view.channels_last for view in self.views.values())


def asked_axes(text: str) -> dict[str, set[int | None]]:
    """The names whose strides a text of host code asks, each with the axes; None among these stands for all of them,
    and for a copy that lies row by row.
    """
    asked: dict[str, set[int | None]] = {}
    for match in _ASKED.finditer(text):
        asked.setdefault(match[1], set()).add(int(match[2]) if match[2] else _ANY)
    return asked


def asks_formats(text: str) -> bool:
    """Whether a text of host code tells tensors whose channels lie last from others."""
    return _FORMATS.search(text) is not None


def with_channels_last(workload: Workload, tensors: Collection[str]) -> Iterator[Apart]:
    """The workloads in which the channels of `tensors` lie last: of all of them, then of each alone of several."""
    able = [a for a in workload.args if a.name in tensors and _has_rows(a) and len(a.shape or ()) in _IMAGES]
    for chosen in dict.fromkeys((tuple(able), *((one,) for one in able))) if able else ():
        args = tuple(_moved(a) if a in chosen else a for a in workload.args)
        views = {a.name: _turned(a) for a in chosen}
        where = f"the channels of {' and '.join(views)} lie last"
        yield Apart(workload.model_copy(update={"args": args, "profile_dims": ()}), views, where)


def _moved(argument: Argument) -> Argument:
    """An argument of the same elements in memory whose channels lie last."""
    images, channels, *pixels = argument.shape or ()
    return argument.model_copy(update={"shape": (images, *pixels, channels)})


def _turned(argument: Argument) -> View:
    extents = tuple(map(str, argument.shape or ()))
    pixels = [f"({e})" for e in extents[2:]]
    along = [" * ".join((*pixels[at + 1 :], f"({extents[1]})")) for at in range(len(pixels))]
    return View(extents, (" * ".join((*pixels, f"({extents[1]})")), "1", *along), channels_last=True)


def lying_apart(
    workload: Workload, tensors: Collection[str], asked: Mapping[str, Collection[int | None]], between: int
) -> Iterator[Apart]:
    """The workloads with `tensors` apart, those first that show most: the elements of rows too where their distance is
    asked, then rows alone; all tensors at once, then each of several. `between`: the elements between rows.
    """
    able = [a for a in workload.args if a.name in tensors and _has_rows(a)]
    by_step = {a.name for a in able if {_ANY, -1, len(a.shape or ()) - 1} & {*asked.get(a.name, ())}}
    for chosen in dict.fromkeys((tuple(able), *((one,) for one in able))) if able else ():
        for stepped in dict.fromkeys((frozenset(by_step & {a.name for a in chosen}), frozenset[str]())):
            args = tuple(
                _with_room(a, a.name in stepped, between) if a in chosen else a for a in workload.args
            )
            views = {a.name: _view(a, a.name in stepped, between) for a in chosen}
            parts = (
                f"the {what} of {' and '.join(names)} lie apart"
                for what, names in (
                    ("elements", [a.name for a in chosen if a.name in stepped]),
                    ("rows", [a.name for a in chosen if a.name not in stepped]),
                )
                if names
            )
            whole = workload.model_copy(update={"args": args, "profile_dims": ()})
            yield Apart(whole, views, " and ".join(parts))


def _has_rows(argument: Argument) -> bool:
    return argument.is_pointer and len(argument.shape or ()) > 1 and not argument.has_structure


def _row(argument: Argument, is_stepped: bool, between: int) -> str:
    """Elements of memory for one row."""
    last = f"({(argument.shape or ())[-1]})"
    return f"{last} * {_STEP} + {between}" if is_stepped else f"{last} + {between}"


def _with_room(argument: Argument, is_stepped: bool, between: int) -> Argument:
    rows = (argument.shape or ())[:-1]
    return argument.model_copy(update={"shape": (*rows, _row(argument, is_stepped, between))})


def _view(argument: Argument, is_stepped: bool, between: int) -> View:
    extents = tuple(map(str, argument.shape or ()))
    row = f"({_row(argument, is_stepped, between)})"
    strides = (" * ".join((row, *(f"({e})" for e in extents[at + 1 : -1]))) for at in range(len(extents) - 1))
    return View(extents, (*strides, str(_STEP if is_stepped else 1)))
