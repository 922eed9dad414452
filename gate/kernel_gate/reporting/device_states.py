"""What the device was like while a shape was timed, and what warm caches gave, as rows of tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kernel_gate.reporting.figures import dims_text

_THROTTLE = {
    0x1: "idle",
    0x2: "application clocks",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
    0x100: "display clocks",
}
"""NVML's bits of clock event reasons (nvml.h, nvmlClocksEventReason…)."""
_FIRST, _LATER, _LAST = "at the start", "when reasons changed", "at the end"


def throttle_words(bits: int) -> str:
    """`power cap, software thermal slowdown`; `none` without a reason; unknown bits as a number."""
    words = [word for bit, word in _THROTTLE.items() if bits & bit]
    rest = bits & ~sum(_THROTTLE)
    return ", ".join([*words, *([hex(rest)] if rest else [])]) or "none"


def state_rows(shapes: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str, str, str, str]]:
    """Shape, moment, temperature, power, SM clock and throttle reasons, as far as the device told them."""
    for shape in shapes:
        states = [state for state in shape.get("device_states") or () if state]
        for number, state in enumerate(states):
            moment = _FIRST if number == 0 else _LAST if number == len(states) - 1 else _LATER
            bits = state.get("throttle_reasons")
            yield (
                dims_text(shape["dims"]),
                moment,
                _with_unit(state.get("temperature_c"), "°C"),
                _with_unit(state.get("power_w"), "W"),
                _with_unit(state.get("sm_mhz"), "MHz"),
                "" if bits is None else throttle_words(int(bits)),
            )


def warm_rows(shapes: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str, str, str]]:
    """Shape, times, ratio with its interval, noise and state of launches that found their data in the L2 cache."""
    for shape in shapes:
        warm = shape.get("warm")
        if not warm:
            continue
        median, low, high = warm["ratio"]
        yield (
            dims_text(shape["dims"]),
            f"{warm['baseline_us']:.1f} → {warm['candidate_us']:.1f} µs",
            f"{median:.3f}× ({low:.3f} … {high:.3f})",
            f"±{warm['noise']:.2%}",
            str(warm["state"]),
        )


def _with_unit(value: float | None, unit: str) -> str:
    return "" if value is None else f"{value:.0f} {unit}"
