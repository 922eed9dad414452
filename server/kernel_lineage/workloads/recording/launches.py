"""A launch as a recorded program tells of it: a line of JSON that may say anything, because the program wrote it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernel_lineage.kernels.cuda_text import at_commas

_MOST_EXTENT, _MOST_BYTES = (1 << 31) - 1, 1 << 41
_MOST_THREADS, _MOST_ALIGNMENT = 1024, 4096
_MOST_OF_ONE, _MOST_OF_ALL = 8192, 1 << 15
"""Bytes of arguments that are shown of one, and that a launch has."""
_MOST_WORDS, _MOST_RANK = 10_000, 64


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers that the host has put into a buffer."""

    low: float
    high: float
    ascends: bool = False
    """Whether none is smaller than the one before; not where each is its own place."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a pointer of an argument points into."""

    at: int
    """Bytes from the argument's start to the pointer."""
    buffer: int | None
    """The allocation's number; None for a null pointer, and for one into no allocation."""
    is_null: bool = False
    offset: int = 0
    size: int = 0
    """Bytes of the allocation."""
    how: str = ""
    """Who wrote there last: "unset", "cleared", "data" (the host), "kernel"."""
    name: str = ""
    dtype: str = ""
    shape: tuple[int, ...] = ()
    elements: Range | None = None
    """What its elements are, by the type that the argument has."""
    ranges: Mapping[str, Range] = field(default_factory=dict)
    """By dtype, where the argument is a structure, whose type does not tell the elements'."""

    def range_as(self, dtype: str) -> Range | None:
        """What its elements are, as elements of a dtype; None where nobody tells."""
        return self.elements or self.ranges.get(dtype)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One argument of a launch."""

    type: str
    """As g++ spells it: `const float*`."""
    data: bytes
    alignment: int
    pointers: tuple[Held, ...]


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch."""

    kernel: str
    """Demangled, with template arguments and parameter types."""
    call: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    shared_bytes: int
    cooperative: bool
    arguments: tuple[Recorded, ...]
    row: str
    """The line that it was read from."""

    @property
    def name(self) -> str:
        """The kernel's name with namespaces, without template arguments and parameters."""
        return _without_brackets(self.kernel)

    @property
    def template(self) -> tuple[str, ...]:
        """The template's arguments as C++."""
        return template_arguments(self.kernel)


def launch_of(line: str) -> Launch:
    """The launch that a line tells of. Raises `ValueError` for one that tells of none that a device could have run."""
    try:
        row = json.loads(line)
        arguments = tuple(_argument(a) for a in row["arguments"])
        launch = Launch(
            _words(row["kernel"]),
            _words(row["call"]),
            _extents(row["grid"], _MOST_EXTENT),
            _extents(row["block"], _MOST_THREADS),
            _extents(row["cluster"], _MOST_THREADS),
            _whole(row["shared"], 0, _MOST_EXTENT),
            bool(row["cooperative"]),
            arguments,
            line,
        )
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"it tells of no launch: {error}") from error
    if not launch.name or sum(len(a.data) for a in arguments) > _MOST_OF_ALL:
        raise ValueError("no kernel is launched so")
    return launch


def _whole(value: object, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{str(value)[:40]} is no whole number from {low} to {high}")
    return value


def _number(value: object) -> float | None:
    if value is None:
        return None
    is_held = (
        math.isfinite(value) if isinstance(value, float) else type(value) is int and abs(value) < 1 << 64
    )
    if not isinstance(value, int | float) or not is_held:
        raise ValueError(f"{str(value)[:40]} is no number that a buffer holds")
    return value


def _words(value: object) -> str:
    if not isinstance(value, str) or len(value) > _MOST_WORDS or not value.isprintable():
        raise ValueError("it is no name")
    return value


def _extents(values: object, most: int) -> tuple[int, int, int]:
    if not isinstance(values, list):
        raise TypeError("extents are a list")
    x, y, z = (_whole(n, 1, most) for n in values)
    return x, y, z


def _argument(row: dict[str, Any]) -> Recorded:
    data = bytes.fromhex(row["bytes"])
    alignment = _whole(row["alignment"], 1, _MOST_ALIGNMENT)
    if not 0 < len(data) <= _MOST_OF_ONE or alignment & (alignment - 1):
        raise ValueError("no parameter is so large, or lies so")
    last = max(0, len(data) - 8)
    return Recorded(
        _words(row["type"]),
        data,
        alignment,
        tuple(_held(_whole(at, 0, last), p) for at, p in row["pointers"]),
    )


def _held(at: int, row: dict[str, Any]) -> Held:
    if "buffer" not in row:
        return Held(at, None, is_null="null" in row)
    shape = [_whole(n, 0, _MOST_BYTES) for n in row["shape"]]
    if len(shape) > _MOST_RANK:
        raise ValueError("no tensor has so many extents")
    return Held(
        at,
        _whole(row["buffer"], 0, _MOST_EXTENT),
        offset=_whole(row["offset"], 0, _MOST_BYTES),
        size=_whole(row["bytes"], 0, _MOST_BYTES),
        how=_words(row["how"]),
        name=_words(row["name"]),
        dtype=_words(row["dtype"]),
        shape=tuple(shape),
        elements=_range(row),
        ranges={_words(d): one for d, r in row.get("ranges", {}).items() if (one := _range(r)) is not None},
    )


def _range(row: dict[str, Any]) -> Range | None:
    low, high = _number(row.get("low")), _number(row.get("high"))
    if low is None or high is None:
        return None
    return Range(low, high, row.get("ascends") is True)


def _head(kernel: str) -> str:
    """`void ns::k<float, 4>(float*)` without its parameters."""
    depth = 0
    for place, character in enumerate(kernel):
        depth += (character == "<") - (character == ">" and kernel[place - 1] != "-")
        if character == "(" and depth == 0 and not kernel.startswith("(anonymous namespace)", place):
            return kernel[:place]
    return kernel


def _without_brackets(kernel: str) -> str:
    head, before = _head(kernel), ""
    while head != before:
        head, before = re.sub(r"<[^<>]*>", "", head), head
    if "(anonymous namespace)" in head:
        return head[head.index("(") :]
    return head.rpartition(" ")[2]


def template_arguments(kernel: str) -> tuple[str, ...]:
    """The arguments of the kernel's own template, as C++ reads them."""
    head = _head(kernel)
    if not head.endswith(">"):
        return ()
    depth = 0
    for place in range(len(head) - 1, -1, -1):
        depth += (head[place] == ">") - (head[place] == "<")
        if depth == 0:
            return tuple(_as_source(part) for part in at_commas(head[place + 1 : -1]))
    return ()


def _last_word(text: str) -> str:
    """What follows the last blank that is in no brackets: a function's name behind the type that it gives."""
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        depth += (text[place] in ">)") - (text[place] in "<(")
        if depth == 0 and text[place] == " ":
            return text[place + 1 :]
    return text


def _as_source(text: str) -> str:
    """`(bool)1` as `true`, `(int)4` and `4u` as numbers, `&(float twice(float))` as `&twice`, and types without what
    only a demangler writes.
    """
    if text.startswith("&(") and text.endswith("))"):
        return f"&{_last_word(_head(text[2:-1]))}"
    text = re.sub(r"\(bool\)([01])", lambda m: "true" if m[1] == "1" else "false", text)
    text = re.sub(r"\((?:unsigned )?(?:int|long|char|short)\)(?=-?\d)", "", text)
    text = re.sub(r"\b(\d+)(?:u|l|ul)\b", r"\1", text)
    return text.replace("(anonymous namespace)::", "")
