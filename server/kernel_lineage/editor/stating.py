"""Quick fixes for *needs a fact*: the workload is drafted, or a person states of every caller what a condition asks.

The edit is in the workload, never in a kernel: what is stated is tried by the gate's own shapes like anything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from lsprotocol import types

from kernel_gate.files.reading import MOST_WORKLOAD, read_file
from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.editor.server import EditorServer
from kernel_lineage.editor.text import Text
from kernel_lineage.editor.workload_files.facts import statements
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.skills.applicable import Applicable
from kernel_lineage.skills.conditions.truth import Truth
from kernel_lineage.workloads.saved import folder_of, workloads_in


async def stating(
    server: EditorServer, snapshot: Snapshot, kernel: Kernel, candidates: Sequence[Applicable]
) -> list[types.CodeAction]:
    """The actions; where the kernel has no workload on the disk, one that writes it."""
    open_ = [one for one in candidates if one.verdict is Truth.UNKNOWN]
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(
        server.documents.thread, lambda: _stating(server, snapshot, kernel, open_)
    )


def _stating(
    server: EditorServer, snapshot: Snapshot, kernel: Kernel, candidates: Sequence[Applicable]
) -> list[types.CodeAction]:
    of_kernel = workloads_in(folder_of(snapshot.path)).of(kernel.name, str(snapshot.path))
    if of_kernel is None:
        title = f"Write down how {kernel.name} is run (a workload, drafted from the code around it)"
        argument = {"uri": snapshot.uri, "kernel": kernel.name}
        command = types.Command(title, "klineage.draftWorkload", arguments=[argument])
        fix = types.CodeAction(title, kind=types.CodeActionKind.QuickFix, command=command)
        return [fix] if server.trust.granted else []
    uri = of_kernel.path.as_uri()
    text = server.workload_files.text(uri)
    if text is None:
        text = Text(read_file(of_kernel.path, most=MOST_WORKLOAD), server.documents.encoding)
    actions: dict[str, types.CodeAction] = {}
    for one in candidates:
        for stated in statements(one, text.data):
            title = f"State in {of_kernel.path.name} that for every caller {stated.sentence}"
            place = types.Range(text.position(stated.start), text.position(stated.end))
            edit = types.WorkspaceEdit({uri: [types.TextEdit(place, stated.new)]})
            actions.setdefault(title, types.CodeAction(title, kind=types.CodeActionKind.QuickFix, edit=edit))
    return list(actions.values())
