"""Occupancy as NVIDIA's calculator gives it."""

import pytest

from kernel_gate.devices.occupancy import Multiprocessor, Occupancy, occupancy

H200 = Multiprocessor(
    threads=2048, blocks=32, registers=65536, shared_bytes=233472, reserved_shared_bytes=1024
)
TURING = Multiprocessor(threads=1024, blocks=16, registers=65536, shared_bytes=65536, reserved_shared_bytes=0)


@pytest.mark.parametrize(
    ("sm", "block_threads", "registers", "shared_bytes", "expected"),
    [
        (H200, 256, 32, 0, Occupancy(8, 1.0, "warps")),
        (H200, 32, 16, 0, Occupancy(32, 0.5, "blocks")),
        (H200, 256, 40, 0, Occupancy(6, 0.75, "registers")),
        (H200, 1024, 64, 0, Occupancy(1, 0.5, "registers")),
        (H200, 128, 255, 0, Occupancy(2, 0.125, "registers")),
        (H200, 256, 32, 48 << 10, Occupancy(4, 0.5, "shared memory")),
        (H200, 128, 128, 227 << 10, Occupancy(1, 0.0625, "shared memory")),
        (TURING, 256, 64, 0, Occupancy(4, 1.0, "warps")),
        (TURING, 192, 32, 17000, Occupancy(3, 0.5625, "shared memory")),
        (H200, 33, 32, 0, Occupancy(32, 1.0, "warps")),
    ],
)
def test_known_kernels(sm, block_threads, registers, shared_bytes, expected):
    assert occupancy(sm, block_threads, registers, shared_bytes) == expected


def test_a_block_that_does_not_fit_has_none():
    assert occupancy(H200, 1024, 128, 0).blocks == 0
