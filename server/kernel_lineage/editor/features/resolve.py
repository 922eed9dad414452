"""`codeAction/resolve`: whether an action can still be done. Pure and cheap: editors call it on hovering a menu.

It adds no edit (see `code_actions`); it takes an action back whose skill no longer applies since the menu was opened.
"""

from __future__ import annotations

from lsprotocol import types
from pydantic import ValidationError

from kernel_lineage.editor.features.apply import ApplyRequest
from kernel_lineage.editor.features.code_actions import why_not
from kernel_lineage.editor.server import EditorServer


def register(server: EditorServer) -> None:
    """Add the feature to the server."""

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolve(action: types.CodeAction) -> types.CodeAction:
        try:
            request = ApplyRequest.model_validate(action.data)
        except ValidationError:
            # Editors resolve other servers' actions and those without data too.
            return action
        reason = await _reason(server, request)
        if reason is not None:
            action.disabled = types.CodeActionDisabled(reason=reason)
            action.command = None
        return action


async def _reason(server: EditorServer, request: ApplyRequest) -> str | None:
    snapshot = await server.documents.snapshot(request.uri)
    kernel = None if snapshot is None else snapshot.source.kernel(request.kernel, request.line or 0)
    if snapshot is None or kernel is None:
        return f"the kernel {request.kernel} is not there any more"
    here = [a for a in await server.applicability.at(snapshot, kernel) if a.skill.id == request.skill]
    if not here:
        return "the skill has no place in this kernel any more"
    return why_not(server, here[0], server.offers.of(snapshot, kernel), asked=True)
