"""Verdicts of one other machine, reached by the `ssh` of this one: `klineage judge` there answers what is sent.

Over the connection go the request (both programs, the workload, the options) and the files that the workload names.
The other machine has to run the same gate. Nothing of a repository is copied, and nothing is left there but its cache.
"""

from __future__ import annotations

import base64
import os
import queue
import re
import shlex
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import ValidationError

from kernel_gate.devices.base import DeviceError
from kernel_gate.fleet.answering import Hello, Question, Reply
from kernel_gate.fleet.pool import Pool
from kernel_gate.fleet.travelling import ClusterError, companions, gate_fingerprint
from kernel_gate.processes.closing import Closing
from kernel_gate.processes.group import kill_group
from kernel_gate.processes.lines import Lines
from kernel_gate.processes.python import start
from kernel_gate.processes.surroundings import environment, find_program
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.reuse import inputs_hash_of
from kernel_gate.verdict import Stage, Verdict
from kernel_gate.worker import Progress, without_answer

SCHEME = "ssh://"
_NAME = re.compile(r"[\w.][\w.-]*\Z")
"""The name of a host or a user; what begins with a dash would be an option of ssh."""
_BANNER_LINES = 200
"""Lines that a login may write before `klineage judge` does."""
_HELLO_SECONDS = 60.0
_ANSWER_SECONDS = 60.0
"""After a verdict's time is up, until the other machine is given up."""
_POLL_SECONDS = 0.1
_LAST_WORD_SECONDS = 1.0
_OPTIONS = (
    *("-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=15"),
    *("-o", "ForwardAgent=no", "-o", "ClearAllForwardings=yes"),
)
"""No question is asked, since nobody could answer; a connection that is lost ends within a minute."""


@dataclass(frozen=True, slots=True)
class Host:
    """A machine with the same `klineage`."""

    name: str
    """As `ssh` takes it: `gpu-box`, `me@gpu-box`, or a name of its configuration."""
    port: int | None = None
    program: str = "klineage"
    """Its path there; by default, it is looked up."""

    @classmethod
    def parse(cls, address: str) -> Host:
        """`ssh://[user@]host[:port][/path/to/klineage]`. Raises `ClusterError`."""
        wrong = ClusterError(
            f"{address} is no address: write ssh://[user@]host[:port][/path/to/klineage], such as "
            "ssh://gpu-box/home/me/venv/bin/klineage"
        )
        try:
            parts = urlsplit(address)
            user, host, port = parts.username, parts.hostname, parts.port
        except ValueError as error:
            raise wrong from error
        if not all(name is not None and _NAME.match(name) for name in (host, user or "me")):
            raise wrong
        if parts.password or parts.query or parts.fragment:
            raise wrong
        # Names of ssh's configuration keep their case, which `hostname` does not.
        place = parts.netloc.rpartition("@")[2]
        host = place.rpartition(":")[0] if port is not None else place
        return cls(f"{user}@{host}" if user else host, port, parts.path.rstrip("/") or "klineage")

    def command(self, ssh: str) -> list[str]:
        """The words that start `klineage judge` there."""
        port = [] if self.port is None else ["-p", str(self.port)]
        return [ssh, *_OPTIONS, *port, "--", self.name, f"{shlex.quote(self.program)} judge"]


class SshPool(Closing, Pool):
    """A pool of one machine, one verdict at a time. A context manager."""

    def __init__(self, address: str) -> None:
        self._host = Host.parse(address)
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: Lines | None = None
        self._last_words: list[str] = []
        self._hears: threading.Thread | None = None
        self._turn = threading.Lock()

    @property
    def size(self) -> int:
        """One connection."""
        return 1

    def judge(
        self,
        request: GateRequest,
        *,
        timeout: float = 600.0,
        on_progress: Progress | None = None,
        cancelled: Callable[[], bool] | None = None,
        on_stage: Callable[[Stage], None] | None = None,  # noqa: ARG002 - told with the verdict
    ) -> Verdict:
        """The other machine's verdict.

        Raises `DeviceError` when it lacks the device, `ClusterError` when it cannot be reached, runs another gate, or a
        file cannot travel.
        """
        files = {name: base64.b64encode(data).decode() for name, data in companions(request).items()}
        sent = request.model_copy(update={"folder": None, "finished": (), "tell_stages": False})
        with self._turn:
            process = self._connected()
            question = Question(request=sent.model_dump_json(), files=files, timeout=timeout)
            answered = False
            try:
                self._send(process, question)
                verdict = self._answer(request, timeout, on_progress, cancelled)
                answered = True
            finally:
                if not answered:
                    self.close()
        expected = inputs_hash_of(request)
        if verdict.inputs_hash != expected:
            raise ClusterError(
                f"the verdict of {self._host.name} is about other inputs than those that were sent"
            )
        return verdict

    def close(self) -> None:
        """End the connection."""
        if self._lines is not None:
            self._lines.close()
            self._lines = None
        if self._process is not None:
            kill_group(self._process)
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                if pipe is not None:
                    with suppress(BrokenPipeError):
                        pipe.close()
            self._process = None

    def _connected(self) -> subprocess.Popen[bytes]:
        """The connection; a new one when there is none, once the other machine has said which gate it runs."""
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        ssh = find_program("ssh")
        if ssh is None:
            raise ClusterError("there is no ssh on PATH: install an OpenSSH client")
        agent = os.environ.get("SSH_AUTH_SOCK")  # for ssh alone: no other process of ours is given it
        env = {**environment(), **({"SSH_AUTH_SOCK": agent} if agent else {})}
        pipe = subprocess.PIPE
        process = start(self._host.command(ssh), env=env, stdin=pipe, stdout=pipe, stderr=pipe)
        assert process.stdout is not None
        self._process, self._lines, self._last_words = process, Lines(process.stdout), []
        self._hears = threading.Thread(target=_keep_last, args=(process, self._last_words), daemon=True)
        self._hears.start()
        try:
            self._greet()
        except BaseException:
            self.close()
            raise
        return process

    def _greet(self) -> None:
        deadline = time.monotonic() + _HELLO_SECONDS
        for _ in range(_BANNER_LINES):
            line = self._next(deadline, None)
            if line is None:
                break
            with suppress(ValidationError):
                hello = Hello.model_validate_json(line)
                if hello.gate != gate_fingerprint():
                    raise ClusterError(
                        f"{self._host.name} runs another gate ({hello.version}, {hello.gate[:12]}) than this machine "
                        f"({gate_fingerprint()[:12]}): install the same version of Kernel Lineage there"
                    )
                return
        host = self._host
        option, suffix = ("", "") if host.port is None else (f"-p {host.port} ", f":{host.port}")
        raise ClusterError(
            f"{host.name} did not start `{host.program} judge`{self._last_word()}; `ssh {option}{host.name} "
            f"{host.program} --version` has to work without a question. Where it is can be said: "
            f"ssh://{host.name}{suffix}/path/to/klineage"
        )

    def _send(self, process: subprocess.Popen[bytes], question: Question) -> None:
        """Write it beside the waiting for an answer: a machine that reads nothing is given up like a silent one."""
        line = question.model_dump_json().encode() + b"\n"
        threading.Thread(target=_write, args=(process, line), daemon=True).start()

    def _answer(
        self,
        request: GateRequest,
        timeout: float,
        on_progress: Progress | None,
        cancelled: Callable[[], bool] | None,
    ) -> Verdict:
        at = "build"
        deadline = time.monotonic() + timeout + _ANSWER_SECONDS
        while True:
            try:
                line = self._next(deadline, cancelled)
            except InterruptedError:
                return without_answer(request, at, Reason.CANCELLED, "cancelled")
            if line is None:
                late = time.monotonic() > deadline
                how = f"gave no verdict in {timeout:g} s" if late else f"was lost{self._last_word()}"
                return without_answer(request, at, Reason.WORKER_DIED, f"the machine {self._host.name} {how}")
            try:
                reply = Reply.model_validate_json(line)
            except ValidationError as error:
                raise ClusterError(f"{self._host.name} answers what is no answer: {line[:80]!r}") from error
            if reply.missing is not None:
                raise DeviceError(f"{self._host.name}: {reply.missing}", code=Reason.DEVICE_MISSING)
            if reply.refused is not None:
                raise ClusterError(f"{self._host.name}: {reply.refused}")
            if reply.verdict is not None:
                return reply.verdict
            if reply.progress is not None:
                at = reply.progress.stage
                if on_progress is not None:
                    on_progress(at, reply.progress.what, reply.progress.share)

    def _next(self, deadline: float, cancelled: Callable[[], bool] | None) -> bytes | None:
        """The next line; None at the end or when the time is up. Raises `InterruptedError` when it was cancelled."""
        while time.monotonic() < deadline:
            if cancelled is not None and cancelled():
                raise InterruptedError
            # What ssh leaves in the background, as a shared connection, may hold the pipe open.
            ended = self._process is None or self._process.poll() is not None
            try:
                return self._lines.next(_POLL_SECONDS) if self._lines is not None else None
            except queue.Empty:
                if ended:
                    return None
        return None

    def _last_word(self) -> str:
        """What ssh said last; that may come a moment after its end."""
        if self._hears is not None:
            self._hears.join(_LAST_WORD_SECONDS)
        return f": {self._last_words[-1]}" if self._last_words else ""


def _write(process: subprocess.Popen[bytes], line: bytes) -> None:
    assert process.stdin is not None
    with suppress(OSError, ValueError):  # it has ended, which its answer will say
        process.stdin.write(line)
        process.stdin.flush()


def _keep_last(process: subprocess.Popen[bytes], into: list[str]) -> None:
    assert process.stderr is not None
    with suppress(ValueError):  # closed
        while line := process.stderr.readline(1 << 16):
            into[:] = [line.decode("utf-8", "replace").strip() or "nothing"]
