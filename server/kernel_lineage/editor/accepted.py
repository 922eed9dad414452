"""Edits that were found right and wait for a person's word, and the one way for an edit into a document."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from lsprotocol import types

from kernel_gate.cleaning import without_links
from kernel_lineage.editor.message import Message
from kernel_lineage.editor.text import Text

if TYPE_CHECKING:
    from kernel_lineage.editor.server import EditorServer
    from kernel_lineage.rewrite.document import EditDocument

KEPT = 20
"""Edits that wait; the oldest is forgotten."""


class ApplyAnswer(Message):
    """What `klineage.apply` answers; null when it was cancelled."""

    job: str
    uri: str
    title: str
    outcome: Literal["accepted", "rejected", "inconclusive", "refused"]
    summary: str
    """One line for people."""
    details: str
    """Markdown, for a page where there is no verdict."""
    page: str = ""
    """The verdict as a page of HTML without scripts; "" where there is none."""
    candidate: str | None
    """The whole file with the candidate's edits."""


class EditAnswer(Message):
    """What `klineage.applyAccepted` answers."""

    applied: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """An edit that may be made to exactly one text."""

    uri: str
    title: str
    text: Text
    """That was judged."""
    edits: tuple[EditDocument, ...]


async def answered(
    server: EditorServer, answer: ApplyAnswer, text: Text, edits: tuple[EditDocument, ...] | None
) -> dict[str, Any]:
    """The answer, with its edits kept for `klineage.applyAccepted`; None for edits that were not accepted.

    For an editor that does not show verdicts itself the edit is made, and what happened is told.
    """
    job = None if edits is None else Accepted(answer.uri, answer.title, text, edits)
    if server.settings.confirms_edits:
        if job is not None:
            server.accepted[answer.job] = job
            while len(server.accepted) > KEPT:
                server.accepted.popitem(last=False)
    else:
        await _tell(server, answer, job)
    return answer.model_dump(by_alias=True)


def refused(uri: str, title: str, reason: str) -> ApplyAnswer:
    """The answer where there is no verdict."""
    unchanged = "" if "Nothing was changed" in reason else " Nothing was changed."
    summary = f"{title}: {reason.rstrip('.')}.{unchanged}"
    return ApplyAnswer(
        job=uuid.uuid4().hex,
        uri=uri,
        title=title,
        outcome="refused",
        summary=summary,
        details=without_links(f"# {title}\n\n{summary}\n"),
        candidate=None,
    )


async def edit(server: EditorServer, job: Accepted | None) -> EditAnswer:
    """Make an accepted edit, if the document still is what was judged."""
    if job is None:
        return EditAnswer(
            applied=False, reason="There is no accepted edit of that name any more: run the action again."
        )
    current = server.documents.current(job.uri)
    if current is None:
        return EditAnswer(applied=False, reason=f"{job.title}: the document was closed. Nothing was changed.")
    version, text = current
    if text.data != job.text.data:
        reason = f"{job.title}: the document was edited after the gate had read it, so the verdict is not about it "
        return EditAnswer(
            applied=False, reason=reason + "any more. Nothing was changed; run the action again."
        )
    edits = [
        types.TextEdit(types.Range(text.position(e.start), text.position(e.end)), e.text)
        for e in sorted(job.edits, key=lambda e: e.start)
    ]
    identifier = types.OptionalVersionedTextDocumentIdentifier(job.uri, version)
    change = types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(identifier, edits)])
    answer = await server.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(change, label=job.title))
    if not answer.applied:
        why = answer.failure_reason or "the editor refused the edit"
        return EditAnswer(applied=False, reason=f"{job.title}: {why}. Nothing was changed.")
    return EditAnswer(applied=True, reason=f"{job.title}: applied.")


async def _tell(server: EditorServer, answer: ApplyAnswer, job: Accepted | None) -> None:
    message, kind = answer.summary, types.MessageType.Warning
    if job is not None:
        made = await edit(server, job)
        message = f"{answer.summary} {made.reason}"
        kind = types.MessageType.Info if made.applied else kind
    server.window_show_message(types.ShowMessageParams(kind, message))
