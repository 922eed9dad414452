"""Host code that asks whether buffers are aligned: its launch depends on where they lie, in every case of the check."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.cases import Memory
from kernel_gate.gate import judge
from kernel_gate.launching import BoundLaunch, bind
from kernel_gate.program import Program
from kernel_gate.standing import Standing
from kernel_gate.workload import Workload
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.programs import program_from_file

BEFORE = """\
__global__ void twice(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * in[i];
}
void run(const float* x, float* y, int n) { twice<<<(n + 63) / 64, 64>>>(x, y, n); }
int main() {
    int n = 5000; float *x, *y;
    cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&y, n * sizeof(float));
    run(x, y, n);
}
"""
AFTER = """\
__global__ void twice(const float* in, float* out, int n, int four) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (!four) {
        if (i < n) out[i] = 2 * in[i];
    } else if (4 * i < n) {
        float4 v = reinterpret_cast<const float4*>(in)[i];
        reinterpret_cast<float4*>(out)[i] = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
    }
}
void run(const float* x, float* y, int n) {
    TEST
    const int work = four ? n / 4 : n;
    twice<<<(work + 63) / 64, 64>>>(x, y, n, four);
}
int main() {
    int n = 5000; float *x, *y;
    cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&y, n * sizeof(float));
    run(x, y, n);
}
"""
BOTH = "const int four = n % 4 == 0 && ((reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y)) & 15) == 0;"


def pair(folder: Path, test: str) -> tuple[Program, Program, Workload]:
    path = folder / "twice.cu"
    path.write_text(BEFORE)
    workload = draft_of(target_of(path, "twice"), path).workload()
    texts = (BEFORE, AFTER.replace("TEST", test))
    old, new = (
        program_from_file(
            path, "twice", workload, data=text.encode(), root=folder, changed_from=BEFORE.encode()
        )
        for text in texts
    )
    return old, new, workload


@pytest.mark.parametrize(
    ("test", "standing"),
    [
        (BOTH, Standing.RIGHT),
        (
            "bool four = (n % 4 == 0) && (size_t)x % 16 == 0 && (unsigned long long)y % sizeof(float4) == 0;",
            Standing.RIGHT,
        ),
        ("int four = ((uintptr_t)x | (uintptr_t)y) % 16 == 0;", Standing.REJECTED),
    ],
)
def test_a_test_of_addresses_is_made_where_the_buffers_lie(
    tmp_path: Path, test: str, standing: Standing
) -> None:
    old, new, workload = pair(tmp_path, test)
    verdict = judge(old, new, workload, device="emulated")
    assert verdict.standing is standing, verdict.reason


@pytest.mark.parametrize(
    ("test", "condition"),
    [
        ("int four = n % 4 == 0 && (uintptr_t)x % 16 == 0;", "only if align(out) >= 16,"),
        (
            "int four = n % 4 == 0 && ((uintptr_t)x & 7) == 0 && ((uintptr_t)y & 7) == 0;",
            "only if align(in) >= 16 and align(out) >= 16,",
        ),
    ],
)
def test_what_is_not_asked_for_is_a_condition(tmp_path: Path, test: str, condition: str) -> None:
    old, new, workload = pair(tmp_path, test)
    verdict = judge(old, new, workload, device="emulated")
    assert verdict.standing is Standing.RIGHT
    assert f"{condition} which the baseline does not need" in verdict.reason


def test_the_launch_is_that_of_each_buffer_s_place(tmp_path: Path) -> None:
    _, new, workload = pair(tmp_path, BOTH)

    def launched(*offsets: tuple[str, int], n: int = 1024) -> tuple[int, int]:
        (launch,) = bind(workload, new, {"n": n}, Memory(offsets=offsets)).launches
        assert isinstance(launch, BoundLaunch)
        return launch.grid[0], int(list(launch.operands.values())[3])

    assert launched() == (4, 1)
    assert launched(("in", 16), ("out", 32)) == (4, 1)
    assert launched(("in", 4)) == launched(("out", 8)) == (16, 0)
    assert launched(n=1023) == (16, 0)


def test_a_baseline_that_asks_for_addresses_is_drafted_with_its_test(tmp_path: Path) -> None:
    path = tmp_path / "twice.cu"
    path.write_text(AFTER.replace("TEST", BOTH))
    draft = draft_of(target_of(path, "twice"), path)
    assert draft.missing == ()
    four = next(a for a in draft.arguments if a.name == "four")
    assert "bit_or(address_of_in, address_of_out) % 16 == 0" in str(four.value)
    draft.workload()
