"""A change asked again with images whose channels lie last, where host code tells them from others."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.reasons import Reason
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.torch_beside import torch_beside
from learning.test_asked_apart import verdict_on

PLAIN = """
#include <torch/extension.h>

__global__ void halve(const float* __restrict__ x, float* __restrict__ y, int height, int width, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int half = width / 2, c = i % half, r = i / half;
    y[i] = fmaxf(x[r * width + 2 * c], x[r * width + 2 * c + 1]);
}

torch::Tensor halved(torch::Tensor x) {
    TORCH_CHECK(x.dim() == 4);
    x = x.contiguous();
    const int images = x.size(0), channels = x.size(1), height = x.size(2), width = x.size(3);
    auto y = torch::empty({images, channels, height, width / 2}, x.options());
    const int count = y.numel();
    halve<<<(count + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), height, width, count);
    return y;
}
"""
KERNEL = """
__global__ void halve_last(const float* __restrict__ x, float* __restrict__ y, int channels, int width, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int c = i % channels, pixel = i / channels, half = width / 2;
    const float* first = x + ((pixel / half) * width + pixel % half * 2) * channels + c;
    y[i] = fmaxf(first[0], first[channels]);
}

torch::Tensor halved"""
BOTH = (
    PLAIN.replace("\ntorch::Tensor halved", KERNEL, 1)
    .replace("x = x.contiguous();", "const auto format = x.suggest_memory_format();\n    x = x.contiguous(format);")
    .replace("x.options()", "x.options().memory_format(format)")
    .replace("    halve<<<", "    if (format == at::MemoryFormat::ChannelsLast) {\n"
             "        halve_last<<<(count + 63) / 64, 64>>>(\n"
             "            x.data_ptr<float>(), y.data_ptr<float>(), channels, width, count);\n"
             "        return y;\n    }\n    halve<<<")
)  # fmt: skip
OTHER_SPELLING = (
    BOTH.replace("x.suggest_memory_format()", "x.is_contiguous(at::MemoryFormat::ChannelsLast)")
    .replace("x.contiguous(format)", "format ? x : x.contiguous()")
    .replace("x.options().memory_format(format)", "x.options()")
    .replace("torch::empty(", "at::empty(")
    .replace("    const int count", "    if (format) y = at::empty({images, channels, height, width / 2}, "
             "x.options().memory_format(torch::MemoryFormat::ChannelsLast));\n    const int count")
    .replace("format == at::MemoryFormat::ChannelsLast", "format")
)  # fmt: skip


def change(folder: Path, old: str, new: str) -> str:
    verdict, _ = verdict_on(folder, "cuda", old, new, of=old)
    assert verdict.code in (Reason.WRONG_VALUE, Reason.NOT_PROFILED, Reason.WORK_BESIDE)
    return f"{verdict.code}: {verdict.reason}"


@pytest.mark.parametrize("after", [BOTH, OTHER_SPELLING])
def test_a_kernel_of_its_own_for_such_images_is_right(tmp_path: Path, after: str) -> None:
    reason = change(tmp_path, PLAIN, after)
    assert reason.startswith("not-profiled: right; right where the channels of x lie last, too")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("pixel % half * 2) * channels", "pixel % half) * channels"),
        ("first[channels]", "first[1]"),
        (".memory_format(format)", ""),
        (".memory_format(torch::MemoryFormat::ChannelsLast)", ""),
    ],
)
def test_one_that_is_wrong_is_rejected(tmp_path: Path, old: str, new: str) -> None:
    after = BOTH if old in BOTH else OTHER_SPELLING
    assert old in after
    reason = change(tmp_path, PLAIN, after.replace(old, new))
    assert reason.startswith("wrong-value: where the channels of x lie last: "), reason


def test_code_that_takes_such_images_before_is_asked_too(tmp_path: Path) -> None:
    assert change(tmp_path, BOTH, BOTH.replace("first[channels]", "first[1]")).startswith(
        "wrong-value: where"
    )


def test_what_cannot_be_asked_is_undecided(tmp_path: Path) -> None:
    """The code before takes rows that lie next to each other alone: with what to compare is not told."""
    refused = "TORCH_CHECK(x.is_contiguous());"
    reason = change(tmp_path, PLAIN.replace("x = x.contiguous();", refused), BOTH)
    assert reason.startswith("work-beside: right; not judged where channels lie last")


HALVE = """import torch, triton

@triton.jit
def halve(x, y):
    pass

def f(x):
    y = torch.empty_like(x)
    halve[(1,)](x, y)
"""


@pytest.mark.parametrize(
    ("language", "text", "old", "word"),
    [
        (Language.CUDA, PLAIN, "x.contiguous(c10::MemoryFormat::ChannelsLast)", "ChannelsLast"),
        (Language.TRITON, HALVE, "torch.empty_like(x, memory_format=torch.channels_last)", "channels_last"),
    ],
)
def test_a_format_that_a_change_alone_names_is_work_beside(
    language: Language, text: str, old: str, word: str
) -> None:
    plain = f"{old[: old.index('(')]}({'x' if '(x' in old else ''})"
    before, after = (read(each.encode(), language) for each in (text, text.replace(plain, old)))
    assert torch_beside("halve", before, after) == (f"PyTorch's {word}",)
