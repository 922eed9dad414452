"""A local server that speaks the streaming chat protocol, with behaviours to order. Loopback only."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    """One behaviour: what the server does with one request."""

    text: str = ""
    status: int = 200
    error: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    finish: str | None = "stop"
    refusal: str | None = None
    tokens: int | None = 100
    cut: bool = False
    """Close the connection in the middle of the answer."""
    stall: bool = False
    """Say nothing until the server is closed."""
    raw: bytes | None = None
    """These bytes instead of chunks."""


class ProtocolServer:
    """Gives its replies in order, the last one again and again, and keeps the requests."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.requests: list[dict[str, Any]] = []
        self.authorisations: list[str | None] = []
        self.closing = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def _next(self) -> Reply:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                server.requests.append(json.loads(body))
                server.authorisations.append(self.headers.get("Authorization"))
                server.answer(self, server._next())

            def log_message(self, *arguments: object) -> None:
                """Keep the test output clean."""

        return Handler

    def answer(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        if reply.stall:
            self.closing.wait()
            handler.close_connection = True
            return
        if reply.status != 200:
            body = json.dumps({"error": {"message": reply.error or f"status {reply.status}"}}).encode()
            handler.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
            return
        stream = reply.raw if reply.raw is not None else b"".join(self._chunks(reply))
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Content-Length", str(len(stream)))
        handler.end_headers()
        handler.wfile.write(stream[: len(stream) // 2] if reply.cut else stream)
        handler.close_connection = True

    def _chunks(self, reply: Reply) -> Iterator[bytes]:
        def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
            document = {
                "id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more,
            }  # fmt: skip
            return b"data: " + json.dumps(document).encode() + b"\n\n"

        for start in range(0, len(reply.text), 400):
            yield chunk({"content": reply.text[start : start + 400]})
        if reply.refusal:
            yield chunk({"refusal": reply.refusal})
        if reply.finish:
            usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": reply.tokens}
            yield chunk({}, reply.finish, **({"usage": usage} if reply.tokens is not None else {}))
            yield b"data: [DONE]\n\n"

    @contextmanager
    def running(self) -> Iterator[ProtocolServer]:
        self._thread.start()
        try:
            yield self
        finally:
            self.closing.set()
            self._http.shutdown()
            self._http.server_close()
            self._thread.join()
