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
import os
import time
from collections.abc import Callable, Mapping, Set

from lsprotocol import types

from kernel_gate.devices.error import DeviceError
from kernel_lineage.editor.check_process import CheckProcess
from kernel_lineage.editor.check_targets import Target, targets
from kernel_lineage.editor.checking import Task
from kernel_lineage.editor.diagnostics import diagnostics
from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.editor.judged import (
    Judged,
    in_words,
    moved_to,
    too_late,
    unknown,
    with_earlier_proofs,
    with_proofs,
)
from kernel_lineage.editor.occasion import Occasion
from kernel_lineage.editor.progress import JobProgress
from kernel_lineage.editor.proving import Claims, Proved
from kernel_lineage.editor.repairing import Broken, Mended
from kernel_lineage.editor.runs import Repeat, RunState
from kernel_lineage.editor.server import EditorServer
from kernel_lineage.editor.text import Text
from kernel_lineage.editor.views.runs import check_page
from kernel_lineage.kernels.naming import own_name
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.learning.apart import LostWorkError
from kernel_lineage.learning.check_document import CheckedDocument
from kernel_lineage.learning.version_checks import VersionState

STATUS = "klineage/check"
"""Tells an editor that listens how the check of a document goes: `uri`, `state`, `message`."""
PAUSE = 0.7
"""Seconds without an edit after which a document is checked."""
REST = 3.0
"""Seconds without an edit after such a check until the source is asked as well."""
_CHECK = "kernel_lineage.editor.checking"
_REPAIR = "kernel_lineage.editor.repairing"
_PROVE = "kernel_lineage.editor.proving"
_COLD_SECONDS = 10.0
"""More for the first check, whose processes have to start."""
_ASKED_SECONDS = 60.0
"""For a check that a person asked for, sees and can cancel."""
_REPAIR_SECONDS = 60.0
"""For all candidates of a repair together."""
_MOST_CROWDED = 4.0
"""A check waits no longer than so many times its seconds."""

log = logging.getLogger(__name__)


class Checks:
    """The checks that run, and what the last one of each kernel found."""

    def __init__(self, server: EditorServer) -> None:
        self._server = server
        # One at a time: two checks would only slow each other down.
        self._turn = asyncio.Lock()
        self._process = CheckProcess(server.trust)
        self._running: dict[str, asyncio.Task[dict[str, str]]] = {}
        self._asked: set[str] = set()
        """Documents that a person waits for."""
        self._later: list[str] = []
        """Documents whose check made room for another's."""
        self._pauses: dict[str, asyncio.TimerHandle] = {}
        self._judged: dict[str, dict[str, Judged]] = {}
        self._passed: dict[tuple[str, str], bytes] = {}
        """The file's text that passed last, by document and kernel."""
        self._sound: dict[tuple[str, str], bytes] = {}
        """The same of a text against which the proofs had nothing either."""
        self._in_work: dict[str, set[str]] = {}
        self._seen: dict[str, dict[str, float]] = {}
        """By document and kernel, when it was last in view."""

    def start(
        self, uri: str, at: types.Position | None = None, occasion: Occasion = Occasion.SHOWN
    ) -> asyncio.Task[dict[str, str]]:
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
        task = asyncio.get_running_loop().create_task(self._check(uri, at, before, occasion))
        self._running[uri] = task
        task.add_done_callback(lambda done: self._done(uri, done))
        return task

    def after_pause(self, uri: str) -> None:
        """Check a document when the typing pauses."""
        if (pause := self._pauses.pop(uri, None)) is not None:
            pause.cancel()
        self._start_after(PAUSE, uri, Occasion.TYPED)

    def _start_after(self, seconds: float, uri: str, occasion: Occasion) -> None:
        self._pauses[uri] = asyncio.get_running_loop().call_later(seconds, self.start, uri, None, occasion)

    def edited(self, uri: str, before: Text, after: Text) -> None:
        """Keep what was found at its lines."""
        judged = self._judged.get(uri)
        if judged and any(one.document.findings for one in judged.values()):
            self._judged[uri] = {name: moved_to(one, before.data, after.data) for name, one in judged.items()}
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

    def judged_of(self, uri: str, kernel: Kernel) -> Judged | None:
        """What the last check of a kernel said; None where it was not checked, and below another of its name."""
        return self.judged(uri).get(own_name(kernel))

    def in_work(self, uri: str) -> Set[str]:
        """The kernels of a document that are being checked, or wait for it."""
        return self._in_work.get(uri, frozenset())

    def runs(self, uri: str) -> bool:
        """Whether a check of a document runs."""
        return uri in self._running

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
        self,
        uri: str,
        at: types.Position | None,
        before: asyncio.Task[dict[str, str]] | None,
        occasion: Occasion,
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
        changed = [t for t in there if t.name not in kept or kept[t.name].digest != t.digest]
        wanted = changed if occasion is not Occasion.RESTED else []
        if at is not None:
            kernel = snapshot.kernel_at(snapshot.text.offset(at))
            wanted = there if kernel is None else [t for t in there if t.name == own_name(kernel)]
        seen = self._seen.get(uri, {})
        wanted.sort(key=lambda target: -seen.get(target.name, 0.0))
        least = 0.0 if at is None else _ASKED_SECONDS
        longer = crowding()
        seconds = max(longer * self._server.settings.check_seconds, least)
        deadline = time.monotonic() + seconds + (longer * _COLD_SECONDS if self._process.is_cold else 0.0)
        if not wanted:
            self._show(uri, snapshot.text)
            earlier = self._conclude(uri, [kept[t.name] for t in there if t.name in kept])
            patient = occasion is Occasion.SHOWN
            return await self._prove(snapshot, there, there, deadline, earlier, patient=patient)
        self._tell(uri, "checking", f"checking {', '.join(t.name for t in wanted)}")
        self._in_work[uri] = {t.name for t in wanted}
        self._server.told_of_kernels()
        title = snapshot.path.name
        place = at or snapshot.text.end  # behind the last kernel: all are meant
        repeat = Repeat(
            "klineage.checkKernel", {"uri": uri, "line": place.line, "character": place.character}
        )
        about = there if at is None else wanted
        async with JobProgress(self._server, None, title, repeat, uri if at is None else "") as progress:
            work = self._check_all(snapshot, wanted, about, deadline, progress.stage)
            answer = await progress.unless_cancelled(work)
            if answer is not None and at is not None:
                proving = self._prove(snapshot, wanted, about, deadline, answer, progress.stage)
                answer = await progress.unless_cancelled(proving)
            if answer is not None:
                now = self.judged(uri)
                page = check_page(title, [now[t.name].document for t in about if t.name in now])
                progress.end(RunState(answer["state"]), answer["message"], page)
        if answer is None:
            return self._tell(uri, "unclear", "the check was cancelled")
        if at is not None:
            return answer
        if occasion is Occasion.TYPED:
            if uri not in self._pauses:  # else there is a newer text
                self._start_after(REST, uri, Occasion.RESTED)
            return answer
        return await self._prove(snapshot, wanted, about, deadline, answer)

    async def _check_all(
        self,
        snapshot: Snapshot,
        wanted: list[Target],
        about: list[Target],
        deadline: float,
        stage: Callable[[str], None],
    ) -> dict[str, str]:
        """Check some kernels until the time that a document may take is over, and say what is known of some."""
        uri = snapshot.uri
        for target in wanted:
            async with self._turn:  # between two kernels, another document's may be checked
                left = deadline - time.monotonic()
                if left > 0:
                    judged = await self._judge(snapshot, target, left, stage)
                else:
                    spent = "the time for this file was spent on the kernels before it"
                    # Without a digest of any text: the next save comes back to it.
                    judged = Judged(unknown(target, spent), b"", time.time(), "not reached yet")
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
            answer = await self._process.do(_CHECK, task.model_dump_json(), seconds, stage)
        except (LostWorkError, DeviceError) as error:
            log.warning("%s: %s: %s", snapshot.path, target.name, error)
            document, short = unknown(target, str(error)), "the check ended"
        else:
            document, short = CheckedDocument.model_validate_json(answer), ""
        undecided = document.state is VersionState.UNKNOWN and not document.findings
        if undecided and time.monotonic() - started >= seconds:
            return too_late(target, seconds, _ASKED_SECONDS)
        return Judged(document, target.digest, time.time(), short)

    async def _prove(
        self,
        snapshot: Snapshot,
        wanted: list[Target],
        about: list[Target],
        deadline: float,
        answer: dict[str, str],
        stage: Callable[[str], None] = lambda _stage: None,
        *,
        patient: bool = True,
    ) -> dict[str, str]:
        """Ask the source of kernels that are right for what no case reaches, in what the check has left of its time.

        Without patience those are left out whose source took longer than a check may the last time. Gives the check's
        `answer`, or another one where a proof says otherwise.
        """
        uri, changed = snapshot.uri, False
        for target in wanted:
            judged = self._judged.get(uri, {}).get(target.name)
            left = deadline - time.monotonic()
            if judged is None or judged.digest != target.digest or judged.is_proved or not judged.passes:
                continue
            if not patient and judged.proof is not None and not judged.proof.in_time:
                continue
            if left <= 0:
                break
            stage(f"prove: {target.name}")
            async with self._turn:
                proved = await self._proved(snapshot, target, left)
            if proved is None:
                break  # its process is gone
            now = with_proofs(judged, proved)
            self._keep(snapshot, target.name, now)
            changed = changed or in_words(now) != in_words(judged)
        if not changed:
            return answer
        kept = self._judged.get(uri, {})
        judged_now = [kept[t.name] for t in about if t.name in kept]
        answer = self._conclude(uri, judged_now)
        if (run := self._server.runs.ended_about(uri)) is not None:  # what it said was before the proofs
            page = check_page(run.title, [one.document for one in judged_now])
            run.end(RunState(answer["state"]), answer["message"], page)
        return answer

    async def _proved(self, snapshot: Snapshot, target: Target, seconds: float) -> Proved | None:
        with self._process.stop_file() as stop:
            claims = Claims(
                path=snapshot.path, text=snapshot.text.data, kernel=target.name, seconds=seconds, stop=stop
            )
            try:
                answer = await self._process.do(
                    _PROVE, claims.model_dump_json(), seconds, lambda _stage: None, stop
                )
            except (LostWorkError, DeviceError) as error:
                log.warning("%s: %s: nothing is proved: %s", snapshot.path, target.name, error)
                return None
        proved = Proved.model_validate_json(answer)
        log.info(
            "%s: %s: %d of %d proved. %s",
            snapshot.path,
            target.name,
            proved.proved,
            proved.asked,
            proved.open,
        )
        return proved

    async def repair(
        self, snapshot: Snapshot, kernel: str, line: int, stage: Callable[[str], None]
    ) -> Mended:
        """A change that a check finds right, for what was found at a line (1-based) of a kernel."""
        judged = self._judged.get(snapshot.uri, {}).get(kernel)
        findings = [] if judged is None else [f for f in judged.document.findings if f.line == line]
        if not findings:
            return Mended(reason="what was found at this line is not there any more")
        broken = Broken(
            path=snapshot.path,
            text=snapshot.text.data,
            kernel=kernel,
            code=findings[0].code or "",
            lines=(line, *(r.line for r in findings[0].related)),
            passed=self._sound.get((snapshot.uri, kernel), self._passed.get((snapshot.uri, kernel))),
            seconds=self._server.settings.check_seconds,
        )
        async with self._turn:
            try:
                answer = await self._process.do(_REPAIR, broken.model_dump_json(), _REPAIR_SECONDS, stage)
            except (LostWorkError, DeviceError) as error:
                return Mended(reason=f"the repair ended: {error}")
        return Mended.model_validate_json(answer)

    def _keep(self, snapshot: Snapshot, name: str, judged: Judged) -> None:
        """Keep what is known now, at the lines of the text as it is now."""
        if judged.passes:
            self._passed[snapshot.uri, name] = snapshot.text.data
            self._server.measured.count(snapshot.source, judged.checked)
        if judged.is_sound:
            self._sound[snapshot.uri, name] = snapshot.text.data
        current = self._server.documents.current(snapshot.uri)
        if current is not None:
            _, text = current
            kept = self._judged.setdefault(snapshot.uri, {})
            now = moved_to(judged, snapshot.text.data, text.data)
            kept[name] = with_earlier_proofs(now, kept.get(name))
            self._in_work.get(snapshot.uri, set()).discard(name)
            self._show(snapshot.uri, text)
            self._server.told_of_kernels()

    def _conclude(self, uri: str, about: list[Judged]) -> dict[str, str]:
        states = {one.document.state for one in about}
        message = "; ".join(map(in_words, about))
        if any(one.is_wrong for one in about):
            return self._tell(uri, "wrong", message)
        return self._tell(uri, "right" if states == {VersionState.RIGHT} else "unclear", message)

    def _show(self, uri: str, text: Text) -> None:
        findings = [f for one in self.judged(uri).values() for f in one.document.findings]
        self._publish(uri, diagnostics(findings, text, uri))

    def _publish(self, uri: str, markers: list[types.Diagnostic]) -> None:
        self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, markers))

    def _tell(self, uri: str, state: str, message: str) -> dict[str, str]:
        answer = {"uri": uri, "state": state, "message": message}
        log.info("%s: %s", uri, message)
        self._server.protocol.notify(STATUS, answer)
        return answer


def crowding() -> float:
    """How many times as long as on a quiet machine work takes here now: tasks that want a processor, for each.

    The seconds of a check are what it may cost, and on a busy machine it costs no more for taking longer.
    """
    try:
        wanting = os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows counts none
        return 1.0
    return min(max(wanting / (os.cpu_count() or 1), 1.0), _MOST_CROWDED)
