"""Two states of a repository side by side on disk: what a revision had, and what another one or the work tree has.

Only files that kernels are made of are written out (sources and headers), so that an old version is compiled with the
headers of its own time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernel_lineage.history.git import (
    KERNEL_PATHSPECS,
    Repository,
    RepositoryError,
    resolve_revision,
    revision_files,
    work_tree_files,
)
from kernel_lineage.history.objects import BlobReader

_SUFFIXES = tuple(spec.lstrip("*") for spec in KERNEL_PATHSPECS)


@dataclass(frozen=True, slots=True)
class Tree:
    """One state: where its files are, which there are, and what it is called."""

    root: Path
    files: frozenset[str]
    name: str

    def read(self, path: str) -> bytes | None:
        """The contents of a file; None when this state does not have it."""
        return (self.root / path).read_bytes() if path in self.files else None


@contextmanager
def trees(repository: Repository, since: str) -> Iterator[tuple[Tree, Tree]]:
    """The states before and after: `REV` against the work tree, or `A..B`. Gone when the block ends.

    Raises `RepositoryError` for a revision that the repository does not have.
    """
    first, dots, last = since.partition("..")
    with tempfile.TemporaryDirectory(prefix="klineage-") as folder:
        before = _written(repository, first or "HEAD", Path(folder) / "before")
        if dots:
            yield before, _written(repository, last.lstrip(".") or "HEAD", Path(folder) / "after")
            return
        if repository.bare:
            raise RepositoryError(f"{repository.top} has no work tree; give a range such as {since}..HEAD")
        files = [p for p in work_tree_files(repository, KERNEL_PATHSPECS) if (repository.top / p).is_file()]
        yield before, Tree(repository.top, frozenset(files), "the work tree")


def _written(repository: Repository, revision: str, folder: Path) -> Tree:
    sha = resolve_revision(repository, revision)
    if sha is None:
        raise RepositoryError(
            f"{repository.top} has no revision `{revision}`; `git log` lists those there are"
        )
    files = {p: blob for p, blob in revision_files(repository, sha).items() if p.endswith(_SUFFIXES)}
    folder.mkdir(parents=True)
    contents: dict[str, bytes] = {}
    with BlobReader(repository, {}) as reader:
        contents.update(reader.read(sorted(set(files.values()))))
    for path, blob in files.items():
        if blob in contents:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(contents[blob])
    return Tree(folder, frozenset(p for p, blob in files.items() if blob in contents), sha[:12])
