"""Two states of a repository side by side on disk: what a revision had, and what another one or the work tree has.

Only files that kernels are made of are written out (sources and headers), so that an old version is compiled with the
headers of its own time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernel_gate.files.reading import is_plain_file, read_file
from kernel_gate.files.temporary import TemporaryFolder
from kernel_lineage.history.git import (
    KERNEL_PATHSPECS,
    Repository,
    RepositoryError,
    is_place,
    open_repository,
    resolve_revision,
    revision_files,
    work_tree_files,
)
from kernel_lineage.history.objects import BlobReader

_SUFFIXES = tuple(spec.lstrip("*") for spec in KERNEL_PATHSPECS)
WORK_TREE = "the work tree"
"""The name of the state that is no revision."""


@dataclass(frozen=True, slots=True)
class Tree:
    """One state: where its files are, which there are, and what it is called."""

    root: Path
    files: frozenset[str]
    name: str

    def read(self, path: str) -> bytes | None:
        """The contents of a file; None when this state does not have it."""
        return read_file(self.root / path, within=self.root) if path in self.files else None


@contextmanager
def trees(repository: Repository, since: str) -> Iterator[tuple[Tree, Tree]]:
    """The states before and after: `REV` against the work tree, or `A..B`. Gone when the block ends.

    Raises `RepositoryError` for a revision that the repository does not have.
    """
    first, dots, last = since.partition("..")
    with TemporaryFolder("trees") as folder:
        before = write_state(repository, first or "HEAD", Path(folder) / "before")
        if dots:
            yield before, write_state(repository, last.lstrip(".") or "HEAD", Path(folder) / "after")
            return
        if repository.bare:
            raise RepositoryError(f"{repository.top} has no work tree; give a range such as {since}..HEAD")
        yield before, Tree(repository.top, frozenset(_in_work_tree(repository)), WORK_TREE)


@contextmanager
def edited_trees(root: Path, edits: Mapping[str, bytes]) -> Iterator[tuple[Tree, Tree]]:
    """The files below a folder as they are, and beside it as they were with some texts replaced. Gone after the block.

    `edits` are the new texts by path; a path that is not there yet is a new file. Raises `OSError`.
    """
    there_already = {path for path in edits if is_plain_file(root / path, within=root)}
    here = Tree(root, frozenset(_files_below(root)) | there_already, WORK_TREE)
    with TemporaryFolder("trees") as folder:
        there = Path(folder) / "edited"
        contents = {path: data for path in here.files if (data := here.read(path)) is not None}
        yield here, _written({**contents, **edits}, there, "the edit")


def write_state(repository: Repository, revision: str | None, folder: Path) -> Tree:
    """Write what a revision has (None: the work tree) into a new folder.

    Raises `RepositoryError` for a revision that the repository does not have.
    """
    contents: dict[str, bytes] = {}
    if revision is None:
        name = WORK_TREE
        contents = {
            path: read_file(repository.top / path, within=repository.top)
            for path in _in_work_tree(repository)
        }
    else:
        sha = resolve_revision(repository, revision)
        if sha is None:
            raise RepositoryError(
                f"{repository.top} has no revision `{revision}`; `git log` lists those there are"
            )
        name = sha[:12]
        files = {p: blob for p, blob in revision_files(repository, sha).items() if p.endswith(_SUFFIXES)}
        with BlobReader(repository, {}) as reader:
            blobs = dict(reader.read(sorted(set(files.values()))))
        contents = {path: blobs[blob] for path, blob in files.items() if blob in blobs}
    return _written(contents, folder, name)


def _written(contents: Mapping[str, bytes], folder: Path, name: str) -> Tree:
    folder.mkdir(parents=True)
    for path, data in contents.items():
        if not is_place(path):
            raise RepositoryError(f"{path} is no place in a repository")
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return Tree(folder, frozenset(contents), name)


def _files_below(root: Path) -> list[str]:
    """The files that kernels are made of: those of the repository around `root`, else all that lie there."""
    try:
        repository = open_repository(root)
    except RepositoryError:
        found = (
            p.relative_to(root).as_posix() for p in sorted(root.rglob("*")) if p.name.endswith(_SUFFIXES)
        )
        return [p for p in found if is_plain_file(root / p, within=root)]
    return _in_work_tree(repository)


def _in_work_tree(repository: Repository) -> list[str]:
    top = repository.top
    return [p for p in work_tree_files(repository, KERNEL_PATHSPECS) if is_plain_file(top / p, within=top)]
