"""The commands that change code: `klineage.apply` asks the gate, `klineage.applyAccepted` makes the edit.

There is no other way for an edit into a document. Listing and resolving code actions never make one; the gate runs in
processes of its own; the edit is for exactly the text that was gated, and nothing is changed if that text has moved.
"""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from lsprotocol import types
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel
from pygls.exceptions import JsonRpcInvalidParams
from pygls.uris import to_fs_path

from kernel_gate.cleaning import without_links
from kernel_lineage.editor.progress import JobProgress
from kernel_lineage.editor.server import EditorServer
from kernel_lineage.editor.text import Text
from kernel_lineage.editor.trust import Finished
from kernel_lineage.editor.verdict_text import details_of, summary_of
from kernel_lineage.rewrite.document import ApplyDocument, EditDocument

KEPT = 20
"""Accepted edits that wait for a person's word; the oldest is forgotten."""


M = TypeVar("M", bound=BaseModel)


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, validate_by_name=True)


class ApplyRequest(_Message):
    """The argument of `klineage.apply`."""

    uri: str
    kernel: str
    skill: str
    line: int | None = None
    """Where in the kernel, 1-based; None: at the first place that takes it."""
    title: str
    by: Literal["assist", "model"] = "assist"


class ApplyAnswer(_Message):
    """What `klineage.apply` answers; null when it was cancelled."""

    job: str
    uri: str
    title: str
    outcome: Literal["accepted", "rejected", "inconclusive", "refused"]
    summary: str
    """One line for people."""
    details: str
    """Markdown, stage by stage."""
    candidate: str | None
    """The whole file with the candidate's edits."""


class EditRequest(_Message):
    """The argument of `klineage.applyAccepted`."""

    job: str


class EditAnswer(_Message):
    """What `klineage.applyAccepted` answers."""

    applied: bool
    reason: str


@dataclass(frozen=True, slots=True)
class _Accepted:
    uri: str
    title: str
    text: Text
    """That was gated."""
    edits: tuple[EditDocument, ...]


def register(server: EditorServer) -> None:
    """Add the commands to the server."""
    accepted: OrderedDict[str, _Accepted] = OrderedDict()
    one_at_a_time = asyncio.Lock()

    @server.command("klineage.apply")
    async def apply(params: types.ExecuteCommandParams) -> Any:
        request = _argument(ApplyRequest, params)
        current = server.documents.current(request.uri)
        path = to_fs_path(request.uri)
        if (refusal := server.trust.refusal) is not None:
            return _refused(request, refusal)
        if current is None or path is None:
            return _refused(request, "the document is not open any more")
        _, text = current
        async with JobProgress(server, params.work_done_token, request.title) as progress:
            work = _gate(server, request, Path(path), text, progress, one_at_a_time)
            finished = await progress.unless_cancelled(work)
        if finished is None:
            return None
        document = _read(finished)
        if isinstance(document, str):
            return _refused(request, document)
        answer = _answer(request, text, document)
        if document.outcome == "accepted":
            accepted[answer.job] = _Accepted(request.uri, request.title, text, tuple(document.edits))
            while len(accepted) > KEPT:
                accepted.popitem(last=False)
        if not server.settings.confirms_edits:
            await _tell(server, answer, accepted.pop(answer.job, None))
        return answer.model_dump(by_alias=True)

    @server.command("klineage.applyAccepted")
    async def apply_accepted(params: types.ExecuteCommandParams) -> Any:
        job = accepted.pop(_argument(EditRequest, params).job, None)
        if job is None:
            reason = "There is no accepted edit of that name any more: run the action again."
            return EditAnswer(applied=False, reason=reason).model_dump(by_alias=True)
        return (await _edit(server, job)).model_dump(by_alias=True)


async def _gate(
    server: EditorServer,
    request: ApplyRequest,
    path: Path,
    text: Text,
    progress: JobProgress,
    one_at_a_time: asyncio.Lock,
) -> Finished:
    """Run `klineage apply` on the text as it is in the editor. Two at once would spoil each other's timing."""
    arguments = ["apply", request.skill, f"{path}:{request.kernel}", "--text", "-", "--by", request.by]
    if request.line is not None:
        arguments += ["--line", str(request.line)]
    arguments += ["--device", server.settings.device, "--json", "--progress", "json"]
    environment: dict[str, str] = {}
    if request.by == "model":
        environment = server.key.environment(server.settings)
    progress.stage("waiting for the job before")
    async with one_at_a_time:
        return await server.trust.klineage(
            *arguments,
            folder=path.parent,
            stdin=text.data,
            more=environment,
            on_line=progress.line,
        )


def _read(finished: Finished) -> ApplyDocument | str:
    """The document that the command printed, or why there is none."""
    try:
        return ApplyDocument.model_validate_json(finished.stdout)
    except ValidationError:
        said = [line for line in finished.last_lines if not line.startswith("{")]
        return said[-1] if said else f"klineage apply ended with code {finished.code} and said nothing"


def _answer(request: ApplyRequest, text: Text, document: ApplyDocument) -> ApplyAnswer:
    candidate = None
    if document.edits and document.source_sha256 == hashlib.sha256(text.data).hexdigest():
        candidate = document.changed(text.data).decode("utf-8", "replace")
    return ApplyAnswer(
        job=uuid.uuid4().hex,
        uri=request.uri,
        title=request.title,
        outcome=document.outcome,
        summary=summary_of(document),
        details=details_of(request.title, document),
        candidate=candidate,
    )


async def _edit(server: EditorServer, job: _Accepted) -> EditAnswer:
    """Make an accepted edit, if the document still is what was gated."""
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
    edit = types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(identifier, edits)])
    answer = await server.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(edit, label=job.title))
    if not answer.applied:
        why = answer.failure_reason or "the editor refused the edit"
        return EditAnswer(applied=False, reason=f"{job.title}: {why}. Nothing was changed.")
    return EditAnswer(applied=True, reason=f"{job.title}: applied.")


async def _tell(server: EditorServer, answer: ApplyAnswer, job: _Accepted | None) -> None:
    """For an editor that does not show verdicts itself: make an accepted edit, and say what happened."""
    message, kind = answer.summary, types.MessageType.Warning
    if job is not None:
        edit = await _edit(server, job)
        message = f"{answer.summary} {edit.reason}"
        kind = types.MessageType.Info if edit.applied else kind
    server.window_show_message(types.ShowMessageParams(kind, message))


def _refused(request: ApplyRequest, reason: str) -> dict[str, Any]:
    summary = f"{request.title}: {reason.rstrip('.')}. Nothing was changed."
    answer = ApplyAnswer(
        job=uuid.uuid4().hex,
        uri=request.uri,
        title=request.title,
        outcome="refused",
        summary=summary,
        details=without_links(f"# {request.title}\n\n{summary}\n"),
        candidate=None,
    )
    return answer.model_dump(by_alias=True)


def _argument(model: type[M], params: types.ExecuteCommandParams) -> M:
    """The one argument of a command."""
    try:
        return model.model_validate((params.arguments or [None])[0])
    except ValidationError as error:
        raise JsonRpcInvalidParams.of(error) from error
