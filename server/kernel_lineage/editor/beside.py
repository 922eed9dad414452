"""What is beside documents, as it was looked at last: where it is another one, an earlier check may not hold."""

from __future__ import annotations

import asyncio
import uuid
from concurrent.futures import Executor

from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.editor.occasion import Occasion
from kernel_lineage.editor.surroundings import surroundings


class Beside:
    """The fingerprints of what is beside each document."""

    def __init__(self, thread: Executor) -> None:
        self._thread = thread
        self._fingerprints: dict[str, str | None] = {}
        self._of_drafts: dict[str, str] = {}

    async def look(self, snapshot: Snapshot, occasion: Occasion) -> None:
        """See what is beside a document now."""
        uri, loop = snapshot.uri, asyncio.get_running_loop()
        around = await loop.run_in_executor(self._thread, surroundings, snapshot.path)
        self._fingerprints[uri] = around
        if around is not None or occasion is Occasion.SHOWN or uri not in self._of_drafts:
            self._of_drafts[uri] = around or uuid.uuid4().hex

    def of(self, uri: str) -> str | None:
        """The fingerprint; None where it cannot be told, or nobody has looked."""
        return self._fingerprints.get(uri)

    def of_drafts(self, uri: str) -> str:
        """The same, for drafts: where it cannot be told, another one each time that the document is shown."""
        return self._of_drafts[uri]

    def forget(self, uri: str) -> None:
        """A document was closed."""
        self._fingerprints.pop(uri, None)
        self._of_drafts.pop(uri, None)
