"""Powers of 2 that functions round to by setting bits, told by what they give."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kernel_lineage.workloads.following.values import Number, Value, called, combined, divided, plain

TRIED = range(1, 130)
"""Numbers for which a function is followed."""
_POWERS: tuple[Callable[[Number], Number], ...] = (
    lambda n: called("next_power_of_2", n),
    lambda n: divided(called("next_power_of_2", combined("+", n, plain(1))), plain(2)),
    lambda n: called("next_power_of_2", combined("+", n, plain(1))),
)
"""The power of 2 from n, up to n, and above n."""


def power_of_2(results: Sequence[Value], argument: Number) -> Number | None:
    """What a function gives of `argument` that gives `results` of the numbers `TRIED`; None where none does."""
    for power in _POWERS:
        expected = [power(plain(n)).value for n in TRIED]
        if [r.value if isinstance(r, Number) else None for r in results] == expected:
            return power(argument)
    return None
