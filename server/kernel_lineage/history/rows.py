"""What is kept in the cache, as JSON rows and back. Reading anything else raises `DamagedRow`.

A file's pieces are kept apart from its outline, since most of them stand in many files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cached_property
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from kernel_lineage.cache_file import DamagedRow
from kernel_lineage.history.outline import Outline, Piece, Role, Wrapped

T = TypeVar("T")


class Rows(Generic[T]):
    """Values of a dataclass as rows and back; it is taken apart when the first row is asked for."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    @cached_property
    def _adapter(self) -> TypeAdapter[T]:
        return TypeAdapter(self._kind)

    def row(self, value: T) -> Any:
        """JSON for a value."""
        return self._adapter.dump_python(value, mode="json")

    def value(self, row: Any) -> T:
        """What `row` was given."""
        if not isinstance(row, dict) or row.keys() != {f.name for f in fields(self._kind)}:
            raise DamagedRow(f"a row is no {self._kind.__name__}")
        try:
            return self._adapter.validate_python(row)
        except ValidationError as error:
            raise DamagedRow(f"a row has another form ({str(error).splitlines()[0]})") from error


def outline_row(outline: Outline) -> Any:
    """A file's pieces without what `piece_row` keeps, and its imports; None when it has neither."""
    if not outline.pieces and not outline.imports:
        return None
    pieces = [
        [p.role, p.name, p.first_line, p.last_line, p.digest, p.comment, p.entry, p.constant]
        for p in outline.pieces
    ]
    wrapped = [[w.name, w.wrapper, w.function] for w in outline.wrapped]
    return [pieces, outline.imports, wrapped, outline.header]


def piece_row(piece: Piece) -> Any:
    """What is the same wherever a text stands: the names in it."""
    return [sorted(names) for names in (piece.names, piece.launches, piece.marks, piece.wraps)]


def outline_of_row(row: Any, pieces: Mapping[str, Any]) -> Outline:
    """What `outline_row` was given, with the rows of its pieces by `piece_key`."""
    if row is None:
        return Outline()
    try:
        kept, imports, wrapped, header = row
        return Outline(
            tuple(_piece(row, pieces) for row in kept),
            tuple((here, module, there) for here, module, there in imports),
            tuple(Wrapped(*w) for w in wrapped),
            header,
        )
    except (LookupError, TypeError, ValueError) as error:
        raise DamagedRow(f"a file's row has another form ({error})") from error


def piece_key(name: str, digest: str) -> str:
    """What a piece's row is kept under: one text can define several names."""
    return f"{digest}:{name}"


def pieces_of_row(row: Any) -> list[str]:
    """The keys of the pieces that an outline's row needs."""
    try:
        return [] if row is None else [piece_key(r[1], r[4]) for r in row[0]]
    except (LookupError, TypeError) as error:
        raise DamagedRow(f"a file's row has another form ({error})") from error


def _piece(row: Any, pieces: Mapping[str, Any]) -> Piece:
    role, name, first, last, digest, comment, entry, constant = row
    names, launches, marks, wraps = map(frozenset, pieces[piece_key(name, digest)])
    return Piece(
        Role(role), name, first, last, digest, names, launches, comment, entry, marks, wraps, constant
    )
