"""What tools answer: one shape for all, cut to the tokens that are asked for, hidden characters made visible."""

from __future__ import annotations

import json
from typing import Any, Generic, Literal, TypeVar

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from kernel_gate.cleaning import cleaned

R = TypeVar("R")
TOKENS = 2000
"""What an answer takes unless more is asked for."""
_PER_TOKEN = 3
"""Characters of code and JSON that a token stands for at the least, in vocabularies of today."""
_LEAST_TEXT = 120


class Answer(BaseModel, Generic[R]):
    """How a call stands."""

    state: Literal["done", "running", "cancelled", "failed"]
    job: str = ""
    """To ask again with job_result, to end it with cancel_job; all of it is in klineage://jobs/JOB when it is done."""
    seconds: float = 0.0
    stage: str = ""
    """What a running one does now."""
    result: R | None = None
    message: str = ""
    """Why it failed, in words."""
    next: str = ""
    """What to do next."""
    left_out: dict[str, int] = Field(default_factory=dict)
    """How many items of a list, or characters of a text, are not shown, by where they are."""


def reply(answer: Answer[Any], tokens: int) -> CallToolResult:
    """The answer for the wire, within `tokens`."""
    data = fitted(answer.model_dump(mode="json", exclude_none=True, exclude_defaults=True), tokens)
    return CallToolResult(
        content=[TextContent(type="text", text=_json(data))],
        structured_content=data,
        is_error=answer.state == "failed",
    )


def fitted(data: dict[str, Any], tokens: int) -> dict[str, Any]:
    """The data with the ends of its longest lists and texts left out, until it fits; `left_out` says what."""
    most = tokens * _PER_TOKEN
    kept: dict[str, Any] = _clean(data)
    left: dict[str, int] = {}
    while len(_json(kept)) > most:
        place, holder, key = max(_parts(kept), key=lambda part: _weight(part[1][part[2]]))
        value = holder[key]
        if _weight(value) == 0:
            break
        over = len(_json(kept)) - most
        if isinstance(value, list):
            going = max(1, min(len(value) - 1, len(value) * over // max(len(_json(value)), 1)))
            holder[key] = value[: len(value) - going]
            left[place] = left.get(place, 0) + going
        else:
            end = max(_LEAST_TEXT, len(value) - over - 40)
            left[place] = left.get(place, 0) + len(value) - end
            holder[key] = value[:end]
        kept["left_out"] = left
    return kept


def _parts(data: Any, place: str = "") -> list[tuple[str, Any, Any]]:
    """Every list and text with where it is, what holds it and under which key."""
    items: list[tuple[str, Any, Any]] = []
    if isinstance(data, dict):
        items = [(f"{place}.{key}" if place else str(key), data, key) for key in data if key != "left_out"]
    elif isinstance(data, list):
        items = [(f"{place}[{index}]", data, index) for index in range(len(data))]
    return items + [part for where, holder, key in items for part in _parts(holder[key], where)]


def _weight(value: Any) -> int:
    """How much there is to leave out of a value."""
    if isinstance(value, list):
        return len(_json(value)) if len(value) > 1 else 0
    return len(value) if isinstance(value, str) and len(value) > _LEAST_TEXT else 0


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return cleaned(value, "terminal")
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
