"""From which kernels of other files the functions of open headers are reached, found out in the background."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from kernel_lineage.editor.offers import Offers
from kernel_lineage.editor.reaching import Header, Reaches

_WORK = "kernel_lineage.editor.reaching"

log = logging.getLogger(__name__)


class ReachedFrom:
    """By header. What was known before a file was saved is shown until the answer after it."""

    def __init__(self, offers: Offers, changed: Callable[[], None]) -> None:
        self._offers = offers
        self._changed = changed
        self._reaches: dict[Path, Reaches] = {}
        self._fresh: set[Path] = set()
        self._asking: dict[Path, asyncio.Task[None]] = {}

    def of(self, header: Path) -> Reaches | None:
        """What is known of a header; asks for it where nothing is. Never waits."""
        if header not in self._fresh and header not in self._asking:
            self._fresh.add(header)
            task = asyncio.get_running_loop().create_task(self._ask(header))
            self._asking[header] = task
            task.add_done_callback(lambda _: self._asking.pop(header, None))
        return self._reaches.get(header)

    def forget(self) -> None:
        """A file was saved, or a header opened: another one may include it now."""
        self._fresh.clear()

    async def _ask(self, header: Path) -> None:
        answer = await self._offers.do(_WORK, Header(path=header).model_dump_json())
        self._reaches[header] = (
            Reaches(why_not="the search ended") if answer is None else Reaches.model_validate_json(answer)
        )
        self._changed()
