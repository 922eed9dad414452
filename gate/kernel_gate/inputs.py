"""Inputs by declared values: the same case always gives the same bytes."""

from __future__ import annotations

import io
import math
import os
import tokenize
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from kernel_gate.arguments import Argument
from kernel_gate.around_constants import last_place, put_around, put_rows_at
from kernel_gate.cases import Case
from kernel_gate.dtypes import DTYPES, Array, DType
from kernel_gate.expressions import Number, evaluate
from kernel_gate.limited_values import (
    Limits,
    few_floats,
    few_integers,
    halves_within,
    some_of,
    special_floats,
    special_integers,
    with_zeros,
)
from kernel_gate.placed_integers import offsets, permutation
from kernel_gate.value_variations import constant_rows, halves, masked, one_hot, powers_of_two, scaled, vary
from kernel_gate.variations import (
    IN_TURN,
    OF_ALL,
    OF_INDICES,
    ONE_INPUT,
    WITHIN_LIMITS,
    Variation,
    is_scaled,
    may_be_alike,
)
from kernel_gate.workload import Workload, WorkloadError, read_companion

_BOUNDARY = (0.0, -0.0, 1.0, -1.0, 1e-30, -1e-30, 1e-38, 88.5, -88.5, 103.5, -103.5, 1e4, -1e4, 0.5, 3e-5)
"""Where float functions change character: zeros, exp's limits in float32, subnormals, large but harmless."""
_UPPER_PART = 16
_EXP_LIMITS = {
    "float64": (709.5, -745.0),
    "float16": (11.0, -17.0),
    "float8_e4m3fn": (6.0, -7.0),
    "float8_e5m2": (10.9, -11.5),
}
"""Where exp overflows and underflows, of the types that differ from float32 in that."""


_WIDEST, _HEADER = 16, 1 << 16
"""Bytes of the widest element that a data file can have, and of its header."""
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def boundary_values(dtype: DType) -> Array:
    """Where functions of this type change character, in float64 (integers for exact types), none beyond its range."""
    if not dtype.is_float:
        low, high = integer_range(dtype)
        points = {v for v in (low, low + 1, -1, 0, 1, high // 2, high - 1, high) if low <= v <= high}
        return np.array(sorted(points), dtype.storage)
    own = (dtype.smallest_normal, -dtype.smallest_normal, dtype.quantum, *_EXP_LIMITS.get(dtype.name, ()))
    values = np.array((*_BOUNDARY, *own))
    within: Array = values[np.abs(values) <= dtype.largest]
    return within


def integer_range(dtype: DType) -> tuple[int, int]:
    """The smallest and the largest value of an exact type."""
    return (0 if dtype.storage.kind == "u" else -int(dtype.largest) - 1), int(dtype.largest)


_DRAWN_BYTES = np.dtype(np.float64).itemsize
"""Bytes of an element while inputs are drawn, whatever its type."""


def make_inputs(workload: Workload, case: Case) -> dict[str, Array]:
    """Stored elements of every `input` and `inout` argument. Raises `WorkloadError` for a file that does not fit.

    Raises `MemoryError`, before anything is made, for inputs that this machine cannot hold.
    """
    _must_fit(workload, case)
    workload = case.applied(workload)
    varied = _varied_argument(workload, case)
    values: dict[str, Number] = {**case.dims, **workload.scalars(case.dims)}
    arrays = {}
    for argument in workload.args:
        if argument.kind not in {"input", "inout"}:
            continue
        generator = np.random.default_rng([case.seed, zlib.crc32(argument.name.encode())])
        shape = workload.extents(argument, case.dims)
        variation = _variation_of(argument, case, varied, generator)
        arrays[argument.name] = _make(argument, shape, values, generator, variation, workload.folder)
        for _, place, value in (p for p in case.placed if p[0] == argument.name):
            arrays[argument.name].reshape(-1)[place] = DTYPES[argument.dtype].narrow(np.array(value))
        if case.variation is Variation.LONE and may_be_alike(argument):
            arrays[argument.name] = _lone(argument, arrays[argument.name], values, generator)
        if case.variation is Variation.DYADIC:
            arrays[argument.name] = _dyadic(
                argument, arrays[argument.name], argument.name == varied, values, generator
            )
        if case.variation is Variation.SCALED:
            arrays[argument.name] = _shrunk(argument, arrays[argument.name], case.around[0], values)
        elif case.variation is Variation.ROWS_AT:
            if argument.name == varied:
                put_rows_at(arrays[varied], DTYPES[argument.dtype], case)
        elif case.around and not argument.has_structure and arrays[argument.name].size:
            put_around(argument, arrays[argument.name], case, limits_of(argument, values), generator)
    return arrays


def _variation_of(
    argument: Argument, case: Case, varied: str | None, generator: np.random.Generator
) -> Variation:
    """How one input of a case is drawn."""
    if case.variation is Variation.MIXED:
        return ONE_INPUT[int(generator.integers(len(ONE_INPUT)))]
    if case.variation is Variation.NAN_AT_ENDS:
        return Variation.NOT_A_NUMBER if argument.name == varied else Variation.ENDS
    if case.variation is Variation.SATURATED and argument.name != varied and argument.has_free_values:
        return Variation.LARGE
    if case.variation is Variation.SMALL and varied is None and argument.values_spec[0] == "uniform":
        return Variation.SMALL
    if argument.name == varied or case.variation in OF_INDICES | OF_ALL | WITHIN_LIMITS:
        return case.variation
    return Variation.DECLARED


def limits_of(argument: Argument, numbers: Mapping[str, Number]) -> Limits | None:
    """What a float input may be from and to, both included; None where nothing is promised, or not in this way."""
    kind, limits = argument.values_spec
    if kind == "uniform":
        low, high = (float(evaluate(g, numbers)) for g in limits) if limits else (0.0, 1.0)
        return low, high
    return _POSITIVE if kind == "positive" else None


_POSITIVE = (0.125, 4.0)
"""Where few values of a positive input lie; others are not limited by it."""


_TRIED = 64
"""Elements of which one has to differ from the first."""


def _lone(
    argument: Argument, values: Array, numbers: Mapping[str, Number], generator: np.random.Generator
) -> Array:
    """The first value everywhere, but for one place with another one; as it is where all are the same.

    Floats are powers of two where these are within the limits: the same value added up over and over is rounded the
    same way each time, and what two orders of such a sum differ by grows with its length.
    """
    if not values.size:
        return values
    dtype, flat = DTYPES[argument.dtype], values.reshape(-1)
    few = np.concatenate((flat[:1], generator.choice(flat, _TRIED)))
    if dtype.is_float:
        wide = dtype.wide(few)
        low, high = limits_of(argument, numbers) or (-math.inf, math.inf)
        powers = powers_of_two(wide)
        few = dtype.narrow(np.where((powers >= low) & (powers <= high), powers, wide))
    others = few[few != few[0]]
    if not others.size:
        return values
    result = np.full_like(flat, few[0])
    result[generator.integers(flat.size)] = generator.choice(others)
    return result.reshape(values.shape)


def _shrunk(argument: Argument, values: Array, scale: float, numbers: Mapping[str, Number]) -> Array:
    """Float values scaled down, where nothing but their sign is promised, or zero is within their limits."""
    dtype = DTYPES[argument.dtype]
    ranged = argument.values_spec[0] == "uniform" and dtype.is_float
    low, high = (ranged and limits_of(argument, numbers)) or (1.0, 1.0)
    return dtype.narrow(dtype.wide(values) * scale) if is_scaled(argument) or low <= 0.0 <= high else values


def _dyadic(
    argument: Argument,
    values: Array,
    varied: bool,
    numbers: Mapping[str, Number],
    generator: np.random.Generator,
) -> Array:
    """Float values as `Variation.DYADIC` says, inside what the workload declares."""
    dtype, kind = DTYPES[argument.dtype], argument.values_spec[0]
    if not dtype.is_float or kind not in ("normal", "positive", "uniform"):
        return values
    low, high = limits_of(argument, numbers) or (0.0, 0.0)
    wide = dtype.wide(values)
    wanted = halves(values.shape, generator) if varied else powers_of_two(wide)
    if kind == "uniform":
        wanted = halves_within(wanted, (low, high)) if varied else wanted
        wanted = np.where((wanted < low) | (wanted > high), wide, wanted)
    return dtype.narrow(wanted)


_FEW = 1 << 16
"""Elements that are drawn anew where other data are wanted; more are moved, which takes a hundredth of the time."""


def other_inputs(workload: Workload, case: Case, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Other values of the kinds that the workload declares: drawn anew, or the same values in other places.

    What comes from a file or a list stays: nothing is known of what else may stand there.
    """
    generator = np.random.default_rng([case.seed, 78])
    values: dict[str, Number] = {**case.dims, **workload.scalars(case.dims)}
    others = dict(inputs)
    for argument in workload.args:
        if argument.name not in inputs or argument.values_spec[0] in ("file", "listed"):
            continue
        held = inputs[argument.name]
        if held.size <= _FEW or argument.has_structure:
            shape = workload.extents(argument, case.dims)
            others[argument.name] = _make(
                argument, shape, values, generator, Variation.DECLARED, workload.folder
            )
            continue
        axis = next(number for number, extent in enumerate(held.shape) if extent > 1)
        others[argument.name] = np.roll(held, int(generator.integers(1, held.shape[axis])), axis)
    return others


def _must_fit(workload: Workload, case: Case) -> None:
    """An allocation that is too large often succeeds, and the machine grinds to a halt when it is filled."""
    drawn = sum(
        math.prod(workload.extents(a, case.dims)) * _DRAWN_BYTES
        for a in workload.args
        if a.kind in {"input", "inout"}
    )
    held = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if drawn > held:
        raise MemoryError(f"the inputs of {case} take {drawn >> 30} GB, of {held >> 30}")


def _varied_argument(workload: Workload, case: Case) -> str | None:
    """The largest input whose values are free; where they are varied in turn any of them, by the seed."""
    inputs = [a for a in workload.args if a.kind in {"input", "inout"}]
    free = [a for a in inputs if a.has_free_values]
    if free and case.variation in IN_TURN:
        return free[case.seed % len(free)].name
    if not free and case.variation is Variation.DYADIC:
        free = [a for a in inputs if a.values_spec[0] in ("uniform", "positive")]
    largest = max(free, key=lambda a: int(np.prod(workload.extents(a, case.dims))), default=None)
    return largest.name if largest else None


def _make(
    argument: Argument,
    shape: tuple[int, ...],
    numbers: Mapping[str, Number],
    generator: np.random.Generator,
    variation: Variation,
    folder: Path | None,
) -> Array:
    dtype = DTYPES[argument.dtype]
    kind, operands = argument.values_spec
    if kind == "file":
        return _from_file(argument, shape, folder, operands[0])
    if kind in ("integers", "ascending"):
        ends = tuple(int(evaluate(g, numbers)) for g in operands)
        whole = _integers(argument, shape, ends, generator, variation)
        return whole if kind == "integers" else np.sort(whole, axis=-1)
    if kind == "listed":
        return dtype.narrow(np.resize(np.array([evaluate(g, numbers) for g in operands]), shape))
    if kind == "permutation":
        return dtype.narrow(permutation(int(evaluate(operands[0], numbers)), shape, generator))
    if kind == "steps":
        first, step = (evaluate(g, numbers) for g in operands)
        return dtype.narrow(first + step * np.arange(math.prod(shape)).reshape(shape))
    if kind == "offsets":
        total = int(evaluate(operands[0], numbers))
        return dtype.narrow(offsets(total, shape, generator, at_ends=variation is Variation.ENDS))
    if not dtype.is_float:
        chosen = (
            one_hot(shape, generator, 1.0)
            if kind == "one_hot"
            else generator.choice(boundary_values(dtype), shape)
        )
        return chosen.astype(dtype.storage)
    values: Array
    if (
        kind == "normal"
        and variation is Variation.DECLARED
        and dtype.itemsize <= np.dtype(np.float32).itemsize
    ):
        # Far inside every type's range; timed shapes are large, and this takes a fifth of the time.
        return dtype.narrow(generator.standard_normal(shape, np.float32))
    limits = limits_of(argument, numbers)
    if variation is Variation.FEW and (kind == "normal" or limits is not None):
        return dtype.narrow(few_floats(limits, shape, dtype, generator))
    if kind == "uniform" and limits is not None:
        values = generator.uniform(*limits, shape)
        if variation is Variation.ENDS:
            values = some_of(values, special_floats(limits, dtype), generator)
        if variation is Variation.SMALL and limits[0] <= 0.0 <= limits[1]:
            values = scaled(values, variation, dtype)
    elif kind == "positive":
        values = scaled(np.abs(generator.standard_normal(shape)) + 0.1, variation, dtype)
    elif kind == "boundary":
        values = generator.choice(boundary_values(dtype), shape)
    elif kind == "one_hot":
        values = one_hot(shape, generator, 1.0)
    elif kind == "peaked":
        height = float(evaluate(operands[0], numbers))
        values = generator.standard_normal(shape) + one_hot(shape, generator, height)
    elif kind == "masked":
        values = masked(generator.standard_normal(shape), generator)
    else:
        values = scaled(generator.standard_normal(shape), variation, dtype)
        values = vary(values, variation, generator, boundary_values(dtype))
    if variation is Variation.ZEROS_AMONG and kind in ("normal", "uniform"):
        values = with_zeros(values, limits, generator)
    return dtype.narrow(np.where(np.isfinite(values), np.clip(values, -dtype.largest, dtype.largest), values))


def _integers(
    argument: Argument,
    shape: tuple[int, ...],
    limits: tuple[int, ...],
    generator: np.random.Generator,
    variation: Variation,
) -> Array:
    """Integers below the limits as declared; without limits any of the type's, and variations of them."""
    dtype = DTYPES[argument.dtype]
    least, most = integer_range(dtype) if not dtype.is_float else (-(2**53), 2**53)
    if limits:
        low, high = limits[0], max(limits[0] + 1, limits[1]) - 1
        if low < least or high > most:
            raise WorkloadError(
                f"{argument.name}: values = {argument.values!r} is {low} … {high}; {dtype.name} holds {least} … {most}"
            )
        if variation in (Variation.LOWEST, Variation.HIGHEST):
            return dtype.narrow(np.full(shape, low if variation is Variation.LOWEST else high))
        if variation is Variation.UPPER:
            low = high - (high - low) // _UPPER_PART
        if variation is Variation.FEW:
            return dtype.narrow(few_integers(low, high, shape, generator))
        drawn = generator.integers(low, high, shape, np.int64 if high < 2**63 else np.uint64, endpoint=True)
        if variation is Variation.ENDS:
            drawn = some_of(drawn, np.array(special_integers(low, high), drawn.dtype), generator)
        return dtype.narrow(drawn)
    values = generator.integers(least, most, shape, dtype.storage, endpoint=True)
    match variation:
        case Variation.SMALL | Variation.FEW:
            return generator.integers(max(least, -3), min(most, 3), shape, dtype.storage, endpoint=True)
        case Variation.ONE_HOT:
            return one_hot(shape, generator, 1.0).astype(dtype.storage)
        case Variation.CONSTANT:
            return constant_rows(values)
        case Variation.BOUNDARY:
            chosen = generator.random(shape) < 0.5
            return np.where(chosen, generator.choice(boundary_values(dtype), shape), values)
    return values


def perturbed(
    workload: Workload, case: Case, inputs: Mapping[str, Array], draw: int = 0, units: int = 1
) -> dict[str, Array]:
    """The same inputs, each float element moved by so many units in its last place, up or down at random.

    The same draw moves in the same directions; zeros stay, each with its sign.
    """
    generator = np.random.default_rng([case.seed, 77, draw])
    moved = dict(inputs)
    for argument in workload.args:
        dtype = DTYPES[argument.dtype]
        if argument.name in inputs and dtype.is_float:
            signs = generator.choice(np.array([-1.0, 1.0]), inputs[argument.name].shape)
            wide = dtype.wide(inputs[argument.name])
            with np.errstate(invalid="ignore", over="ignore"):
                near = wide + units * signs * last_place(dtype, wide)
                moved[argument.name] = dtype.narrow(np.where(wide != 0, near, wide))
    return moved


def thinned(workload: Workload, case: Case, inputs: Mapping[str, Array], share: float) -> dict[str, Array]:
    """The same inputs with zeros in all but a share of the places, the same places in all float arrays of a shape.

    Integers and what has a structure or is listed stay as they are.
    """
    few = dict(inputs)
    for argument in workload.args:
        name = argument.name
        if name not in inputs or not DTYPES[argument.dtype].is_float or argument.has_structure:
            continue
        held = inputs[name]
        kept = np.random.default_rng([case.seed, 79]).random(held.shape, dtype=np.float32) < share
        few[name] = np.where(kept, held, np.zeros((), held.dtype))
    return few


def _from_file(argument: Argument, shape: tuple[int, ...], folder: Path | None, name: str) -> Array:
    path = (folder or Path()) / name.strip("\"'")
    try:
        values = _array(read_companion(folder, name.strip("\"'"), _WIDEST * math.prod(shape) + _HEADER))
    except (OSError, ValueError, SyntaxError, tokenize.TokenError) as error:
        raise WorkloadError(
            f"{argument.name}: values = {argument.values!r}: {path} cannot be read: {error}"
        ) from error
    if values.shape != shape:
        raise WorkloadError(f"{argument.name}: {path} has shape {values.shape}, the workload says {shape}")
    dtype = DTYPES[argument.dtype]
    return dtype.stored(values)


def _array(data: bytes) -> Array:
    """What an .npy file holds. Raises `ValueError`, before anything is allocated for a header that says too much."""
    stream = io.BytesIO(data)
    read_header = _HEADERS.get(np.lib.format.read_magic(stream))
    if read_header is None:
        raise ValueError("is no .npy file of version 1 or 2; numpy.save writes one")
    shape, _, dtype = read_header(stream)
    if math.prod(shape) * dtype.itemsize > len(data):
        raise ValueError(f"says that it holds {shape} of {dtype} and is shorter than that")
    stream.seek(0)
    values: Array = np.lib.format.read_array(stream, allow_pickle=False)
    return values
