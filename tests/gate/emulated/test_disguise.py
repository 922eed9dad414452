"""What device code can read does not tell the emulated device from a GPU."""

import numpy as np
import pytest

from gate.emulated.cuda_source import launch
from gate.programs import affine, workload
from kernel_gate.devices.emulated import EmulatedDevice
from kernel_gate.emulated import special_registers
from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.reasons import Reason

READS = r"""
extern "C" __global__ void kernel(unsigned long long *out, const float *x) {
    unsigned a, b;
    unsigned long long grid, clock, timer;
    asm volatile("mov.u32 %0, %nsmid;" : "=r"(a));
    asm volatile("mov.u32 %0, %smid;" : "=r"(b));
    asm volatile("mov.u64 %0, %gridid;" : "=l"(grid));
    asm volatile("mov.u64 %0, %clock64;" : "=l"(clock));
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(timer));
    __shared__ int s[4];
    unsigned long long *row = out + 8 * blockIdx.x;
    row[0] = a; row[1] = b; row[2] = grid; row[3] = clock; row[4] = timer;
    row[5] = (unsigned long long)x; row[6] = (unsigned long long)out; row[7] = (unsigned long long)s;
}
"""


def test_registers_and_addresses_are_those_of_a_large_gpu():
    arguments = {"out": np.zeros((140, 8), np.uint64), "x": np.zeros(4, np.float32)}
    first, again = (launch(READS, arguments, grid=140, block=1).arrays["out"] for _ in range(2))
    assert (first[:, 0] == 132).all()
    assert sorted(set(first[:, 1])) == list(range(132))
    assert (first[:, 2] > 0).all()
    assert (first[:, 3] > 1 << 40).all()
    assert (again[0, 4] - first[0, 4]) < 60e9
    assert first[0, 4] > 1.7e18
    assert {int(a) >> 44 for a in first[0, 5:]} == {7}
    assert (first[0, 5:7] % 256 == 0).all()
    assert first[0, 5] != again[0, 5]


def test_some_buffers_begin_where_large_tensors_do():
    device = EmulatedDevice()
    places = [device.allocate(64, "x", 4).address for _ in range(64)]
    assert 8 < sum(place % (2 << 20) == 0 for place in places) < 56


LINE = "if (i < n) y[i] = 2.0f * x[i] + 1.0f;"
SUM = """if (i < n) {
    long long begin = clock64();
    float s = begin ? 0.0f : 1.0f;
    for (int k = 0; k < 40; ++k) STEP
    y[i] = s;
}"""


def code_of(step: str) -> Reason:
    whole = "if (i < n) { float s = 0.0f; for (int k = 0; k < 40; ++k) s += x[i] * k; y[i] = s; }"
    programs = affine(LINE, whole), affine(LINE, SUM.replace("STEP", step))
    return judge(*programs, workload(), device="emulated", options=GateOptions(callers_seconds=0)).code


def test_a_clock_that_is_asked_for_nothing_changes_nothing():
    assert code_of("s += x[i] * k;") is Reason.NOT_PROFILED


@pytest.mark.parametrize("grid", [1, 4, 5])
def test_what_a_budget_of_cycles_leaves_out_is_missed(monkeypatch, grid: int):
    """Which launches leap late and which early tells what is seen first: two that differ, or one that is wrong."""
    monkeypatch.setattr(special_registers, "_FIRST_GRID", grid)
    code = code_of("if (clock64() - begin < 400000) s += x[i] * k;")
    assert code in {Reason.WRONG_VALUE, Reason.KEEPS_STATE, Reason.NOT_REPEATABLE}
