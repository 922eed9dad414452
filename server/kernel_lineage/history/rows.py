"""What is kept in the cache, as JSON rows and back. Reading anything else raises `DamagedRow`.

A dataclass is the list of its fields, without those that are `NOT_KEPT`. A file's pieces are kept apart from its
outline, since most of them stand in many files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

from kernel_lineage.cache_file import DamagedRow
from kernel_lineage.history.outline import Outline, Piece, Role, Wrapped

T = TypeVar("T")
NOT_KEPT: Mapping[str, bool] = {"kept": False}
"""The metadata of a field that is worked out again."""
_Turn = Callable[[Any], Any]


class Rows(Generic[T]):
    """Values of a type as rows and back."""

    def __init__(self, kind: Any) -> None:
        self._to, self._from = _turns(kind)

    def row(self, value: T) -> Any:
        """JSON for a value."""
        return self._to(value)

    def value(self, row: Any) -> T:
        """What `row` was given."""
        try:
            value: T = self._from(row)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise DamagedRow(f"a row has another form ({error})") from error
        return value


@cache
def _turns(kind: Any) -> tuple[_Turn, _Turn]:
    """From values of a type to rows, and from rows to values."""
    origin, inner = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return _of_fields(kind)
    if type(None) in inner:
        to, back = _turns(next(part for part in inner if part is not type(None)))
        return lambda v: None if v is None else to(v), lambda r: None if r is None else back(r)
    if origin is tuple and Ellipsis not in inner:
        pairs = [_turns(part) for part in inner]
        return (
            lambda v: [to(part) for (to, _), part in zip(pairs, v, strict=True)],
            lambda r: tuple(back(part) for (_, back), part in zip(pairs, r, strict=True)),
        )
    if origin is dict:
        to, back = _turns(inner[1])
        return lambda v: {k: to(p) for k, p in v.items()}, lambda r: {k: back(p) for k, p in r.items()}
    if origin is not None:
        to, back = _turns(inner[0])
        unordered = origin in (set, frozenset)
        return lambda v: [to(p) for p in (sorted(v) if unordered else v)], lambda r: origin(map(back, r))
    return lambda v: v, kind if isinstance(kind, type) and kind is not object else lambda r: r


def _of_fields(kind: Any) -> tuple[_Turn, _Turn]:
    hints = get_type_hints(kind)
    kept = [f.name for f in fields(kind) if f.metadata.get("kept", True)]
    turns = [_turns(hints[name]) for name in kept]

    def to(value: Any) -> Any:
        return [turn(getattr(value, name)) for name, (turn, _) in zip(kept, turns, strict=True)]

    def back(row: Any) -> Any:
        return kind(**{name: turn(part) for name, (_, turn), part in zip(kept, turns, row, strict=True)})

    return to, back


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
