"""A process that a fork server has started for this one."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import threading
import weakref
from contextlib import suppress
from typing import IO

from kernel_gate.processes.fork_server import NUMBER


class Forked:
    """A process that a fork server started in a group of its own: the part of `subprocess.Popen` that is used here."""

    def __init__(self, client: socket.socket, arguments: list[str]) -> None:
        """Raises `ConnectionError` when the server has started none."""
        message, handles, _, _ = socket.recv_fds(client, NUMBER.size, 1)
        if len(message) < NUMBER.size or not handles:
            raise ConnectionError("the fork server has started no process")
        self.args = arguments
        self.pid: int = NUMBER.unpack(message)[0]
        self.returncode: int | None = None
        self.stdin: IO[bytes] | None = None
        self.stdout: IO[bytes] | None = None
        self.stderr: IO[bytes] | None = None
        self._lock = threading.Lock()
        self._client, self._ended = client, handles[0]
        _FORKED.add(self)

    def poll(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit status, when it and its group have ended. Raises `subprocess.TimeoutExpired`."""
        if self.returncode is None and not _readable(self._client.fileno(), timeout):
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        with self._lock:
            if self.returncode is None:
                self.returncode = self._status()
        return self.returncode

    def end_group(self) -> int:
        """End it and all that it started in its group; its exit status."""
        if self.returncode is None:
            with suppress(OSError):  # the server has ended, or has closed its side just now
                self._client.shutdown(socket.SHUT_WR)
        return self.wait()

    def leave(self) -> None:
        """Let go of its handles. It is ended by that, unless this is a forked copy of the process that started it."""
        self._client.close()
        os.close(self._ended)
        self._ended = -1

    def _status(self) -> int:
        message = b""
        with suppress(ConnectionError):
            message = self._client.recv(NUMBER.size, socket.MSG_WAITALL)
        if len(message) == NUMBER.size:
            return int(NUMBER.unpack(message)[0])
        # The server was killed. The process ends with it; what that has started is ended here.
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        _readable(self._ended, None)
        return -signal.SIGKILL

    def __del__(self) -> None:
        # Not before: another thread may wait on these numbers.
        if getattr(self, "_ended", -1) >= 0:
            self.leave()


def _readable(handle: int, timeout: float | None) -> bool:
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    return bool(waiting.poll(None if timeout is None else max(0.0, timeout) * 1000))


_FORKED: weakref.WeakSet[Forked] = weakref.WeakSet()


def _leave_all() -> None:
    """In a process that was forked off this one: a handle that it kept would outlive its parent."""
    for forked in list(_FORKED):
        forked.leave()
    _FORKED.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all)
