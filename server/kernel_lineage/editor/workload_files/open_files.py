"""The workload files that are open in the editor, and what is wrong with each: shown when the typing pauses."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import to_fs_path

from kernel_lineage.editor.text import Text
from kernel_lineage.workloads.saved import FOLDER

if TYPE_CHECKING:
    from kernel_lineage.editor.server import EditorServer
    from kernel_lineage.editor.workload_files.meant import Meant

PAUSE = 0.3
"""Seconds without an edit after which a file is read."""
LONGEST = 64 << 10
"""Bytes of a file that is looked through at each pause; a drafted workload has some thousands."""
TOO_LONG = f"This file has more than {LONGEST >> 10} KB, and is not looked through; `klineage workload check` reads it."
_TOP = types.Range(types.Position(0, 0), types.Position(0, 1))

log = logging.getLogger(__name__)


class WorkloadFiles:
    """By URI, the text of each as it is in the editor."""

    def __init__(self, server: EditorServer) -> None:
        self._server = server
        self._texts: dict[str, Text] = {}
        self._pauses: dict[str, asyncio.TimerHandle] = {}
        self._reading: set[asyncio.Task[None]] = set()

    def text(self, uri: str) -> Text | None:
        """The text of a workload file that is open; None for one that is too long to be looked through."""
        text = self._texts.get(uri)
        return text if text is not None and len(text.data) <= LONGEST else None

    def open(self, item: types.TextDocumentItem) -> None:
        """Take a document over from the editor. One that is no workload is not kept."""
        path = to_fs_path(item.uri)
        if path is not None and is_workload(Path(path)):
            self._texts[item.uri] = Text.of(item.text, self._server.documents.encoding)
            self._later(item.uri, 0.0)

    def change(self, uri: str, changes: Sequence[types.TextDocumentContentChangeEvent]) -> None:
        """Make the editor's edits, each in the text that the one before it left."""
        if uri in self._texts:
            for change in changes:
                self._texts[uri], *_ = self._texts[uri].changed(change)
            self._later(uri, PAUSE)

    def close(self, uri: str) -> None:
        """Forget a document."""
        if self._texts.pop(uri, None) is not None:
            self._pauses.pop(uri).cancel()
            self._publish(uri, [])

    async def meant(self, uri: str) -> Meant:
        """The kernel that a workload is about."""
        from kernel_lineage.editor.workload_files.meant import meant_by

        path, text = Path(to_fs_path(uri) or ""), self._texts[uri]
        loop = asyncio.get_running_loop()
        content = text.data.decode("utf-8", "replace")
        return await loop.run_in_executor(self._server.documents.thread, meant_by, path, content)

    def _later(self, uri: str, seconds: float) -> None:
        if (pause := self._pauses.pop(uri, None)) is not None:
            pause.cancel()
        self._pauses[uri] = asyncio.get_running_loop().call_later(seconds, self._read, uri)

    def _read(self, uri: str) -> None:
        task = asyncio.get_running_loop().create_task(self._show(uri))
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)

    async def _show(self, uri: str) -> None:
        from kernel_lineage.editor.workload_files.problems import problems

        text = self.text(uri)
        if text is None:
            if uri in self._texts:
                self._publish(uri, [types.Diagnostic(_TOP, TOO_LONG, types.DiagnosticSeverity.Warning)])
            return
        meant = await self.meant(uri)
        if self.text(uri) is text:  # else a newer one is read soon
            self._publish(uri, problems(Path(to_fs_path(uri) or ""), text, meant))

    def _publish(self, uri: str, markers: list[types.Diagnostic]) -> None:
        self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, markers))


def is_workload(path: Path) -> bool:
    """Whether a file lies where workloads do."""
    return path.suffix == ".toml" and path.parent.parts[-2:] == FOLDER.parts
