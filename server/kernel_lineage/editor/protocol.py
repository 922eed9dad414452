"""pygls's protocol with our own documents, and commands that can be cancelled and report progress.

pygls keeps documents as strings whose lines end at form feeds too, and runs commands in a way that neither passes the
editor's progress token on nor cancels the coroutine; both are replaced here, the rest is pygls's.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from cattrs import transform_error
from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol, lsp_method

from kernel_gate.cleaning import cleaned, without_links

if TYPE_CHECKING:
    from kernel_lineage.editor.server import EditorServer

Command: TypeAlias = Callable[["EditorServer", types.ExecuteCommandParams], Awaitable[Any]]

log = logging.getLogger(__name__)


_EXACT = frozenset({"candidate", "changes", "href", "html", "id", "newText", "token", "uri"})
"""Fields that are addresses or text of a document: an editor shows none of them as words."""
_SENT_BACK = frozenset({"arguments", "data"})
"""Fields that come back to us as they are, but for a title: the extension shows it while their command runs."""
_WORDS = frozenset(
    {
        "about",
        "description",
        "label",
        "message",
        "passed",
        "reason",
        "skills",
        "spoken",
        "summary",
        "title",
        "tooltip",
    }
)
"""Fields in which editors make links of Markdown's; the other words are whole texts in Markdown, and ours."""


def _readable(value: Any, field: str = "", sent_back: bool = False) -> Any:
    """A message without invisible characters; an error without the traceback that pygls adds."""
    if field in _EXACT:
        return value
    sent_back = sent_back or field in _SENT_BACK
    if isinstance(value, dict):
        if field == "error":
            value = {name: part for name, part in value.items() if name != "data"}
        return {name: _readable(part, name, sent_back) for name, part in value.items()}
    if isinstance(value, list):
        return [_readable(part, field, sent_back) for part in value]
    if not isinstance(value, str) or (sent_back and field != "title"):
        return value
    return without_links(value) if field in _WORDS else cleaned(value, "terminal")


class EditorProtocol(LanguageServerProtocol):
    """Documents go to `EditorServer.documents`, commands are coroutines over the whole request."""

    _server: EditorServer

    def structure_message(self, data: dict[str, Any]) -> dict[str, Any]:
        """Nothing yet: pygls hands over every object of the JSON, and a message is read as a whole."""
        return data

    def handle_message(self, message: Any) -> None:
        """Read a message and hand it on. A request that cannot be read is answered with an error."""
        whole = message if isinstance(message, dict) else {}
        asks = "id" in whole and "method" in whole
        try:
            if whole.get("jsonrpc") != self.VERSION:
                raise JsonRpcInvalidRequest("this is no message of JSON-RPC 2.0")
            if asks and self._shutdown:
                raise JsonRpcInvalidRequest("the server is shutting down")
            if asks and self._workspace is None and whole["method"] != types.INITIALIZE:
                raise JsonRpcServerNotInitialized("the first request must be initialize")
            structured = self._structured(whole)
        except JsonRpcException as error:
            log.warning("a message was refused: %s", error)
            if asks or "method" not in whole:
                self.refuse(whole.get("id"), error)
            return
        super().handle_message(structured)

    def refuse(self, number: Any, error: JsonRpcException) -> None:
        """Answer a request with an error; `number` is None where the request's is not known."""
        answer = {
            "jsonrpc": self.VERSION,
            "id": number if isinstance(number, (int, str)) else None,
            "error": {"code": error.code, "message": error.message},
        }
        self._send_data(answer)

    def _send_data(self, data: Any) -> None:
        """Send a message in which nothing acts on a reader but what an editor must have exactly.

        Every message passes here, also pygls's own; a field that is new is cleaned.
        """
        super()._send_data(_readable(json.loads(json.dumps(data, default=self._serialize_message))))

    def _structured(self, message: dict[str, Any]) -> Any:
        """Raises `JsonRpcInvalidParams`, which names what is wrong."""
        try:
            return super().structure_message(message)
        except JsonRpcException as error:
            cause = error.__cause__
            messages = transform_error(cause) if cause is not None else [str(error)]
            raise JsonRpcInvalidParams("; ".join(messages)) from error

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """A document was opened: from now on its text is the editor's, not the disk's."""
        self._server.documents.open(params.text_document)
        self._server.workload_files.open(params.text_document)
        self._server.opened(params.text_document.uri)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """A document was edited."""
        documents, uri = self._server.documents, params.text_document.uri
        before = documents.current(uri)
        documents.change(params.text_document, params.content_changes)
        self._server.workload_files.change(uri, params.content_changes)
        after = documents.current(uri)
        if before is not None and after is not None:
            for listener in self._server.edited:
                listener(uri, before[1], after[1])

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """A document was closed."""
        self._server.documents.close(params.text_document.uri)
        self._server.workload_files.close(params.text_document.uri)
        for listener in self._server.closed:
            listener(params.text_document.uri)

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(  # type: ignore[override]  # a coroutine, as for any other handler
        self, params: types.ExecuteCommandParams
    ) -> Any:
        """Run one of our commands; cancelling the request cancels the coroutine."""
        command: Callable[[types.ExecuteCommandParams], Awaitable[Any]] | None
        command = self.fm.commands.get(params.command)
        if command is None:
            raise JsonRpcInvalidParams.of(ValueError(f"there is no command {params.command}"))
        return await command(params)
