"""What a launch did wrong, as it is found and as it is reported."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernel_gate.devices.base import Fault

MOST = 20
"""Findings kept of one launch; each place in the source is kept once."""


class LaunchFault(Exception):  # noqa: N818
    """Ends a launch, as an illegal address does on a GPU."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


@dataclass(slots=True)
class Findings:
    """Faults that do not end a launch: the first of each kind and source line."""

    found: dict[tuple[str, int | None, str | None], Fault] = field(default_factory=dict)
    _replaceable: set[tuple[str, int | None, str | None]] = field(default_factory=set)

    def add(self, fault: Fault, plain: bool = True) -> None:
        """Keep a fault, unless its kind was already found on this line and buffer.

        One that is not `plain`, as a race within a warp is beside one of two warps, makes room for one that is.
        """
        key = (fault.kind, fault.line, fault.buffer)
        if key in self._replaceable and plain:
            self._replaceable.discard(key)
            self.found[key] = fault
        elif key not in self.found and len(self.found) < MOST:
            self.found[key] = fault
            if not plain:
                self._replaceable.add(key)
