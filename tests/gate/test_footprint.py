"""How far a program reaches into its buffers."""

from __future__ import annotations

from typing import Any

import pytest

from kernel_gate import footprint
from kernel_gate.building import build_program
from kernel_gate.built import Built
from kernel_gate.devices import emulated
from kernel_gate.devices.opening import EMULATED_ARCH
from kernel_gate.footprint import FootprintError, footprints
from kernel_gate.program import Program
from kernel_gate.workload import Workload, parse_workload

SOURCE = """\
__global__ void rows(float* out, const float4* x, const int* at, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 v = x[i];
        out[2 * i] = v.x + v.w + at[i];
    }
}
"""
WORKLOAD = """\
kernel = "rows"
language = "cuda"
[dims]
n = [10]
[[args]]
name = "out"
kind = "output"
dtype = "float32"
shape = [4096]
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = [4096]
[[args]]
name = "at"
kind = "input"
dtype = "int32"
shape = ["n"]
values = "integers(0, 3)"
[[args]]
name = "n"
kind = "scalar"
dtype = "int32"
value = "n"
[launch]
grid = ["ceil_div(n, 32)"]
block = [32]
"""


@pytest.fixture
def workload() -> Workload:
    return parse_workload(WORKLOAD)


def test_each_buffer_counts_to_the_last_element_that_is_touched(workload: Workload) -> None:
    seen = list(footprints(Program("cuda", SOURCE, "rows"), workload, [{"n": 10}, {"n": 33}]))
    elements = [{name: touched.elements for name, touched in one.items()} for one in seen]
    assert elements == [{"out": 19, "x": 40, "at": 10}, {"out": 65, "x": 132, "at": 33}]
    assert {name: (touched.reads, touched.writes) for name, touched in seen[0].items()} == {
        "out": (False, True),
        "x": (True, False),
        "at": (True, False),
    }


@pytest.mark.parametrize(
    ("gone", "there", "why"),
    [
        ("out[2 * i]", "out[9999 * i]", "out of bounds: write of 4 bytes at out"),
        ("v.w", "v.q", "has no member"),
        ("const int* at, int n", "const int* at", "n"),
    ],
)
def test_a_program_that_does_not_run_to_its_end_says_why(
    workload: Workload, gone: str, there: str, why: str
) -> None:
    with pytest.raises(FootprintError, match=why):
        list(footprints(Program("cuda", SOURCE.replace(gone, there), "rows"), workload, [{"n": 10}]))


RACING = """\
__global__ void rows(float* out, const float4* x, const int* at, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i / 2] = i;
}
"""


DIVERGENT = """\
__global__ void rows(float* out, const float4* x, const int* at, int n) {
    int i = threadIdx.x;
    if (i % 2) __syncthreads();
    else __syncthreads();
    if (blockIdx.x == 0 && i < n) out[i] = i;
}
"""


@pytest.mark.parametrize(
    ("source", "of_order"),
    [(RACING, True), (DIVERGENT, True), (SOURCE.replace("out[2 * i]", "out[9999 * i]"), False)],
)
def test_a_fault_that_only_those_see_who_look_for_races_is_told_from_others(
    workload: Workload, source: str, of_order: bool
) -> None:
    with pytest.raises(FootprintError) as raised:
        list(footprints(Program("cuda", source, "rows"), workload, [{"n": 10}], races=True))
    assert raised.value.of_order is of_order


def test_what_is_reached_beyond_a_barrier_in_divergent_code_is_seen(workload: Workload) -> None:
    (seen,) = footprints(Program("cuda", DIVERGENT, "rows"), workload, [{"n": 10}])
    assert seen["out"].elements == 10


def test_threads_that_wait_for_ever_reach_nothing_more(workload: Workload) -> None:
    waiting = DIVERGENT.replace("    else __syncthreads();", '    else asm volatile("bar.sync 1;");')
    with pytest.raises(FootprintError, match="deadlock") as raised:
        list(footprints(Program("cuda", waiting, "rows"), workload, [{"n": 10}]))
    assert not raised.value.of_order


def test_what_fails_at_the_first_shape_is_not_built_for_the_others(
    workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[list[dict[str, int]]] = []

    def counted(program: Program, workload: Workload, shapes: list[dict[str, int]], **more: Any) -> Built:
        built.append(shapes)
        return build_program(program, workload, shapes, **more)

    monkeypatch.setattr(footprint, "build_program", counted)
    wrong = Program("cuda", SOURCE.replace("out[2 * i]", "out[9999 * i]"), "rows")
    with pytest.raises(FootprintError):
        list(footprints(wrong, workload, [{"n": 10}, {"n": 33}]))
    assert built == [[{"n": 10}]]


@pytest.mark.parametrize("message", ["", "Unable to allocate 8.00 TiB"])
@pytest.mark.parametrize("races", [False, True])
def test_a_shape_that_memory_does_not_hold_is_said(workload, monkeypatch, message, races) -> None:
    def full(*_):
        raise MemoryError(message)

    monkeypatch.setattr(footprint, "make_inputs", full)
    with pytest.raises(
        FootprintError, match=f"memory does not hold the buffers of a shape.*{message}"
    ) as raised:
        list(footprints(Program("cuda", SOURCE, "rows"), workload, [{"n": 10}], races=races))
    assert raised.value.of_order == races


TABLED = """\
__constant__ int table[4] = {1, 2, 3, 4};
__device__ int turns = 0;
__global__ void rows(float* out, const float4* x, const int* at, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) turns += 1;
    if (i < n) out[table[i % 4]] = turns;
}
"""


def test_a_kernel_with_variables_of_its_module_is_decoded_once_and_begins_anew_in_each_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoded: list[str] = []
    decode = emulated.decode
    monkeypatch.setattr(emulated, "decode", lambda *a: decoded.append(a[1]) or decode(*a))
    workload = parse_workload(WORKLOAD)
    program = Program("cuda", TABLED, "rows")
    image = next(iter(build_program(program, workload, [{"n": 10}], arch=EMULATED_ARCH).images.values()))
    for _ in range(3):
        list(footprints(program, workload, [{"n": 10}]))
    kernels = [emulated.EmulatedDevice().load(image) for _ in range(2)]
    assert len(decoded) == 1 and kernels[0].kernel is kernels[1].kernel
    places = [{name: s.base for name, s in kernel.variables.items()} for kernel in kernels]
    assert places[0] == places[1] and len(places[0]) == 2
    kernels[0].variables["turns"].data[:] = 7
    assert not kernels[1].variables["turns"].contents.any(), "each device has memory of its own"
