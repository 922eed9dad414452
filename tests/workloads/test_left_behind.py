"""Whether host functions keep tensors anywhere but in what they give back."""

from __future__ import annotations

import pytest

from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.left_behind import leaves_nothing_behind

CUDA = """
torch::Tensor kept;
struct Held { torch::Tensor one; };
__global__ void k(float* x) { x[0] = 1; }
torch::Tensor keeping(torch::Tensor x) { static torch::Tensor held; held = x; return x; }
torch::Tensor helped(torch::Tensor x) { return x; }
torch::Tensor f(PARAMETERS) {
    TORCH_CHECK(x.is_contiguous());
    auto t = torch::empty_like(x);
    k<<<dim3(1), 1>>>(t.data_ptr<float>());
    BODY
    return t;
}
int main() { f({}); }
"""


@pytest.mark.parametrize(
    ("parameters", "body", "leaves_nothing"),
    [
        ("const torch::Tensor& x, int64_t n, float* y", "auto u = helped(t);", True),
        ("torch::Tensor x", "static torch::Tensor held = t;", False),
        ("torch::Tensor x", "kept = t;", False),
        ("torch::Tensor x", "keeping(t);", False),
        ("torch::Tensor x", "elsewhere(t);", False),
        ("torch::Tensor x", "Registry::held().push_back(t);", False),
        ("torch::Tensor x, torch::Tensor& y", "y = t;", False),
        ("torch::Tensor x, std::vector<torch::Tensor>& y", "y.push_back(t);", False),
        ("torch::Tensor x", "x.mutable_grad() = t;", False),
        ("torch::Tensor x, Held* y", "y->one = t;", False),
        ("torch::Tensor x, float** y", "*y = t.data_ptr<float>();", False),
    ],
)
def test_functions_of_cpp(parameters: str, body: str, leaves_nothing: bool) -> None:
    text = CUDA.replace("PARAMETERS", parameters).replace("BODY", body)
    source = read(text.encode(), Language.CUDA)
    assert leaves_nothing_behind("f", source) is leaves_nothing
    assert not leaves_nothing_behind("main", source)


PYTHON = """
import torch
import triton
from .elsewhere import watched

LEAST = 4
_held = {}


class Box:
    def keep(self, t):
        self.t = t


def keeping(t):
    _held["t"] = t


def helped(t):
    return t + LEAST


def f(ctx, x, n):
    t = torch.empty_like(x)
    k[(triton.cdiv(n, 64),)](x, t)
    BODY
    return t
"""


@pytest.mark.parametrize(
    ("body", "leaves_nothing"),
    [
        ("t = helped(t)", True),
        ("keeping(t)", False),
        ("_held.setdefault('t', t)", False),
        ("ctx.t = t", False),
        ("ctx.save_for_backward(t)", False),
        ("ctx.keep(t)", False),
        ("x.append(t)", False),
        ("watched(t)", False),
        ("global _last; _last = t", False),
        ("x[0] = 1", False),
    ],
)
def test_functions_of_python(body: str, leaves_nothing: bool) -> None:
    source = read(PYTHON.replace("BODY", body).encode(), Language.TRITON)
    assert leaves_nothing_behind("f", source) is leaves_nothing
    assert not leaves_nothing_behind("Box.keep", source)
