"""Pages about the kernel at a place: `klineage.lineage`, `klineage.timeline` (drawn), `klineage.cards` of skills."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from lsprotocol import types
from lsprotocol.validators import UINTEGER_MAX_VALUE
from pydantic import BaseModel, ConfigDict, Field

from kernel_gate.cleaning import without_links
from kernel_gate.files.temporary import TemporaryFolder
from kernel_gate.standing import ExitCode
from kernel_lineage.editor.applicability import skills_at
from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.editor.kernel_text import lineage_page
from kernel_lineage.editor.message import argument
from kernel_lineage.editor.server import EditorServer
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.skills.card_text import card_text


class Place(BaseModel):
    """The argument of the command: a document, and a position in the editor's units."""

    model_config = ConfigDict(frozen=True)

    uri: str
    line: int = Field(ge=0, le=UINTEGER_MAX_VALUE)
    character: int = Field(ge=0, le=UINTEGER_MAX_VALUE)


Answer = Callable[[EditorServer, Snapshot, Kernel, int], Awaitable[dict[str, Any]]]
"""What a command answers about a kernel and an offset in it."""


def register(server: EditorServer) -> None:
    """Add the commands to the server."""

    def add(name: str, answer: Answer) -> None:
        @server.command(name)
        async def about(params: types.ExecuteCommandParams) -> Any:
            place = argument(Place, params)
            snapshot = await server.documents.snapshot(place.uri)
            if snapshot is None:
                return None
            offset = snapshot.text.offset(types.Position(place.line, place.character))
            kernel = snapshot.kernel_at(offset)
            return None if kernel is None else await answer(server, snapshot, kernel, offset)

    add("klineage.cards", _cards)
    add("klineage.timeline", _timeline)
    add("klineage.lineage", _lineage)


async def _cards(server: EditorServer, snapshot: Snapshot, kernel: Kernel, offset: int) -> dict[str, Any]:
    skills = await server.applicability.at(snapshot, kernel)
    here = skills_at(skills, kernel, offset) or skills
    page = "\n---\n\n".join(card_text(one) for one in here) or "No skill has a place in this kernel.\n"
    return {"title": f"Skills for {kernel.name}", "markdown": without_links(page)}


async def _timeline(server: EditorServer, snapshot: Snapshot, kernel: Kernel, _offset: int) -> dict[str, Any]:
    title = f"Lineage of {kernel.name}"
    if server.trust.refusal is not None or server.lineages.of(snapshot.path, kernel.name) is None:
        absence = server.lineages.absence(snapshot.path)[1]
        reason = f"{kernel.name} has no lineage to draw: {absence}"
        return {"title": title, "html": None, "reason": reason}
    return {"title": title, **await _drawn(server, snapshot, kernel)}


async def _lineage(server: EditorServer, snapshot: Snapshot, kernel: Kernel, _offset: int) -> dict[str, Any]:
    lineage = server.lineages.of(snapshot.path, kernel.name)
    if lineage is None:
        absence = server.lineages.absence(snapshot.path)[1]
        page = f"# {kernel.name}\n\nLineage {absence}.\n"
    else:
        page = without_links(lineage_page(lineage, server.lineages.replayed(snapshot.path)))
    return {"title": f"Lineage of {kernel.name}", "markdown": page}


async def _drawn(server: EditorServer, snapshot: Snapshot, kernel: Kernel) -> dict[str, str | None]:
    """The report's page of one kernel, as `klineage report` draws it."""
    root = server.lineages.root_of(snapshot.path) or snapshot.path.parent
    relative = snapshot.path.resolve().relative_to(root).as_posix()
    with TemporaryFolder("timeline") as folder:
        page = Path(folder) / "lineage.html"
        words = ["report", str(root), "--kernel", kernel.name, "--paths", relative, "-o", str(page)]
        finished = await server.trust.klineage(*words, folder=root)
        if finished.code != ExitCode.DONE or not page.is_file():
            message = (
                finished.last_lines[-1] if finished.last_lines else f"it ended with code {finished.code}"
            )
            return {"html": None, "reason": f"klineage report drew nothing: {message}"}
        return {"html": page.read_text("utf-8"), "reason": ""}
