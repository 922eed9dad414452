"""How the values of a case differ from those that the workload declares."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from kernel_gate.arguments import Argument
from kernel_gate.dtype_names import FLOAT_NAMES
from kernel_gate.workload import Workload


class Variation(StrEnum):
    """How inputs differ from what the workload declares. Only `normal` values are varied: others promise a range."""

    DECLARED = "as declared"
    SMALL = "scaled by 1e-3"
    LARGE = "scaled by 1e3"
    HEAVY_TAILED = "heavy-tailed"
    ONE_HOT = "one-hot rows"
    CONSTANT = "constant rows"
    CANCELLING = "cancelling sums"
    BOUNDARY = "boundary values"
    NON_FINITE = "NaN and infinities"
    NOT_A_NUMBER = "NaNs"
    INFINITE = "one infinity, and rows of them below zero"
    ALIKE = "rows that differ in one element each"
    """What is kept of a row for the next, or taken from another that looks the same, is seen."""
    FAR_FROM_ZERO = "mean far above the spread"
    FAR_BELOW = "mean far below zero"
    NEGATIVE = "all negative"
    SORTED = "sorted rows"
    FIRST_PEAK = "first elements far above, last far below"
    LAST_PEAK = "last elements far above, first far below"
    TIES = "ties and halves"
    """Few values, many of them half-way between numbers that may be rounded to."""
    SIGNED_ZEROS = "zeros of both signs"
    SUBNORMAL = "subnormal values"
    AROUND = "around"
    """The constants of the code that the case names: rows in turn at them, above them all and below them all."""
    ABOVE = "above"
    """All above the constants that the case names."""
    BELOW = "below"
    """All below them."""
    ROWS_AT = "rows-at"
    """Rows whose sum, mean, largest value or mean square is a constant that the case names, or near it."""
    CROWDED = "crowded"
    """Whole numbers, half as many as elements, whose products with a factor that the case names begin alike."""
    ALL_TINY = "all scaled by 1e-10"
    """Every input, where other variations change one; by 1e-3 in types of 16 bits and fewer."""
    ALL_LARGE = "all scaled by 1e3"
    TOWARDS_LARGEST = "all scaled by the largest to the power 1/3"
    """The largest value of each input's own type."""
    NEARER_LARGEST = "all scaled by the largest to the power 2/3"
    AT_LARGEST = "all near the largest of their types"
    TOWARDS_SMALLEST = "all scaled by the smallest normal to the power 1/3"
    NEARER_SMALLEST = "all scaled by the smallest normal to the power 2/3"
    SCALED = "scaled"
    """By the number that the case names: every input that may be so small."""
    MIXED = "each input by a variation of its own"
    """The variations are drawn from `ONE_INPUT`."""
    LOWEST = "indices at their lowest"
    HIGHEST = "indices at their highest"
    UPPER = "integers near their highest"
    """Not all alike, so that their products and sums are no multiples of a power of two, which floats hold exactly."""
    DYADIC = "halves and powers of two"
    """The varied input holds halves up to the largest values of narrow types, every other one powers of two: so what
    is divided or scaled before it is rounded lies half-way, and rows whose largest value is the scale do as well.
    """
    ENDS = "ends of ranges"
    """Inputs with limits: half of the values at the limits, beside them, and where numbers change character."""
    FEW = "few values in all inputs"
    """So few that values are equal within each input and between inputs."""
    LONE = "one value, but for a single place"
    """All inputs but those in an order: what takes all values to be alike as some of them are is seen."""
    ZEROS_AMONG = "zeros of both signs among the values"
    """In every input of floats that may be zero."""
    NAN_AT_ENDS = "NaNs, and ends of ranges"
    """NaNs in one input, and those with limits as `ENDS` says: a weight of zero does not take a NaN away."""
    CRITICAL = "critical values"
    """As declared, but for elements that the case places where a decision of the code is about to change."""
    SATURATED = "one input of ±(11 … 17), the others large"
    """Where the exponential of a half ends and sigmoids are 1 to within a rounding, with a large factor beside it."""
    TAIL = "all from -12 to -5"
    """Where exponentials are small beside 1: their sum keeps few of their bits, and no large result hides it."""


WITHIN_LIMITS = frozenset(
    {Variation.ENDS, Variation.FEW, Variation.LONE, Variation.UPPER, Variation.ZEROS_AMONG}
)
"""Variations of all inputs that stay within what is declared."""
IN_TURN = frozenset({Variation.NOT_A_NUMBER, Variation.NAN_AT_ENDS, Variation.INFINITE, Variation.SATURATED})
"""Variations that each input without limits has a case of."""
OF_INDICES = frozenset({Variation.LOWEST, Variation.HIGHEST})
"""Variations of inputs with declared limits; the others are of values that nothing is promised of."""
OF_CONSTANTS = frozenset(
    {Variation.AROUND, Variation.ABOVE, Variation.BELOW, Variation.ROWS_AT, Variation.CROWDED}
)
"""Variations that constants of the code make."""
TO_LARGEST = (Variation.TOWARDS_LARGEST, Variation.NEARER_LARGEST, Variation.AT_LARGEST)
TO_SMALLEST = (Variation.TOWARDS_SMALLEST, Variation.NEARER_SMALLEST)
OF_RANGE = frozenset({*TO_LARGEST, *TO_SMALLEST, Variation.SCALED})
"""Variations at which a square or a product may leave its type's range. Where it does so in the baseline too they say
nothing; where it does so in the candidate alone that is a condition.
"""
OF_ALL = frozenset({Variation.ALL_TINY, Variation.ALL_LARGE, *TO_LARGEST, *TO_SMALLEST})
"""Variations that keep the sign, and so are of positive inputs as well; of all inputs at once."""

ONE_INPUT = (
    Variation.DECLARED,
    Variation.SMALL,
    Variation.LARGE,
    Variation.HEAVY_TAILED,
    Variation.BOUNDARY,
    Variation.FAR_FROM_ZERO,
    Variation.NEGATIVE,
    Variation.FIRST_PEAK,
    Variation.LAST_PEAK,
)
"""What `MIXED` draws from for each input; finite all of them."""
AT_LARGEST = frozenset(
    {
        Variation.LOWEST,
        Variation.HIGHEST,
        Variation.FIRST_PEAK,
        Variation.LAST_PEAK,
        Variation.TIES,
        Variation.FEW,
        Variation.LONE,
        Variation.NON_FINITE,
        Variation.INFINITE,
    }
)
"""Asked of the largest named shape as well: for counts that overflow, ends that a block does not reach, equal values
and NaNs of which one lies in another tile than the other, and an infinity that a single block meets.
"""


_MIXED = 3
"""Draws of a variation for each input."""
MOST_IN_TURN = 4
"""Inputs that have cases of their own."""


def variations_of(workload: Workload) -> Iterator[Variation]:
    """Those that change some input of the workload; what each input has in turn, as often as there are such inputs."""
    inputs = [a for a in workload.args if a.kind in {"input", "inout"}]
    free = sum(a.has_free_values for a in inputs)
    scaled = sum(a.has_free_values or a.values_spec[0] == "positive" for a in inputs)
    limited = [a for a in inputs if a.has_limits]
    indices = any(a.values_spec[0] in ("integers", "ascending") for a in limited)
    times = {
        Variation.SMALL: bool(free) or any(a.values_spec[0] == "uniform" for a in limited),
        Variation.MIXED: _MIXED * (free > 1),
        Variation.ALIKE: any(a.has_free_values and len(a.shape or ()) > 1 for a in inputs),
        Variation.DYADIC: bool(scaled) or any(a.values_spec[0] == "uniform" for a in limited),
        Variation.ENDS: bool(limited),
        Variation.FEW: bool(limited) or free > 1,
        Variation.LONE: any(map(may_be_alike, inputs)),
        Variation.ZEROS_AMONG: any(_may_be_zero(a) for a in inputs),
        Variation.NAN_AT_ENDS: min(free, MOST_IN_TURN) * bool(limited),
        **dict.fromkeys(OF_INDICES, indices),
        **dict.fromkeys(OF_ALL - OF_RANGE, scaled > bool(free)),
        **dict.fromkeys(OF_RANGE, any(is_scaled(a) for a in inputs)),
        **dict.fromkeys(OF_CONSTANTS | {Variation.DECLARED, Variation.CRITICAL, Variation.SCALED}, 0),
        Variation.UPPER: 0,
    }
    for variation in Variation:
        usual = min(free, MOST_IN_TURN if variation in IN_TURN else 1)
        yield from (variation,) * times.get(variation, usual)


def is_scaled(argument: Argument) -> bool:
    """Whether a float input takes part in the variations of all inputs at once: nothing is promised but its sign."""
    declared = argument.has_free_values or argument.values_spec[0] == "positive"
    return argument.dtype in FLOAT_NAMES and declared


def may_shrink(argument: Argument) -> bool:
    """Whether values of a float input can be scaled down within what is declared, as far as that is known here."""
    return is_scaled(argument) or _may_be_zero(argument)


def may_be_alike(argument: Argument) -> bool:
    """Whether all elements of an input but one may be the same."""
    return argument.has_free_values or argument.values_spec[0] in ("uniform", "positive", "integers")


def _may_be_zero(argument: Argument) -> bool:
    """Whether a float input may hold zeros, as far as its declaration says; limits decide when values are drawn."""
    return argument.dtype in FLOAT_NAMES and (
        argument.has_free_values or argument.values_spec[0] == "uniform"
    )
