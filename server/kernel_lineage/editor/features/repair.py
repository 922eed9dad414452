"""`klineage.repair`: a change that takes a finding away, checked before it is shown; quick fixes lead to it.

A kernel that is wrong has no baseline to be timed against, so what is asked of a repair is that the check finds it
right. It is made as any other edit is: shown first, to exactly the text that was checked.
"""

import uuid
from typing import Any

from lsprotocol import types
from pydantic import Field

from kernel_gate.cleaning import without_links
from kernel_lineage.editor.accepted import ApplyAnswer, answered, refused
from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.editor.message import Message, argument
from kernel_lineage.editor.progress import JobProgress
from kernel_lineage.editor.repairing import Mended
from kernel_lineage.editor.runs import Repeat, RunState
from kernel_lineage.editor.server import EditorServer

_NOT_TIMED = "Not timed: it takes the place of a kernel that is wrong."


class RepairRequest(Message):
    """The argument of `klineage.repair`."""

    uri: str
    kernel: str
    line: int = Field(ge=1)
    """The line of the finding, 1-based."""
    title: str


def register(server: EditorServer) -> None:
    """Add the command to the server."""

    @server.command("klineage.repair")
    async def repair(params: types.ExecuteCommandParams) -> Any:
        request = argument(RepairRequest, params)
        snapshot = await server.documents.snapshot(request.uri)
        if (refusal := server.trust.refusal) is not None:
            return refused(request.uri, request.title, refusal).model_dump(by_alias=True)
        if snapshot is None or server.checks is None:
            reason = "the document is not open, or was not checked"
            return refused(request.uri, request.title, reason).model_dump(by_alias=True)
        repeat = Repeat("klineage.repair", request.model_dump(by_alias=True))
        async with JobProgress(server, params.work_done_token, request.title, repeat) as progress:
            work = server.checks.repair(snapshot, request.kernel, request.line, progress.stage)
            mended = await progress.unless_cancelled(work)
            if mended is None:
                return None
            if mended.edits:
                answer = _answer(request, snapshot, mended)
            else:
                answer = refused(request.uri, request.title, mended.reason)
            progress.end(RunState(answer.outcome), answer.summary, answer.details)
        if not mended.edits:
            return answer.model_dump(by_alias=True)
        return await answered(server, answer, snapshot.text, mended.edits)


def _answer(request: RepairRequest, snapshot: Snapshot, mended: Mended) -> ApplyAnswer:
    from kernel_lineage.rewrite.document import with_edits

    sentence = f"{request.kernel} is right with {mended.title}: {mended.reason}"
    return ApplyAnswer(
        job=uuid.uuid4().hex,
        uri=request.uri,
        title=request.title,
        outcome="accepted",
        summary=" ".join(part for part in (f"{sentence}.", mended.beside, _NOT_TIMED) if part),
        details=without_links(_page(request.title, sentence, mended)),
        candidate=with_edits(snapshot.text.data, mended.edits).decode("utf-8", "replace"),
    )


def _page(title: str, sentence: str, mended: Mended) -> str:
    """What the check saw of the repair; the difference itself is a document of the editor's."""
    rejected = "" if mended.tried == 1 else f" Of {mended.tried} candidates it is the first that is right."
    parts = (("Right in these cases", mended.cases), ("Chosen for the drafted workload", mended.assumed))
    lists = (
        "".join([f"\n## {head}\n\n", *(f"- {line}\n" for line in lines)]) for head, lines in parts if lines
    )
    beside = f"\n{mended.beside}\n" if mended.beside else ""
    return f"# {title}\n\n{sentence}.{rejected}\n{beside}{''.join(lists)}"
