"""Births: the first instructions of a launch that made a NaN out of numbers, or an infinity out of finite ones.

Looked at: arithmetic, elementary functions and conversions of floats. A value that was loaded was born elsewhere.
Products of tensor cores and sums of atomics are not looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from kernel_gate.devices.base import Birth
from kernel_gate.emulated.formats import FORMATS, opened
from kernel_gate.emulated.registry import Step
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import Array, PtxType
from kernel_gate.emulated.watching import Wrap
from kernel_gate.emulated.wave import Wave

MOST = 20
"""Births kept of one launch: the first of each line."""
_ARITHMETIC = ("add", "sub", "mul", "fma", "mad", "div")
_FUNCTIONS = ("rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh")
_INFIX = {"add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "{} / {}"}
_INFIX |= dict.fromkeys(("fma", "mad"), "{} * {} + {}")


@dataclass(slots=True)
class Births:
    """Those of one launch, in the order of execution."""

    found: dict[tuple[str, int | None], Birth] = field(default_factory=dict)

    def watch(self, site: Site) -> Wrap | None:
        """What to put around an instruction that can make a NaN or an infinity."""
        kinds = _kinds(site)
        if kinds is None:
            return None
        result, operands = kinds
        out = site.read(0, result)
        reads = [site.read(position, kind) for position, kind in enumerate(operands, 1)]
        overwrites = site.operand(0) in site.instruction.operands[1:]

        def wrap(step: Step) -> Step:
            def watched(wave: Wave) -> None:
                before = [read(wave) for read in reads] if overwrites else None
                step(wave)
                made = out(wave)
                if not all(np.isfinite(half).all() for half in opened(made, result)):
                    self._look(wave, site, (made, result), before or [r(wave) for r in reads], operands)

            return watched

        return wrap

    def _look(
        self,
        wave: Wave,
        site: Site,
        made: tuple[Array, PtxType],
        operands: list[Array],
        kinds: list[PtxType],
    ) -> None:
        halves = opened(*made)
        inputs = [opened(value, kind) for value, kind in zip(operands, kinds, strict=True)]
        for lane, result in enumerate(halves):
            arguments = [o[lane % len(o)] for o in inputs]
            looks: tuple[tuple[Literal["NaN", "infinity"], Any], ...] = (
                ("NaN", np.isnan(result) & _all(arguments, lambda v: ~np.isnan(v))),
                ("infinity", np.isinf(result) & _all(arguments, np.isfinite)),
            )
            for what, born in looks:
                key = (what, site.instruction.line)
                if np.any(born) and key not in self.found and len(self.found) < MOST:
                    position = int(np.argmax(wave.spread(born)))
                    values = tuple(float(wave.spread(v)[position]) for v in arguments)
                    block, thread = wave.place(int(wave.index[position]))
                    text = _expression(site, values)
                    self.found[key] = Birth(what, site.instruction.line, block, thread, text, values)


def _all(values: list[Array], test: Callable[[Array], Any]) -> npt.NDArray[np.bool_]:
    held: Any = np.True_
    for value in values:
        held = held & test(value)
    return held  # type: ignore[no-any-return]


def _kinds(site: Site) -> tuple[PtxType, list[PtxType]] | None:
    """Types of the result and of each operand of an instruction that is looked at."""
    name = site.parts[0]
    if name in _ARITHMETIC + _FUNCTIONS and site.types and site.type.name in FORMATS:
        return site.types[0], [site.type] * (site.operand_count - 1)
    if name == "cvt" and len(site.types) == 2 and site.types[0].name in FORMATS:
        target, source = site.types
        if source.name in FORMATS and (FORMATS[target.name].lanes, site.operand_count) == (1, 2):
            return target, [source]
    return None


def _expression(site: Site, values: tuple[float, ...]) -> str:
    """`0 / 0`, `sqrt(-1)`, `f16(70000)`."""
    texts = [f"{value:.7g}".replace("inf", "infinity") for value in values]
    name = site.parts[0]
    if name in _INFIX:
        return _INFIX[name].format(*texts)
    return f"{site.types[0].name if name == 'cvt' else name}({', '.join(texts)})"
