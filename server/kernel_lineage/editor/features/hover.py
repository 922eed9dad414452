"""Hover: on a kernel's name what it is, where it comes from and what applies; on an anchor the skill in a few lines."""

from __future__ import annotations

from lsprotocol import types

from kernel_gate.cleaning import without_links
from kernel_lineage.editor.applicability import skills_at
from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.editor.kernel_text import kernel_text
from kernel_lineage.editor.links import links
from kernel_lineage.editor.server import EditorServer
from kernel_lineage.editor.skill_text import offers_line, skill_lines
from kernel_lineage.kernels.source import Kernel, Span
from kernel_lineage.skills.applicable import Applicable


def register(server: EditorServer) -> None:
    """Add the feature to the server."""

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        if (workload := server.workload_files.text(params.text_document.uri)) is not None:
            from kernel_lineage.editor.workload_files.completing import hover as workload_hover

            return workload_hover(workload, params.position)
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
        here = skills_at(await server.applicability.at(snapshot, inside), inside, offset)
        if not here:
            return None
        return _show(snapshot, here[0].anchor.span, _skill_card(server, snapshot, inside, here))


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


async def _kernel_card(server: EditorServer, snapshot: Snapshot, kernel: Kernel) -> str:
    server.lineages.touch(snapshot.path)
    candidates = await server.applicability.at(snapshot, kernel)
    lineage = server.lineages.of(snapshot.path, kernel.name)
    state = server.lineages.absence(snapshot.path)[1] if lineage is None else ""
    skills = offers_line(list(candidates), server.offers.of(snapshot, kernel), server.settings.hypotheses)
    sites = await server.applicability.mechanisms(snapshot, kernel)
    card = kernel_text(kernel, sites, skills, lineage, state, server.lineages.replayed(snapshot.path))
    parts = [without_links(card)]
    if server.settings.command_links and lineage is not None:
        parts.append(links(lineage=(snapshot, kernel)))
    return "\n\n".join(parts)


def _skill_card(server: EditorServer, snapshot: Snapshot, kernel: Kernel, here: list[Applicable]) -> str:
    """One skill in a few lines, the others by their titles; what can be done now comes first."""
    offers = server.offers.of(snapshot, kernel)
    now = {offer.skill for offer in offers.offers} if offers is not None else set()
    here = sorted(here, key=lambda one: one.skill.id not in now or not one.possible)
    candidate = here[0]
    lines = [without_links(line) for line in skill_lines(candidate, offers) if line]
    if further := list(dict.fromkeys(one.skill.title for one in here[1:])):
        lines.append(without_links(f"Also here: {', '.join(further)}"))
    if server.settings.command_links:
        refused = offers is not None and candidate.skill.id not in now
        lines.append(links(apply=(snapshot, kernel, candidate), lineage=(snapshot, kernel), refused=refused))
    return "\n\n".join(lines)


def _show(snapshot: Snapshot, span: Span, markdown: str) -> types.Hover:
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, markdown), snapshot.text.range(span))
