"""Where what was worked out of a repository lies: in the user's own cache folder, never in the repository."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from platformdirs import user_cache_path

KEEP_IN = "KLINEAGE_KEEP_IN"
"""The variable that names another place, for this process and those that it starts."""


def kept_in(root: Path) -> Path:
    """The folder for a repository, by the real path of its root. Nothing is made."""
    real = root.resolve()
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", real.name)[:40].strip(".-") or "root"
    digest = hashlib.sha256(os.fsencode(real)).hexdigest()[:16]
    return everything_kept() / "repositories" / f"{name}-{digest}"


def everything_kept() -> Path:
    """The folder that those of all repositories lie in."""
    chosen = os.environ.get(KEEP_IN)
    return Path(chosen).absolute() if chosen else user_cache_path("kernel-lineage", appauthor=False)


def make_private(folder: Path) -> None:
    """Make a folder that only this user may read. Raises `OSError`, also where a link lies in its place."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if folder.is_symlink():
        raise NotADirectoryError(f"{folder} is a link; what is kept lies in a folder of its own")
