"""Births: the first instructions of a launch that made a NaN out of numbers, or out of finite ones an infinity, an
underflow (zero, or with fewer bits than the type has, and not exact) or an integer that stops at its type's limit.

Looked at: arithmetic, elementary functions and conversions of floats. A value that was loaded was born elsewhere.
Products of tensor cores and sums of atomics are not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from kernel_gate.devices.base import Birth, BirthKind
from kernel_gate.emulated.exactly import EXACTLY
from kernel_gate.emulated.formats import FORMATS, opened
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import Array, PtxType
from kernel_gate.emulated.watching import Wrap, around
from kernel_gate.emulated.wave import Wave

MOST = 20
"""Births kept of one launch: the first of each line."""
_SMALLEST = {"f64": -1022, "f32": -126, "bf16": -126, "f16": -14}
"""The exponents of the smallest normal numbers."""
_TO_WHOLE = ("rni", "rzi", "rmi", "rpi")
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

        def watched(wave: Wave) -> Iterator[None]:
            before = [read(wave) for read in reads] if overwrites else None
            yield
            made = _values(out(wave), result)
            if not all(_is_usual(half, result).all() for half in made):
                self._look(wave, site, (made, result), before or [r(wave) for r in reads], operands)

        return around(watched)

    def _look(
        self,
        wave: Wave,
        site: Site,
        made: tuple[list[Array], PtxType],
        operands: list[Array],
        kinds: list[PtxType],
    ) -> None:
        inputs = [opened(value, kind) for value, kind in zip(operands, kinds, strict=True)]
        for lane, result in enumerate(made[0]):
            arguments = [o[lane % len(o)] for o in inputs]
            finite = _all(arguments, np.isfinite)
            looks: tuple[tuple[BirthKind, Any], ...] = (
                ("NaN", np.isnan(result) & _all(arguments, lambda v: ~np.isnan(v))),
                ("infinity", np.isinf(result) & finite),
                ("underflow", finite & _underflows(site, result, arguments, made[1])),
                ("saturation", finite & _saturates(result, arguments, made[1])),
            )
            for what, born in looks:
                key = (what, site.instruction.line)
                if np.any(born) and key not in self.found and len(self.found) < MOST:
                    position = int(np.argmax(wave.spread(born)))
                    values = tuple(float(wave.spread(v)[position]) for v in arguments)
                    block, thread = wave.place(int(wave.index[position]))
                    text = _expression(site, values)
                    self.found[key] = Birth(what, site.instruction.line, block, thread, text, values)


def _values(made: Array, kind: PtxType) -> list[Array]:
    """A register's numbers, floats in their carrier."""
    return opened(made, kind) if kind.name in FORMATS else [np.asarray(made)]


def _is_usual(values: Array, kind: PtxType) -> Array:
    """Which results need no look."""
    if kind.name not in FORMATS:
        limits = np.iinfo(kind.dtype)
        inside: Array = (values != limits.min) & (values != limits.max)
        return inside
    usual: Array = np.isfinite(values) & (np.abs(values) >= _smallest(kind))
    return usual


def _smallest(kind: PtxType) -> float:
    return float(2.0 ** _SMALLEST[FORMATS[kind.name].kind.name])


def _underflows(site: Site, result: Array, arguments: list[Array], kind: PtxType) -> Array:
    """Which results are below the type's normal numbers, and not exact, or zero though they are not."""
    if kind.name not in FORMATS or site.has(*_TO_WHOLE):
        return np.zeros((), np.bool_)
    # More exponents than a double's, where the machine has such a type.
    exact = EXACTLY[site.parts[0]](*(np.asarray(v, np.longdouble) for v in arguments))
    below: Array = ((np.abs(exact) < _smallest(kind)) | (result == 0)) & (exact != result)
    return below


def _saturates(result: Array, arguments: list[Array], kind: PtxType) -> Array:
    """Which integers are not those next to the float that they were made of."""
    if kind.name in FORMATS:
        return np.zeros((), np.bool_)
    stopped: Array = np.abs(np.asarray(result, np.float64) - np.asarray(arguments[0], np.float64)) > 1
    return stopped


def _all(values: list[Array], test: Callable[[Array], Any]) -> npt.NDArray[np.bool_]:
    held: Any = np.True_
    for value in values:
        held = held & test(value)
    return held  # type: ignore[no-any-return]


def _kinds(site: Site) -> tuple[PtxType, list[PtxType]] | None:
    """Types of the result and of each operand of an instruction that is looked at."""
    name = site.parts[0]
    if name in EXACTLY and name != "cvt" and site.types and site.type.name in FORMATS:
        return site.types[0], [site.type] * (site.operand_count - 1)
    if name == "cvt" and len(site.types) == 2 and site.operand_count == 2:
        target, source = site.types
        single = target.kind in ("int", "uint") or (
            target.name in FORMATS and FORMATS[target.name].lanes == 1
        )
        return (target, [source]) if source.name in FORMATS and single else None
    return None


def _expression(site: Site, values: tuple[float, ...]) -> str:
    """`0 / 0`, `sqrt(-1)`, `f16(70000)`."""
    texts = [f"{value:.7g}".replace("inf", "infinity") for value in values]
    name = site.parts[0]
    if name in _INFIX:
        return _INFIX[name].format(*texts)
    return f"{site.types[0].name if name == 'cvt' else name}({', '.join(texts)})"
