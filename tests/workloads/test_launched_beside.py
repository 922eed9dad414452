"""Kernels that a change launches beside another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.program import LaunchStep, Program
from kernel_gate.workload import parse_workload
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.launched_beside import launched_beside
from kernel_lineage.workloads.programs import program_from_file
from workload_texts import workload_text

CUDA = """
__global__ void sums(float* out, const float* x, int n) { out[threadIdx.x] = x[threadIdx.x]; }
__global__ void other(float* out) { out[0] = 1; }
void run(float* out, const float* x, int n) { sums<<<1, 32>>>(out, x, n); }
void elsewhere(float* out) { other<<<1, 1>>>(out); }
"""
MERGE = "__global__ void merge(float* out, int n) { out[0] += n; }\n"
TRITON = """
import triton
import triton.language as tl

@triton.jit
def sums(out, x, n, BLOCK: tl.constexpr):
    tl.store(out, 1.0)

class Sum:
    @staticmethod
    def forward(x):
        sums[(1,)](x, x, 1, BLOCK=32)
        return x
"""
MERGE_TL = "@triton.jit\ndef merge(out):\n    tl.store(out, 2.0)\n\nclass Sum:"


@pytest.mark.parametrize(
    ("after", "beside"),
    [
        (MERGE + CUDA.replace("(out, x, n); }", "(out, x, n); merge<<<1, 1>>>(out, n); }"), ("merge",)),
        (
            MERGE
            + "void last(float* out, int n) { merge<<<1, 1>>>(out, n); }"
            + CUDA.replace("(out, x, n); }", "(out, x, n); last(out, n); }"),
            ("merge",),
        ),
        (CUDA.replace("(out, x, n); }", "(out, x, n); other<<<1, 1>>>(out); }"), ("other",)),
        (MERGE + CUDA.replace("{ other<<<1", "{ merge<<<1, 1>>>(out, 1); other<<<1"), ()),
        (MERGE + CUDA, ()),
        (CUDA.replace("<<<1, 32>>>", "<<<2, 16>>>"), ()),
    ],
)
def test_kernels_that_the_same_host_function_launches_after_a_change_of_cuda(after, beside):
    before, now = (read(text.encode(), Language.CUDA) for text in (CUDA, after))
    assert launched_beside("sums", before, now) == beside


@pytest.mark.parametrize(
    ("after", "beside"),
    [
        (
            TRITON.replace("class Sum:", MERGE_TL).replace("return x", "merge[(1,)](x)\n        return x"),
            ("merge",),
        ),
        (TRITON.replace("class Sum:", MERGE_TL), ()),
        (TRITON.replace("return x", "return (x"), ()),
    ],
)
def test_kernels_that_the_same_host_function_launches_after_a_change_of_triton(after, beside):
    before, now = (read(text.encode(), Language.TRITON) for text in (TRITON, after))
    assert launched_beside("sums", before, now) == beside


WORKLOAD = workload_text(
    "sums",
    "n = [32]",
    "grid = [1]\nblock = [32]",
    "out: output float32 [n]",
    "x: input float32 [n]",
    "n: int32 = n",
)


@pytest.mark.parametrize("name", ["sums", "ours::sums", "::ours::sums", "3"])
def test_a_kernel_may_be_named_in_any_way(tmp_path: Path, name: str):
    def changed(launch: str) -> Program:
        texts = CUDA, MERGE + CUDA.replace("(out, x, n); }", f"(out, x, n); {launch} }}")
        before, after = (f"namespace ours {{ {text} }}".encode() for text in texts)
        return program_from_file(
            tmp_path / "sums.cu",
            name,
            parse_workload(WORKLOAD),
            data=after,
            root=tmp_path,
            changed_from=before,
        )

    program = changed("merge<<<1, 1>>>(out, n);")
    assert program.entry == "ours::sums" and not program.beside
    assert [step.entry for step in program.steps if isinstance(step, LaunchStep)] == [
        "ours::sums",
        "ours::merge",
    ]
    # What is not read to its end is judged without the other kernel, which is named.
    assert changed("merge<<<1, 1>>>(asked(out), n);").beside == ("merge",)
