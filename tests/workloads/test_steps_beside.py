"""Loops around launches, exchanges and returns that a change makes otherwise."""

from __future__ import annotations

import pytest

from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.steps_beside import steps_beside

CUDA = """#include <torch/extension.h>
__global__ void spread(const float* a, float* b, int n) { b[threadIdx.x] = a[threadIdx.x]; }
torch::Tensor smooth(torch::Tensor x, int64_t rounds) {
    auto a = x.clone();
    auto b = torch::empty_like(a);
    for (int64_t i = 0; i < rounds; ++i) {
        spread<<<1, 64>>>(a.data_ptr<float>(), b.data_ptr<float>(), 64);
        std::swap(a, b);
    }
    return a;
}
int main() {
    for (int i = 0; i < 100; ++i) spread<<<1, 64>>>(nullptr, nullptr, 64);
    return 0;
}
"""
TRITON = """import torch
import triton


@triton.jit
def spread(a, b, n):
    pass


def smooth(x, rounds):
    a, b = x.clone(), torch.empty_like(x)
    for _ in range(rounds):
        spread[(1,)](a, b, 64)
        a, b = b, a
    return a
"""


@pytest.mark.parametrize(
    ("language", "text", "old", "new", "words"),
    [
        (
            Language.CUDA,
            CUDA,
            "i < rounds",
            "i + 1 < rounds",
            ("the loop from `0` while `i + 1 < rounds`", "the loop from `0` while `i < rounds`"),
        ),
        (
            Language.CUDA,
            CUDA,
            "i = 0; i < rounds",
            "i = 1; i < rounds",
            ("the loop from `0` while `i < rounds`", "the loop from `1` while `i < rounds`"),
        ),
        (Language.CUDA, CUDA, "return a;", "return b;", ("`return` of a", "`return` of b")),
        (Language.CUDA, CUDA, "        std::swap(a, b);\n", "", ("`std::swap(a, b)`",)),
        (Language.CUDA, CUDA, "i < 100", "i < 20", ()),
        (
            Language.TRITON,
            TRITON,
            "range(rounds)",
            "range(rounds - 1)",
            ("the loop `range(rounds - 1)`", "the loop `range(rounds)`"),
        ),
        (Language.TRITON, TRITON, "return a", "return b", ("`return` of a", "`return` of b")),
        (Language.TRITON, TRITON, "        a, b = b, a\n", "", ("`a, b = (b, a)`",)),
    ],
)
def test_what_a_change_makes_otherwise_is_told(
    language: Language, text: str, old: str, new: str, words: tuple[str, ...]
) -> None:
    assert old in text
    before, after = (read(one.encode(), language) for one in (text, text.replace(old, new)))
    assert steps_beside("spread", before, after) == words


@pytest.mark.parametrize(
    ("language", "text", "old", "new"),
    [
        (Language.CUDA, CUDA, "return a;", "auto c = a;\n    return torch::relu(c);"),
        (Language.TRITON, TRITON, "return a", "c = a\n    return torch.relu(c)"),
    ],
)
def test_what_is_made_of_what_is_given_back_is_told_elsewhere(
    language: Language, text: str, old: str, new: str
) -> None:
    before, after = (read(one.encode(), language) for one in (text, text.replace(old, new)))
    assert steps_beside("spread", before, after) == ()


@pytest.mark.parametrize(("language", "text"), [(Language.CUDA, CUDA), (Language.TRITON, TRITON)])
def test_other_names_alone_are_no_other_steps(language: Language, text: str) -> None:
    renamed = text.replace("rounds", "times").replace("spread", "diffuse").replace("smooth", "smoothed")
    before, after = (read(one.encode(), language) for one in (text, renamed))
    assert steps_beside("spread", before, after, "diffuse") == ()
