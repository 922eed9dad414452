"""A candidate whose grid fills the device: the number of multiprocessors is a dim that its workload does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.devices.opening import EMULATED_MULTIPROCESSORS
from kernel_gate.gate import judge
from kernel_gate.launching import bind
from kernel_gate.program import Program
from kernel_gate.standing import Standing
from kernel_gate.workload import Workload
from kernel_lineage.workloads import device_size
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.programs import program_from_file

CUDA = """\
__global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
void run(const float* x, float* y, int n) { twice<<<(n + 63) / 64, 64>>>(x, y, n); }
int main() {
    int n = 100000; float *x, *y;
    cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&y, n * sizeof(float));
    run(x, y, n);
}
"""
LOOP = "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += STEP) y[i] = 2 * x[i];"
ATTRIBUTE = """\
    int sms = 0, blocks = (n + 63) / 64;
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
    if (blocks > sms) blocks = sms;
"""
PROPERTY = """\
    cudaDeviceProp about; cudaGetDeviceProperties(&about, 0);
    const int blocks = std::min((n + 63) / 64, about.multiProcessorCount);
"""
TRITON = """\
import torch
import triton
import triton.language as tl

@triton.jit
def twice(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)

def run(x):
    y = torch.empty_like(x)
    twice[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    return y

def test_run():
    run(torch.randn(100000))
"""


def of_cuda(asked: str, step: str) -> str:
    body = CUDA.split("\n")[1:3]
    text = CUDA.replace("\n".join(body), "    " + LOOP.replace("STEP", step))
    return text.replace("{ twice<<<(n + 63) / 64, 64>>>", "{\n" + asked + "    twice<<<blocks, 64>>>")


def of_triton(step: str) -> str:
    before, _, after = TRITON.partition("    i = tl.program_id")
    body = f"""\
    for tile in range(tl.program_id(0), tl.cdiv(n, BLOCK), {step}):
        i = tile * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)

def run"""
    after = after.partition("def run")[2]
    counted = "torch.cuda.get_device_properties(x.device).multi_processor_count"
    return (
        before
        + body
        + after.replace("(triton.cdiv(x.numel(), 64),)", f"(min(triton.cdiv(x.numel(), 64), {counted}),)")
    )


def pair(folder: Path, file: str, before: str, after: str) -> tuple[Program, Program, Workload]:
    (folder / ".git").mkdir()
    path = folder / file
    path.write_text(before)
    workload = draft_of(target_of(path, "twice"), path).workload()
    old, new = (
        program_from_file(
            path, "twice", workload, data=text.encode(), root=folder, changed_from=before.encode()
        )
        for text in (before, after)
    )
    return old, new, workload


@pytest.mark.parametrize(
    ("file", "before", "after", "wrong"),
    [
        ("twice.cu", CUDA, of_cuda(ATTRIBUTE, "gridDim.x * 64"), of_cuda(ATTRIBUTE, "gridDim.x * 128")),
        ("twice.cu", CUDA, of_cuda(PROPERTY, "gridDim.x * 64"), of_cuda(PROPERTY, "n")),
        ("twice.py", TRITON, of_triton("tl.num_programs(0)"), of_triton("tl.num_programs(0) + 1")),
    ],
)
def test_a_grid_that_fills_the_device_is_small_where_it_is_checked(
    tmp_path, monkeypatch, file, before, after, wrong
):
    monkeypatch.setattr(device_size, "USUAL", 77)
    old, new, workload = pair(tmp_path, file, before, after)
    (tmp_path / ".git").rmdir()
    ((name, (checked, timed)),) = new.own_dims.items()
    assert old.own_dims == {}
    assert name not in workload.dims
    assert (checked, timed) == (EMULATED_MULTIPROCESSORS, 77)
    whole = workload.with_dims(new.own_dims)
    (few,) = (bind(whole, new, dims).launches[0].grid for dims in list(whole.shapes())[:1])
    assert few == (EMULATED_MULTIPROCESSORS, 1, 1)
    assert bind(whole, new, whole.profile_dims[0]).launches[0].grid == (77, 1, 1)
    verdict = judge(old, new, workload, device="emulated")
    assert verdict.standing is Standing.RIGHT, verdict.reason
    _, broken, _ = pair(tmp_path, file, before, wrong)
    assert judge(old, broken, workload, device="emulated").standing is Standing.REJECTED


def test_a_workload_keeps_its_own_dim_of_a_name():
    workload = Workload.model_validate(
        {
            "kernel": "k",
            "language": "cuda",
            "dims": {"n": 8, "sms": [2, 3]},
            "profile_dims": [{"n": 64, "sms": 5}],
            "args": [{"name": "y", "kind": "output", "dtype": "float32", "shape": ["n"]}],
            "launch": {"grid": ["n"], "block": ["1"]},
        }
    )
    assert workload.with_dims({"sms": (4, 132)}) is workload
    wider = workload.with_dims({"sms": (4, 132), "other": (1, 9)})
    assert wider.dims == {"n": (8,), "sms": (2, 3), "other": (1,)}
    assert wider.profile_dims == ({"n": 64, "sms": 5, "other": 9},)
