"""The server of tools over stdin and stdout; a line that is no message gets an error, as JSON-RPC asks, and no more.

The SDK drops such a line without a word: what reads its messages is given the rest, and the error is written here.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError


async def serve(server: MCPServer[Any]) -> None:
    """Answer what comes over stdin until it ends."""
    into, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    async with stdio_server() as (lines, answers), anyio.create_task_group() as group:

        async def pass_on() -> None:
            async with into:
                async for line in lines:
                    if not isinstance(line, Exception):
                        await into.send(line)
                    elif (refusal := _refusal(line)) is not None:
                        await answers.send(SessionMessage(refusal))

        group.start_soon(pass_on)
        with suppress(anyio.BrokenResourceError):
            low = server._lowlevel_server  # noqa: SLF001 - as MCPServer.run_stdio_async does
            await low.run(messages, answers, low.create_initialization_options())
        group.cancel_scope.cancel()


def _refusal(error: Exception) -> JSONRPCError | None:
    """The answer to a line that is no message, which names no request; None to an empty line."""
    errors = error.errors() if isinstance(error, ValidationError) else []
    if any(isinstance(one["input"], str) and not one["input"].strip() for one in errors):
        return None
    if not errors or any(one["type"] == "json_invalid" for one in errors):
        problem = ErrorData(code=PARSE_ERROR, message="this line is no JSON; a message is one line of JSON")
    else:
        problem = ErrorData(code=INVALID_REQUEST, message="this line is no message of JSON-RPC 2.0")
    return JSONRPCError(jsonrpc="2.0", id=None, error=problem)
