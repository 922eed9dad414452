"""`klineage.lineage`: the lineage of the kernel at a place, as a page of Markdown."""

from __future__ import annotations

from typing import Any

from lsprotocol import types
from lsprotocol.validators import UINTEGER_MAX_VALUE
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pygls.exceptions import JsonRpcInvalidParams

from kernel_gate.cleaning import without_links
from kernel_lineage.editor.kernel_text import lineage_page
from kernel_lineage.editor.server import EditorServer


class Place(BaseModel):
    """The argument of the command: a document, and a position in the editor's units."""

    model_config = ConfigDict(frozen=True)

    uri: str
    line: int = Field(ge=0, le=UINTEGER_MAX_VALUE)
    character: int = Field(ge=0, le=UINTEGER_MAX_VALUE)


def register(server: EditorServer) -> None:
    """Add the command to the server."""

    @server.command("klineage.lineage")
    async def lineage(params: types.ExecuteCommandParams) -> Any:
        try:
            place = Place.model_validate((params.arguments or [None])[0])
        except ValidationError as error:
            raise JsonRpcInvalidParams.of(error) from error
        snapshot = await server.documents.snapshot(place.uri)
        if snapshot is None:
            return None
        kernel = snapshot.kernel_at(snapshot.text.offset(types.Position(place.line, place.character)))
        if kernel is None:
            return None
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
