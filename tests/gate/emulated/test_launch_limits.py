"""A grid of any size: waves are freed as they end, and a launch that takes too long says how far it came."""

import gc

import numpy as np
import pytest

from gate.emulated.cuda_source import launch, line_of
from kernel_gate.emulated.launch import Limits
from kernel_gate.emulated.wave import Wave

MARK = """
__global__ void kernel(int* out) {
    if (threadIdx.x == 0 && blockIdx.x % 1000 == 0) atomicAdd(out, 1);
}
"""


@pytest.mark.long
def test_no_wave_outlives_its_turn():
    gc.collect()
    gc.disable()
    try:
        done = launch(MARK, {"out": np.zeros(1, np.int32)}, 40_000, 64)
        alive = sum(isinstance(o, Wave) for o in gc.get_objects())
    finally:
        gc.enable()
    assert (done.faults, done.arrays["out"].tolist(), alive) == ((), [40], 0)


def test_short_blocks_of_a_large_grid_run_out_of_time_too():
    done = launch(MARK, {"out": np.zeros(1, np.int32)}, 2**31 - 1, 64, limits=Limits(seconds=0.05))
    fault = done.faults[0]
    assert fault.kind == "timeout"
    assert "within its budget of 0.05 s" in fault.message
    assert "of 2,147,483,647 blocks are done" in fault.message


def test_an_endless_loop_names_its_line():
    source = """
__global__ void kernel(volatile int* out) {
    while (out[0] == 0) {  // loop
        out[1] = 1;
    }
}
"""
    fault = launch(source, {"out": np.zeros(2, np.int32)}, limits=Limits(steps=500)).faults[0]
    line = line_of(source, "loop")
    assert "within its budget of 500 steps of a wave: 0 of 1 blocks are done" in fault.message
    assert fault.line in (line, line + 1)
