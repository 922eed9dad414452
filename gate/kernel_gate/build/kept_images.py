"""Images that one process has built and may need again: the same program for the same device gives the same image."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future

from kernel_gate.build.child import program_to_json
from kernel_gate.build.unit import Unit
from kernel_gate.devices.image import Image
from kernel_gate.program import Program

_MOST = 256
"""Images; each is some ten kilobytes to a few megabytes."""

_Key = tuple[str, str, bool, Unit]
"""The program without what messages alone say of it, the architecture, whether there is a cubin, the unit."""
_OF_MESSAGES = ("name", "first_line")


class KeptImages:
    """The images of the last builds, in memory only: nothing that another process could write is believed."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._images: OrderedDict[_Key, Image] = OrderedDict()
        self._in_work: dict[_Key, Future[Image | None]] = {}
        """What some thread builds now; None for a build that failed."""
        self._lock = threading.Lock()

    def of(
        self,
        program: Program,
        arch: str,
        want_cubin: bool,
        units: Sequence[Unit],
        compiled: Callable[[Sequence[Unit]], Mapping[Unit, Image]],
    ) -> dict[Unit, Image]:
        """One image per unit; `compiled` makes those that are missing, and is not called when none is.

        What another thread builds is waited for; where that fails, it is built here, so that the error names this
        program.
        """
        fields = {k: v for k, v in program_to_json(program).items() if k not in _OF_MESSAGES}
        text = json.dumps(fields, sort_keys=True)
        keys: dict[Unit, _Key] = {unit: (text, arch, want_cubin, unit) for unit in units}
        with self._lock:
            images = {unit: self._images[key] for unit, key in keys.items() if key in self._images}
            others = {u: self._in_work[k] for u, k in keys.items() if u not in images and k in self._in_work}
            own = [unit for unit in keys if unit not in images and unit not in others]
            self._in_work |= {keys[unit]: Future() for unit in own}
        images |= self._made(keys, own, compiled)
        images |= {unit: image for unit, work in others.items() if (image := work.result()) is not None}
        failed = [unit for unit in others if unit not in images]
        images |= dict(compiled(failed)) if failed else {}
        with self._lock:
            self._images |= {key: images[unit] for unit, key in keys.items()}
            for key in keys.values():
                self._images.move_to_end(key)
            while len(self._images) > self._most:
                self._images.popitem(last=False)
        return {unit: images[unit] for unit in units}

    def _made(
        self,
        keys: Mapping[Unit, _Key],
        own: Sequence[Unit],
        compiled: Callable[[Sequence[Unit]], Mapping[Unit, Image]],
    ) -> dict[Unit, Image]:
        made: dict[Unit, Image] = {}
        try:
            made = dict(compiled(own)) if own else {}
        finally:
            with self._lock:
                for unit in own:
                    self._in_work.pop(keys[unit]).set_result(made.get(unit))
        return made
