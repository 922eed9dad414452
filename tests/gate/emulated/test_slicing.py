"""What fed one element: the lines whose instructions gave it its value, and no others."""

import numpy as np
import pytest

from gate.emulated.cuda_source import image
from kernel_gate.devices.emulated import EmulatedDevice, Recording
from kernel_gate.emulated.slicing.walk import lines_of, taken

KERNELS = {
    "data, not what other elements need": """
__global__ void kernel(float* out, const float* x) {
    int i = threadIdx.x;                      // fed
    float a = x[i] * 3.0f;                    // fed
    float b = x[i + 32] - 7.0f;
    out[i] = a + 1.0f;                        // fed
    out[i + 32] = b;
}""",
    "shared memory, through another thread's store": """
__global__ void kernel(float* out, const float* x) {
    __shared__ float tile[32], other[32];
    tile[threadIdx.x] = x[threadIdx.x];       // fed
    other[threadIdx.x] = x[threadIdx.x + 32];
    __syncthreads();
    out[threadIdx.x] = tile[31 - threadIdx.x];  // fed
    out[threadIdx.x + 32] = other[threadIdx.x];
}""",
    "an earlier store to the same place feeds nothing": """
__global__ void kernel(float* out, const float* x) {
    __shared__ volatile float tile[32];
    volatile float* mine = tile + threadIdx.x;  // fed
    *mine = 2.0f * sinf(x[40]);
    *mine = x[threadIdx.x + 32];              // fed
    out[threadIdx.x] = *mine;                 // fed
}""",
    "local memory": """
__global__ void kernel(float* out, const float* x) {
    float held[8];
    for (int k = 0; k < 8; k++)               // fed
        held[k ^ int(x[40])] = x[k];          // fed
    out[threadIdx.x] = held[int(x[threadIdx.x]) & 7];  // fed
    out[32] = x[50];
}""",
    "a shuffle, from the lanes of the warp": """
__global__ void kernel(float* out, const float* x) {
    float v = x[threadIdx.x];                 // fed
    float w = x[threadIdx.x + 32];
    v += __shfl_xor_sync(~0u, v, 1);          // fed
    out[threadIdx.x] = v;                     // fed
    out[threadIdx.x + 32] = w;
}""",
    "a shuffle, from the one lane that it names": """
__global__ void kernel(float* out, const float* x) {
    int i = threadIdx.x;                      // fed
    float v = x[i];                           // fed
    if (i & 8)                                // fed
        v = 2.0f * sinf(x[i + 32]);
    v = __shfl_down_sync(~0u, v, 2);          // fed
    out[i] = v;                               // fed
}""",
    "the branch that decided": """
__global__ void kernel(float* out, const float* x) {
    float v = 1.0f;
    if (x[40] < 2.0f) {                       // fed
        v = sinf(x[41]) + 4.0f * cosf(x[42]); // fed
        __threadfence();
    }
    if (x[43] < 2.0f) {
        out[32] = 5.0f;
        __threadfence();
    }
    out[threadIdx.x] = v;                     // fed
}""",
    "an atomic sum, from every thread": """
__global__ void kernel(float* out, const float* x) {
    __shared__ float sum;
    if (threadIdx.x == 0)                     // fed
        sum = 0.0f;                           // fed
    __syncthreads();
    atomicAdd(&sum, x[threadIdx.x]);          // fed
    __syncthreads();
    out[threadIdx.x] = sum;                   // fed
}""",
    "the branch that kept it from being stored": """
__global__ void kernel(float* out, const float* x) {
    int n = int(x[3]) - 8;                    // fed
    if (int(threadIdx.x) < n)                    // fed
        out[threadIdx.x] = 1.0f;
}""",
}
OPTIONAL = {"local memory": {"for (int k"}, "an atomic sum, from every thread": {"if (threadIdx"}}
"""Lines that a compiler may unroll or turn into a guard that always held."""


def fed(source: str, element: int) -> set[int]:
    device = EmulatedDevice("sm_90")
    out, x = (device.allocate(256, name, 4) for name in ("out", "x"))
    out.write(np.zeros(64, np.float32))
    x.write(np.arange(64, dtype=np.float32) % 8)
    recording = Recording(0, 0)
    device.record(recording)
    device.load(image(source)).launch((1, 1, 1), (32, 1, 1), 0, [out, x])
    assert recording.trace is not None and recording.kernel is not None
    trace, kernel = recording.trace, recording.kernel
    steps = taken(trace, kernel, out.segment.number, 4 * element, 4 * element + 4)
    return set(lines_of(trace, kernel, steps))


@pytest.mark.parametrize("name", KERNELS)
def test_the_lines_that_fed_an_element_are_found(name: str):
    lines = KERNELS[name].splitlines()
    wanted = {n for n, line in enumerate(lines, 1) if line.endswith("// fed")}
    optional = {n for n in wanted if any(lines[n - 1].strip().startswith(o) for o in OPTIONAL.get(name, ()))}
    feeders = fed(KERNELS[name], 5)
    assert wanted - optional <= feeders <= wanted | {2}


def test_a_launch_that_is_too_long_is_not_recorded(monkeypatch):
    monkeypatch.setattr("kernel_gate.emulated.slicing.trace._BYTES_MOST", 1000)
    device = EmulatedDevice("sm_90")
    out, x = (device.allocate(256, name, 4) for name in ("out", "x"))
    x.write(np.zeros(64, np.float32))
    recording = Recording(0, 0)
    device.record(recording)
    device.load(image(KERNELS["local memory"])).launch((1, 1, 1), (32, 1, 1), 0, [out, x])
    assert recording.trace is None


def test_only_the_recorded_launch_is_cut_short():
    device = EmulatedDevice("sm_90")
    out, x = (device.allocate(256, name, 4) for name in ("out", "x"))
    x.write(np.zeros(64, np.float32))
    kernel = device.load(image(KERNELS["local memory"]))
    device.record(Recording(1, 0))
    assert kernel.launch((1, 1, 1), (32, 1, 1), 0, [out, x]).faults == ()
    assert [f.kind for f in kernel.launch((1, 1, 1), (32, 1, 1), 0, [out, x]).faults] == ["launch"]
