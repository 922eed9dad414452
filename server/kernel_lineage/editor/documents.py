"""The open documents: what the editor shows, parsed. Answers are made from immutable snapshots.

Parsing runs in one thread of its own, so that a large file keeps no message waiting; an edit is parsed when the typing
pauses or when an answer needs it, whichever comes first.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from lsprotocol import types
from pygls.uris import to_fs_path

from kernel_lineage.editor.text import Text
from kernel_lineage.kernels.document import OpenDocument
from kernel_lineage.kernels.reading import language_of, read
from kernel_lineage.kernels.source import Kernel, Language, SourceFile

PAUSE = 0.15
"""Seconds without an edit after which a document is parsed unasked."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Snapshot:
    """One document at one version, parsed."""

    uri: str
    path: Path
    version: int
    text: Text
    source: SourceFile

    @cached_property
    def sha256(self) -> str:
        """The hash of the text as UTF-8."""
        return hashlib.sha256(self.text.data).hexdigest()

    @cached_property
    def around(self) -> bytes:
        """The text without its kernels: what they share."""
        return self.source.around_kernels()

    def kernel_at(self, offset: int) -> Kernel | None:
        """The kernel that a byte offset lies in."""
        return next((k for k in self.source.kernels if k.span.start <= offset <= k.span.end), None)


@dataclass(frozen=True, slots=True)
class _Edit:
    start: int
    end: int
    new: bytes


@dataclass
class _Open:
    uri: str
    path: Path
    language: Language
    version: int
    text: Text
    edits: list[_Edit] = field(default_factory=list)
    """Made to `text`, but not yet to `parsed`."""
    parsed: OpenDocument | None = None
    """Touched in the parsing thread only."""
    snapshot: Snapshot | None = None
    parsing: asyncio.Task[Snapshot] | None = None
    pause: asyncio.TimerHandle | None = None


class Documents:
    """The documents that the editor has open, by URI."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="parse")
        self.encoding: types.PositionEncodingKind = types.PositionEncodingKind.Utf16

    def open(self, item: types.TextDocumentItem) -> None:
        """Take a document over from the editor. One that cannot hold a kernel is not kept."""
        self.close(item.uri)
        path = to_fs_path(item.uri)
        language = _language(item.language_id, path or "")
        if path is None or language is None:
            return
        text = Text.of(item.text, self.encoding)
        document = _Open(item.uri, Path(path), language, item.version, text)
        self._open[item.uri] = document
        self._parse_after_pause(document)

    def change(
        self,
        identifier: types.VersionedTextDocumentIdentifier,
        changes: Sequence[types.TextDocumentContentChangeEvent],
    ) -> None:
        """Make the editor's edits, each in the text that the one before it left."""
        document = self._open.get(identifier.uri)
        if document is None:
            return
        for change in changes:
            document.text, start, end, new = document.text.changed(change)
            document.edits.append(_Edit(start, end, new))
        document.version = identifier.version
        self._parse_after_pause(document)

    @property
    def uris(self) -> tuple[str, ...]:
        """The documents that are open."""
        return tuple(self._open)

    def close(self, uri: str) -> None:
        """Forget a document."""
        document = self._open.pop(uri, None)
        if document is not None and document.pause is not None:
            document.pause.cancel()

    def current(self, uri: str) -> tuple[int, Text] | None:
        """Version and text as they are now, parsed or not; None when the document is not open."""
        document = self._open.get(uri)
        return None if document is None else (document.version, document.text)

    async def snapshot(self, uri: str) -> Snapshot | None:
        """The document as it is now, parsed; None when it is not open."""
        document = self._open.get(uri)
        if document is None:
            return None
        while document.snapshot is None or document.snapshot.text is not document.text:
            # Shielded: a request that is cancelled must not take the parse of the others with it.
            await asyncio.shield(self._start_parsing(document))
        return document.snapshot

    def shutdown(self) -> None:
        """End the thread."""
        self.thread.shutdown(wait=False, cancel_futures=True)

    def _parse_after_pause(self, document: _Open) -> None:
        if document.pause is not None:
            document.pause.cancel()
        loop = asyncio.get_running_loop()
        document.pause = loop.call_later(PAUSE, self._start_parsing, document)

    def _start_parsing(self, document: _Open) -> asyncio.Task[Snapshot]:
        """The parse that is under way, or a new one."""
        if document.parsing is None or document.parsing.done():
            document.parsing = asyncio.get_running_loop().create_task(self._parse(document))
        return document.parsing

    async def _parse(self, document: _Open) -> Snapshot:
        version, text = document.version, document.text
        edits, document.edits = document.edits, []
        loop = asyncio.get_running_loop()
        source = await loop.run_in_executor(self.thread, _parse, document, text.data, edits)
        document.snapshot = Snapshot(document.uri, document.path, version, text, source)
        return document.snapshot


def _parse(document: _Open, data: bytes, edits: Sequence[_Edit]) -> SourceFile:
    """In the parsing thread. A Python file without kernels is not read; one with CUDA C++ in strings is, as a whole."""
    if document.language is Language.TRITON and (holds := language_of("x.py", data)) is not Language.TRITON:
        document.parsed = None
        return SourceFile(Language.TRITON, data, (), (), ()) if holds is None else read(data, holds)
    if document.parsed is None:
        document.parsed = OpenDocument(data, document.language)
    else:
        for edit in edits:
            document.parsed.edit(edit.start, edit.end, edit.new)
    return document.parsed.source


def _language(language_id: str, path: str) -> Language | None:
    if language_id in {"cuda-cpp", "cuda"} or path.endswith((".cu", ".cuh")):
        return Language.CUDA
    if language_id == "python" or path.endswith(".py"):
        return Language.TRITON
    return None
