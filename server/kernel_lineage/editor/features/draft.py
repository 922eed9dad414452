"""`klineage.draftWorkload`: writes down how a kernel is run, as `klineage workload init` does, and opens the file.

What a skill's condition needs is told or stated there; a quick fix leads here where a kernel has no workload.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lsprotocol import types
from pydantic import ValidationError

from kernel_lineage.editor.message import Message, argument
from kernel_lineage.editor.progress import JobProgress
from kernel_lineage.editor.runs import Repeat, RunState
from kernel_lineage.editor.server import EditorServer
from kernel_lineage.editor.trust import Finished


class DraftRequest(Message):
    """The argument of the command."""

    uri: str
    kernel: str


def register(server: EditorServer) -> None:
    """Add the command to the server."""

    @server.command("klineage.draftWorkload")
    async def draft(params: types.ExecuteCommandParams) -> Any:
        request = argument(DraftRequest, params)
        path = server.path_of(request.uri)
        if path is None or (refusal := server.trust.refusal) is not None:
            return _tell(
                server, f"No workload was written: {refusal if path else 'the document is no file'}."
            )
        title = f"Writing down how {request.kernel} is run"
        repeat = Repeat("klineage.draftWorkload", request.model_dump(by_alias=True))
        async with JobProgress(server, params.work_done_token, title, repeat) as progress:
            work = server.trust.klineage(
                *("workload", "init", f"{path}:{request.kernel}", "--json"),
                folder=path.parent,
                on_line=progress.line,
            )
            finished = await progress.unless_cancelled(work)
            if finished is None:
                return None
            state, message, place = _concluded(request.kernel, finished)
            progress.end(state, message)
        server.forget_knowledge()
        if place is not None and _shows(server):
            await server.window_show_document_async(types.ShowDocumentParams(place.as_uri(), take_focus=True))
        return _tell(server, message)


def _concluded(kernel: str, finished: Finished) -> tuple[RunState, str, Path | None]:
    """How it ended, for people, and where the file is."""
    from kernel_lineage.workloads.document import WorkloadDocument  # heavy: the gate

    try:
        document = WorkloadDocument.model_validate_json(finished.stdout)
    except ValidationError:
        why = finished.last_lines[-1] if finished.last_lines else f"it ended with code {finished.code}"
        return RunState.FAILED, f"No workload was written: {why}", None
    place = Path(document.workload)
    if document.missing:
        return RunState.UNCLEAR, f"{place.name} is not complete: {'; '.join(document.missing)}", place
    proof = document.proof
    if proof is None or not proof.sees:
        why = proof.blind if proof is not None else "it was not tried"
        return RunState.UNCLEAR, f"{place.name} may not see a wrong {kernel}: {why}", place
    tried = proof.killed + proof.survived
    message = f"{place.name} sees a wrong {kernel}: {proof.killed} of {tried} mutants are noticed"
    return RunState.RIGHT, message, place


def _tell(server: EditorServer, message: str) -> dict[str, str]:
    server.window_show_message(types.ShowMessageParams(types.MessageType.Info, message))
    return {"message": message}


def _shows(server: EditorServer) -> bool:
    window = server.client_capabilities.window
    return bool(window and window.show_document and window.show_document.support)
