"""The checks of documents' kernels on the emulated device, and what the last one of each found.

A document has one check at a time; a newer text ends the older one's, and the document that was touched last goes
first. Kernels that are in view are checked before the others, which follow when they come into view and the time was
spent before them. What was found stays at its lines while the text around them is edited, and goes when its own line
is edited or a later check does not find it again. A kernel is checked again when its own text, or the text that all
kernels of its file share, has changed.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lsprotocol import types

from kernel_gate.devices.error import DeviceError
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Verdict
from kernel_lineage.editor.check_targets import Target, targets
from kernel_lineage.editor.checking import JUDGE, Task
from kernel_lineage.editor.diagnostics import diagnostics, moved
from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.editor.progress import JobProgress
from kernel_lineage.editor.repairing import Broken, Mended
from kernel_lineage.editor.runs import Repeat, RunState
from kernel_lineage.editor.server import EditorServer
from kernel_lineage.editor.text import Text
from kernel_lineage.editor.views.runs import check_page
from kernel_lineage.learning.apart import LostWorkError
from kernel_lineage.learning.check_document import CheckedDocument
from kernel_lineage.learning.version_checks import VersionState

if TYPE_CHECKING:
    from kernel_lineage.editor.trust import Worker
    from kernel_lineage.learning.apart import Processes

STATUS = "klineage/check"
"""Tells an editor that listens how the check of a document goes: `uri`, `state`, `message`."""
PAUSE = 0.7
"""Seconds without an edit after which a document is checked."""
_GRACE = 3.0
"""Seconds for ending a check in good order: to draft, to build, to say what was not reached."""
_FOR_VERDICTS = 0.5
"""The share of its time that a verdict has in any case, after a draft that has taken long."""
_ENDS = 5.0
"""Seconds after which a check that was cancelled, and is not at a verdict, is ended with its process: a new one takes
seconds to start, so the draft that it is at may better be waited for."""
_CHECK = "kernel_lineage.editor.checking"
_REPAIR = "kernel_lineage.editor.repairing"
_COLD_SECONDS = 10.0
"""More for the first check, whose processes have to start."""
_ASKED_SECONDS = 60.0
"""For a check that a person asked for, sees and can cancel."""
_REPAIR_SECONDS = 60.0
"""For all candidates of a repair together."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Judged:
    """What the last check of a kernel said."""

    document: CheckedDocument
    digest: bytes
    """The hash of what was checked (`Target.digest`)."""
    at: float
    """Seconds since the epoch."""
    unreached: str = ""
    """Why it was not checked at all, in a few words."""


class Checks:
    """The checks that run, and what the last one of each kernel found."""

    def __init__(self, server: EditorServer) -> None:
        self._server = server
        # One at a time: two checks would only slow each other down.
        self._turn = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="check")
        self._worker: Worker | None = None
        self._processes: Processes | None = None
        self._running: dict[str, asyncio.Task[dict[str, str]]] = {}
        self._asked: set[str] = set()
        """Documents that a person waits for."""
        self._later: list[str] = []
        """Documents whose check made room for another's."""
        self._pauses: dict[str, asyncio.TimerHandle] = {}
        self._judged: dict[str, dict[str, Judged]] = {}
        self._passed: dict[tuple[str, str], bytes] = {}
        """The file's text that passed last, by document and kernel."""
        self._in_work: dict[str, set[str]] = {}
        self._seen: dict[str, dict[str, float]] = {}
        """By document and kernel, when it was last in view."""

    def start(self, uri: str, at: types.Position | None = None) -> asyncio.Task[dict[str, str]]:
        """Check what has changed of a document's kernels, or the one at a place; ends the check before.

        With a place a person asks: progress is shown, and can be cancelled.
        """
        if (pause := self._pauses.pop(uri, None)) is not None:
            pause.cancel()
        before = self._running.get(uri)
        if before is not None:
            before.cancel()
        self._later = [other for other in self._later if other != uri]
        for other in self._running.keys() - self._asked - {uri}:
            if other not in self._later:
                self._later.append(other)  # it goes on from the kernels that are done
            self._running[other].cancel()
        if at is not None:
            self._asked.add(uri)
        task = asyncio.get_running_loop().create_task(self._check(uri, at, before))
        self._running[uri] = task
        task.add_done_callback(lambda done: self._done(uri, done))
        return task

    def after_pause(self, uri: str) -> None:
        """Check a document when the typing pauses."""
        if (pause := self._pauses.pop(uri, None)) is not None:
            pause.cancel()
        self._pauses[uri] = asyncio.get_running_loop().call_later(PAUSE, self.start, uri)

    def edited(self, uri: str, before: Text, after: Text) -> None:
        """Keep what was found at its lines."""
        judged = self._judged.get(uri)
        if judged and any(one.document.findings for one in judged.values()):
            self._judged[uri] = {name: _moved(one, before.data, after.data) for name, one in judged.items()}
            self._show(uri, after)

    def closed(self, uri: str) -> None:
        """A document was closed: its check ends, and what it found goes."""
        if (pause := self._pauses.pop(uri, None)) is not None:
            pause.cancel()
        self._later = [other for other in self._later if other != uri]
        if (task := self._running.get(uri)) is not None:
            task.cancel()
        self._seen.pop(uri, None)
        if self._judged.pop(uri, {}):
            self._publish(uri, [])

    def judged(self, uri: str) -> Mapping[str, Judged]:
        """By kernel, what the last check of each said."""
        return self._judged.get(uri, {})

    def in_work(self, uri: str) -> Set[str]:
        """The kernels of a document that are being checked, or wait for it."""
        return self._in_work.get(uri, frozenset())

    def in_view(self, uri: str, kernel: str) -> None:
        """A person looks at a kernel: one that was not reached is checked now."""
        self._seen.setdefault(uri, {})[kernel] = time.monotonic()
        judged = self.judged(uri).get(kernel)
        waits = uri in self._running or uri in self._later or self._server.settings.check == "off"
        if judged is not None and judged.digest == b"" and not waits:
            self.start(uri)

    def _done(self, uri: str, task: asyncio.Task[dict[str, str]]) -> None:
        if self._running.get(uri) is task:
            del self._running[uri]
            self._in_work.pop(uri, None)
            self._asked.discard(uri)
            if not self._running and self._later:
                self.start(self._later.pop())
            self._server.told_of_kernels()
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
        loop = asyncio.get_running_loop()
        there = await loop.run_in_executor(self._server.documents.thread, targets, snapshot)
        kept = self._judged.get(uri, {})
        self._judged[uri] = kept = {t.name: kept[t.name] for t in there if t.name in kept}
        if not there:
            self._show(uri, snapshot.text)
            return self._tell(uri, "unclear", "not checked: there is no kernel")
        wanted = [t for t in there if t.name not in kept or kept[t.name].digest != t.digest]
        if at is not None:
            kernel = snapshot.kernel_at(snapshot.text.offset(at))
            wanted = there if kernel is None else [t for t in there if t.name == kernel.name]
        seen = self._seen.get(uri, {})
        wanted.sort(key=lambda target: -seen.get(target.name, 0.0))
        if not wanted:
            self._show(uri, snapshot.text)
            return self._conclude(uri, [kept[t.name] for t in there])
        self._tell(uri, "checking", f"checking {', '.join(t.name for t in wanted)}")
        self._in_work[uri] = {t.name for t in wanted}
        self._server.told_of_kernels()
        title = f"Checking {snapshot.path.name}"
        place = at or snapshot.text.end  # behind the last kernel: all are meant
        repeat = Repeat(
            "klineage.checkKernel", {"uri": uri, "line": place.line, "character": place.character}
        )
        about = there if at is None else wanted
        async with JobProgress(self._server, None, title, repeat, uri if at is None else "") as progress:
            seconds = self._server.settings.check_seconds
            if at is not None:
                seconds = max(seconds, _ASKED_SECONDS)
            work = self._check_all(snapshot, wanted, about, seconds, progress.stage)
            answer = await progress.unless_cancelled(work)
            if answer is not None:
                now = self.judged(uri)
                page = check_page(title, [now[t.name].document for t in about if t.name in now])
                progress.end(RunState(answer["state"]), answer["message"], page)
        return answer or self._tell(uri, "unclear", "the check was cancelled")

    async def _check_all(
        self,
        snapshot: Snapshot,
        wanted: list[Target],
        about: list[Target],
        seconds: float,
        stage: Callable[[str], None],
    ) -> dict[str, str]:
        """Check some kernels within the seconds that a document may take, and say what is known of some."""
        uri = snapshot.uri
        deadline = time.monotonic() + seconds + (_COLD_SECONDS if self._processes is None else 0.0)
        for target in wanted:
            async with self._turn:  # between two kernels, another document's may be checked
                left = deadline - time.monotonic()
                if left > 0:
                    judged = await self._judge(snapshot, target, left, stage)
                else:
                    spent = f"the {seconds:g} seconds of this file were spent on the kernels before it"
                    # Without a digest of any text: the next save comes back to it.
                    judged = Judged(_unknown(target, spent), b"", time.time(), "not reached yet")
            self._keep(snapshot, target.name, judged)
        kept = self._judged.get(uri, {})
        return self._conclude(uri, [kept[t.name] for t in about if t.name in kept])

    async def _judge(
        self, snapshot: Snapshot, target: Target, seconds: float, stage: Callable[[str], None]
    ) -> Judged:
        """What is known of one kernel. Cancelling ends the process that judges."""
        started = time.monotonic()
        task = Task(
            path=snapshot.path,
            text=snapshot.text.data,
            kernel=target.name,
            line=target.line,
            passed=self._passed.get((snapshot.uri, target.name)),
            seconds=seconds,
        )
        try:
            answer = await self._run(_CHECK, task.model_dump_json(), seconds, stage)
        except (LostWorkError, DeviceError) as error:
            short, reason = "the check ended", str(error)
            if time.monotonic() - started >= seconds:
                short = f"not ready in {seconds:.0f} s"
                reason = f"{short}; a check that is asked for may take {_ASKED_SECONDS:g}"
            log.warning("%s: %s: %s (%s)", snapshot.path, target.name, reason, error)
            return Judged(_unknown(target, reason), target.digest, time.time(), short)
        return Judged(CheckedDocument.model_validate_json(answer), target.digest, time.time())

    async def repair(
        self, snapshot: Snapshot, kernel: str, line: int, stage: Callable[[str], None]
    ) -> Mended:
        """A change that a check finds right, for what was found at a line (1-based) of a kernel."""
        judged = self._judged.get(snapshot.uri, {}).get(kernel)
        found = [] if judged is None else [f for f in judged.document.findings if f.line == line]
        if not found:
            return Mended(reason="what was found at this line is not there any more")
        broken = Broken(
            path=snapshot.path,
            text=snapshot.text.data,
            kernel=kernel,
            code=found[0].code or "",
            lines=(line, *(r.line for r in found[0].related)),
            passed=self._passed.get((snapshot.uri, kernel)),
            seconds=self._server.settings.check_seconds,
        )
        async with self._turn:
            try:
                answer = await self._run(_REPAIR, broken.model_dump_json(), _REPAIR_SECONDS, stage)
            except (LostWorkError, DeviceError) as error:
                return Mended(reason=f"the repair ended: {error}")
        return Mended.model_validate_json(answer)

    async def _run(self, work: str, task: str, seconds: float, stage: Callable[[str], None]) -> str:
        """What a task gives. Cancelling ends the process that judges. Raises `LostWorkError`, `DeviceError`."""
        loop = asyncio.get_running_loop()
        stop = threading.Event()

        def report(name: str, what: str, _share: float) -> None:
            loop.call_soon_threadsafe(stage, f"{name}: {what}")

        done = loop.run_in_executor(self._thread, self._ask, work, task, seconds, stop.is_set, report)
        late = loop.call_later((1 + _FOR_VERDICTS) * seconds + 2 * _GRACE, self._interrupt)
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            stop.set()
            await asyncio.wait([done], timeout=_ENDS)
            if not done.done():
                self._interrupt()
                await asyncio.wait([done])
            raise
        finally:
            late.cancel()

    def _interrupt(self) -> None:
        if self._processes is not None:
            self._processes.interrupt()

    def _ask(
        self,
        work: str,
        task: str,
        seconds: float,
        cancelled: Callable[[], bool],
        report: Callable[[str, str, float], None],
    ) -> str:
        """In the checking thread."""
        worker = self._worker = self._worker or self._server.trust.worker()
        processes = self._processes = self._processes or self._server.trust.processes()
        worker.prepare()  # its imports go on beside those of the process that drafts
        deadline = time.monotonic() + seconds + _GRACE

        def judge(request: GateRequest) -> Verdict:
            left = max(deadline - time.monotonic(), _FOR_VERDICTS * seconds, 1.0)
            return worker.judge(request.within(left), timeout=left, cancelled=cancelled, on_progress=report)

        return processes.do(work, task, {JUDGE: judge})

    def _keep(self, snapshot: Snapshot, name: str, judged: Judged) -> None:
        """Keep what is known now, at the lines of the text as it is now."""
        if judged.document.state is VersionState.RIGHT:
            self._passed[snapshot.uri, name] = snapshot.text.data
        current = self._server.documents.current(snapshot.uri)
        if current is not None:
            _, text = current
            self._judged.setdefault(snapshot.uri, {})[name] = _moved(judged, snapshot.text.data, text.data)
            self._in_work.get(snapshot.uri, set()).discard(name)
            self._show(snapshot.uri, text)
            self._server.told_of_kernels()

    def _conclude(self, uri: str, about: list[Judged]) -> dict[str, str]:
        documents = [one.document for one in about]
        states = {document.state for document in documents}
        said = "; ".join(map(_said, documents))
        if VersionState.WRONG in states or any(d.findings for d in documents):
            return self._tell(uri, "wrong", said)
        return self._tell(uri, "right" if states == {VersionState.RIGHT} else "unclear", said)

    def _show(self, uri: str, text: Text) -> None:
        found = [f for one in self._judged.get(uri, {}).values() for f in one.document.findings]
        self._publish(uri, diagnostics(found, text, uri))

    def _publish(self, uri: str, found: list[types.Diagnostic]) -> None:
        self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found))

    def _tell(self, uri: str, state: str, message: str) -> dict[str, str]:
        answer = {"uri": uri, "state": state, "message": message}
        log.info("%s: %s", uri, message)
        self._server.protocol.notify(STATUS, answer)
        return answer


def _moved(judged: Judged, before: bytes, after: bytes) -> Judged:
    document = judged.document
    findings = list(moved(document.findings, before, after))
    return replace(judged, document=document.model_copy(update={"findings": findings}))


def _unknown(target: Target, reason: str) -> CheckedDocument:
    return CheckedDocument(
        kernel=target.name, line=target.line, state=VersionState.UNKNOWN, reason=reason, workload=""
    )


def _said(document: CheckedDocument) -> str:
    """One kernel's part of the status."""
    name = document.kernel
    if document.state is VersionState.RIGHT:
        drafted = ", with a drafted workload" if document.workload == "drafted" else ""
        return f"{name} is right on the emulated device{drafted}"
    if document.findings:
        return document.findings[0].message.partition("\n")[0]
    if document.state is VersionState.WRONG:
        return f"{name}: {document.reason}"
    return f"{name} is not decided: {document.reason}"
