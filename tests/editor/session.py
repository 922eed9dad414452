"""An editor session for tests: the real server process, spoken to as an editor would."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from lsprotocol import types
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

COMMAND = [sys.executable, "-m", "kernel_lineage", "serve", "--stdio"]
QUIET = {"check": "off"}
"""For tests that look at no check: it costs more than most answers."""
CARD_SECONDS = 120.0
"""How long a test waits for a card, also on a busy machine."""
LANGUAGES = {".cu": "cuda-cpp", ".cuh": "cuda-cpp", ".py": "python"}


class Session:
    """One editor, with documents open in it."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.edits: list[types.ApplyWorkspaceEditParams] = []
        self.registered: list[types.Registration] = []
        self.statuses: list[Any] = []
        self.hears_of_checks: Callable[[Any], None] = lambda params: None
        self.status_changed = asyncio.Event()
        self._versions: dict[str, int] = {}
        self._texts: dict[str, str] = {}

        @client.feature(types.WORKSPACE_APPLY_EDIT)
        def apply_edit(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            self.edits.append(params)
            return types.ApplyWorkspaceEditResult(applied=True)

        @client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def register_capability(params: types.RegistrationParams) -> None:
            self.registered.extend(params.registrations)

        @client.feature("klineage/status")
        def status(params: Any) -> None:
            self.statuses.append(params)
            self.status_changed.set()

        @client.feature("klineage/check")
        def check(params: Any) -> None:
            self.hears_of_checks(params)

    def open(self, path: Path, text: str | None = None) -> str:
        """Open a file, with another text than the disk's if one is given."""
        uri = path.as_uri()
        self._texts[uri] = path.read_text("utf-8") if text is None else text
        self._versions[uri] = 1
        item = types.TextDocumentItem(uri, LANGUAGES[path.suffix], 1, self._texts[uri])
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def replace(self, uri: str, old: str, new: str) -> None:
        """Edit a document: the first `old` becomes `new`."""
        before, _, after = self._texts[uri].partition(old)
        span = types.Range(_utf16(before), _utf16(before + old))
        self._texts[uri] = before + new + after
        self._versions[uri] += 1
        identifier = types.VersionedTextDocumentIdentifier(version=self._versions[uri], uri=uri)
        change = types.TextDocumentContentChangePartial(range=span, text=new)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))

    def save(self, uri: str) -> None:
        """Say that a document was saved."""
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))

    def close(self, uri: str) -> None:
        """Close a document."""
        self.client.text_document_did_close(
            types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
        )

    def close_all(self) -> None:
        """Close what is open, and forget what the editor was told."""
        for uri in list(self._texts):
            self.close(uri)
            del self._texts[uri]
        self.edits.clear()

    def position(self, uri: str, text: str) -> types.Position:
        """The position of the first occurrence of a text, in UTF-16 units."""
        return _utf16(self._texts[uri][: self._texts[uri].index(text)])

    async def hover(self, uri: str, text: str) -> types.Hover | None:
        """The hover on the first occurrence of a text."""
        params = types.HoverParams(types.TextDocumentIdentifier(uri), self.position(uri, text))
        return await self.client.text_document_hover_async(params)

    async def card(self, uri: str, text: str) -> str:
        """The Markdown of the hover on the first occurrence of a text."""
        hover = await self.hover(uri, text)
        assert hover is not None
        assert isinstance(hover.contents, types.MarkupContent)
        return hover.contents.value

    async def card_with(self, uri: str, text: str, words: str) -> str:
        """The card once it holds some words, which mining brings. Fails with the last card where they never come."""
        end = time.monotonic() + CARD_SECONDS
        while words not in (card := await self.card(uri, text)):
            statuses = [f"{status.state}: {status.message}" for status in self.statuses]
            assert time.monotonic() < end, (
                f"no {words!r} in {CARD_SECONDS:.0f} s; statuses {statuses}; the card: {card}"
            )
            with suppress(TimeoutError):
                await asyncio.wait_for(self.status_changed.wait(), 0.5)
            self.status_changed.clear()
        return card

    async def actions(
        self,
        uri: str,
        text: str,
        *,
        only: Sequence[str] | None = None,
        trigger: types.CodeActionTriggerKind = types.CodeActionTriggerKind.Automatic,
    ) -> list[types.CodeAction]:
        """The code actions at the first occurrence of a text."""
        at = self.position(uri, text)
        context = types.CodeActionContext(diagnostics=[], only=only, trigger_kind=trigger)
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), types.Range(at, at), context)
        answer = await self.client.text_document_code_action_async(params)
        return [action for action in answer or [] if isinstance(action, types.CodeAction)]

    async def command(self, command: str, *arguments: Any, token: str | None = None) -> Any:
        """Run a command of the server."""
        params = types.ExecuteCommandParams(command=command, arguments=list(arguments), work_done_token=token)
        return await self.client.workspace_execute_command_async(params)

    async def mined(self) -> Any:
        """Wait until mining has ended, well or not."""
        while not self.statuses or self.statuses[-1].state == "mining":
            await self.status_changed.wait()
            self.status_changed.clear()
        return self.statuses[-1]


@asynccontextmanager
async def session(
    workspace: Path,
    options: dict[str, Any] | None = None,
    encodings: Sequence[types.PositionEncodingKind] = (types.PositionEncodingKind.Utf16,),
    command: Sequence[str] = COMMAND,
) -> AsyncIterator[Session]:
    """An initialised session on a workspace that is trusted, unless the options say otherwise."""
    client = make_test_lsp_client()
    converter = client.protocol._converter
    # As it comes, lsprotocol takes an action that holds a command for a command.
    converter.register_structure_hook(
        types.Command | types.CodeAction, lambda action, _: converter.structure(action, types.CodeAction)
    )
    capabilities = client_capabilities("visual-studio-code")
    assert capabilities.general is not None
    capabilities.general.position_encodings = list(encodings)
    opened = Session(client)
    await client.start_io(*command)
    params = types.InitializeParams(
        capabilities=capabilities,
        workspace_folders=[types.WorkspaceFolder(workspace.as_uri(), workspace.name)],
        initialization_options={"trusted": True, **(options or {})},
    )
    await client.initialize_session(params)
    try:
        yield opened
    finally:
        await client.shutdown_session()
        await client.stop()


def _utf16(before: str) -> types.Position:
    line = before.rpartition("\n")[2]
    return types.Position(before.count("\n"), len(line.encode("utf-16-le")) // 2)
