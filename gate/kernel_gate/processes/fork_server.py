"""The fork server: `python -m kernel_gate.processes.fork_server` imports what jobs need and forks a process for each.

A process that begins with its imports done costs little beside one that makes them. The server imports our packages and
what those import, and never anything of a job: it is handed the job's pipes and does not read them. So every process
begins as fresh as the last one, with no more in its memory than imported modules. The server has one thread, or it
refuses to fork. It ends when its only client ends, however that ends, and with it go all processes that it forked and
the groups of these. Where the machine gives namespaces of processes, all of them are in one, whose first process ends
with the server: then the kernel ends whatever is in it, also where client, server and jobs are killed at one moment.

Over the control socket (its stdin) comes one message a job: the name of what to import, and five handles: the job's
text, the job's own socket, and stdin, stdout and stderr of the new process. Over the job's socket the server tells the
process's number, hands over its pidfd, and tells at last its exit status; when the client shuts it down, or closes it,
the process and its group are ended.
"""

from __future__ import annotations

import gc
import importlib
import os
import selectors
import signal
import socket
import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from kernel_gate.processes import namespaces
from kernel_gate.processes.forked_job import Job, run_job
from kernel_gate.processes.parent import end_with_parent

IMPORTS: Mapping[str, tuple[str, ...]] = {
    "": (),
    "cuda": ("kernel_gate.build.near_names", "kernel_gate.build.nvcc", "kernel_gate.build.nvrtc:load"),
    "triton": ("kernel_gate.build.triton_build:load",),
}
"""What a job can ask to have imported before: modules, and functions of ours that load a library."""
NUMBER = struct.Struct("<i")
HANDLES = 5
_NAME_BYTES = 64
_CONTROL = 0
_OUTSIDE = 0
"""The number that a process sees for a parent outside of its namespace."""
_MOST_PROCESSES = 2000
"""All jobs of a server together may be so many: what multiplies itself leaves room for the user's own."""


@dataclass(frozen=True, slots=True)
class _Running:
    """A process that was forked and has not been waited for."""

    process: int
    ended: int
    """Its pidfd."""
    client: socket.socket


def threads() -> int:
    """Threads of this process."""
    return len(os.listdir("/proc/self/task"))  # noqa: PTH208 - names only


def _import(what: str) -> None:
    """Import what is named. What cannot be imported is left to the job, which says so in its own words."""
    for place in IMPORTS.get(what, ()):
        module, _, function = place.partition(":")
        with suppress(Exception):
            imported = importlib.import_module(module)
            if function:
                getattr(imported, function)()
    gc.collect()
    gc.freeze()  # what all processes share is not written to by their collectors


def _gather() -> int:
    """Have what is forked from now on in a namespace, if there is one; the number that it sees for this process."""
    server = os.getpid()
    try:
        namespaces.make(namespaces.PROCESSES)
    except OSError:
        return server
    if os.fork() > 0:
        return _OUTSIDE
    # The first one inside: all that lose their parent become its children, and end with it.
    end_with_parent(_OUTSIDE)
    os.closerange(0, 3)
    namespaces.limit_processes(_MOST_PROCESSES)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while True:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        signal.sigwait({signal.SIGCHLD})


class _Server:
    def __init__(self, control: socket.socket, seen_as: int) -> None:
        self._control = control
        self._seen_as = seen_as
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ)
        self._running: dict[int, _Running] = {}
        """By each of the two handles that are waited on."""
        self._imported: set[str] = set()

    def serve(self) -> list[int]:
        """Fork until the client is gone, and what was forked for it. In a forked process: the handles of its job."""
        while self._selector.get_map():
            # One at a time: what is done may close handles whose numbers are used again.
            key = self._selector.select()[0][0]
            if key.fileobj is self._control:
                message, handles, _, _ = socket.recv_fds(self._control, _NAME_BYTES, HANDLES)
                if not message:
                    self._selector.unregister(self._control)
                elif self._fork(message.decode("ascii").strip(), handles):
                    return handles
                continue
            running = self._running[key.fd]
            if key.fd == running.ended:
                self._finish(running)
            else:
                self._selector.unregister(key.fd)
                del self._running[key.fd]
                _end_group(running)
        return []

    def _fork(self, what: str, handles: list[int]) -> bool:
        """Fork for a job; whether this is the forked process."""
        if what not in self._imported:
            _import(what)
            self._imported.add(what)
        process = -1
        with suppress(OSError):  # no room for a process: the client sees its handles closed
            process = os.fork() if len(handles) == HANDLES and threads() == 1 else -1
        if process == 0:
            end_with_parent(self._seen_as)
            os.setsid()
            return True
        if process > 0:
            client = socket.socket(fileno=handles.pop(1))
            running = _Running(process, os.pidfd_open(process), client)
            with suppress(OSError):  # the client is gone, which its socket will say
                socket.send_fds(client, [NUMBER.pack(process)], [running.ended])
            for handle in (running.ended, client.fileno()):
                self._selector.register(handle, selectors.EVENT_READ)
                self._running[handle] = running
        for handle in handles:
            os.close(handle)
        return False

    def _finish(self, running: _Running) -> None:
        """End the group of a process that has ended, and tell how it has."""
        _end_group(running)  # its number stays taken until it is waited for
        status = os.waitstatus_to_exitcode(os.waitpid(running.process, 0)[1])
        with suppress(OSError):
            running.client.sendall(NUMBER.pack(status))
        for handle in (running.ended, running.client.fileno()):
            if self._running.pop(handle, None) is not None:
                self._selector.unregister(handle)
        os.close(running.ended)
        running.client.close()


def _end_group(running: _Running) -> None:
    with suppress(ProcessLookupError):  # it has not made its group yet, and is alone
        os.killpg(running.process, signal.SIGKILL)
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(running.ended, signal.SIGKILL)


def _settle(handles: list[int]) -> Job:
    """Have a job's streams and no other handle; the job."""
    text, _, *streams = handles
    with os.fdopen(os.dup(text), "rb") as file:
        job = Job.from_json(file.read())
    for number, handle in enumerate(streams):
        os.dup2(handle, number)
    for handle in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208 - names only
        if handle > 2:
            with suppress(OSError):  # the listing's own is closed already
                os.close(handle)
    return job


def main() -> None:
    """Serve; in each forked process, do its job and end."""
    seen_as = _gather()
    handles = _Server(socket.socket(fileno=os.dup(_CONTROL)), seen_as).serve()
    if handles:
        run_job(_settle(handles))
    os._exit(0)


if __name__ == "__main__":
    main()
