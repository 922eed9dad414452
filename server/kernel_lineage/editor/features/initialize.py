"""`initialize`: the editor's options and its units of columns."""

from __future__ import annotations

from lsprotocol import types

from kernel_lineage.editor.server import EditorServer


def register(server: EditorServer) -> None:
    """Add the feature to the server."""

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.configure(params.initialization_options)
