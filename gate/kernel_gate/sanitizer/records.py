"""The records that compute-sanitizer writes with `--xml --save`, as findings in our words."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element


@dataclass(frozen=True, slots=True)
class Record:
    """One finding of one tool."""

    kind: str
    """As in `Fault`: `out_of_bounds`, `misaligned`, `race`, `uninitialised`, `barrier`, `trap`."""
    text: str
    """The tool's own words."""
    file: str
    """Base name of the file that the line is in; "" when the tool does not tell."""
    line: int | None
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    space: str = ""
    """`global`, `shared` or `local`."""
    direction: str = ""
    """`read` or `write`."""
    address: int | None = None
    nbytes: int | None = None
    other_line: int | None = None
    """The line of a race's second access."""
    one_store: bool = False
    """Whether a race is of threads that do the same store."""


class RecordsError(Exception):
    """A file that is not what compute-sanitizer writes: the tool was ended, or has another format."""


_MEMORY_ERRORS = {"out of bounds": "out_of_bounds", "misaligned": "misaligned"}
_READERS = {"Precise", "Imprecise", "Initcheck", "Synccheck", "Analysis"}
"""Other kinds are about API calls and the tool itself."""


def read_records(text: bytes) -> list[Record]:
    """The findings of one file, in its order. Raises `RecordsError`."""
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise RecordsError(f"compute-sanitizer's records cannot be read: {error}") from error
    if root.tag != "ComputeSanitizerOutput":
        raise RecordsError(f"compute-sanitizer's records begin with <{root.tag}>, which is not known")
    records = []
    for record in root.iter("record"):
        kind = record.findtext("kind", "")
        if kind not in _READERS or record.findtext("level", "Error") not in {"Error", "Fatal"}:
            continue
        records.append(_race(record) if kind == "Analysis" else _access(record, kind))
    return records


def _race(record: Element) -> Record:
    first, second = record.find("what/source"), record.find("what/destination")
    file, line = _place(first)
    _, other = _place(second)
    ways = [way.findtext("direction", "access").lower() for way in (first, second) if way is not None]
    text = record.findtext("what/text", "Race condition")
    places = {record.findtext(f"what/{end}/where/pc", end) for end in ("source", "destination")}
    return Record(
        "race",
        f"{text}: {' and '.join(ways)}",
        file,
        line,
        space="shared",
        other_line=other,
        one_store=ways == ["write", "write"] and len(places) == 1,
    )


def _access(record: Element, kind: str) -> Record:
    file, line = _place(record)
    text = record.findtext("what/text") or record.findtext("what/exception") or "an error without a name"
    if detail := record.findtext("what/type"):
        text = f"{text}: {detail}"
    if kind == "Initcheck":
        ours = "uninitialised"
    elif kind == "Synccheck":
        ours = "barrier"
    else:
        ours = _MEMORY_ERRORS.get(record.findtext("what/error", ""), "trap")
    size = record.findtext("what/size")
    address = record.findtext("what/address")
    return Record(
        ours,
        text,
        file,
        line,
        _three(record.find("who/blockIdx")),
        _three(record.find("who/threadIdx")),
        record.findtext("what/space", "global" if "__global__" in text else "").strip("_"),
        record.findtext("what/direction", "read" if kind == "Initcheck" else ""),
        int(address, 16) if address else None,
        int(size) if size else None,
    )


def _place(element: Element | None) -> tuple[str, int | None]:
    where = element.find("where") if element is not None else None
    if where is None:
        return "", None
    line = where.findtext("line")
    return PurePosixPath(where.findtext("path", "")).name, int(line) if line else None


def _three(element: Element | None) -> tuple[int, int, int] | None:
    if element is None:
        return None
    x, y, z = (int(element.findtext(axis, "0")) for axis in "xyz")
    return x, y, z
