"""The commands that apply a skill: `klineage.apply` asks the gate, `klineage.applyAccepted` makes the edit.

There is no other way for an edit into a document. Listing and resolving code actions never make one; the gate runs in
processes of its own; the edit is for exactly the text that was gated, and nothing is changed if that text has moved.
"""

import asyncio
import hashlib
import os
import uuid
from pathlib import Path
from typing import Any, Literal

from lsprotocol import types
from pydantic import ValidationError
from pygls.uris import to_fs_path

from kernel_gate.cleaning import without_links
from kernel_lineage.editor.accepted import ApplyAnswer, answered, edit, refused
from kernel_lineage.editor.message import Message, argument
from kernel_lineage.editor.progress import JobProgress
from kernel_lineage.editor.runs import Repeat, RunState
from kernel_lineage.editor.server import EditorServer
from kernel_lineage.editor.text import Text
from kernel_lineage.editor.trust import Finished
from kernel_lineage.kernels.source import SourceFile
from kernel_lineage.rewrite.document import ApplyDocument


class ApplyRequest(Message):
    """The argument of `klineage.apply`."""

    uri: str
    kernel: str
    skill: str
    line: int | None = None
    """Where in the kernel, 1-based; None: at the first place that takes it."""
    title: str
    by: Literal["assist", "model"] = "assist"


class EditRequest(Message):
    """The argument of `klineage.applyAccepted`."""

    job: str


def register(server: EditorServer) -> None:
    """Add the commands to the server."""
    one_at_a_time = asyncio.Lock()

    @server.command("klineage.apply")
    async def apply(params: types.ExecuteCommandParams) -> Any:
        request = argument(ApplyRequest, params)
        current = server.documents.current(request.uri)
        path = to_fs_path(request.uri)
        if (refusal := server.trust.refusal) is not None:
            return _refused(request, refusal)
        if current is None or path is None:
            return _refused(request, "the document is not open any more")
        _, text = current
        repeat = Repeat("klineage.apply", request.model_dump(by_alias=True))
        async with JobProgress(server, params.work_done_token, request.title, repeat) as progress:
            work = _gate(server, request, Path(path), text, progress, one_at_a_time)
            finished = await progress.unless_cancelled(work)
            if finished is None:
                return None
            document = _read(finished)
            if isinstance(document, str):
                progress.end(RunState.FAILED, document)
                return _refused(request, document)
            answer = _answer(request, text, document)
            progress.end(RunState(answer.outcome), answer.summary, answer.details, answer.page)
            if document.verdict is not None and document.verdict.stage("profile") is not None:
                loop = asyncio.get_running_loop()
                sources = await loop.run_in_executor(
                    server.documents.thread, _sources, Path(path), text.data, document
                )
                server.measured.take(*sources, request.kernel, document.verdict, progress.run_id)
        edits = tuple(document.edits) if document.outcome == "accepted" else None
        return await answered(server, answer, text, edits)

    @server.command("klineage.applyAccepted")
    async def apply_accepted(params: types.ExecuteCommandParams) -> Any:
        job = argument(EditRequest, params).job
        answer = await edit(server, server.accepted.get(job))
        # One that was refused can be made once the edits since are taken back.
        if answer.applied:
            server.accepted.pop(job, None)
        return answer.model_dump(by_alias=True)


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
    if server.settings.remote:
        arguments += ["--remote", server.settings.remote]
        if agent := os.environ.get("SSH_AUTH_SOCK"):  # for ssh, which the command starts
            environment["SSH_AUTH_SOCK"] = agent
    progress.stage("waiting for the job before" if one_at_a_time.locked() else "reading the kernel")
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
    from kernel_lineage.rewrite.document import ApplyDocument

    try:
        return ApplyDocument.model_validate_json(finished.stdout)
    except ValidationError:
        lines = [line for line in finished.last_lines if not line.startswith("{")]
        return lines[-1] if lines else f"klineage apply ended with code {finished.code} and said nothing"


def _sources(path: Path, before: bytes, document: ApplyDocument) -> tuple[SourceFile, SourceFile | None]:
    """The file that was judged, and the one with the candidate's edits; None where there are none."""
    from kernel_lineage.workloads.files import source_of

    fits = document.edits and document.source_sha256 == hashlib.sha256(before).hexdigest()
    return source_of(path, before), source_of(path, document.changed(before)) if fits else None


def _answer(request: ApplyRequest, text: Text, document: ApplyDocument) -> ApplyAnswer:
    from kernel_lineage.editor.verdict_text import page_of, summary_of  # the gate's verdicts

    candidate = None
    if document.edits and document.source_sha256 == hashlib.sha256(text.data).hexdigest():
        candidate = document.changed(text.data).decode("utf-8", "replace")
    summary = summary_of(document)
    return ApplyAnswer(
        job=uuid.uuid4().hex,
        uri=request.uri,
        title=request.title,
        outcome=document.outcome,
        summary=summary,
        details=without_links(f"# {request.title}\n\n{summary}\n"),
        page=page_of(request.title, document, text.data) if candidate is not None else "",
        candidate=candidate,
    )


def _refused(request: ApplyRequest, reason: str) -> dict[str, Any]:
    return refused(request.uri, request.title, reason).model_dump(by_alias=True)
