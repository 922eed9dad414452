"""Checking the kernels of a document on the emulated device: opened, saved, after a pause in typing, or when asked."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from kernel_lineage.editor.features.lineage import Place
from kernel_lineage.editor.message import argument
from kernel_lineage.editor.server import EditorServer
from kernel_lineage.editor.text import Text
from kernel_lineage.editor.views.debug_text import debug_text
from kernel_lineage.kernels.naming import own_name

if TYPE_CHECKING:
    from kernel_lineage.editor.checks import Checks
    from kernel_lineage.editor.documents import Snapshot
    from kernel_lineage.kernels.source import Kernel

ANSWERS_FIRST = 0.2
"""Seconds for the first answers about an opened document, before the check loads the gate and starts processes."""


def register(server: EditorServer) -> None:
    """Add the feature and its command to the server."""

    def checks() -> Checks:
        if server.checks is None:
            from kernel_lineage.editor.checks import Checks

            server.checks = Checks(server)
        return server.checks

    opening: set[asyncio.Task[None]] = set()

    def opened(uri: str) -> None:
        task = asyncio.get_running_loop().create_task(check_opened(uri))
        opening.add(task)
        task.add_done_callback(opening.discard)

    async def check_opened(uri: str) -> None:
        """Check an opened document when the first questions about it have had their answers."""
        snapshot = await server.documents.snapshot(uri)
        if snapshot is not None and server.checks is not None and server.settings.check != "off":
            await server.checks.recall(snapshot)
        if snapshot is not None and snapshot.source.kernels:
            await server.applicability.at(snapshot, snapshot.source.kernels[0])
        await asyncio.sleep(ANSWERS_FIRST)
        is_open = server.documents.current(uri) is not None
        if is_open and (server.checks is None or not server.checks.runs(uri)):
            looked_at(uri)

    def looked_at(uri: str) -> None:
        if server.settings.check != "off":
            checks().start(uri)

    def saved(uri: str) -> None:
        """Check a saved document, then those whose code comes from it in part."""
        for other in server.documents.uris:
            if other != uri and _names(server, other, uri):
                looked_at(other)
        if server.documents.current(uri) is not None:
            looked_at(uri)  # last, which goes first

    def edited(uri: str, before: Text, after: Text) -> None:
        if server.settings.check == "typing" and server.trust.granted:
            checks().after_pause(uri)
        if server.checks is not None:
            server.checks.edited(uri, before, after)

    def closed(uri: str) -> None:
        if server.checks is not None:
            server.checks.closed(uri)

    server.shown.append(opened)
    server.saved.append(saved)
    server.edited.append(edited)
    server.closed.append(closed)

    async def kernel_at(place: Place) -> tuple[Snapshot, Kernel] | None:
        """The document of a place and the kernel there; None where there is none."""
        snapshot = await server.documents.snapshot(place.uri)
        at = types.Position(place.line, place.character)
        kernel = None if snapshot is None else snapshot.kernel_at(snapshot.text.offset(at))
        return None if snapshot is None or kernel is None else (snapshot, kernel)

    @server.command("klineage.check")
    async def check(params: types.ExecuteCommandParams) -> Any:
        """How the check went; `lacks` is the kernel that nothing says how to run, for `klineage.draftWorkload`."""
        place = argument(Place, params)
        answer = await checks().start(place.uri, types.Position(place.line, place.character))
        lacks = None
        if (about := await kernel_at(place)) is not None:
            judged = checks().judged_of(place.uri, about[1])
            if judged is not None and judged.lacks_workload:
                lacks = {"uri": place.uri, "kernel": own_name(about[1])}
        return {**answer, "lacks": lacks}

    @server.command("klineage.debugText")
    async def debug(params: types.ExecuteCommandParams) -> Any:
        """What is known of the kernel at a place, as plain text; null where no check has said anything."""
        place = argument(Place, params)
        about = await kernel_at(place)
        if about is None or server.checks is None:
            return None
        snapshot, kernel = about
        judged = server.checks.judged_of(place.uri, kernel)
        return debug_text(snapshot, judged.document) if judged is not None else None

    @server.command("klineage.kernels")
    async def kernels(params: types.ExecuteCommandParams) -> Any:
        """The kernels of a document, each with what its last check said; `state` is null where there was none."""
        place = argument(Place, params)
        snapshot = await server.documents.snapshot(place.uri)
        if snapshot is None:
            return []
        nothing: dict[str, Any] = {"state": None, "wrong": False, "outdated": False}
        nothing |= {"reason": "", "findings": [], "passed": []}
        judged = [
            server.checks.judged_of(place.uri, k) if server.checks is not None else None
            for k in snapshot.source.kernels
        ]
        return [
            {
                **(
                    one.document.model_dump(mode="json")
                    | {"wrong": one.is_wrong, "outdated": one.is_outdated}
                    if one is not None
                    else nothing
                ),
                "kernel": k.name,
                "line": k.span.first_line,
                "character": snapshot.text.position(k.span.start).character,
            }
            for k, one in zip(snapshot.source.kernels, judged, strict=True)
        ]


def _names(server: EditorServer, uri: str, other: str) -> bool:
    """Whether a document says the name of another one, as who includes or imports it does."""
    path, current = server.path_of(other), server.documents.current(uri)
    if path is None or current is None:
        return False
    name = path.stem if path.suffix == ".py" else path.name
    return re.search(rb"(?<!\w)%s(?!\w)" % re.escape(name.encode()), current[1].data) is not None
