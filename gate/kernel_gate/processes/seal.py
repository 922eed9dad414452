"""Answers that only the process that was started can have written: each line with a code made with its secret.

The secret is the first thing on the process's input, before anything of a repository is read. A code is HMAC-SHA256
(RFC 2104) over the number of the line and the line, so that no line can be left out, moved or said twice.
"""

from __future__ import annotations

import atexit
import hmac
import io
import os
import sys
from hashlib import sha256
from typing import TextIO

SECRET_BYTES = 32
_CODE_BYTES = 2 * sha256().digest_size


class ForeignAnswerError(Exception):
    """A line that the process which was asked has not written."""


class Seal:
    """The codes of one process's lines, in their order."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._lines = 0

    def _code(self, line: bytes) -> bytes:
        code = hmac.new(self._secret, self._lines.to_bytes(8, "big") + line, sha256).hexdigest()
        self._lines += 1
        return code.encode("ascii")

    def close(self, line: bytes) -> bytes:
        """A line, without its end, as it goes over the pipe."""
        return self._code(line) + b" " + line + b"\n"

    def open(self, sealed: bytes) -> bytes:
        """The line that was sealed. Raises `ForeignAnswerError` for any other."""
        code, line = sealed[:_CODE_BYTES], sealed[_CODE_BYTES + 1 :].removesuffix(b"\n")
        if not sealed.endswith(b"\n") or not hmac.compare_digest(code, self._code(line)):
            raise ForeignAnswerError("something else than the process that was asked has written its answer")
        return line

    def open_all(self, sealed: bytes) -> bytes:
        """Several lines that were sealed, with their ends. Raises `ForeignAnswerError`."""
        *lines, cut = sealed.split(b"\n")
        if cut:
            raise ForeignAnswerError("the last line of the answer is cut off")
        return b"".join(self.open(line + b"\n") + b"\n" for line in lines)


class _SealedLines(io.RawIOBase):
    """What is written goes to a pipe, line by line, each sealed."""

    def __init__(self, handle: int, seal: Seal) -> None:
        self._pipe = os.fdopen(handle, "wb")
        self._seal = seal
        self._begun = b""

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]  # any buffer
        *lines, self._begun = (self._begun + bytes(data)).split(b"\n")
        for line in lines:
            self._pipe.write(self._seal.close(line))
        self._pipe.flush()
        return len(data)

    def finish(self) -> None:
        """Write the line that has no end yet."""
        if self._begun:
            self.write(b"\n")


def own_stdout() -> TextIO:
    """Stdout for this process's answers alone: what else writes to it from now on writes to stderr."""
    if isinstance(getattr(getattr(sys.stdout, "buffer", None), "raw", None), _SealedLines):
        return sys.stdout
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def seal_stdout() -> None:
    """Take the secret from stdin; then `sys.stdout` is sealed, and what else writes to stdout writes to stderr."""
    secret = b""
    while len(secret) < SECRET_BYTES:
        part = os.read(0, SECRET_BYTES - len(secret))
        if not part:
            sys.exit("whoever started this process is gone")
        secret += part
    lines = _SealedLines(os.dup(1), Seal(secret))
    os.dup2(2, 1)
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(lines), encoding="utf-8", write_through=False)

    def finish() -> None:
        sys.stdout.flush()
        lines.finish()

    atexit.register(finish)
