"""Peak rates of a GPU from its attributes and its architecture, for rooflines.

Per multiprocessor and clock: CUDA C++ Programming Guide, "Throughput of native arithmetic instructions" (a fused
multiply-add is two operations), and the vendor's architecture papers for the matrix units (dense, in
the fastest type). The clock is the highest that the driver allows: no boost goes beyond it.
"""

from __future__ import annotations

_FLOAT32_LANES = {
    (7, 0): 64, (7, 5): 64, (8, 0): 64, (8, 6): 128, (8, 7): 128, (8, 9): 128, (9, 0): 128,
    (10, 0): 128, (10, 3): 128, (12, 0): 128, (12, 1): 128,
}  # fmt: skip
_MATRIX_FLOPS = {
    (7, 0): 1024, (7, 5): 2048, (8, 0): 4096, (8, 6): 2048, (8, 7): 4096, (8, 9): 4096, (9, 0): 8192,
    (10, 0): 32768, (10, 3): 49152, (12, 0): 8192, (12, 1): 8192,
}  # fmt: skip


def float32_flops_per_second(capability: tuple[int, int], sms: int, max_sm_khz: int) -> float | None:
    """Operations a second of the float32 lanes; None for an architecture that is not in the table."""
    lanes = _FLOAT32_LANES.get(capability)
    return lanes * 2.0 * sms * max_sm_khz * 1000 if lanes is not None else None


def most_flops_per_second(capability: tuple[int, int], sms: int, max_sm_khz: int) -> float | None:
    """Operations a second of the fastest unit in its fastest type: nothing on the device does more; None if unknown."""
    flops = _MATRIX_FLOPS.get(capability)
    return float(flops) * sms * max_sm_khz * 1000 if flops is not None else None
