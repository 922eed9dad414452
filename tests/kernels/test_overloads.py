"""Kernels that differ in their parameters alone, and the launches that mean each of them."""

from __future__ import annotations

import pytest

from kernel_lineage.kernels.naming import earlier_namesake, kernel_apart, own_name
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language

TEXT = b"""\
__global__ void scale(float* x, int n) { x[0] = n; }
__global__ void scale(half* x, int n) { x[0] = n; }
__global__ void scale(float* x, const float* y, int n) { x[0] = y[n]; }
void one(float* x, int n) { scale<<<n, 32>>>(x, n); }
void two(half *__restrict__ x, int n) { scale<<<n, 64>>>(x, n); }
void three(float* x, const float* y, int n) { scale<<<n, 96>>>(x, y, n); }
template <typename T> void any(T* x, int n) { scale<<<n, 128>>>(x, n); }
"""


def apart(name: str) -> Kernel:
    kernel = kernel_apart(read(TEXT, Language.CUDA), name)
    assert kernel is not None
    return kernel


@pytest.mark.parametrize(
    ("written", "name", "blocks"),
    [
        ("scale", "scale", ["32", "128"]),
        ("2", "scale_2", ["64", "128"]),
        ("scale_2", "scale_2", ["64", "128"]),
        ("scale_3", "scale_3", ["96"]),
    ],
)
def test_an_overload_has_a_name_and_launches_of_its_own(written: str, name: str, blocks: list[str]) -> None:
    kernel = apart(written)
    assert kernel.name == name
    assert [launch.block[0] for launch in kernel.launches] == blocks
    assert kernel.source is not None
    assert [k.name for k in kernel.source.kernels] == ["scale", "scale_2", "scale_3"]


def test_a_file_names_each_of_its_kernels() -> None:
    kernels = read(TEXT, Language.CUDA).kernels
    assert [own_name(k) for k in kernels] == ["scale", "scale_2", "scale_3"]
    assert earlier_namesake(kernels[0]) is None
    message = earlier_namesake(kernels[1])
    assert message is not None
    assert "line 1" in message and "checked as scale_2" in message
