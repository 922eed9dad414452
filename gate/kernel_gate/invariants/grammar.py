"""The text behind `klineage:` → a tag or the relations of an assertion.

    tag NAME[i][k]                        each index names a coordinate
    tag NAME[i][k] as (i, step = k // 8)  coordinates by name, expressions over the indices and the workload's dims
    assert same(C, C, …)                  all equal
    assert T == T    also < <= > >=       T is a coordinate C or a whole number of the kernel's own
    assert product(k)                     whatever the line multiplies has the same k on both sides
    assert … and …                        all of them

C is `tag(EXPRESSION).name`, or, for the stores of a line, `stored.name` and `at.name`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kernel_gate.expressions import ExpressionError, names
from kernel_gate.invariants.model import (
    AT,
    LEFT,
    RIGHT,
    STORED,
    Amount,
    Binding,
    Comparison,
    Coordinate,
    Relation,
    Term,
)

_TAG = re.compile(r"tag\s+([A-Za-z_]\w*)\s*((?:\[\s*[A-Za-z_]\w*\s*\]\s*)+)(?:as\s*\((.*)\))?\s*")
_INDEX = re.compile(r"[A-Za-z_]\w*")
_COORDINATE = re.compile(r"([A-Za-z_]\w*)(?:\s*=(?!=)\s*(.+))?", re.DOTALL)
_OF_A_STORE = re.compile(r"(stored|at)\s*\.\s*([A-Za-z_]\w*)")
_PRODUCT = re.compile(r"product\s*\(\s*([A-Za-z_]\w*)\s*\)")
_AND = re.compile(r"\band\b|&&")
_COMPARISON = re.compile(r"==|<=|>=|(?<![<>=!-])[<>](?![<>=])|!=")
_HOW_TO_TAG = "write `tag NAME[i][k]` or `tag NAME[i][k] as (row = i, step = k // 8)`"
_HOW_TO_ASSERT = (
    "write `assert same(tag(a).k, tag(b).k)`, `assert tag(v).row == y`, `assert stored.row == at.row` "
    "or `assert product(k)`"
)


class InvariantError(ValueError):
    """A statement that cannot be read; the message says what to write."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class ReadTag:
    """What a `tag` says."""

    argument: str
    indices: tuple[str, ...]
    coordinates: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class ReadAssertion:
    """What an `assert` says."""

    relations: list[Relation] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)

    def operand(self, text: str) -> int:
        """The position of an expression among the operands."""
        if text not in self.operands:
            self.operands.append(text)
        return self.operands.index(text)

    @property
    def binding(self) -> Binding:
        """Where it is checked. Raises `InvariantError` for what cannot be said in one."""
        used = {c.operand for r in self.relations for c in r.coordinates}
        kinds: set[Binding] = set()
        kinds |= {"stores"} if used & {STORED, AT} else set()
        kinds |= {"products"} if used & {LEFT, RIGHT} else set()
        kinds |= {"place"} if self.operands else set()
        if len(kinds) != 1:
            raise InvariantError(
                "`tag(…)` and the kernel's own names, `stored`/`at`, and `product` are checked at different places; "
                "write an assertion for each"
            )
        return kinds.pop()


def read_tag(text: str) -> ReadTag:
    """What follows `klineage:`, where it begins with `tag`. Raises `InvariantError`."""
    match = _TAG.fullmatch(text)
    if match is None:
        raise InvariantError(f"`{text}` is no tag; {_HOW_TO_TAG}")
    indices = tuple(_INDEX.findall(match[2]))
    if len(set(indices)) < len(indices):
        raise InvariantError(f"`{text}` names an index twice; {_HOW_TO_TAG}")
    if match[3] is None:
        return ReadTag(match[1], indices, tuple((index, index) for index in indices))
    coordinates = []
    for part in split_commas(match[3]):
        parts = _COORDINATE.fullmatch(part.strip())
        if parts is None:
            raise InvariantError(f"`{part.strip()}` is no coordinate; {_HOW_TO_TAG}")
        expression = parts[2] or parts[1]
        if parts[2] is None and parts[1] not in indices:
            raise InvariantError(
                f"`{parts[1]}` is none of the indices {', '.join(indices)}; say what it is: `{parts[1]} = …`"
            )
        try:
            names(expression)
        except ExpressionError as error:
            raise InvariantError(f"coordinate `{parts[1]}`: {error}") from error
        coordinates.append((parts[1], expression.strip()))
    if len({name for name, _ in coordinates}) < len(coordinates):
        raise InvariantError(f"`{text}` names a coordinate twice")
    return ReadTag(match[1], indices, tuple(coordinates))


def read_assertion(text: str) -> ReadAssertion:
    """What follows `klineage:`, where it begins with `assert`. Raises `InvariantError`."""
    body = text.removeprefix("assert").strip()
    assertion = ReadAssertion()
    for part in _split(body, _AND):
        assertion.relations.append(_relation(part.strip(), assertion))
    if not body or not all(r.coordinates for r in assertion.relations):
        raise InvariantError(f"`{text}` says nothing of a tag; {_HOW_TO_ASSERT}")
    assertion.binding  # noqa: B018 - raises for a mixture
    return assertion


def _relation(text: str, assertion: ReadAssertion) -> Relation:
    if product := _PRODUCT.fullmatch(text):
        return Relation("==", (Coordinate(LEFT, product[1]), Coordinate(RIGHT, product[1])))
    inner = _call(text, "same")
    if inner is not None:
        terms = tuple(_term(part.strip(), assertion) for part in split_commas(inner))
        if len(terms) < 1:
            raise InvariantError(f"`{text}` compares nothing; {_HOW_TO_ASSERT}")
        return Relation("==", terms)
    sides = _split(text, _COMPARISON)
    signs = [m[0] for m in _outside(text, _COMPARISON)]
    if len(sides) != 2 or signs == ["!="]:
        raise InvariantError(f"`{text}` is no comparison with == < <= > or >=; {_HOW_TO_ASSERT}")
    comparison: Comparison = signs[0]  # type: ignore[assignment]
    return Relation(comparison, tuple(_term(side.strip(), assertion) for side in sides))


def _term(text: str, assertion: ReadAssertion) -> Term:
    if special := _OF_A_STORE.fullmatch(text):
        return Coordinate(STORED if special[1] == "stored" else AT, special[2])
    head, _, name = text.rpartition(".")
    inner = _call(head.strip(), "tag")
    if inner is not None and _INDEX.fullmatch(name.strip()):
        if not inner.strip():
            raise InvariantError(f"`{text}` is the tag of nothing; {_HOW_TO_ASSERT}")
        return Coordinate(assertion.operand(inner.strip()), name.strip())
    if not text or re.search(r"\btag\s*\(", text):
        raise InvariantError(f"`{text}` is no coordinate; write `tag(VALUE).name`, and arithmetic in the tag")
    if re.fullmatch(r"-?\d{30,}", text):
        raise InvariantError("a number of more than 29 digits is larger than any that a kernel holds")
    if re.fullmatch(r"-?\d+", text):
        return Amount(None, int(text))
    return Amount(assertion.operand(text))


def _call(text: str, name: str) -> str | None:
    """What stands between the brackets of `name(…)`, when that is all of the text."""
    match = re.match(rf"{name}\s*\(", text)
    if match is None or not text.endswith(")"):
        return None
    inner = text[match.end() : -1]
    return inner if _depths(inner) is not None else None


def split_commas(text: str) -> list[str]:
    """The parts between commas that stand in no bracket; none of an empty text."""
    return _split(text, re.compile(",")) if text.strip() else []


def _depths(text: str) -> list[int] | None:
    """How deep in brackets each character stands; None when a bracket closes that was not opened."""
    depth, depths = 0, []
    for character in text:
        depth -= character in ")]}"
        if depth < 0:
            return None
        depths.append(depth)
        depth += character in "([{"
    return depths if depth == 0 else None


def _outside(text: str, separator: re.Pattern[str]) -> list[re.Match[str]]:
    depths = _depths(text)
    if depths is None:
        raise InvariantError(f"the brackets of `{text}` do not match")
    return [m for m in separator.finditer(text) if depths[m.start()] == 0]


def _split(text: str, separator: re.Pattern[str]) -> list[str]:
    """The parts between separators that stand in no bracket."""
    parts, start = [], 0
    for match in _outside(text, separator):
        parts.append(text[start : match.start()])
        start = match.end()
    return [*parts, text[start:]]
