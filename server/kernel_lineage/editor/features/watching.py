"""Saves and changes on disk: what was mined, the skills and the workloads are renewed."""

from __future__ import annotations

from lsprotocol import types

from kernel_lineage.editor.server import EditorServer

KNOWLEDGE = "**/.klineage/{skills,workloads}/**"
HEADERS = "**/*.{h,hh,hpp,inl}"
"""Files that kernels include and that editors do not tell the server of: CUDA C++ by no name or language."""


def register(server: EditorServer) -> None:
    """Add the feature to the server."""

    @server.feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        del params
        workspace = server.client_capabilities.workspace
        watching = workspace.did_change_watched_files if workspace else None
        if watching and watching.dynamic_registration:
            watchers = [types.FileSystemWatcher(pattern) for pattern in (KNOWLEDGE, HEADERS)]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            registration = types.Registration(
                "klineage-knowledge", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options
            )
            await server.client_register_capability_async(types.RegistrationParams([registration]))

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        path = server.path_of(params.text_document.uri)
        if path is None:
            return
        if ".klineage" in path.parts:
            server.forget_knowledge()
        else:
            server.lineages.touch(path, saved=True)
            server.reached_from.forget()
            for listener in server.saved:
                listener(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change(params: types.DidChangeWatchedFilesParams) -> None:
        paths = {change.uri: server.path_of(change.uri) for change in params.changes}
        changed = tuple(
            uri for uri, path in paths.items() if path is not None and ".klineage" not in path.parts
        )
        if len(changed) < len(paths):
            server.forget_knowledge()
            changed = server.documents.uris  # a workload that changed may find something else
        for uri in changed:
            for listener in server.saved:
                listener(uri)
