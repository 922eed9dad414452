"""What the checks ask their process for: whether a kernel is right, what its source says, what would mend it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from kernel_gate.devices.error import DeviceError
from kernel_lineage.editor.check_process import CheckProcess
from kernel_lineage.editor.check_targets import Target
from kernel_lineage.editor.checking import Task
from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.editor.judged import Judged, too_late, unknown
from kernel_lineage.editor.proving import Claims, Proved
from kernel_lineage.editor.repairing import Broken, Mended
from kernel_lineage.editor.trust import Trust
from kernel_lineage.learning.apart import LostWorkError
from kernel_lineage.learning.check_document import CheckedDocument
from kernel_lineage.learning.version_checks import VersionState

ASKED_SECONDS = 60.0
"""For a check that a person asked for, sees and can cancel."""
_CHECK = "kernel_lineage.editor.checking"
_REPAIR = "kernel_lineage.editor.repairing"
_PROVE = "kernel_lineage.editor.proving"
_REPAIR_SECONDS = 60.0
"""For all candidates of a repair together."""

log = logging.getLogger(__name__)


class CheckWork:
    """One piece of work at a time: two would only slow each other down. Cancelling one ends what it runs."""

    def __init__(self, trust: Trust) -> None:
        self._turn = asyncio.Lock()
        self._process = CheckProcess(trust)

    @property
    def is_cold(self) -> bool:
        """Whether its processes have still to start."""
        return self._process.is_cold

    async def judge(
        self,
        snapshot: Snapshot,
        target: Target,
        around: str,
        passed: bytes | None,
        deadline: float,
        stage: Callable[[str], None],
    ) -> Judged:
        """What is known of one kernel by a deadline."""
        async with self._turn:  # between two kernels, another document's may be checked
            seconds = deadline - time.monotonic()
            if seconds <= 0:
                spent = "the time for this file was spent on the kernels before it"
                # Without a digest of any text: the next save comes back to it.
                return Judged(unknown(target, spent), b"", time.time(), "not reached yet")
            return await self._judge(snapshot, target, around, passed, seconds, stage)

    async def _judge(
        self,
        snapshot: Snapshot,
        target: Target,
        around: str,
        passed: bytes | None,
        seconds: float,
        stage: Callable[[str], None],
    ) -> Judged:
        started = time.monotonic()
        task = Task(
            path=snapshot.path,
            text=snapshot.text.data,
            kernel=target.name,
            around=around,
            line=target.line,
            passed=passed,
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
            return too_late(target, seconds, ASKED_SECONDS)
        return Judged(document, target.digest, time.time(), short)

    async def prove(self, snapshot: Snapshot, target: Target, around: str, seconds: float) -> Proved | None:
        """What the source of a kernel says beyond its cases; None where the process is gone."""
        async with self._turn:
            with self._process.stop_file() as stop:
                claims = Claims(
                    path=snapshot.path,
                    text=snapshot.text.data,
                    kernel=target.name,
                    around=around,
                    seconds=seconds,
                    stop=stop,
                )
                try:
                    answer = await self._process.do(
                        _PROVE, claims.model_dump_json(), seconds, lambda _stage: None, stop
                    )
                except (LostWorkError, DeviceError) as error:
                    log.warning("%s: %s: nothing is proved: %s", snapshot.path, target.name, error)
                    return None
        proved = Proved.model_validate_json(answer)
        of = f"{proved.proved} of {proved.asked} proved. {proved.open}"
        log.info("%s: %s: %s", snapshot.path, target.name, of)
        return proved

    async def repair(self, broken: Broken, stage: Callable[[str], None]) -> Mended:
        """A change that a check finds right."""
        async with self._turn:
            try:
                answer = await self._process.do(_REPAIR, broken.model_dump_json(), _REPAIR_SECONDS, stage)
            except (LostWorkError, DeviceError) as error:
                return Mended(reason=f"the repair ended: {error}")
        return Mended.model_validate_json(answer)
