"""Where counts lie: some in the package, a repository's own in its cache file, for they are derived."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from kernel_lineage.cache_file import CACHE, open_cache_file
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.skills.ranking.counts import Counts, joined

_BUILTIN = Path(__file__).with_name("builtin.json")
_TABLE = "CREATE TABLE IF NOT EXISTS strategy_counts(id INTEGER PRIMARY KEY CHECK (id = 1), document TEXT NOT NULL)"


@cache
def builtin_counts() -> Counts:
    """What public repositories show; none of their code."""
    return Counts.model_validate_json(_BUILTIN.read_bytes())


@dataclass(frozen=True, slots=True)
class RankingData:
    """What is known where something is ranked."""

    counts: Counts
    """A repository's own joined with the built-in ones, or these alone."""
    note: str = ""
    """What to say of them."""


def known_counts(root: Path | None) -> RankingData:
    """The counts to rank by in a repository, or outside of one."""
    path = None if root is None else kept_in(root) / CACHE
    if path is None or not path.is_file():
        return RankingData(builtin_counts(), note=_WITHOUT if path is not None else "")
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=1)) as db:
            row = db.execute("SELECT document FROM strategy_counts").fetchone()
    except sqlite3.Error:  # no such table yet, or a damaged file, which mining sets aside and says so
        row = None
    if row is None:
        return RankingData(builtin_counts(), note=_WITHOUT)
    try:
        own = Counts.model_validate_json(row[0])
    except ValidationError:
        damaged = "the counts that were kept cannot be read; `klineage mine --counts` makes them anew"
        return RankingData(builtin_counts(), note=damaged)
    return RankingData(joined(own, builtin_counts()))


_WITHOUT = "ranked by public repositories only; `klineage mine --counts` adds this repository's own history"


def keep_counts(root: Path, counts: Counts, say: Callable[[str], None]) -> None:
    """Keep a repository's own counts; `say` gets a note about a damaged file. Raises `OSError` or `sqlite3.Error`."""
    document = counts.model_dump_json()
    with closing(open_cache_file(kept_in(root), lambda db: db.execute(_TABLE), say)) as db, db:
        db.execute("INSERT OR REPLACE INTO strategy_counts VALUES (1, ?)", (document,))
