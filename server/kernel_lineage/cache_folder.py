"""The `.klineage` folder of a repository, with its cache kept out of git: a cache that is committed helps nobody."""

from __future__ import annotations

import contextlib
from pathlib import Path

CACHE = "cache.sqlite"
_IGNORED = f"# The cache is this machine's own; this file ignores itself as well.\n.gitignore\n{CACHE}*\n"


def make_cache_folder(folder: Path) -> None:
    """Make the folder, and in it a `.gitignore` where there is none. Raises `OSError` when there can be no folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError), (folder / ".gitignore").open("x", encoding="utf-8") as file:
        file.write(_IGNORED)
