"""Zeros that a host function makes for an output of which its kernel leaves elements alone: work beside the kernel."""

from __future__ import annotations

import pytest

from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.torch_beside import copies_left_out, torch_beside

CUDA = """#include <torch/extension.h>
__global__ void means(const int* begins, float* out) {
    if (begins[blockIdx.x + 1] > begins[blockIdx.x]) out[blockIdx.x] = 1.0f;
}
at::Tensor mean_rows(at::Tensor begins) {
    auto out = at::MADE({begins.size(0) - 1}, begins.options());
    means<<<begins.size(0) - 1, 1>>>(begins.data_ptr<int>(), out.data_ptr<float>());
    return out;
}
"""
TRITON = """import torch
import triton
import triton.language as tl


@triton.jit
def means(begins, out):
    row = tl.program_id(0)
    if tl.load(begins + row + 1) > tl.load(begins + row):
        tl.store(out + row, 1.0)


def mean_rows(begins):
    out = torch.MADE(begins.numel() - 1, device=begins.device)
    means[(begins.numel() - 1,)](begins, out)
    return out
"""


@pytest.mark.parametrize(("text", "language"), [(CUDA, Language.CUDA), (TRITON, Language.TRITON)])
def test_zeros_that_a_change_makes_no_longer_count_where_a_kernel_leaves_elements_alone(
    text: str, language: Language
) -> None:
    before, after = (read(text.replace("MADE", made).encode(), language) for made in ("zeros", "empty"))
    (one,) = torch_beside("means", before, after, keeps=True)
    assert one.startswith("PyTorch's zeros(") and torch_beside("means", after, before, keeps=True) == (one,)
    assert torch_beside("means", before, before, keeps=True) == ()
    assert torch_beside("means", before, after) == (), "a kernel that writes all of it needs no zeros"


@pytest.mark.parametrize(("text", "language"), [(CUDA, Language.CUDA), (TRITON, Language.TRITON)])
def test_a_tensor_that_is_no_longer_made_contiguous_is_named(text: str, language: Language):
    copied = text.replace("out = ", "begins = begins.contiguous();\n    out = ".replace("auto ", ""), 1)
    if language is Language.TRITON:
        copied = copied.replace("contiguous();", "contiguous()")
    before, after = (read(one.encode(), language) for one in (copied, text))
    renamed = read(copied.replace("begins = begins.cont", "starts = begins.cont").encode(), language)
    assert copies_left_out("means", before, after) == ("begins",)
    assert copies_left_out("means", after, before) == copies_left_out("means", before, renamed) == ()


@pytest.mark.parametrize(("text", "language"), [(CUDA, Language.CUDA), (TRITON, Language.TRITON)])
def test_a_kernel_of_another_name_since_is_the_same_one(text: str, language: Language) -> None:
    worked = text.replace("return out", "return out.abs()")
    later = text.replace("means(", "averages(").replace("means<", "averages<").replace("means[", "averages[")
    before, after = (read(one.encode(), language) for one in (worked, later))
    assert torch_beside("means", before, after, since="averages") == ("PyTorch's abs()",)
    renamed = read(later.replace("mean_rows", "averaged").encode(), language)
    assert torch_beside("means", before, renamed, since="averages") == ("PyTorch's abs()",)
    assert torch_beside("means", before, before) == ()
