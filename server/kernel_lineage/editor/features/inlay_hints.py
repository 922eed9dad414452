"""Hints beside the code, for who asked for them: the figures that were measured of a kernel as it stands."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.editor.server import EditorServer
from kernel_lineage.editor.soon import Soon
from kernel_lineage.kernels.naming import own_name
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.learning.check_document import CountedDocument

_SECTORS = "Sectors of 32 bytes that an access of a warp to global memory touches"
_WAVEFRONTS = "Wavefronts that an access of a warp to shared memory takes: 1 without a bank conflict"


def register(server: EditorServer) -> None:
    """Add the feature to the server."""

    def refresh() -> None:
        server.workspace_inlay_hint_refresh(None)

    soon = Soon(refresh)

    def changed() -> None:
        workspace = server.client_capabilities.workspace
        refreshes = workspace and workspace.inlay_hint and workspace.inlay_hint.refresh_support
        if server.settings.hints and refreshes:
            soon()

    server.known_of_checks.append(changed)

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def inlay_hint(params: types.InlayHintParams) -> list[types.InlayHint]:
        if not server.settings.hints:
            return []
        snapshot = await server.documents.snapshot(params.text_document.uri)
        if snapshot is None:
            return []
        first, last = params.range.start.line + 1, params.range.end.line + 1
        return [
            hint
            for kernel in snapshot.source.kernels
            if kernel.span.first_line <= last and kernel.span.last_line >= first
            for hint in _hints(server, snapshot, kernel)
        ]


def _hints(server: EditorServer, snapshot: Snapshot, kernel: Kernel) -> Iterator[types.InlayHint]:
    share = server.measured.of(snapshot.source, own_name(kernel))
    if share is not None:
        yield _hint(
            snapshot, kernel.name_span.first_line, share.words, "Measured by a verdict of this window"
        )
    counts = server.measured.counts_of(snapshot.source, own_name(kernel))
    if counts is None:
        return
    for line in counts.lines:
        text = f"Counted on the emulated device, {counts.case}.\n\n" + "\n\n".join(_explained(line))
        yield _hint(snapshot, kernel.span.first_line + line.line, _figures(line), text)


def _figures(line: CountedDocument) -> str:
    """`4 sectors, 32 wavefronts a request`."""
    sectors, wavefronts = line.sectors_per_request, line.wavefronts_per_request
    parts = [f"{sectors:.3g} sector{'s' * (sectors != 1)}"] if sectors is not None else []
    parts += [f"{wavefronts:.3g} wavefront{'s' * (wavefronts != 1)}"] if wavefronts is not None else []
    return f"{', '.join(parts)} a request"


def _explained(line: CountedDocument) -> Iterator[str]:
    if line.sectors_per_request is not None:
        yield f"{_SECTORS}: {line.sectors_per_request:.3g} on average."
    if line.wavefronts_per_request is not None:
        yield f"{_WAVEFRONTS}. {line.wavefronts_per_request:.3g} on average."


def _hint(snapshot: Snapshot, line: int, label: str, tooltip: str) -> types.InlayHint:
    """At the end of a line (1-based)."""
    return types.InlayHint(
        position=snapshot.text.code_of(line).end,
        label=label,
        tooltip=types.MarkupContent(types.MarkupKind.Markdown, tooltip),
        padding_left=True,
    )
