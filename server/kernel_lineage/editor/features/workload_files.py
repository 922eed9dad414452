"""Completion in workload files; their hover is asked for by `hover`, what is wrong comes by itself."""

from __future__ import annotations

from lsprotocol import types

from kernel_lineage.editor.server import EditorServer


def register(server: EditorServer) -> None:
    """Add the feature to the server."""

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=['"', "=", "["])
    )
    async def completion(params: types.CompletionParams) -> list[types.CompletionItem]:
        text = server.workload_files.text(params.text_document.uri)
        if text is None:
            return []
        from kernel_lineage.editor.workload_files.completing import completions

        meant = await server.workload_files.meant(params.text_document.uri)
        return completions(text, params.position, meant)
