"""Two states of a repository side by side on disk: what a revision had, and what another one or the work tree has.

Only files that kernels are made of are written out (sources and headers), so that an old version is compiled with the
headers of its own time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kernel_gate.files.reading import is_plain_file, read_file
from kernel_gate.files.temporary import TemporaryFolder
from kernel_lineage.history.git import (
    KERNEL_PATHSPECS,
    Repository,
    RepositoryError,
    blob_id,
    is_place,
    open_repository,
    resolve_revision,
    revision_files,
    work_tree_files,
)
from kernel_lineage.history.objects import MAX_BLOB_BYTES, BlobReader

_SUFFIXES = tuple(spec.lstrip("*") for spec in KERNEL_PATHSPECS)
_MOST_HASHED = 256 << 20
WORK_TREE = "the work tree"
"""The name of the state that is no revision."""


@dataclass(frozen=True, slots=True)
class Tree:
    """One state: where its files are, which there are, and what it is called."""

    root: Path
    files: frozenset[str]
    name: str
    large: Mapping[str, str] = field(default_factory=dict)
    """Files that are not read, with the ids that git gives them: too large for what a person edits, or missing."""

    def read(self, path: str) -> bytes | None:
        """The contents of a file; None when this state does not have it."""
        return read_file(self.root / path, within=self.root) if path in self.files else None

    def differs(self, other: Tree, path: str) -> bool:
        """Whether the other state has another file there, or none."""
        if path in self.large or path in other.large:
            return self._id(path, other) != other._id(path, self)
        return self.read(path) != other.read(path)

    def _id(self, path: str, beside: Tree) -> str | None:
        if path in self.large or (data := self.read(path)) is None:
            return self.large.get(path)
        return blob_id(data, len(beside.large.get(path, "")))


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
        yield before, _here(repository)


@contextmanager
def edited_trees(root: Path, edits: Mapping[str, bytes]) -> Iterator[tuple[Tree, Tree]]:
    """The files below a folder as they are, and beside it as they were with some texts replaced. Gone after the block.

    `edits` are the new texts by path; a path that is not there yet is a new file. Raises `OSError`.
    """
    there_already = {path for path in edits if is_plain_file(root / path, within=root)}
    here = _in_place(root, {*_files_below(root), *there_already}, read=there_already)
    with TemporaryFolder("trees") as folder:
        there = Path(folder) / "edited"
        contents = {path: data for path in here.files if (data := here.read(path)) is not None}
        yield here, _written({**contents, **edits}, there, "the edit", here.large)


def write_state(repository: Repository, revision: str | None, folder: Path) -> Tree:
    """Write what a revision has (None: the work tree) into a new folder.

    Raises `RepositoryError` for a revision that the repository does not have.
    """
    if revision is None:
        name = WORK_TREE
        here = _here(repository)
        contents = {path: data for path in here.files if (data := here.read(path)) is not None}
        large = here.large
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
        large = {path: blob for path, blob in files.items() if blob not in blobs}
    return _written(contents, folder, name, large)


def _here(repository: Repository) -> Tree:
    return _in_place(repository.top, _in_work_tree(repository), digits=len(repository.head or ""))


def _in_place(root: Path, files: Collection[str], read: Collection[str] = (), digits: int = 0) -> Tree:
    """The files as they lie there; those in `read` are read whatever their size. `digits` are those of git's ids."""
    sizes = {path: (root / path).stat().st_size for path in files if path not in read}
    large = {path: _file_id(root, path, digits) for path, size in sizes.items() if size > MAX_BLOB_BYTES}
    return Tree(root, frozenset(files) - large.keys(), WORK_TREE, large)


def _file_id(root: Path, path: str, digits: int) -> str:
    try:
        return blob_id(read_file(root / path, within=root, most=_MOST_HASHED), digits)
    except OSError as error:
        return str(error)  # no id of git's: it differs from every other


def _written(contents: Mapping[str, bytes], folder: Path, name: str, large: Mapping[str, str]) -> Tree:
    folder.mkdir(parents=True)
    for path, data in contents.items():
        if not is_place(path):
            raise RepositoryError(f"{path} is no place in a repository")
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return Tree(folder, frozenset(contents), name, large)


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
