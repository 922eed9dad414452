"""What is known of transitions from earlier replays, for whoever shows them: the report, a hover card."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kernel_lineage.cache_file import CACHE
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.learning.replay.record import Label, Record
from kernel_lineage.learning.replay.store import replay_store

_RANK = {Label.MEASURED: 2, Label.REPRODUCED: 1, Label.INFERRED: 0}


def known_records(top: Path, say: Callable[[str], None], secret: Path | None = None) -> dict[str, Record]:
    """Transition id → what this user's runs found of it in a repository: the most that is known, the newest of equals.

    Empty where nothing was replayed; `say` gets a note where what was kept cannot be read.
    """
    folder = kept_in(top)
    if not (folder / CACHE).is_file():
        return {}
    records: dict[str, Record] = {}
    try:
        with replay_store(folder, say, secret) as store:
            for record in store.records():
                other = records.get(record.transition)
                if other is None or _RANK[record.label] >= _RANK[other.label]:
                    records[record.transition] = record
    except (OSError, sqlite3.Error) as error:
        say(f"The outcomes of earlier replays cannot be read ({error}); nothing is shown of them.")
        return {}
    return records


@dataclass(frozen=True, slots=True)
class Words:
    """A record, for people."""

    label: str
    """`reproduced on emulated`, `measured on NVIDIA H200`."""
    line: str
    """The label with its day and the reason."""


def words_of(record: Record) -> Words:
    """How much is known: `reproduced on emulated`, `reproduced on emulated, 2026-01-31: 23 cases agree`."""
    # A step that is right on less than before is no plain reproduction, whatever was measured of it.
    by_status = record.label is Label.INFERRED or record.status == "narrower"
    how = record.status if by_status else record.label.removesuffix(" here")
    label = f"{how} on {record.device}"
    return Words(label, f"{label}, {record.made[:10]}: {record.reason}")


def known_words(top: Path, say: Callable[[str], None]) -> dict[str, Words]:
    """Transition id → what is known of it, as words alone: the steps themselves are large."""
    return {transition: words_of(record) for transition, record in known_records(top, say).items()}
