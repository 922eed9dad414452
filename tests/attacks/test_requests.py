"""Requests that are wrong get an error, whatever is wrong with them, and the server goes on."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest

COMMAND = [sys.executable, "-I", "-m", "kernel_lineage", "serve", "--stdio"]
INVALID_REQUEST, INVALID_PARAMS, NOT_INITIALIZED, PARSE_ERROR = -32600, -32602, -32002, -32700


class Wire:
    """The server's process, and the bytes that go to and fro."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._number = 0

    def send(self, message: Any) -> None:
        self.send_bytes(message if isinstance(message, bytes) else json.dumps(message).encode())

    def send_bytes(self, body: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def receive(self) -> dict[str, Any]:
        """The next answer; notifications are passed over."""
        assert self._process.stdout is not None
        while True:
            headers = await asyncio.wait_for(self._process.stdout.readuntil(b"\r\n\r\n"), 30)
            length = int(headers.split(b":")[1].split(b"\r")[0])
            message = json.loads(await self._process.stdout.readexactly(length))
            if "method" not in message:
                return message

    async def ask(self, method: str, params: Any) -> dict[str, Any]:
        self._number += 1
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        answer = await self.receive()
        assert answer["id"] == self._number
        return answer

    async def start(self) -> None:
        answer = await self.ask("initialize", {"capabilities": {}, "processId": None, "rootUri": None})
        assert "result" in answer
        self.send({"jsonrpc": "2.0", "method": "initialized", "params": {}})

    async def lives(self, uri: str) -> None:
        """The server answers what is right."""
        at = {"textDocument": {"uri": uri}, "position": {"line": 1, "character": 18}}
        assert "scale" in (await self.ask("textDocument/hover", at))["result"]["contents"]["value"]


@pytest.fixture
async def wire(scale):
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    yield Wire(process)
    process.kill()
    await process.wait()


async def opened(wire: Wire, scale) -> str:
    await wire.start()
    item = {"uri": scale.as_uri(), "languageId": "cuda-cpp", "version": 1, "text": scale.read_text("utf-8")}
    wire.send({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": item}})
    return scale.as_uri()


async def test_wrong_parameters_get_an_error(wire, scale):
    uri = await opened(wire, scale)
    document, zero = {"uri": uri}, {"line": 0, "character": 0}
    positions = [{"line": -1, "character": 0}, {"line": 0, "character": -7}, {"line": 2**40, "character": 0}]
    positions += [{"line": "1", "character": None}, {}, None, []]
    wrong = [("textDocument/hover", {"textDocument": document, "position": p}) for p in positions]
    context, far = {"diagnostics": []}, {"uri": uri, "line": 2**33, "character": 0}
    wrong += [
        (
            "textDocument/codeAction",
            {"textDocument": document, "range": {"start": zero, "end": p}, "context": context},
        )
        for p in positions
    ]
    wrong += [
        ("textDocument/hover", p) for p in (None, [], {}, 3, "x", {"textDocument": None, "position": zero})
    ]
    wrong += [
        ("workspace/executeCommand", {"command": name, "arguments": arguments})
        for name in ("klineage.check", "klineage.lineage", "klineage.apply", "klineage.applyAccepted")
        for arguments in (None, [], [None], [{}], [[]], [{"uri": uri, "line": -1, "character": 0}], ["x"])
    ]
    wrong += [
        ("workspace/executeCommand", {"command": "klineage.check", "arguments": [far]}),
        ("workspace/executeCommand", {"command": "rm"}),
        ("workspace/executeCommand", {"command": None}),
        ("codeAction/resolve", None),
    ]  # fmt: skip
    for method, params in wrong:
        answer = await wire.ask(method, params)
        assert answer.get("error", {}).get("code") == INVALID_PARAMS, (method, params, answer)
        assert "Traceback" not in answer["error"]["message"]
    await wire.lives(uri)


async def test_a_place_behind_the_end_is_the_end_as_the_protocol_says(wire, scale):
    uri = await opened(wire, scale)
    for position in ({"line": 10**6, "character": 0}, {"line": 1, "character": 2**31 - 1}):
        answer = await wire.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": position})
        assert "error" not in answer
        await wire.lives(uri)


async def test_what_is_no_message_gets_an_error_without_a_number(wire, scale):
    uri = await opened(wire, scale)
    bodies: list[tuple[Any, int]] = [
        (b"{", PARSE_ERROR),
        (b"\xff\xfe", PARSE_ERROR),
        (b"[" * 200_000, PARSE_ERROR),
        ([], INVALID_REQUEST),
        (3, INVALID_REQUEST),
        ({}, INVALID_REQUEST),
        ({"jsonrpc": "1.0", "method": "textDocument/hover", "id": {}}, INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": [], "method": "textDocument/hover", "params": {}}, INVALID_PARAMS),
    ]
    for body, code in bodies:
        wire.send(body)
        answer = await wire.receive()
        assert (answer["id"], answer["error"]["code"]) == (None, code), body
    await wire.lives(uri)


async def test_notifications_that_are_wrong_do_no_harm(wire, scale):
    uri = await opened(wire, scale)
    for method, params in (
        ("textDocument/didOpen", {"textDocument": {"uri": 1}}),
        ("textDocument/didOpen", None),
        ("textDocument/didChange", {"textDocument": {"uri": uri, "version": "x"}, "contentChanges": 1}),
        ("textDocument/didSave", {}),
        ("textDocument/didClose", []),
        ("$/cancelRequest", {"id": "none"}),
        ("$/cancelRequest", None),
        ("no/such", {"jsonrpc": "2.0", "id": 7, "method": "textDocument/hover"}),
    ):
        wire.send({"jsonrpc": "2.0", "method": method, "params": params})
    await wire.lives(uri)


async def test_an_object_within_parameters_that_looks_like_a_message_is_none(wire, scale):
    uri = await opened(wire, scale)
    inner = {"jsonrpc": "2.0", "id": 99, "method": "shutdown"}
    answer = await wire.ask("codeAction/resolve", {"title": "x", "data": inner})
    assert answer["result"]["title"] == "x"
    await wire.lives(uri)


async def test_before_and_after_a_session_requests_get_an_error(wire, scale):
    at = {"textDocument": {"uri": scale.as_uri()}, "position": {"line": 0, "character": 0}}
    assert (await wire.ask("textDocument/hover", at))["error"]["code"] == NOT_INITIALIZED
    await opened(wire, scale)
    assert "error" not in await wire.ask("shutdown", None)
    assert (await wire.ask("textDocument/hover", at))["error"]["code"] == INVALID_REQUEST
