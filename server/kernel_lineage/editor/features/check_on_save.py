"""Checking the kernels of a document on the emulated device: when it is saved, where that is switched on, or once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pydantic import ValidationError
from pygls.exceptions import JsonRpcInvalidParams

from kernel_lineage.editor.features.lineage import Place
from kernel_lineage.editor.server import EditorServer
from kernel_lineage.editor.text import Text

if TYPE_CHECKING:
    from kernel_lineage.editor.checks import Checks


def register(server: EditorServer) -> None:
    """Add the feature and its command to the server."""
    begun: list[Checks] = []

    def checks() -> Checks:
        if not begun:
            # The gate and git load with the first check, not with the server.
            from kernel_lineage.editor.checks import Checks

            begun.append(Checks(server))
        return begun[0]

    def saved(uri: str) -> None:
        if server.settings.check_on_save:
            checks().start(uri)

    def edited(uri: str, before: Text, after: Text) -> None:
        for known in begun:
            known.edited(uri, before, after)

    def closed(uri: str) -> None:
        for known in begun:
            known.closed(uri)

    server.saved.append(saved)
    server.edited.append(edited)
    server.closed.append(closed)

    @server.command("klineage.check")
    async def check(params: types.ExecuteCommandParams) -> Any:
        try:
            place = Place.model_validate((params.arguments or [None])[0])
        except ValidationError as error:
            raise JsonRpcInvalidParams.of(error) from error
        return await checks().start(place.uri, types.Position(place.line, place.character))
