"""The cases that a program is checked on: named and hidden shapes, seeds, and variations of the declared values."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kernel_gate.dtype_names import FLOAT_NAMES
from kernel_gate.shapes import elements, hidden_shapes, named_shapes, typical_shape
from kernel_gate.variations import (
    AT_LARGEST,
    MOST_IN_TURN,
    OF_CONSTANTS,
    Variation,
    may_be_alike,
    variations_of,
)
from kernel_gate.workload import Workload


@dataclass(frozen=True, slots=True)
class Memory:
    """How the buffers of a case lie, where that is not as an allocator would place them."""

    offsets: tuple[tuple[str, int], ...] = ()
    """Bytes that a buffer starts past a multiple of 256."""
    alias: tuple[str, str] | None = None
    """An output and the input that it lies in: one buffer for both."""

    def __str__(self) -> str:
        if self.alias is not None:
            return "=".join(self.alias)
        return ",".join(f"{name}+{offset}" for name, offset in self.offsets)

    @classmethod
    def parse(cls, text: str) -> Memory:
        """The reverse of `str`: `x+4,y+4` or `y=x`. Raises `ValueError`."""
        if (alias := re.fullmatch(r"(\w+)=(\w+)", text.strip())) is not None:
            return cls(alias=(alias[1], alias[2]))
        parts = [re.fullmatch(r"(\w+)\+(\d+)", part.strip()) for part in text.split(",")]
        if not all(parts):
            raise ValueError(
                f"{text!r} is neither buffers with offsets (x+4,y+4) nor an output in an input (y=x)"
            )
        return cls(tuple((part[1], int(part[2])) for part in parts if part is not None))


ALLOCATED = Memory()
"""Every buffer its own, at a multiple of 256 bytes."""


@dataclass(frozen=True, slots=True)
class Case:
    """One comparison of the candidate's outputs with what is expected."""

    dims: Mapping[str, int]
    seed: int
    variation: Variation = Variation.DECLARED
    origin: Literal["named", "hidden"] = "named"
    memory: Memory = ALLOCATED
    around: tuple[float, ...] = ()
    """Constants of the code that values are drawn at, above and below (`AROUND`)."""
    scalars: tuple[tuple[str, float], ...] = ()
    """Values that scalars take in the place of the workload's constants."""
    placed: tuple[tuple[str, int, float], ...] = ()
    """Input, place in its elements in a row, and value that stands there (`CRITICAL`)."""

    def applied(self, workload: Workload) -> Workload:
        """The workload with this case's scalars."""
        if not self.scalars:
            return workload
        own = {name: str(value) for name, value in self.scalars}
        args = tuple(
            a.model_copy(update={"value": own[a.name]}) if a.name in own else a for a in workload.args
        )
        return workload.model_copy(update={"args": args})

    @property
    def inputs(self) -> str:
        """What the values are, as `the_case` reads it."""
        numbers = " ".join(f"{c:.0f}" if c == int(c) else f"{c:.9g}" for c in self.around)
        if self.placed:
            return f"{self.variation} " + " ".join(f"{n}[{i}]={v!r}" for n, i, v in self.placed)
        return f"{self.variation} {numbers}" if self.around else str(self.variation)

    @property
    def setting(self) -> tuple[object, ...]:
        """What tells it from others beside the values of its inputs."""
        return (*self.dims.items(), self.scalars, self.memory)

    @property
    def required(self) -> bool:
        """Whether the baseline must pass it too; otherwise a case that it does not pass says nothing and is dropped."""
        plain = self.variation is Variation.DECLARED and not self.scalars
        return self.origin == "named" and plain

    def __str__(self) -> str:
        shape = ", ".join(f"{name} {extent}" for name, extent in (*self.dims.items(), *self.scalars))
        hidden = self.origin == "hidden" and self.memory == ALLOCATED
        parts = [shape, "hidden shape" if hidden else "", f"seed {self.seed}"]
        if self.variation is not Variation.DECLARED:
            many = (
                f"{self.variation} in {len(self.placed)} places of {self.placed[0][0]}" if self.placed else ""
            )
            parts.append(f"inputs {many or self.inputs}")
        if self.memory != ALLOCATED:
            parts.append(f"memory {self.memory}")
        return ", ".join(part for part in parts if part)


def repeat_options(case: Case) -> str:
    """The command line's options that run exactly this case again."""
    dims = ",".join(f"{name}={extent}" for name, extent in (*case.dims.items(), *case.scalars))
    options = [f"--case {dims or 'none'}", f"--seed {case.seed}"]
    if case.variation is not Variation.DECLARED:
        options.append(f"--inputs '{case.inputs}'")
    if case.memory != ALLOCATED:
        options.append(f"--memory '{case.memory}'")
    return " ".join(options)


_NUMBER = re.compile(r"\s*(\w+)\s*=\s*(?:([-+]?\d+)|([-+]?[\d.]+(?:e[-+]?\d+)?))\s*")


def parse_dims(text: str) -> dict[str, float]:
    """`N=4,C=770` as extents, scalars among them; `none` for a workload without dims. Raises `ValueError`."""
    if text.strip() == "none":
        return {}
    parts = [_NUMBER.fullmatch(part) for part in text.split(",")]
    if not all(parts):
        raise ValueError(f"--case {text!r}: give the dims as N=4,C=770")
    return {part[1]: int(part[2]) if part[2] else float(part[3]) for part in parts if part is not None}


def the_case(workload: Workload, numbers: Mapping[str, float], seed: int, inputs: str, memory: str) -> Case:
    """The case that `repeat_options` describes. Raises `ValueError` for one that the workload does not have."""
    constant = (*constant_scalars(workload), *constant_integers(workload))
    scalars = tuple((name, numbers[name]) for name in constant if name in numbers)
    dims = {name: int(extent) for name, extent in numbers.items() if name not in dict(scalars)}
    whole = all(numbers[name] == extent for name, extent in dims.items())
    if set(dims) != set(workload.dims) or min(dims.values(), default=0) < 0 or not whole:
        raise ValueError(f"a case needs exactly the dims {', '.join(workload.dims) or '(none)'}")
    choices = [v.value for v in Variation]
    inputs, placed_values = _placed_values(inputs)
    inputs, around = _constants(inputs)
    if inputs not in choices:
        raise ValueError(f"{inputs!r} is not one of the inputs {', '.join(choices)}")
    placed = Memory.parse(memory) if memory else ALLOCATED
    pointers = {a.name for a in workload.args if a.is_pointer}
    if strange := {*dict(placed.offsets), *(placed.alias or ())} - pointers:
        raise ValueError(f"the workload has no buffer {', '.join(sorted(strange))}")
    named = dims in list(workload.shapes()) and (placed == ALLOCATED or _is_promised(workload, placed))
    return Case(
        dims, seed, Variation(inputs), "named" if named else "hidden", placed, around, scalars, placed_values
    )


_PLACED = re.compile(r"(\w+)\[(\d+)\]=(\S+)")


def _placed_values(inputs: str) -> tuple[str, tuple[tuple[str, int, float], ...]]:
    """`critical values x[3]=0.5 x[7]=1.5` as its variation and what stands where."""
    places = tuple((m[1], int(m[2]), float(m[3])) for m in _PLACED.finditer(inputs))
    return _PLACED.sub("", inputs).strip(), places


def _constants(inputs: str) -> tuple[str, tuple[float, ...]]:
    """`around 5 30000` as its variation and the constants."""
    word, *numbers = inputs.split() or [""]
    try:
        constants = tuple(float(number) for number in numbers)
    except ValueError:  # the words of another variation
        return inputs, ()
    return (word, constants) if word in {*OF_CONSTANTS, Variation.SCALED} and constants else (inputs, ())


def _is_promised(workload: Workload, memory: Memory) -> bool:
    promised = {a.name: a for a in workload.args}
    if memory.alias is not None:
        return memory.alias[1] in promised[memory.alias[0]].may_alias
    return all(promised[name].align == offset for name, offset in memory.offsets)


def plan(workload: Workload, seed: int, *, hidden: bool = True) -> list[Case]:
    """All cases, cheapest first within each kind: named shapes, hidden shapes, variations on a small named shape, and
    some on a hidden one with odd extents.
    """
    named = named_shapes(workload)
    cases = [Case(d, seed + i) for i, d in enumerate(named)]
    shapes = hidden_shapes(workload, seed) if hidden else []
    cases += [Case(d, seed + 1000 + i, origin="hidden") for i, d in enumerate(shapes)]
    if named:
        typical = typical_shape(named)
        variations = list(variations_of(workload))
        with_scalars = [
            Case(typical, seed + 2500 + i, variation, scalars=((name, value),))
            for i, (name, value, variation) in enumerate(_scalars_of(workload, typical, variations))
        ]
        # A GPU leaves other integers to the emulated device beside it, which may not come to its last cases.
        cases += [case for case in with_scalars if other_integer(workload, case) is not None]
        cases += [Case(typical, seed + 2000 + i, v) for i, v in enumerate(variations)]
        ragged = max(shapes, key=_odd_extents, default={})
        if _odd_extents(ragged):
            # What fills the rest of a tile, a zero as a rule, is far from such values; a remainder may be other code.
            cases += [
                Case(ragged, seed + 2800 + i, v, "hidden")
                for i, v in enumerate(variations)
                if v in _BESIDE_A_REST
            ]
        if named[-1] != typical:
            cases += [
                Case(named[-1], seed + 2300 + i, v) for i, v in enumerate(variations) if v in AT_LARGEST
            ]
        cases += [case for case in with_scalars if other_integer(workload, case) is None]
    return cases


def _scalars_of(
    workload: Workload, dims: Mapping[str, int], variations: Sequence[Variation]
) -> Iterator[tuple[str, float, Variation]]:
    """Scalars with other values than the workload's numbers, and the variation of the inputs that each goes with."""
    yield from ((n, v, w) for n in constant_scalars(workload)[:_MOST_SCALARS] for v, w in _OF_SCALARS)
    yield from ((n, v, Variation.DECLARED) for n, v in _other_integers(workload, dims))
    yield from _sentinels_met(workload, variations)
    yield from ((n, _ABOVE_ONE, Variation.DECLARED) for n in _shares(workload, dims))
    yield from _zeros_beside_nans(workload)
    yield from _equal_scalars(workload, dims)


def _odd_extents(dims: Mapping[str, int]) -> int:
    return sum(extent > 1 and extent % 2 for extent in dims.values())


_BESIDE_A_REST = frozenset(
    {Variation.FAR_BELOW, Variation.FAR_FROM_ZERO, Variation.NEGATIVE, Variation.NON_FINITE}
)
_MOST_SCALARS = 3
"""Float scalars that are varied, and integers."""
_OF_SCALARS = (
    (0, Variation.DECLARED),
    (1, Variation.DECLARED),
    (-1, Variation.DECLARED),
    (1, Variation.DYADIC),
)
"""Values that a float scalar takes, each with those of the inputs."""
_WIDE = 1 << 32
_MOST_DRAWN = 1 << 24
_ABOVE_ONE = 2


def _other_integers(workload: Workload, dims: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Values beside those of integer scalars that are numbers, those that stand for none, and those further than twice
    around any extent; of 64-bit ones also what only the upper half tells.
    """
    around = 2 * max(dims.values(), default=0) + 1
    for name, value in list(constant_integers(workload).items())[:_MOST_SCALARS]:
        argument = workload.argument(name)
        yield name, value + 1
        if argument is not None and value >= 0 and not argument.dtype.startswith("u"):
            yield name, -1
        if argument is not None and argument.dtype.endswith("int64"):
            yield name, value + _WIDE
        if value > 0:
            yield name, 0
            if argument is not None and value < around and argument.dtype.endswith(("32", "64")):
                yield name, around


def _sentinels_met(
    workload: Workload, variations: Sequence[Variation]
) -> Iterator[tuple[str, int, Variation]]:
    """Integer scalars below zero at zero, beside indices at their lowest: `index == ignored` may hold inside, too."""
    if Variation.LOWEST in variations:
        for name, value in list(constant_integers(workload).items())[:_MOST_SCALARS]:
            if value < 0:
                yield name, 0, Variation.LOWEST


def _shares(workload: Workload, dims: Mapping[str, int]) -> list[str]:
    """Float scalars between zero and one: `max(x, a * x)` is right for no slope above."""
    values = workload.scalars(dims)
    return [n for n in constant_scalars(workload)[:_MOST_SCALARS] if 0 < values[n] < 1]


def _zeros_beside_nans(workload: Workload) -> Iterator[tuple[str, int, Variation]]:
    """Float scalars at zero, each as often as inputs have NaN in turn: `b == 0 ? x : x + b * y` leaves them out."""
    free = sum(a.kind in {"input", "inout"} and a.has_free_values for a in workload.args)
    for name in constant_scalars(workload)[:_MOST_SCALARS]:
        yield from ((name, 0, Variation.NOT_A_NUMBER) for _ in range(min(free, MOST_IN_TURN)))


def _equal_scalars(workload: Workload, dims: Mapping[str, int]) -> Iterator[tuple[str, float, Variation]]:
    """Float scalars at the value of another one and at its opposite: where a difference or a sum of them is zero."""
    values, planned = workload.scalars(dims), {value for value, _ in _OF_SCALARS}
    for name, other in itertools.permutations(constant_scalars(workload)[:_MOST_SCALARS], 2):
        yield from (
            (name, value, Variation.DECLARED)
            for value in (values[other], -values[other])
            if value != values[name] and value not in planned
        )


def constant_integers(workload: Workload) -> dict[str, int]:
    """Integer scalars whose value is a number in the workload. Callers may mean just that one: what is wrong at
    another value is a condition, and no fault.
    """
    scalars = (a for a in workload.args if a.kind == "scalar" and a.dtype.lstrip("u").startswith("int"))
    return {a.name: int(str(a.value)) for a in scalars if re.fullmatch(r"\s*[-+]?\d+\s*", str(a.value))}


def special_at_callers_sizes(workload: Workload, seed: int) -> list[Case]:
    """Cases of the callers' largest shape with rows of infinities that fill whole tiles, one for each input of floats,
    and with a single place that differs from all others, for a device that is fast enough; none of a shape that takes
    too long to draw.
    """
    callers = max(workload.profile_dims, key=lambda d: elements(workload, d), default=None)
    inputs = [a for a in workload.args if a.kind in {"input", "inout"}]
    if callers is None or elements(workload, callers) > _MOST_DRAWN:
        return []
    free = sum(a.has_free_values and a.dtype in FLOAT_NAMES for a in inputs)
    special = [Variation.INFINITE] * min(free, MOST_IN_TURN)
    special += [Variation.LONE] * any(map(may_be_alike, inputs))
    return [Case(dict(callers), seed + 7000 + i, one, origin="hidden") for i, one in enumerate(special)]


def other_integer(workload: Workload, case: Case) -> str | None:
    """The integer scalar to which a case gives another value than the workload's number; None for other cases."""
    usual = constant_integers(workload)
    return next((name for name, _ in case.scalars if name in usual), None)


def needed_of_scalars(workload: Workload, case: Case) -> str | None:
    """What callers may mean who pass the workload's own numbers: an integer just that one, a number above zero none
    below, one below one none above, a float none that hides a NaN. None for a case that changes neither.
    """
    values = workload.scalars(case.dims)
    if (below := next((name for name, value in case.scalars if value < 0 < values[name]), None)) is not None:
        return f"{below} >= 0"
    if (name := other_integer(workload, case)) is not None:
        return f"{name} == {constant_integers(workload)[name]}"
    if (above := next((name for name, value in case.scalars if value > 1 > values[name]), None)) is not None:
        return f"{above} <= 1"
    if case.variation is not Variation.NOT_A_NUMBER:
        return None
    return next((f"{name} != 0" for name, value in case.scalars if value == 0), None)


def constant_scalars(workload: Workload) -> list[str]:
    """Float scalars whose value is a number in the workload, and so one of many that callers may pass."""
    floats = (a for a in workload.args if a.kind == "scalar" and a.dtype.startswith(("float", "bfloat")))
    return [a.name for a in floats if not re.search("[A-Za-z_]", _without_exponents(str(a.value)))]


_MOST_USUAL = 1e6
"""Scalars beyond are no thresholds of data, but take the place of an infinity."""


def float_scalars(workload: Workload, dims: Mapping[str, int]) -> list[float]:
    """The values of the first float scalars that are not zero, which data may be compared with as with constants."""
    values = workload.scalars(dims)
    floats = (a.name for a in workload.args if a.kind == "scalar" and a.dtype in FLOAT_NAMES)
    return [float(values[n]) for n in floats if 0 < abs(values[n]) < _MOST_USUAL][:_MOST_SCALARS]


def _without_exponents(text: str) -> str:
    return re.sub(r"(?<=[\d.])[eE](?=[-+]?\d)", "", text)
