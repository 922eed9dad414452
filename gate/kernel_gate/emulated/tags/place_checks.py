"""Assertions at a place: operands as the marks of an annotated program give them, judged where its check stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernel_gate.emulated.registry import Step
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.tags.assertions import Assertions
from kernel_gate.emulated.tags.keys import UNTAGGED, Keys
from kernel_gate.emulated.tags.marks import Mark
from kernel_gate.emulated.tags.shadows import Shadows
from kernel_gate.emulated.types import TYPES
from kernel_gate.emulated.watching import Wrap
from kernel_gate.emulated.wave import Wave
from kernel_gate.invariants.model import Assertion


@dataclass(slots=True)
class PlaceChecks:
    """The checks of one launch at places."""

    shadows: Shadows
    seen: Assertions
    assertions: Sequence[Assertion]
    operands: dict[tuple[int, int], Keys] = field(default_factory=dict)
    """By assertion and operand: (width, lanes, all threads of the wave)."""
    numbers: dict[tuple[int, int], Any] = field(default_factory=dict)
    _blocks: Any = None

    def watch(self, site: Site, mark: Mark) -> Wrap | None:
        """What to put around a mark; None for one of an assertion that is not watched."""
        assertion = next((a for a in self.assertions if a.number == mark.assertion), None)
        if assertion is None:
            return None
        act: Callable[[Wave], None]
        if mark.kind == "operand":
            act = self._operand(site, mark)
        elif mark.kind == "number":
            act = self._number(site, mark)
        else:

            def act(wave: Wave) -> None:
                self._check(wave, site, assertion)

        def wrap(_step: Step) -> Step:
            def watched(wave: Wave) -> None:
                self.shadows.enter(wave)
                if self._blocks is not wave.blocks:
                    self._blocks = wave.blocks
                    self.operands.clear()
                    self.numbers.clear()
                act(wave)

            return watched

        return wrap

    def _operand(self, site: Site, mark: Mark) -> Callable[[Wave], None]:
        """One word of 4 bytes of an operand."""
        key, register = (mark.assertion, mark.position), site.operand(1)
        lanes, per_word = self.shadows.lanes(mark.nbytes), self.shadows.lanes(4)
        width, first = self.shadows.coding.width, mark.word * per_word

        def act(wave: Wave) -> None:
            held = self.operands.get(key)
            if held is None:
                held = np.full((width, lanes, wave.threads), UNTAGGED, np.int64)
                self.operands[key] = held
            own = min(per_word, lanes - first)
            tags = self.shadows.filled(wave, self.shadows.get(wave, register), own)
            held[:, first : first + own, _active(wave)] = tags

        return act

    def _number(self, site: Site, mark: Mark) -> Callable[[Wave], None]:
        key, read = (mark.assertion, mark.position), site.read(1, TYPES["s64"])

        def act(wave: Wave) -> None:
            self.numbers.setdefault(key, np.zeros(wave.threads, np.int64))[_active(wave)] = read(wave)

        return act

    def _check(self, wave: Wave, site: Site, assertion: Assertion) -> None:
        """The marks of all operands stand before the check, so each is there for every active thread."""
        here, mine = _active(wave), assertion.number
        operands = {p: tags[..., here] for (n, p), tags in self.operands.items() if n == mine}
        numbers = {p: values[here] for (n, p), values in self.numbers.items() if n == mine}
        self.seen.check(wave, assertion, operands, numbers, site.instruction)


def _active(wave: Wave) -> Any:
    return slice(None) if wave.active is None else wave.active
