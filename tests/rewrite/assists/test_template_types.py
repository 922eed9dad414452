"""What a kernel's type parameter stands for, told by launches and by the calls of templates that they stand in."""

import pytest

from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.template_types import types_meant

KERNEL = """\
template <typename T> __global__ void twice(const T* x, T* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + x[i];
}
"""
HOST = """\
template <typename scalar>
void run(const scalar* x, scalar* y, int n) { twice<scalar><<<(n + 255) / 256, 256>>>(x, y, n); }
"""


@pytest.mark.parametrize(
    ("host", "types"),
    [
        ("void run(float* x, float* y, int n) { twice<float><<<n, 256>>>(x, y, n); }", {"float"}),
        (HOST, set()),
        (
            HOST
            + "int main() { float *x, *y; cudaMalloc(&x, 4096); cudaMalloc(&y, 4096); run(x, y, 1024); }",
            {"float"},
        ),
        (HOST + "void all(double* x, double* y, int n) { run<double>(x, y, n); }", {"double"}),
        (
            HOST + "void all(float* x, float* y, int* a, int* b) { run<float>(x, y, 8); run<int>(a, b, 8); }",
            {"float", "int"},
        ),
        # The second call's type is deduced: nothing that is written says it.
        (HOST + "void all(float* x, float* y, int* a, int* b) { run<float>(x, y, 8); run(a, b, 8); }", set()),
        (HOST + "template <typename U> void all(U* x, U* y) { run<U>(x, y, 8); run<U>(y, x, 8); }", set()),
    ],
)
def test_a_type_is_what_launches_or_calls_of_their_template_say(host, types):
    (kernel,) = read((KERNEL + host).encode(), Language.CUDA).kernels
    assert types_meant(kernel, "T") == types
    assert types_meant(kernel, "float") == {"float"}
