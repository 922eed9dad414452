"""Images that one process has built and may need again: the same program for the same device gives the same image."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

from kernel_gate.build.child import program_to_json
from kernel_gate.build.unit import Unit
from kernel_gate.devices.image import Image
from kernel_gate.program import Program

_MOST = 256
"""Images; each is some ten kilobytes to a few megabytes."""

_Key = tuple[str, str, bool, Unit]
"""The whole program, the architecture, whether there is a cubin, the unit."""


class KeptImages:
    """The images of the last builds, in memory only: nothing that another process could write is believed."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._images: OrderedDict[_Key, Image] = OrderedDict()
        self._lock = threading.Lock()

    def of(
        self,
        program: Program,
        arch: str,
        want_cubin: bool,
        units: Sequence[Unit],
        compiled: Callable[[Sequence[Unit]], Mapping[Unit, Image]],
    ) -> dict[Unit, Image]:
        """One image per unit; `compiled` makes those that are missing, and is not called when none is."""
        text = json.dumps(program_to_json(program), sort_keys=True)
        keys: dict[Unit, _Key] = {unit: (text, arch, want_cubin, unit) for unit in units}
        with self._lock:
            found = {unit: self._images[key] for unit, key in keys.items() if key in self._images}
        missing = [unit for unit in keys if unit not in found]
        made = dict(compiled(missing)) if missing else {}
        with self._lock:
            self._images |= {keys[unit]: image for unit, image in made.items()}
            for unit in keys:
                self._images.move_to_end(keys[unit])
            while len(self._images) > self._most:
                self._images.popitem(last=False)
        return {unit: found[unit] if unit in found else made[unit] for unit in units}
