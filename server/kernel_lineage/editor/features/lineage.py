"""Pages of Markdown about the kernel at a place: `klineage.lineage`, and `klineage.cards` of the skills there."""

from __future__ import annotations

from typing import Any

from lsprotocol import types
from lsprotocol.validators import UINTEGER_MAX_VALUE
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pygls.exceptions import JsonRpcInvalidParams

from kernel_gate.cleaning import without_links
from kernel_lineage.editor.applicability import skills_at
from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.editor.kernel_text import lineage_page
from kernel_lineage.editor.server import EditorServer
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.skills.card_text import card_text


class Place(BaseModel):
    """The argument of the command: a document, and a position in the editor's units."""

    model_config = ConfigDict(frozen=True)

    uri: str
    line: int = Field(ge=0, le=UINTEGER_MAX_VALUE)
    character: int = Field(ge=0, le=UINTEGER_MAX_VALUE)


def register(server: EditorServer) -> None:
    """Add the command to the server."""

    async def at(params: types.ExecuteCommandParams) -> tuple[Snapshot, Kernel, int] | None:
        try:
            place = Place.model_validate((params.arguments or [None])[0])
        except ValidationError as error:
            raise JsonRpcInvalidParams.of(error) from error
        snapshot = await server.documents.snapshot(place.uri)
        if snapshot is None:
            return None
        offset = snapshot.text.offset(types.Position(place.line, place.character))
        kernel = snapshot.kernel_at(offset)
        return None if kernel is None else (snapshot, kernel, offset)

    @server.command("klineage.cards")
    async def cards(params: types.ExecuteCommandParams) -> Any:
        asked = await at(params)
        if asked is None:
            return None
        snapshot, kernel, offset = asked
        found = await server.applicability.at(snapshot, kernel)
        here = skills_at(found, kernel, offset) or found
        page = "\n---\n\n".join(card_text(one) for one in here) or "No skill has a place in this kernel.\n"
        return {"title": f"Skills for {kernel.name}", "markdown": without_links(page)}

    @server.command("klineage.lineage")
    async def lineage(params: types.ExecuteCommandParams) -> Any:
        asked = await at(params)
        if asked is None:
            return None
        snapshot, kernel, _ = asked
        found = server.lineages.of(snapshot.path, kernel.name)
        if found is None:
            state = server.lineages.state(snapshot.path) or "none: not in the mined history"
            return {
                "title": f"Lineage of {kernel.name}",
                "markdown": f"# {kernel.name}\n\nLineage {state}.\n",
            }
        replayed = server.lineages.replayed(snapshot.path)
        return {
            "title": f"Lineage of {kernel.name}",
            "markdown": without_links(lineage_page(found, replayed)),
        }
