"""What can be done to the kernels of open documents, tried in the background: one answer for hover, menu and lens.

Assists take longer than an answer may, so they are tried in a process of their own when an editor first asks about a
kernel. Until then, and where the workspace is not trusted, answers go by the conditions alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.editor.trust import Trust
from kernel_lineage.editor.trying import Trial
from kernel_lineage.kernels.source import Kernel

if TYPE_CHECKING:
    from kernel_lineage.learning.apart import Processes
    from kernel_lineage.rewrite.offers_document import KernelOffersDocument

KEPT = 512
"""Kernels whose offers are kept."""
_WORK = "kernel_lineage.editor.trying"

log = logging.getLogger(__name__)


class Offers:
    """The offers of kernels by their text."""

    def __init__(self, trust: Trust) -> None:
        self._trust = trust
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="offers")
        self._processes: Processes | None = None
        self._documents: OrderedDict[bytes, KernelOffersDocument | None] = OrderedDict()
        """None: could not be tried."""
        self._trying: dict[bytes, asyncio.Task[None]] = {}
        self._generation = 0
        self.device = "auto"
        self.changed: list[Callable[[], None]] = []
        """Who wants to know of new offers."""
        self.against: Callable[[Snapshot, Kernel], str] = lambda *_: ""
        """What the last check of a kernel leaves of it, such as `is wrong`; "" where nothing is against it."""

    def of(self, snapshot: Snapshot, kernel: Kernel) -> KernelOffersDocument | None:
        """The offers of a kernel, as far as they are known; asks for them where they are not. Never waits."""
        key = self._key(snapshot, kernel)
        if key not in self._documents and key not in self._trying and self._trust.granted:
            task = asyncio.get_running_loop().create_task(self._try(key, snapshot, kernel))
            self._trying[key] = task
            task.add_done_callback(lambda _: self._trying.pop(key, None))
        return self.ready(snapshot, kernel)

    def ready(self, snapshot: Snapshot, kernel: Kernel) -> KernelOffersDocument | None:
        """The offers of a kernel that are known; asks for none. One with something against it has none."""
        document = self._documents.get(self._key(snapshot, kernel))
        if document is None or not document.offers or not (against := self.against(snapshot, kernel)):
            return document
        from kernel_lineage.rewrite.offers_document import RefusedDocument

        reason = f"the kernel {against} as it stands, so there is nothing to time against: mend it first"
        refused = [RefusedDocument(skill=one.skill, reason=reason) for one in document.offers]
        return document.model_copy(update={"offers": [], "refused": [*refused, *document.refused]})

    async def within(self, seconds: float, snapshot: Snapshot, kernel: Kernel) -> KernelOffersDocument | None:
        """The offers of a kernel for a person who waits for them; None when they take longer."""
        offers = self.of(snapshot, kernel)
        task = self._trying.get(self._key(snapshot, kernel))
        if offers is None and task is not None:
            await asyncio.wait([task], timeout=seconds)
        return self.of(snapshot, kernel)

    def forget(self) -> None:
        """Skills or workloads have changed on the disk."""
        self._generation += 1
        self._documents.clear()

    def _key(self, snapshot: Snapshot, kernel: Kernel) -> bytes:
        source = snapshot.source
        own = source.data[kernel.span.start : kernel.span.end]
        about = f"{snapshot.uri}\0{kernel.name}\0{kernel.span.first_line}\0{self._generation}\0".encode()
        return hashlib.sha256(about + own + b"\0" + snapshot.around).digest()

    async def _try(self, key: bytes, snapshot: Snapshot, kernel: Kernel) -> None:
        trial = Trial(
            path=snapshot.path,
            text=snapshot.text.data,
            kernel=kernel.name,
            line=kernel.span.first_line,
            device=self.device,
            generation=self._generation,
        )
        answer = await self.do(_WORK, trial.model_dump_json())
        self._documents[key] = None if answer is None else _document(answer)
        while len(self._documents) > KEPT:
            self._documents.popitem(last=False)
        for listener in self.changed:
            listener()

    async def do(self, work: str, task: str) -> str | None:
        """What a task in the process of offers gives; None where the process is lost."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._do, work, task)

    def _do(self, work: str, task: str) -> str | None:
        """In the thread of offers."""
        from kernel_lineage.learning.apart import LostWorkError

        processes = self._processes = self._processes or self._trust.processes()
        try:
            return processes.do(work, task, {})
        except LostWorkError as error:
            log.warning("%s has no answer to %s: %s", work, task[:200], error)
            return None


def _document(answer: str) -> KernelOffersDocument:
    from kernel_lineage.rewrite.offers_document import KernelOffersDocument

    return KernelOffersDocument.model_validate_json(answer)
