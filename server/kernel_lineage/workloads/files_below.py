"""The files of a folder, without those of hidden folders."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

_MOST = 5000


def files_below(
    folder: Path, endings: tuple[str, ...], skipped: Collection[str] = (), most: int = _MOST
) -> Iterator[Path]:
    """At most so many files with one of these endings, in order; folders of the names `skipped` are left out."""
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in skipped)
        for name in sorted(names):
            if name.endswith(endings):
                if most == 0:
                    return
                most -= 1
                yield Path(at, name)
