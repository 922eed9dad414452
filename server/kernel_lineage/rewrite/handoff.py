"""Handoff: the request for a model is written to a file, and its answer is dropped back as a file.

For clusters without a network, and for models that are reached by hand. The folder's name comes from everything that is
asked, so that an answer can never be taken for another kernel, another skill, or an older text of the same kernel.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from kernel_gate.files.reading import read_file
from kernel_gate.files.writing import write_atomically
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.rewrite.model.answer import LONGEST_REPLACEMENT
from kernel_lineage.rewrite.model.client import Message

FOLDER = "handoff"
"""In the cache folder, never in the repository: what lies there as an answer is believed to come from this user."""
_MESSAGES: TypeAdapter[list[Message]] = TypeAdapter(list[dict[str, str]])


class HandoffError(Exception):
    """A handoff folder that cannot be used; the message says which file and what to do."""


@dataclass(frozen=True, slots=True)
class Handoff:
    """One conversation, kept in a folder."""

    folder: Path

    @property
    def request(self) -> Path:
        """What the model is asked, for reading and for pasting."""
        return self.folder / "request.md"

    @property
    def messages_file(self) -> Path:
        """The same as chat messages."""
        return self.folder / "request.json"

    @property
    def answer(self) -> Path:
        """Where the answer goes."""
        return self.folder / "answer.json"


def open_handoff(root: Path, messages: list[Message]) -> tuple[Handoff, list[Message]]:
    """The conversation that begins with these messages, and its messages so far; begun when there is none."""
    identity = hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()[:12]
    handoff = Handoff(kept_in(root) / FOLDER / identity)
    try:
        return handoff, _MESSAGES.validate_json(read_file(handoff.messages_file, within=handoff.folder))
    except FileNotFoundError:
        _write(handoff, messages)
        return handoff, messages
    except (OSError, ValidationError) as error:
        raise HandoffError(
            f"{handoff.messages_file} cannot be read; delete {handoff.folder} and start again."
        ) from error


def read_answer(handoff: Handoff) -> str | None:
    """The answer's text, or None while there is none. Raises `HandoffError`."""
    try:
        data = read_file(handoff.answer, within=handoff.folder, most=4 * LONGEST_REPLACEMENT)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HandoffError(f"{handoff.answer} cannot be read: {error.strerror}.") from error
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise HandoffError(f"{handoff.answer} is not UTF-8 text.") from error


def ask_again(handoff: Handoff, messages: list[Message]) -> None:
    """Put the answer aside, under a number, and write the request with what was wrong with it."""
    number = 1
    while (aside := handoff.folder / f"answer-{number}.json").exists():
        number += 1
    handoff.answer.replace(aside)
    _write(handoff, messages)


def _write(handoff: Handoff, messages: list[Message]) -> None:
    readable = "\n\n".join(f"## {m['role']}\n\n{m['content']}" for m in messages)
    head = f"Put the model's answer, one JSON object, into `{handoff.answer.name}` beside this file.\n\n"
    write_atomically(handoff.request, (head + readable + "\n").encode())
    write_atomically(handoff.messages_file, json.dumps(messages, indent=2).encode() + b"\n")
