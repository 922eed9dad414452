"""The log of what was sent to models: every request as it left, in a file that only this user may read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from kernel_gate.files.writing import append_privately
from kernel_lineage.cache_folder import everything_kept

_FILE = "sent.jsonl"


class SentRequest(BaseModel, frozen=True):
    """One request."""

    time: str
    """ISO 8601, UTC."""
    host: str
    body: dict[str, Any]
    """What the endpoint got: the model's name, the messages, the limits."""


def sent_file() -> Path:
    """Where the log lies."""
    return everything_kept() / _FILE


def log_request(host: str, body: dict[str, Any]) -> None:
    """Add a request, before it is sent. Raises `OSError`; what cannot be logged is not to be sent."""
    request = SentRequest(time=datetime.now(UTC).isoformat(timespec="seconds"), host=host, body=body)
    append_privately(sent_file(), request.model_dump_json().encode() + b"\n")


def sent_requests() -> Iterator[SentRequest]:
    """The log, oldest first; a line that a kill cut off is left out. Raises `OSError` when it cannot be read."""
    try:
        with sent_file().open(encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    yield SentRequest.model_validate(json.loads(line))
    except FileNotFoundError:
        return
