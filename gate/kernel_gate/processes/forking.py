"""Python processes of ours that a fork server starts where the system can do it; elsewhere they are started as always.

There is one server for each set of packages and variables, started with the first job that asks for it.
"""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import IO, Any

from kernel_gate.processes.forked import Forked
from kernel_gate.processes.forked_job import Job
from kernel_gate.processes.python import NOWHERE, python_command, start
from kernel_gate.processes.surroundings import bare_environment
from kernel_gate.threads import ONE_THREAD

log = logging.getLogger(__name__)

_STREAMS = ("stdin", "stdout", "stderr")
_MOST_SERVERS = 4
"""A process asks for one; one that changes its variables again and again leaves no more than this behind."""


class _Server:
    """A fork server, and the socket that it takes jobs from. It ends when that is closed and its jobs have ended."""

    def __init__(self, command: list[str], env: Mapping[str, str]) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = start(command, env=env, stdin=theirs.fileno())

    def fork(self, imports: str, job: Job, streams: list[int], arguments: list[str]) -> Forked:
        """A process for a job. Raises `ConnectionError` when there is none."""
        client, theirs = socket.socketpair()
        try:
            with theirs, os.fdopen(os.memfd_create("job"), "wb", buffering=0) as text:
                text.write(job.to_json())
                text.seek(0)
                handles = [text.fileno(), theirs.fileno(), *streams]
                socket.send_fds(self._control, [imports.encode("ascii") or b" "], handles)
            return Forked(client, arguments)
        except BaseException:
            client.close()
            raise

    def close(self) -> None:
        """Ask for no more: it ends with its last process."""
        self._control.close()

    @property
    def ended(self) -> bool:
        """Whether its process has ended."""
        return self._process.poll() is not None


_Key = tuple[tuple[str, ...], tuple[tuple[str, str], ...]]
"""The command that starts a server, and its variables."""
_SERVERS: dict[_Key, _Server] = {}
_LEAVING: list[_Server] = []
"""Servers that are asked for no more, until they have ended."""
_LOCK = threading.Lock()


def _leave_all() -> None:
    """In a process that was forked off this one: the servers are not its own."""
    global _LOCK
    _LOCK = threading.Lock()
    for server in _SERVERS.values():
        server.close()
    _SERVERS.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all)


@cache
def available() -> bool:
    """Whether this system has what a fork server is made of."""
    if sys.platform != "linux":
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
        os.close(os.memfd_create("job"))
    except (AttributeError, OSError):
        return False
    return True


def start_python(
    module: str,
    *arguments: str,
    imports: str,
    env: Mapping[str, str],
    folder: Path = NOWHERE,
    stdin: int | IO[Any] = subprocess.DEVNULL,
    stdout: int | IO[Any] = subprocess.DEVNULL,
    stderr: int | IO[Any] = subprocess.DEVNULL,
) -> subprocess.Popen[bytes] | Forked:
    """A module of the gate, as `start(python_command(…))` runs it, by a server that has made its `imports`.

    These are named in `fork_server.IMPORTS`. It writes no bytecode. Raises `OSError`.
    """
    command = python_command(module, *arguments, writes_bytecode=False)
    if not available():
        return start(command, folder=folder, env=env, stdin=stdin, stdout=stdout, stderr=stderr)
    job = Job(module, list(arguments), dict(env), str(folder))
    with ExitStack() as theirs, ExitStack() as ours:
        streams: list[int] = []
        pipes: dict[str, IO[bytes]] = {}
        for name, asked in zip(_STREAMS, (stdin, stdout, stderr), strict=True):
            if asked == subprocess.PIPE:
                reading, writing = os.pipe()
                kept, handed = (writing, reading) if name == "stdin" else (reading, writing)
                pipes[name] = ours.enter_context(os.fdopen(kept, "wb" if name == "stdin" else "rb"))
                theirs.callback(os.close, handed)
            elif asked == subprocess.DEVNULL:
                handed = os.open(os.devnull, os.O_RDWR)
                theirs.callback(os.close, handed)
            else:
                handed = asked if isinstance(asked, int) else asked.fileno()
            streams.append(handed)
        forked = _fork(imports, job, streams, command)
        ours.pop_all()
    forked.stdin, forked.stdout, forked.stderr = (pipes.get(name) for name in _STREAMS)
    return forked


def _fork(imports: str, job: Job, streams: list[int], command: list[str]) -> Forked:
    """A process of the server; of a new one where it was killed. Raises `ConnectionError`."""
    key = _key()
    try:
        return _server(key).fork(imports, job, streams, command)
    except ConnectionError as error:
        log.warning("%s; another server is started", error)
        with _LOCK:
            _let_go(key)
    return _server(key).fork(imports, job, streams, command)


def _key() -> _Key:
    """What a server is started with: it looks packages and libraries up as this process would now."""
    command = python_command("kernel_gate.processes.fork_server")
    return tuple(command), tuple(sorted({**bare_environment(NOWHERE), **ONE_THREAD}.items()))


def _server(key: _Key) -> _Server:
    with _LOCK:
        if key not in _SERVERS:
            while len(_SERVERS) >= _MOST_SERVERS:
                _let_go(next(iter(_SERVERS)))
            command, variables = key
            _SERVERS[key] = _Server(list(command), dict(variables))
        return _SERVERS[key]


def _let_go(key: _Key) -> None:
    _LEAVING[:] = [server for server in _LEAVING if not server.ended]
    if (server := _SERVERS.pop(key, None)) is not None:
        server.close()
        _LEAVING.append(server)
