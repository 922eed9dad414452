"""The checks of documents' kernels on the emulated device: which is made when, and for how long.

A document has one check at a time; a newer text ends the older one's, and the document that was touched last goes
first. Kernels that are in view are checked before the others, which follow when they come into view and the time was
spent before them. A kernel is checked again when its own text, or the text that all kernels of its file share, has
changed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from pathlib import Path

from lsprotocol import types

from kernel_lineage.editor.beside import Beside
from kernel_lineage.editor.check_targets import Target, targets
from kernel_lineage.editor.check_work import ASKED_SECONDS, CheckWork
from kernel_lineage.editor.crowding import crowding
from kernel_lineage.editor.documents import PAUSE as PARSED_AFTER
from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.editor.judged import Judged, in_words, with_proofs
from kernel_lineage.editor.kept_checks import KeptChecks
from kernel_lineage.editor.occasion import Occasion
from kernel_lineage.editor.progress import JobProgress
from kernel_lineage.editor.repairing import Broken, Mended
from kernel_lineage.editor.runs import Repeat, RunState
from kernel_lineage.editor.server import EditorServer
from kernel_lineage.editor.text import Text
from kernel_lineage.editor.verdicts import Verdicts
from kernel_lineage.editor.views.runs import check_page
from kernel_lineage.kernels.naming import own_name
from kernel_lineage.kernels.source import Kernel

PAUSE = 0.7
"""Seconds without an edit after which a document is checked."""
REST = 3.0
"""Seconds without an edit after such a check until the source is asked as well."""
_COLD_SECONDS = 10.0
"""More for the first check, whose processes have to start."""

log = logging.getLogger(__name__)


class Checks:
    """The checks that run and wait."""

    def __init__(self, server: EditorServer) -> None:
        self._server = server
        self._work = CheckWork(server.trust)
        self._verdicts = Verdicts(server)
        self._kept = KeptChecks()
        self._running: dict[str, asyncio.Task[dict[str, str]]] = {}
        self._asked: set[str] = set()
        """Documents that a person waits for."""
        self._later: list[str] = []
        """Documents whose check made room for another's."""
        self._pauses: dict[str, asyncio.TimerHandle] = {}
        self._comparing: dict[str, asyncio.TimerHandle] = {}
        self._comparisons: set[asyncio.Task[None]] = set()
        self._beside = Beside(self._kept.thread)
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
        self._verdicts.edited(uri, before, after)
        if (pause := self._comparing.pop(uri, None)) is not None:
            pause.cancel()
        if self.judged(uri):
            loop = asyncio.get_running_loop()
            self._comparing[uri] = loop.call_later(PARSED_AFTER, self._compare_soon, uri)

    def closed(self, uri: str) -> None:
        """A document was closed: its check ends, and what it found goes."""
        for pauses in (self._pauses, self._comparing):
            if (pause := pauses.pop(uri, None)) is not None:
                pause.cancel()
        self._later = [other for other in self._later if other != uri]
        if (task := self._running.get(uri)) is not None:
            task.cancel()
        self._seen.pop(uri, None)
        self._beside.forget(uri)
        self._verdicts.forget(uri)
        self._server.told_of_kernels()

    def _compare_soon(self, uri: str) -> None:
        task = asyncio.get_running_loop().create_task(self._compare(uri))
        self._comparisons.add(task)
        task.add_done_callback(self._comparisons.discard)

    async def _compare(self, uri: str) -> None:
        """See which kernels were edited since they were checked, and show it."""
        snapshot = await self._server.documents.snapshot(uri)
        if snapshot is None:
            return
        loop = asyncio.get_running_loop()
        there = await loop.run_in_executor(self._server.documents.thread, targets, snapshot)
        current = self._server.documents.current(uri)
        if current is not None and current[1] is snapshot.text:  # else there is a newer edit
            self._outdate(uri, there, self._edited(uri, there))

    def _edited(self, uri: str, there: list[Target]) -> list[Target]:
        """The kernels whose last check, if there was one, was of another text."""
        judged = self.judged(uri)
        return [t for t in there if t.name not in judged or judged[t.name].digest != t.digest]

    def _outdate(self, uri: str, there: list[Target], edited: list[Target]) -> None:
        names = {target.name for target in edited}
        if not self._verdicts.outdate(uri, names):
            return
        if outdated := [name for name, one in self.judged(uri).items() if one.is_outdated]:
            self._verdicts.tell(uri, "edited", f"edited since the last check: {', '.join(outdated)}")
        else:
            self._verdicts.conclude(uri, there)
        self._server.told_of_kernels()

    def judged(self, uri: str) -> Mapping[str, Judged]:
        """By kernel, what the last check of each said."""
        return self._verdicts.of(uri)

    async def judged_in(self, path: Path) -> Mapping[str, Judged]:
        """The same of a file that may be closed: then what is kept of the text that the disk holds."""
        if self._server.documents.current(path.as_uri()) is not None:
            return self.judged(path.as_uri())
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._kept.thread, self._kept.of_disk, path)

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
            nothing = "not checked: the document holds no kernels, or is not open"
            return self._verdicts.tell(uri, "unclear", nothing)
        if (refusal := self._server.trust.refusal) is not None:
            return self._verdicts.tell(uri, "unclear", f"not checked: {refusal}")
        loop = asyncio.get_running_loop()
        there = await loop.run_in_executor(self._server.documents.thread, targets, snapshot)
        if occasion is not Occasion.RESTED:
            await self._beside.look(snapshot, occasion)
        if occasion is Occasion.SHOWN and at is None:
            await self._recall(snapshot, there)
        kept = self._verdicts.keep_only(uri, there)
        if not there:
            self._verdicts.show(uri, snapshot.text)
            return self._verdicts.tell(uri, "unclear", "not checked: there is no kernel")
        changed = self._edited(uri, there)
        if occasion is Occasion.SHOWN:  # its launch may be in a file that was changed meanwhile
            around = self._beside.of(uri)
            changed += [t for t in there if t not in changed and kept[t.name].around != around]
        self._outdate(uri, there, changed)
        wanted = changed if occasion is not Occasion.RESTED else []
        if at is not None:
            kernel = snapshot.kernel_at(snapshot.text.offset(at))
            wanted = there if kernel is None else [t for t in there if t.name == own_name(kernel)]
        seen = self._seen.get(uri, {})
        wanted.sort(key=lambda target: -seen.get(target.name, 0.0))
        least = 0.0 if at is None else ASKED_SECONDS
        longer = crowding()
        seconds = max(longer * self._server.settings.check_seconds, least)
        deadline = time.monotonic() + seconds + (longer * _COLD_SECONDS if self._work.is_cold else 0.0)
        if not wanted:
            self._verdicts.show(uri, snapshot.text)
            earlier = self._verdicts.conclude(uri, there)
            patient = occasion is Occasion.SHOWN
            return await self._prove(snapshot, there, there, deadline, earlier, patient=patient)
        self._verdicts.tell(uri, "checking", f"checking {', '.join(t.name for t in wanted)}")
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
                page = self._page(uri, title, about)
                progress.end(RunState(answer["state"]), answer["message"], page)
        if answer is None:
            return self._verdicts.tell(uri, "unclear", "the check was cancelled")
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
            passed = self._verdicts.passed(uri, target.name)
            around = self._beside.of_drafts(uri)
            judged = await self._work.judge(snapshot, target, around, passed, deadline, stage)
            self._keep(snapshot, target.name, replace(judged, around=self._beside.of(uri)))
        self._remember(snapshot, about)
        return self._verdicts.conclude(uri, about)

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
            judged = self.judged(uri).get(target.name)
            left = deadline - time.monotonic()
            if judged is None or judged.digest != target.digest or judged.is_proved or not judged.passes:
                continue
            if not patient and judged.proof is not None and not judged.proof.in_time:
                continue
            if left <= 0:
                break
            stage(f"prove: {target.name}")
            proved = await self._work.prove(snapshot, target, self._beside.of_drafts(uri), left)
            if proved is None:
                break  # its process is gone
            now = with_proofs(judged, proved)
            self._keep(snapshot, target.name, now)
            changed = changed or in_words(now) != in_words(judged)
        self._remember(snapshot, about)
        if not changed:
            return answer
        answer = self._verdicts.conclude(uri, about)
        if (run := self._server.runs.ended_about(uri)) is not None:  # what it said was before the proofs
            run.end(RunState(answer["state"]), answer["message"], self._page(uri, run.title, about))
        return answer

    async def repair(
        self, snapshot: Snapshot, kernel: str, line: int, stage: Callable[[str], None]
    ) -> Mended:
        """A change that a check finds right, for what was found at a line (1-based) of a kernel."""
        judged = self.judged(snapshot.uri).get(kernel)
        findings = [] if judged is None else [f for f in judged.document.findings if f.line == line]
        if not findings:
            return Mended(reason="what was found at this line is not there any more")
        broken = Broken(
            path=snapshot.path,
            text=snapshot.text.data,
            kernel=kernel,
            around=self._beside.of_drafts(snapshot.uri),
            code=findings[0].code or "",
            lines=(line, *(r.line for r in findings[0].related)),
            passed=self._verdicts.sound(snapshot.uri, kernel),
            seconds=self._server.settings.check_seconds,
        )
        return await self._work.repair(broken, stage)

    def _page(self, uri: str, title: str, about: list[Target]) -> str:
        judged = self.judged(uri)
        return check_page(title, [judged[t.name].document for t in about if t.name in judged])

    async def recall(self, snapshot: Snapshot) -> None:
        """Show what is kept of a document that was opened, before anything is run."""
        if self._server.trust.granted:
            loop = asyncio.get_running_loop()
            there = await loop.run_in_executor(self._server.documents.thread, targets, snapshot)
            await self._beside.look(snapshot, Occasion.SHOWN)
            await self._recall(snapshot, there)
            if there and all(target.name in self.judged(snapshot.uri) for target in there):
                self._verdicts.conclude(snapshot.uri, there)

    async def _recall(self, snapshot: Snapshot, there: list[Target]) -> None:
        """Keep what an earlier check said of kernels of which nothing is known, where it would read the same now."""
        uri, loop = snapshot.uri, asyncio.get_running_loop()
        around = self._beside.of(uri)
        new = [target for target in there if target.name not in self.judged(uri)]
        if around is not None and new:
            recalled = await loop.run_in_executor(
                self._kept.thread, self._kept.recalled, snapshot, new, around
            )
            for name, judged in recalled.items():
                self._keep(snapshot, name, judged)

    def _remember(self, snapshot: Snapshot, about: list[Target]) -> None:
        """Keep what was said of a text, unless it has moved on."""
        current = self._server.documents.current(snapshot.uri)
        around = self._beside.of(snapshot.uri)
        if around is not None and current is not None and current[1].data == snapshot.text.data:
            judged = dict(self.judged(snapshot.uri))
            self._kept.thread.submit(self._kept.keep, snapshot, about, judged, around)

    def _keep(self, snapshot: Snapshot, name: str, judged: Judged) -> None:
        self._verdicts.keep(snapshot, name, judged)
        self._in_work.get(snapshot.uri, set()).discard(name)
        self._server.told_of_kernels()
