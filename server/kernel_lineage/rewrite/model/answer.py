"""What a model may answer: a replacement for one named range, and its launch. Everything else is refused.

The answer is JSON and is checked field by field; nothing of it is run here. What a replacement may contain is
`boundaries.py`; how launch expressions reach the launch site is `launch_site.py` of `rewrite`.
"""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, Field, ValidationError

LONGEST_REPLACEMENT = 64 * 1024
"""Bytes; the longest kernel of llm.c has 9 KB."""


class AnswerError(Exception):
    """The answer is not of the agreed form; the message is for the model and for people."""


class LaunchAnswer(BaseModel, extra="forbid", frozen=True, strict=True):
    """Launch expressions to put at the launch site, in its own scope; None leaves a field as it is."""

    grid: str | None = Field(default=None, max_length=400)
    block: str | None = Field(default=None, max_length=400)
    shared_bytes: str | None = Field(default=None, max_length=400)
    num_warps: int | None = Field(default=None, ge=1, le=32)
    num_stages: int | None = Field(default=None, ge=1, le=8)

    def fields(self) -> dict[str, str]:
        """The fields that are given, as expressions."""
        return {name: str(value) for name, value in self.model_dump(exclude_none=True).items()}


class ModelAnswer(BaseModel, extra="forbid", frozen=True, strict=True):
    """The structured answer."""

    range: str = Field(max_length=300)
    """The name of the range that is replaced, as it was offered."""
    replacement: str
    """The whole new text of the range; empty when the model declines."""
    launch: LaunchAnswer | None = None
    explanation: str = Field(max_length=4000)
    declined: str | None = Field(default=None, max_length=1000)
    """Why the skill cannot be carried over here, instead of a replacement."""


def _nullable(kind: str) -> dict[str, Any]:
    return {"type": [kind, "null"]}


ANSWER_FORMAT: dict[str, Any] = {
    "type": "json_schema",
    "json_schema": {
        "name": "kernel_rewrite",
        "strict": True,
        "schema": {
            "type": "object",
            "additionalProperties": False,
            "required": ["range", "replacement", "launch", "explanation", "declined"],
            "properties": {
                "range": {"type": "string"},
                "replacement": {"type": "string"},
                "launch": {
                    "type": ["object", "null"],
                    "additionalProperties": False,
                    "required": ["grid", "block", "shared_bytes", "num_warps", "num_stages"],
                    "properties": {
                        "grid": _nullable("string"),
                        "block": _nullable("string"),
                        "shared_bytes": _nullable("string"),
                        "num_warps": _nullable("integer"),
                        "num_stages": _nullable("integer"),
                    },
                },
                "explanation": {"type": "string"},
                "declined": _nullable("string"),
            },
        },
    },
}
"""The same form as `ModelAnswer`, as OpenAI's strict mode wants it (every property required, none additional)."""


def parse_answer(text: str, range_name: str) -> ModelAnswer:
    """The answer that a model's text holds. Raises `AnswerError`.

    One Markdown fence around the object is taken off, because models without a JSON mode write one.
    """
    stripped = text.strip()
    fenced = re.fullmatch(r"```(?:json)?\s*\n(.*)\n```", stripped, re.DOTALL)
    try:
        answer = ModelAnswer.model_validate_json(fenced.group(1) if fenced else stripped)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise AnswerError(
            f"The answer is not the agreed JSON object{f' at {where}' if where else ''}: {first['msg']}."
        ) from error
    if answer.range != range_name:
        raise AnswerError(
            f"The answer replaces {answer.range!r}, but only {range_name!r} was offered: an edit outside is refused."
        )
    if answer.declined is None and not answer.replacement.strip():
        raise AnswerError("The answer neither holds a replacement nor declines.")
    if len(answer.replacement.encode()) > LONGEST_REPLACEMENT:
        raise AnswerError(f"The replacement is longer than {LONGEST_REPLACEMENT // 1024} KiB.")
    return answer
