"""Git as mining needs it: one streamed pass over the log, and one persistent reader of objects.

Invariants: nothing is written into the repository, no hook, filter, pager, monitor or signature program of its
configuration runs, and no object is ever fetched over the network. What cannot be read is counted and passed over.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from git import Git, GitCommandError, GitCommandNotFound, InvalidGitRepositoryError, NoSuchPathError, Repo

from kernel_gate.files.reading import read_file, read_text
from kernel_lineage.history.git_settings import ENVIRONMENT, SETTINGS
from kernel_lineage.history.model import Commit
from kernel_lineage.history.named_files import LARGEST_NAMED, SUFFIXES

KERNEL_PATHSPECS = ("*.cu", "*.cuh", "*.py", "*.h", "*.hpp", "*.inl")
_REGULAR_FILES = (b"100644", b"100755", b"100664")
LINK = b"120000"
"""The mode that git gives a link."""
SUBMODULE = b"160000"
"""The mode that git gives a submodule; its id is that of a commit."""
_BLOCK = 1 << 20
_SHA256_DIGITS = 64


class RepositoryError(Exception):
    """The path cannot be mined; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Change:
    """One file that a commit changed. A blob is None where the file does not exist."""

    path: str
    blob: str | None
    parents: tuple[tuple[str, str], ...]
    """(path, blob) in each parent that has the file; more than one for a merge whose result differs from all."""


@dataclass(frozen=True, slots=True)
class CommitChanges:
    """A commit and the kernel files that it changed."""

    commit: Commit
    changes: tuple[Change, ...]


@dataclass
class Repository:
    """An opened repository, or a subfolder of one."""

    git: Git
    top: Path
    """The work tree's root, or the git directory of a bare repository."""
    bare: bool
    head: str | None
    """None when there is no commit yet."""
    prefix: str = ""
    """The subfolder that was asked for, with a trailing slash; "" for the whole repository."""
    shallow: bool = False
    partial: bool = False


def open_repository(path: Path) -> Repository:
    """The repository that holds `path`.

    Raises `RepositoryError` when there is none, git is missing, or git refuses to trust its owner.
    """
    if not path.exists():
        raise RepositoryError(
            f"{path}: no such folder. Give the path of a git repository or of a folder in one."
        )
    try:
        repo = Repo(path, search_parent_directories=True, expand_vars=False)
    except (InvalidGitRepositoryError, NoSuchPathError) as error:
        raise RepositoryError(
            f"{path} is not in a git repository. Run `git init`, or give another path."
        ) from error
    except GitCommandNotFound as error:
        raise RepositoryError("git was not found. Install git and make sure that it is on PATH.") from error
    bare = repo.bare or repo.working_tree_dir is None
    git_dir = Path(repo.git_dir)
    top = git_dir if bare else Path(str(repo.working_tree_dir))
    repo.close()
    git = Git(str(top))
    git.update_environment(**ENVIRONMENT)
    git.set_persistent_git_options(c=list(SETTINGS))
    try:
        common = Path(git.rev_parse("--git-common-dir"))
    except GitCommandError as error:
        raise RepositoryError(f"git cannot read {top}: {_message(error)}") from error
    except GitCommandNotFound as error:
        raise RepositoryError("git was not found. Install git and make sure that it is on PATH.") from error
    common = common if common.is_absolute() else top / common
    prefix = "" if bare else _prefix(path.resolve(), top.resolve())
    return Repository(
        git=git,
        top=top,
        bare=bare,
        head=_resolve(git, "HEAD"),
        prefix=prefix,
        shallow=(common / "shallow").exists(),
        partial=_is_partial(common),
    )


def remote_of(repository: Repository) -> str | None:
    """The URL of `origin` without a user's name and password, if there is one that others can reach."""
    try:
        url = repository.git.config("--get", "remote.origin.url").strip()
    except GitCommandError:
        return None
    shared = re.fullmatch(r"(?:(https?|ssh|git)://(?:[^@/]*@)?|(?:[^@/:]+@))(.+)", url)
    return f"{shared[1] or 'ssh'}://{shared[2]}" if shared else None


def resolve_revision(repository: Repository, revision: str) -> str | None:
    """The commit id that a revision names, or None."""
    return None if revision.startswith("-") else _resolve(repository.git, revision)


def is_ancestor(repository: Repository, ancestor: str, descendant: str) -> bool:
    """Whether `ancestor` is reachable from `descendant`; False also when it does not exist (any more)."""
    try:
        repository.git.merge_base("--is-ancestor", ancestor, descendant)
    except GitCommandError:
        return False
    return True


def count_commits(repository: Repository, revisions: Sequence[str]) -> int:
    """How many commits a range holds; 0 when it cannot be walked."""
    try:
        return int(repository.git.rev_list("--count", *revisions))
    except GitCommandError:
        return 0


def pathspecs(repository: Repository, paths: Sequence[str]) -> tuple[str, ...]:
    """What to hand to git after `--`: the globs asked for (relative to the subfolder), or every kernel file."""
    return tuple(repository.prefix + p for p in (paths or KERNEL_PATHSPECS))


def read_log(
    repository: Repository, revisions: Sequence[str], specs: Sequence[str], skipped: dict[str, int]
) -> list[CommitChanges]:
    """The commits that change files of `specs`, parents before children, in one pass of `git log`.

    A merge is listed with what differs from its first parent, so that the files at each commit follow from those at
    its parent. Renames are reported by git only when they are exact: inexact detection
    reads blobs (a partial clone lacks them), and matching kernels by their text finds more than matching files.
    """
    process = repository.git.log(
        *revisions,
        "--diff-merges=first-parent",
        "-M100%",
        "--raw",
        "-z",
        "--no-abbrev",
        "--topo-order",
        "--full-history",
        "--no-show-signature",
        "--encoding=UTF-8",
        "--format=%x01%H%x00%P%x00%an%x00%aI%x00%B%x00",
        "--",
        *specs,
        as_process=True,
    )
    commits = list(_parse_log(_tokens(process.stdout)))
    try:
        process.wait()
    except GitCommandError as error:
        skipped[
            f"history before {commits[-1].commit.sha[:10] if commits else 'HEAD'} ({_message(error)})"
        ] = 1
    commits.reverse()
    return commits


def read_parents(repository: Repository, revisions: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Every commit of a range with its parents, parents before children; none when the range cannot be walked."""
    try:
        out: str = repository.git.rev_list("--topo-order", "--reverse", "--parents", *revisions)
    except GitCommandError:
        return []
    return [(line.split()[0], tuple(line.split()[1:])) for line in out.splitlines() if line]


def files_at(repository: Repository, revision: str, specs: Sequence[str]) -> dict[str, str]:
    """Blob id by path of the regular files of a commit that match `specs`; none when it cannot be read."""
    try:
        empty = repository.git.hash_object("-t", "tree", "/dev/null")
        out: bytes = repository.git.diff_tree(
            "-r", "-z", "--no-abbrev", empty, revision, "--", *specs, stdout_as_string=False
        )
    except GitCommandError:
        return {}
    tokens = iter(out.split(b"\0"))
    changes = (_change(token, tokens) for token in tokens if token.startswith(b":"))
    return {c.path: c.blob for c in changes if c is not None and c.blob is not None}


def commits_named(repository: Repository, shas: Iterable[str]) -> dict[str, Commit]:
    """The named commits; those that are not in this clone are left out."""
    wanted = sorted(set(shas))
    if not wanted:
        return {}
    try:
        out = repository.git.log(
            "--no-walk",
            "-z",
            "--encoding=UTF-8",
            "--format=%x01%H%x00%P%x00%an%x00%aI%x00%B%x00",
            "--ignore-missing",
            *wanted,
            stdout_as_string=False,
            strip_newline_in_stdout=False,
        )
    except GitCommandError:
        return {}
    return {c.commit.sha: c.commit for c in _parse_log(iter(out.split(b"\0")))}


def head_files(repository: Repository) -> dict[str, str]:
    """Blob id by path of every regular file of HEAD (in the subfolder, if one was asked for)."""
    return revision_files(repository, repository.head) if repository.head is not None else {}


def revision_files(
    repository: Repository, revision: str, modes: Sequence[bytes] = _REGULAR_FILES
) -> dict[str, str]:
    """Blob id by path of every regular file of a commit (in the subfolder, if one was asked for)."""
    arguments = ["-r", "-z", revision, *([repository.prefix] if repository.prefix else [])]
    try:
        out: bytes = repository.git.ls_tree(*arguments, stdout_as_string=False)
    except GitCommandError:
        return {}
    files = {}
    for entry in out.split(b"\0"):
        meta, _, path = entry.partition(b"\t")
        words = meta.split()
        if len(words) == 3 and words[0] in modes and is_place(_text(path)):
            files[_text(path)] = words[2].decode()
    return files


def is_as_committed(repository: Repository) -> bool:
    """Whether the work tree has the regular files of HEAD, byte for byte, and no others that git does not ignore.

    Files that are too large for a directive to name are not compared. `git diff` would say the same after it ran the
    filters that the repository's configuration names.
    """
    if repository.head is None or repository.bare:
        return True
    committed = revision_files(repository, repository.head)
    links = revision_files(repository, repository.head, (LINK, SUBMODULE))
    if not {*committed, *links}.issuperset(work_tree_files(repository, ())):
        return False
    for path, blob in committed.items():
        place = repository.top / path
        try:
            if not path.endswith(SUFFIXES) and place.stat().st_size > LARGEST_NAMED:
                continue
            if blob_id(read_file(place, within=repository.top), len(blob)) != blob:
                return False
        except OSError:
            return False
    return True


def blob_id(data: bytes, length: int) -> str:
    """The id that git gives these contents (SHA-1, or SHA-256 where ids are that long)."""
    new = hashlib.sha256 if length == _SHA256_DIGITS else hashlib.sha1
    return new(b"blob %d\0" % len(data) + data).hexdigest()


def is_place(path: str) -> bool:
    """Whether git would check a file out there. Objects that somebody made by hand name `..`, `.git` or `/`, too."""
    return not any(part in ("", ".", "..") or part.lower() == ".git" for part in path.split("/"))


def work_tree_files(repository: Repository, specs: Sequence[str]) -> tuple[str, ...]:
    """Paths of `specs` in the work tree, tracked or new, without what git ignores; none for a bare repository."""
    if repository.bare:
        return ()
    try:
        out: bytes = repository.git.ls_files(
            "-z", "--cached", "--others", "--exclude-standard", "--", *specs, stdout_as_string=False
        )
    except GitCommandError:
        return ()
    return tuple(sorted(filter(is_place, {_text(p) for p in out.split(b"\0")})))


def _tokens(stream: IO[bytes]) -> Iterator[bytes]:
    rest = b""
    while block := stream.read(_BLOCK):
        *whole, rest = (rest + block).split(b"\0")
        yield from whole
    yield rest


def _parse_log(tokens: Iterator[bytes]) -> Iterator[CommitChanges]:
    """Reads `%x01%H %P %an %aI %B`, then raw records with their paths, all separated by NUL."""
    token = next(tokens, b"")
    while True:
        while not token.startswith(b"\x01"):
            following = next(tokens, None)
            if following is None:
                return
            token = following
        head = [token, *(next(tokens, b"") for _ in range(4))]
        changes: list[Change] = []
        token = next(tokens, b"\x01end").lstrip(b"\n")
        while token.startswith(b":") or not token:
            if token:
                change = _change(token, tokens)
                if change is not None:
                    changes.append(change)
            following = next(tokens, None)
            if following is None:
                break
            token = following.lstrip(b"\n")
        yield CommitChanges(_commit(head), tuple(changes))
        if not token.startswith(b"\x01") or token == b"\x01end":
            return


def _commit(head: Sequence[bytes]) -> Commit:
    subject, _, body = _text(head[4]).strip("\n").partition("\n")
    return Commit(
        sha=head[0][1:].decode("ascii", "replace"),
        parents=tuple(head[1].decode("ascii", "replace").split()),
        author=_text(head[2]),
        date=head[3].decode("ascii", "replace"),
        subject=subject,
        body=body.strip("\n"),
    )


def _change(record: bytes, tokens: Iterator[bytes]) -> Change | None:
    """One raw record: `:` once per parent, a mode per parent and one for the result, the same for blobs, the status."""
    parents = len(record) - len(record.lstrip(b":"))
    words = record[parents:].split()
    first = _text(next(tokens, b""))
    renamed = parents == 1 and words[-1][:1] in (b"R", b"C")
    path = _text(next(tokens, b"")) if renamed else first
    modes, blobs = words[: parents + 1], [w.decode() for w in words[parents + 1 : -1]]
    seen = zip(modes[:parents], blobs[:parents], strict=True)
    before = tuple(dict.fromkeys((first, blob) for mode, blob in seen if mode in _REGULAR_FILES))
    if modes[-1] not in _REGULAR_FILES and not before:
        return None  # a symbolic link or a submodule
    if not (is_place(path) and is_place(first)):
        return None
    return Change(path, blobs[-1] if modes[-1] in _REGULAR_FILES else None, before)


def _resolve(git: Git, revision: str) -> str | None:
    try:
        return str(git.rev_parse("--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"))
    except GitCommandError:
        return None


def _is_partial(common: Path) -> bool:
    """Whether objects may be missing on purpose; read from the configuration as text, so that git runs nothing."""
    try:
        return "promisor" in read_text(common / "config", within=common, errors="replace")
    except OSError:
        return False


def _prefix(path: Path, top: Path) -> str:
    folder = path if path.is_dir() else path.parent
    if not folder.is_relative_to(top) or folder == top:
        return ""
    return folder.relative_to(top).as_posix() + "/"


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _message(error: GitCommandError) -> str:
    lines = [line.strip() for line in str(error.stderr).strip(" \n'").splitlines() if line.strip()]
    return next(
        (line for line in lines if "fatal" in line or "error" in line), lines[0] if lines else "no message"
    )
