"""Two states of a repository side by side on disk: what a revision had, and what another one or the work tree has.

Only files that kernels are made of are written out (sources, headers and what they may include), so that an old version
is compiled with the headers of its own time.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernel_gate.files.reading import is_plain_file, read_file
from kernel_gate.files.temporary import TemporaryFolder
from kernel_lineage.history.git import (
    LINK,
    SUBMODULE,
    Repository,
    RepositoryError,
    blob_id,
    is_as_committed,
    is_place,
    open_repository,
    resolve_revision,
    revision_files,
    work_tree_files,
)
from kernel_lineage.history.named_files import SUFFIXES, source_files
from kernel_lineage.history.objects import MAX_BLOB_BYTES, BlobReader

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
    submodules: Mapping[str, str] | None = None
    """By folder, at which commit it is, and `, changed` where that is not all; None where nobody has looked."""

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


def is_source(root: Path, path: str) -> bool:
    """Whether kernels may be made of a file below `root`, there or not: its suffix says so, or a directive names it."""
    if path.lower().endswith(SUFFIXES):
        return True
    try:
        repository = open_repository(root)
    except RepositoryError:
        return False
    return path in _sources(root, {path, *work_tree_files(repository, ())}, {path})


def write_state(repository: Repository, revision: str | None, folder: Path) -> Tree:
    """Write what a revision has (None: the work tree) into a new folder.

    Raises `RepositoryError` for a revision that the repository does not have.
    """
    if revision is None:
        name = WORK_TREE
        here = _here(repository)
        contents = {path: data for path in here.files if (data := here.read(path)) is not None}
        large, submodules = here.large, here.submodules
    else:
        sha = resolve_revision(repository, revision)
        if sha is None:
            raise RepositoryError(
                f"{repository.top} has no revision `{revision}`; `git log` lists those there are"
            )
        name = sha[:12]
        large = {}
        with BlobReader(repository, {}) as reader:
            files = revision_files(repository, sha)
            files |= _linked(revision_files(repository, sha, (LINK,)), files, reader)

            def contents_of(paths: set[str]) -> dict[str, bytes]:
                blobs = dict(reader.read(sorted({files[path] for path in paths})))
                large.update({path: files[path] for path in paths if files[path] not in blobs})
                return {path: blobs[files[path]] for path in paths if files[path] in blobs}

            contents = source_files(files, contents_of)
        submodules = revision_files(repository, sha, (SUBMODULE,))
    return replace(_written(contents, folder, name, large), submodules=submodules)


def _submodules(repository: Repository) -> dict[str, str]:
    """The submodules of HEAD as they lie in the work tree; those that are not checked out, as HEAD has them."""
    submodules = revision_files(repository, "HEAD", (SUBMODULE,)) if repository.head is not None else {}
    for path in submodules:
        if (repository.top / path / ".git").exists():
            with suppress(RepositoryError):
                inner = open_repository(repository.top / path)
                submodules[path] = f"{inner.head}{'' if is_as_committed(inner) else ', changed'}"
    return submodules


def _linked(links: Mapping[str, str], files: Mapping[str, str], reader: BlobReader) -> dict[str, str]:
    """The links that lead to a file of the same state, each with the blob of that file."""
    targets = dict(reader.read(sorted(set(links.values()))))
    named = {
        path: posixpath.normpath(
            posixpath.join(posixpath.dirname(path), targets[blob].decode("utf-8", "replace"))
        )
        for path, blob in links.items()
        if blob in targets
    }
    return {path: files[target] for path, target in named.items() if target in files}


def _here(repository: Repository) -> Tree:
    here = _in_place(repository.top, _in_work_tree(repository), digits=len(repository.head or ""))
    return replace(here, submodules=_submodules(repository))


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


def _files_below(root: Path) -> Collection[str]:
    """The files that kernels are made of: those of the repository around `root`, else all that lie there."""
    try:
        repository = open_repository(root)
    except RepositoryError:
        return _sources(root, [p.relative_to(root).as_posix() for p in sorted(root.rglob("*"))])
    return _in_work_tree(repository)


def _in_work_tree(repository: Repository) -> Collection[str]:
    return _sources(repository.top, work_tree_files(repository, ()))


def _sources(root: Path, every: Collection[str], also: Collection[str] = ()) -> Collection[str]:
    """Those of some files that kernels are made of and that are there, or are among `also`."""
    there: set[str] = set()

    def contents_of(paths: set[str]) -> dict[str, bytes]:
        plain = {path for path in paths if is_plain_file(root / path, within=root)}
        there.update(plain, paths.intersection(also))
        small = {path for path in plain if (root / path).stat().st_size <= MAX_BLOB_BYTES}
        return {path: read_file(root / path, within=root) for path in small}

    source_files(every, contents_of)
    return there
