"""What is known of transitions from earlier replays, for whoever shows them: the report, a hover card."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from kernel_lineage.learning.replay.record import Label, Record
from kernel_lineage.learning.replay.store import replay_store
from kernel_lineage.rewrite.signed_rows import FILE

_RANK = {Label.MEASURED: 2, Label.REPRODUCED: 1, Label.INFERRED: 0}


def known_records(top: Path, secret: Path | None = None) -> dict[str, Record]:
    """Transition id → what this user's runs found of it in a repository: the most that is known, the newest of equals.

    Empty where nothing was replayed, or what was kept cannot be read.
    """
    folder = top / ".klineage"
    if not (folder / FILE).is_file():
        return {}
    found: dict[str, Record] = {}
    try:
        with replay_store(folder, secret) as store:
            for record in store.records():
                other = found.get(record.transition)
                if other is None or _RANK[record.label] >= _RANK[other.label]:
                    found[record.transition] = record
    except (OSError, sqlite3.Error):
        return {}
    return found


def told(record: Record) -> str:
    """How much is known, in one line: `reproduced on emulated, 2026-01-31: 23 cases agree in every element`."""
    how = record.label if record.label is not Label.INFERRED else record.status
    place = (
        f"{how} on {record.device}" if record.label is not Label.MEASURED else f"measured on {record.device}"
    )
    return f"{place}, {record.made[:10]}: {record.reason}"
