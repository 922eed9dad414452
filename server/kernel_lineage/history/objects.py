"""Reading objects: one persistent `git cat-file` for all of a run.

What is missing, corrupt or too large is counted and passed over; nothing is ever fetched.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

from git import GitCommandError

from kernel_gate.processes.closing import Closing
from kernel_lineage.history.git import Repository

MAX_BLOB_BYTES = 4 * 1024 * 1024
"""Larger files are generated tables or data, not kernels that a person edits."""

_READ_AHEAD = 128
_BLOCK = 1 << 20
_MISSING = "missing blob (partial clone or damaged repository)"


def missing_objects(repository: Repository) -> frozenset[str]:
    """Ids of objects that the history needs and a partial clone lacks, found without asking for any of them."""
    try:
        out: bytes = repository.git.rev_list(
            "--objects", "--no-object-names", "--missing=print", "HEAD", stdout_as_string=False
        )
    except GitCommandError:
        return frozenset()
    return frozenset(line[1:].decode() for line in out.splitlines() if line.startswith(b"?"))


class BlobReader(Closing):
    """A persistent `git cat-file --batch`. Close it, or use it as a context manager."""

    def __init__(self, repository: Repository, skipped: dict[str, int]):
        self._git = repository.git
        self._skipped = skipped
        self._process: Any = None
        self._missing = missing_objects(repository) if repository.partial else frozenset()

    def close(self) -> None:
        """Ends the git process, if one runs."""
        if self._process is not None:
            self._process.stdin.close()
            self._process.stdout.close()
            self._process.proc.wait()
            self._process = None

    def read(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """(id, contents) in the order given, without those that are missing, corrupt, too large or no blob."""
        window: list[str] = []
        for blob in ids:
            if blob in self._missing:
                self._count(_MISSING)
                continue
            window.append(blob)
            if len(window) == _READ_AHEAD:
                yield from self._read_window(window)
                window = []
        yield from self._read_window(window)

    def _read_window(self, window: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        pending = list(window)
        while pending:
            stdin, stdout = self._pipes()
            try:
                # At most _READ_AHEAD ids are under way: they fit in a pipe, so neither side can block the other.
                stdin.write("".join(f"{b}\n" for b in pending).encode())
                stdin.flush()
            except BrokenPipeError:
                pass
            while pending:
                header = stdout.readline()
                blob = pending.pop(
                    0
                )  # git answers one by one: the one that it died of is the first unanswered
                try:
                    data = self._contents(header, stdout)
                except EOFError:
                    self._count("corrupt object")
                    self.close()
                    break
                if data is not None:
                    yield blob, data

    def _contents(self, header: bytes, stdout: IO[bytes]) -> bytes | None:
        """The blob that a header announces, None when it is passed over. Raises `EOFError` when git died of it."""
        if not header:
            raise EOFError
        words = header.split()
        if len(words) != 3 or not words[2].isdigit():
            self._count(_MISSING)
            return None
        size = int(words[2])
        if words[1] == b"blob" and size <= MAX_BLOB_BYTES:
            data = stdout.read(size + 1)
            if len(data) <= size:
                raise EOFError
            return data[:size]
        self._count(f"over {MAX_BLOB_BYTES >> 20} MiB" if words[1] == b"blob" else "not a file")
        left = size + 1
        while left > 0:
            block = stdout.read(min(left, _BLOCK))
            if not block:
                raise EOFError
            left -= len(block)
        return None

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process is None:
            self._process = self._git.cat_file("--batch", istream=-1, as_process=True)
        return self._process.stdin, self._process.stdout

    def _count(self, reason: str) -> None:
        self._skipped[reason] = self._skipped.get(reason, 0) + 1
