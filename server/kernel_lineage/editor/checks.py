"""The checks of documents' kernels on the emulated device, and what the last one of each found.

A document has one check at a time; a newer text ends the older one's. What was found stays at its lines while the
text around them is edited, and goes when its own line is edited or a later check does not find it again.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from kernel_gate.verdict import Verdict
from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.editor.findings import Finding, diagnostics, findings_of, moved
from kernel_lineage.editor.progress import JobProgress
from kernel_lineage.editor.server import EditorServer
from kernel_lineage.editor.text import Text
from kernel_lineage.learning.saved_kernels import Saved, SavedVerdict, check_saved
from kernel_lineage.learning.version_checks import VersionState
from kernel_lineage.workloads.saved import folder_of, workloads_in

if TYPE_CHECKING:
    from kernel_lineage.editor.trust import Worker

KEPT = 256
"""Verdicts that are not asked for again."""
STATUS = "klineage/check"
"""Tells an editor that listens how the check of a document goes: `uri`, `state`, `message`."""

log = logging.getLogger(__name__)


class Checks:
    """The checks that run, and what the last one of each document found."""

    def __init__(self, server: EditorServer) -> None:
        self._server = server
        # One thread: the worker answers one at a time, and two checks would only slow each other down.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="check")
        self._worker: Worker | None = None
        self._running: dict[str, asyncio.Task[dict[str, str]]] = {}
        self._found: dict[str, tuple[Finding, ...]] = {}
        self._passed: dict[tuple[str, str], bytes] = {}
        """Of a document's kernel: the file's text that passed last."""
        self._known: OrderedDict[str, Verdict] = OrderedDict()

    def start(self, uri: str, at: types.Position | None = None) -> asyncio.Task[dict[str, str]]:
        """Check a document's kernels as they are now, or the one at a place; ends the check before."""
        before = self._running.get(uri)
        if before is not None:
            before.cancel()
        task = asyncio.get_running_loop().create_task(self._check(uri, at, before))
        self._running[uri] = task
        task.add_done_callback(lambda done: self._done(uri, done))
        return task

    def edited(self, uri: str, before: Text, after: Text) -> None:
        """Keep what was found at its lines."""
        found = self._found.get(uri, ())
        if found:
            self._show(uri, moved(found, before.data, after.data), after)

    def closed(self, uri: str) -> None:
        """A document was closed: its check ends, and what it found goes."""
        if (task := self._running.get(uri)) is not None:
            task.cancel()
        if self._found.pop(uri, ()):
            self._publish(uri, [])

    def _done(self, uri: str, task: asyncio.Task[dict[str, str]]) -> None:
        if self._running.get(uri) is task:
            del self._running[uri]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("checking %s: %s", uri, error)

    async def _check(
        self, uri: str, at: types.Position | None, before: asyncio.Task[dict[str, str]] | None
    ) -> dict[str, str]:
        if before is not None:
            await asyncio.wait([before])
        snapshot = await self._server.documents.snapshot(uri)
        if snapshot is None:
            return self._tell(uri, "unclear", "not checked: the document holds no kernels, or is not open")
        if (refusal := self._server.trust.refusal) is not None:
            return self._tell(uri, "unclear", f"not checked: {refusal}")
        wanted = await asyncio.get_running_loop().run_in_executor(
            self._server.documents.thread, _kernels, snapshot
        )
        if at is not None and (kernel := snapshot.kernel_at(snapshot.text.offset(at))) is not None:
            wanted = [saved for saved in wanted if saved.kernel == kernel.name]
        if not wanted:
            self._show(uri, (), snapshot.text)
            return self._tell(
                uri, "unclear", "not checked: no workload in .klineage/workloads is for a kernel here"
            )
        self._tell(uri, "checking", f"checking {', '.join(saved.kernel for saved in wanted)}")
        results: list[SavedVerdict] | None
        async with JobProgress(self._server, None, f"Checking {snapshot.path.name}") as progress:
            results = await progress.unless_cancelled(self._judge(uri, wanted, progress))
        if results is None:
            return self._tell(uri, "unclear", "the check was cancelled")
        return self._conclude(snapshot, results)

    async def _judge(self, uri: str, wanted: list[Saved], progress: JobProgress) -> list[SavedVerdict]:
        """The verdicts, within the seconds that a check may take. Cancelling ends the process that judges."""
        loop = asyncio.get_running_loop()
        stop = threading.Event()

        def report(stage: str, what: str, _share: float) -> None:
            loop.call_soon_threadsafe(progress.stage, f"{stage}: {what}")

        work = loop.run_in_executor(self._thread, self._judge_all, uri, wanted, stop.is_set, report)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            stop.set()
            await asyncio.wait([work])
            raise

    def _judge_all(
        self,
        uri: str,
        wanted: list[Saved],
        cancelled: Callable[[], bool],
        report: Callable[[str, str, float], None],
    ) -> list[SavedVerdict]:
        """In the checking thread."""
        worker = self._worker = self._worker or self._server.trust.worker()
        deadline = time.monotonic() + self._server.settings.check_seconds
        results: list[SavedVerdict] = []
        for saved in wanted:
            if cancelled():
                break
            result = check_saved(
                saved,
                worker,
                seconds=max(deadline - time.monotonic(), 0.0),
                passed=self._passed.get((uri, saved.kernel)),
                known=self._known,
                cancelled=cancelled,
                on_progress=report,
            )
            if result.state is VersionState.RIGHT:
                self._passed[uri, saved.kernel] = saved.text
            results.append(result)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        return results

    def _conclude(self, snapshot: Snapshot, results: list[SavedVerdict]) -> dict[str, str]:
        found = tuple(finding for result in results for finding in findings_of(result))
        current = self._server.documents.current(snapshot.uri)
        if current is not None:
            _, text = current
            self._show(snapshot.uri, moved(found, snapshot.text.data, text.data), text)
        said = "; ".join(_said(result) for result in results)
        states = {result.state for result in results}
        if found or VersionState.WRONG in states:
            return self._tell(snapshot.uri, "wrong", said)
        return self._tell(snapshot.uri, "right" if states == {VersionState.RIGHT} else "unclear", said)

    def _show(self, uri: str, found: tuple[Finding, ...], text: Text) -> None:
        self._found[uri] = found
        self._publish(uri, diagnostics(found, text, uri))

    def _publish(self, uri: str, found: list[types.Diagnostic]) -> None:
        self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found))

    def _tell(self, uri: str, state: str, message: str) -> dict[str, str]:
        answer = {"uri": uri, "state": state, "message": message}
        log.info("%s: %s", uri, message)
        self._server.protocol.notify(STATUS, answer)
        return answer


def _kernels(snapshot: Snapshot) -> list[Saved]:
    """What of a document a workload says how to run: its kernels, and its functions that launch them."""
    workloads = workloads_in(folder_of(snapshot.path))
    for problem in workloads.problems:
        log.warning("%s", problem)
    text, path = snapshot.text.data, snapshot.path
    wanted = []
    for name in dict.fromkeys(
        [k.name for k in snapshot.source.kernels] + [f.workload.kernel for f in workloads.found]
    ):
        found = workloads.of(name, path.name)
        kernel = snapshot.source.kernel(name)
        if found is None or (kernel is None and Path(found.workload.source).name != path.name):
            continue
        line = kernel.span.first_line if kernel is not None else _line_of(name, text)
        wanted.append(Saved(path, text, name, line, found))
    return wanted


def _line_of(function: str, text: bytes) -> int:
    """Where a function's name first stands before its parameters."""
    match = re.search(rb"\b" + re.escape(function.encode()) + rb"\s*\(", text)
    return 1 if match is None else text.count(b"\n", 0, match.start()) + 1


def _said(result: SavedVerdict) -> str:
    """One kernel's part of the status."""
    name = result.saved.kernel
    if result.verdict is None:
        return f"{name} was not checked: {result.why_not}"
    if result.state is VersionState.RIGHT:
        return f"{name} is right on the emulated device"
    if result.state is VersionState.WRONG:
        messages = (finding.message for finding in findings_of(result))
        return next(messages, f"{name}: {result.verdict.reason}").partition("\n")[0]
    return f"{name} is not decided: {result.verdict.reason}"
