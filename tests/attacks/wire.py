"""A plain editor for attacks: the server's process and its messages, without asyncio and without a library.

What the server asks of its editor is answered and kept, so that an attack can look at it afterwards.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

SERVE = [sys.executable, "-I", "-m", "kernel_lineage", "serve", "--stdio"]


class ServerEndedError(Exception):
    """The server's process has ended, or does not answer."""


class Editor:
    """One editor with one server. `asked` holds the server's requests, `notified` its notifications."""

    def __init__(
        self, folder: Path, env: Mapping[str, str] | None = None, stderr: int = subprocess.DEVNULL
    ) -> None:
        self.process = subprocess.Popen(
            SERVE,
            cwd=folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
        )
        self.folder = folder
        self.asked: list[dict[str, Any]] = []
        self.notified: list[dict[str, Any]] = []
        self.received: list[bytes] = []
        """Every message of the server, when `keeps` is set."""
        self.keeps = False
        self._answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._number = 0
        self._sending = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, message: Any) -> None:
        """Send a message, or bytes as they are. Raises `ServerEndedError`."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.send_raw(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def send_raw(self, data: bytes) -> None:
        """Send bytes without a header. Raises `ServerEndedError`."""
        assert self.process.stdin is not None
        try:
            with self._sending:
                self.process.stdin.write(data)
                self.process.stdin.flush()
        except (BrokenPipeError, ValueError) as error:
            raise ServerEndedError from error

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Any, seconds: float = 60) -> dict[str, Any]:
        """The whole answer to a request. Raises `ServerEndedError`."""
        self._number += 1
        number = self._number
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while True:
            answer = self.answer(seconds)
            if answer.get("id") == number:
                return answer

    def answer(self, seconds: float = 60) -> dict[str, Any]:
        """The next answer, to whatever request. Raises `ServerEndedError`."""
        try:
            answer = self._answers.get(timeout=seconds)
        except queue.Empty as error:
            raise ServerEndedError(f"no answer in {seconds:g} s") from error
        if answer is None:
            self._answers.put(None)
            raise ServerEndedError("the server has ended")
        return answer

    def start(self, **options: Any) -> dict[str, Any]:
        """Begin a session on the folder, with these `initializationOptions`."""
        root = self.folder.as_uri()
        params = {
            "processId": None,
            "rootUri": root,
            "capabilities": {
                "window": {"workDoneProgress": True},
                "textDocument": {
                    "codeAction": {
                        "dataSupport": True,
                        "resolveSupport": {"properties": ["edit"]},
                        "codeActionLiteralSupport": {
                            "codeActionKind": {"valueSet": ["refactor", "quickfix"]}
                        },
                    },
                    "publishDiagnostics": {"relatedInformation": True},
                },
            },
            "workspaceFolders": [{"uri": root, "name": self.folder.name}],
            "initializationOptions": options,
        }
        answer = self.ask("initialize", params)
        self.notify("initialized", {})
        return answer

    def open(self, path: Path, text: str | None = None) -> str:
        """Open a document; gives its address."""
        language = "python" if path.suffix == ".py" else "cuda-cpp"
        text = path.read_text("utf-8") if text is None else text
        item = {"uri": path.as_uri(), "languageId": language, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return path.as_uri()

    def hover(self, uri: str, line: int, character: int) -> dict[str, Any]:
        """The whole answer to a hover."""
        at = {"line": line, "character": character}
        return self.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": at})

    def actions(self, uri: str, line: int, character: int) -> list[dict[str, Any]]:
        """The code actions at a place."""
        at = {"line": line, "character": character}
        params = {
            "textDocument": {"uri": uri},
            "range": {"start": at, "end": at},
            "context": {"diagnostics": [], "triggerKind": 1},
        }
        return self.ask("textDocument/codeAction", params).get("result") or []

    def command(self, name: str, *arguments: Any, seconds: float = 120) -> dict[str, Any]:
        """The whole answer to a command."""
        params = {"command": name, "arguments": list(arguments), "workDoneToken": f"token{self._number}"}
        return self.ask("workspace/executeCommand", params, seconds)

    def mined(self, seconds: float) -> str:
        """How the background work on the repository ended: `ready`, or what went wrong."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            states = [n["params"]["state"] for n in self.notified if n["method"] == "klineage/status"]
            if states and states[-1] != "mining":
                return str(states[-1])
            time.sleep(0.05)
        return "mining"

    def close(self) -> None:
        """End the server as an editor that goes away does, and wait for it."""
        try:
            self.ask("shutdown", None, 10)
            self.notify("exit", None)
            self.process.wait(10)
        except (ServerEndedError, subprocess.TimeoutExpired):
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while (line := stream.readline()).strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            body = stream.read(length) if length else b""
            if not body:
                self._answers.put(None)
                return
            if self.keeps:
                self.received.append(body)
            message = json.loads(body)
            if "method" not in message:
                self._answers.put(message)
            elif "id" in message:
                self.asked.append(message)
                result = {"applied": True} if message["method"] == "workspace/applyEdit" else None
                try:
                    self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
                except ServerEndedError:
                    return
            else:
                self.notified.append(message)
