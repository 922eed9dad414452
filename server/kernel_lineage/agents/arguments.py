"""A tool whose arguments are refused in words: what it does not have, what is missing, what it takes."""

from __future__ import annotations

import difflib
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from pydantic import ValidationError

_MOST = 5


class CheckedTool(Tool):
    """Refuses arguments that do not fit with a sentence for each, and none of what was sent."""

    async def run(self, arguments: dict[str, Any], *context: Any, **options: Any) -> Any:
        """Raises `ToolError` with those sentences, or as the SDK's tool does."""
        try:
            self.fn_metadata.validate_arguments(arguments)
        except ValidationError as error:
            sentences = [
                self._sentence(one["type"], one["loc"], one["msg"]) for one in error.errors()[:_MOST]
            ]
            raise ToolError(f"{self.name}: {'; '.join(sentences)}. It takes {self._takes()}.") from None
        return await super().run(arguments, *context, **options)

    def _sentence(self, kind: str, place: tuple[int | str, ...], message: str) -> str:
        name = ".".join(map(str, place))[:60]
        if kind == "missing":
            return f"`{name}` is missing"
        if kind == "extra_forbidden":
            near = difflib.get_close_matches(name, self.parameters["properties"], 1)
            return f"it has no argument `{name}`" + (f", did you mean `{near[0]}`?" if near else "")
        return f"`{name}`: {message[0].lower()}{message[1:]}"

    def _takes(self) -> str:
        needed = self.parameters.get("required", [])
        names = [
            f"`{name}`" + (" (needed)" if name in needed else "") for name in self.parameters["properties"]
        ]
        return ", ".join(names) or "no arguments"
