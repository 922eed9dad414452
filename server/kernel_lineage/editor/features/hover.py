"""Hover: on a kernel's name what it is, where it comes from and what applies; on an anchor the card of the skill."""

from __future__ import annotations

from lsprotocol import types

from kernel_gate.cleaning import without_links
from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.editor.kernel_text import kernel_text
from kernel_lineage.editor.links import links
from kernel_lineage.editor.server import EditorServer
from kernel_lineage.kernels.source import Kernel, Span
from kernel_lineage.skills.applicable import Applicable
from kernel_lineage.skills.card_text import SIGNS, card_text

CARDS = 2
"""Whole cards in one hover; further skills at the same place get a line each."""


def register(server: EditorServer) -> None:
    """Add the feature to the server."""

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        snapshot = await server.documents.snapshot(params.text_document.uri)
        if snapshot is None:
            return None
        offset = snapshot.text.offset(params.position)
        named = _named_at(snapshot, offset)
        if named is not None:
            kernel, span = named
            return _show(snapshot, span, await _kernel_card(server, snapshot, kernel))
        inside = snapshot.kernel_at(offset)
        if inside is None:
            return None
        here = _at(await server.applicability.at(snapshot, inside), inside, offset)
        if not here:
            return None
        return _show(snapshot, here[0].anchor.span, _skill_cards(server, snapshot, inside, here))


def _named_at(snapshot: Snapshot, offset: int) -> tuple[Kernel, Span] | None:
    """The kernel whose name is at the offset: in its definition, or where it is launched."""
    for kernel in snapshot.source.kernels:
        if kernel.name_span.start <= offset <= kernel.name_span.end:
            return kernel, kernel.name_span
    for launch in snapshot.source.launches:
        end = launch.span.start + len(launch.kernel.encode())
        target = snapshot.source.kernel(launch.kernel)
        if target is not None and launch.span.start <= offset <= end:
            return target, Span(launch.span.start, end, launch.span.first_line, launch.span.first_line)
    return None


def _at(found: tuple[Applicable, ...], kernel: Kernel, offset: int) -> list[Applicable]:
    """The skills at an offset, the narrowest anchor first. An anchor as wide as the kernel shows on its name only."""
    return sorted(
        (
            a
            for a in found
            if a.anchor.span.start <= offset <= a.anchor.span.end
            and not a.anchor.span.contains(kernel.body_span)
        ),
        key=lambda a: a.anchor.span.end - a.anchor.span.start,
    )


async def _kernel_card(server: EditorServer, snapshot: Snapshot, kernel: Kernel) -> str:
    server.lineages.touch(snapshot.path)
    found = await server.applicability.at(snapshot, kernel)
    lineage = server.lineages.of(snapshot.path, kernel.name)
    state = "" if lineage is not None else server.lineages.state(snapshot.path)
    card = kernel_text(kernel, found, lineage, state, server.lineages.replayed(snapshot.path))
    parts = [without_links(card)]
    if server.settings.command_links and lineage is not None:
        parts.append(links(lineage=(snapshot, kernel)))
    return "\n\n".join(parts)


def _skill_cards(server: EditorServer, snapshot: Snapshot, kernel: Kernel, here: list[Applicable]) -> str:
    cards: list[str] = []
    for found in here[:CARDS]:
        card = without_links(card_text(found))
        if server.settings.command_links:
            card = (
                f"{card.rstrip()}\n\n{links(apply=(snapshot, kernel, found), lineage=(snapshot, kernel))}\n"
            )
        cards.append(card)
    further = [f"- {SIGNS[found.verdict]} {without_links(found.skill.title)}" for found in here[CARDS:]]
    if further:
        cards.append("\n".join(["Also here:", "", *further]))
    return "\n---\n\n".join(cards)


def _show(snapshot: Snapshot, span: Span, markdown: str) -> types.Hover:
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, markdown), snapshot.text.range(span))
