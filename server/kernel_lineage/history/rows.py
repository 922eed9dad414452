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
from kernel_lineage.history.outline import Outline, Piece

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


_OUTLINES, _PIECES = TypeAdapter(Outline), TypeAdapter(Piece)
_BESIDE = {"names", "launches", "marks", "wraps"}
"""What is the same wherever a piece's text stands."""


def outline_row(outline: Outline) -> Any:
    """A file's pieces without what `piece_row` keeps, and its imports; None when it has neither."""
    if not outline.pieces and not outline.imports:
        return None
    return _OUTLINES.dump_python(outline, mode="json", exclude={"pieces": {"__all__": _BESIDE}})


def piece_row(piece: Piece) -> Any:
    """What is the same wherever a text stands: the names in it."""
    return _PIECES.dump_python(piece, mode="json", include=_BESIDE)


def outline_of_row(row: Any, pieces: Mapping[str, Any]) -> Outline:
    """What `outline_row` was given, with the rows of its pieces by `piece_key`."""
    if row is None:
        return Outline()
    try:
        whole = [{**p, **pieces[key]} for p, key in zip(row["pieces"], pieces_of_row(row), strict=True)]
        return _OUTLINES.validate_python({**row, "pieces": whole})
    except (LookupError, TypeError, ValidationError) as error:
        raise DamagedRow(f"a file's row has another form ({error})") from error


def piece_key(name: str, digest: str) -> str:
    """What a piece's row is kept under: one text can define several names."""
    return f"{digest}:{name}"


def pieces_of_row(row: Any) -> list[str]:
    """The keys of the pieces that an outline's row needs."""
    try:
        return [] if row is None else [piece_key(p["name"], p["digest"]) for p in row["pieces"]]
    except (LookupError, TypeError) as error:
        raise DamagedRow(f"a file's row has another form ({error})") from error
