"""Where graphs lie: one in the package, a repository's own in its cache file, for it is derived."""

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
from kernel_lineage.skills.graph.document import GraphDocument, graph_document, graph_of
from kernel_lineage.skills.graph.joined import joined
from kernel_lineage.skills.graph.model import Graph

_BUILTIN = Path(__file__).with_name("builtin.json")
_TABLE = "CREATE TABLE IF NOT EXISTS transition_graph(id INTEGER PRIMARY KEY CHECK (id = 1), document TEXT NOT NULL)"


@cache
def builtin_graph() -> Graph:
    """What public repositories show (counts and ids of their steps; none of their code)."""
    return graph_of(GraphDocument.model_validate_json(_BUILTIN.read_bytes()))


@dataclass(frozen=True, slots=True)
class Known:
    """What is known where something is ranked."""

    graph: Graph
    """A repository's own joined with the built-in one, or that alone."""
    note: str = ""
    """What to say of it."""


def known_graph(root: Path | None) -> Known:
    """The graph to rank by in a repository, or outside of one."""
    path = None if root is None else kept_in(root) / CACHE
    if path is None or not path.is_file():
        return Known(builtin_graph(), note=_WITHOUT if path is not None else "")
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=1)) as db:
            row = db.execute("SELECT document FROM transition_graph").fetchone()
    except sqlite3.Error:  # no such table yet, or a damaged file, which mining sets aside and says so
        row = None
    if row is None:
        return Known(builtin_graph(), note=_WITHOUT)
    try:
        document = GraphDocument.model_validate_json(row[0])
    except ValidationError:
        damaged = "the transition graph that was kept cannot be read; `klineage graph` makes it anew"
        return Known(builtin_graph(), note=damaged)
    return Known(joined(graph_of(document), builtin_graph()))


_WITHOUT = "ranked by public repositories only; `klineage graph` adds this repository's own history"


def keep_graph(root: Path, graph: Graph, say: Callable[[str], None] = lambda _said: None) -> None:
    """Keep a repository's own graph; `say` is told of a damaged file. Raises `OSError` or `sqlite3.Error`."""
    document = graph_document(graph, root.name).model_dump_json(by_alias=True)
    with closing(open_cache_file(kept_in(root), lambda db: db.execute(_TABLE), say)) as db, db:
        db.execute("INSERT OR REPLACE INTO transition_graph VALUES (1, ?)", (document,))
