"""What types of a kernel's text stand for: parameters of its template, and other names of types."""

import pytest

from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.template_types import plain_type, types_meant

KERNEL = """\
template <typename T> __global__ void twice(const T* x, T* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + x[i];
}
"""
LAUNCHED = "void run(float* x, float* y, int n) { twice<float><<<n, 256>>>(x, y, n); }\n"
HOST = """\
template <typename scalar>
void run(const scalar* x, scalar* y, int n) { twice<scalar><<<(n + 255) / 256, 256>>>(x, y, n); }
"""


@pytest.mark.parametrize(
    ("host", "types"),
    [
        (LAUNCHED, {"float"}),
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
def test_a_type_is_what_launches_or_calls_of_their_template_say(host: str, types: set[str]) -> None:
    (kernel,) = read((KERNEL + host).encode(), Language.CUDA).kernels
    assert types_meant(kernel, "T") == types
    assert types_meant(kernel, "float") == {"float"}


@pytest.mark.parametrize(
    ("host", "types"),
    [
        ("template __global__ void twice<half>(const half*, half*, int);", {"half"}),
        (
            LAUNCHED
            + "typedef double real; template __global__ void twice<real>(const real* x, real* y, int n);",
            {"float", "double"},
        ),
        (
            "using number = unsigned; void run(number* x, number* y) { twice<number><<<1, 256>>>(x, y, 8); }",
            {"unsigned int"},
        ),
        # A launch without a type deduces it from what it is given.
        ("void run(double* x, double* y, int n) { twice<<<n, 256>>>(x, y, n); }", {"double"}),
        (
            "int main() { float *x, *y; int n = 4; cudaMalloc(&x, 16); twice<<<1, 256>>>(x, y, n); }",
            {"float"},
        ),
        (
            "void run(float* x) { twice<<<1, 256>>>(x, x, 4); } void run(int* x) { twice<<<1, 256>>>(x, x, 4); }",
            {"float", "int"},
        ),
        ("half *a, *b; void run() { twice<<<1, 256>>>(a, b, 4); }", {"half"}),
        ("void run(at::Tensor a, float* y) { twice<<<1, 256>>>(a.data_ptr<float>(), y, 4); }", {"float"}),
        (LAUNCHED + "void all(int* x, int* y) { twice<<<1, 256>>>(x, y, 4); }", {"float", "int"}),
        ("template <typename U> void run(U* x, U* y) { twice<<<1, 256>>>(x, y, 4); }", set()),
        ("void run(std::vector<float>& x, auto y) { twice<<<1, 256>>>(x.data(), y.data(), 4); }", set()),
        # Another name of a type does not reach into a template whose parameter is called so.
        ("using T = int; void run(float* x, float* y) { twice<float><<<1, 256>>>(x, y, 8); }", {"float"}),
    ],
)
def test_types_of_instantiations_and_of_launches_by_other_names(host: str, types: set[str]) -> None:
    (kernel,) = read((KERNEL + host).encode(), Language.CUDA).kernels
    assert types_meant(kernel, "T") == types


NAMES = """\
#include <cstdint>
using u64 = std::uint64_t; typedef unsigned int uint; using place = u64; typedef const float real;
#ifdef WIDE
using word = long long;
#else
using word = int;
#endif
#define index_t long long
__global__ void fill(place n) { using own = std::size_t; }
"""


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("u64", "unsigned long long"), ("const place", "unsigned long long"), ("::std::size_t", "unsigned long long"),
        ("uint", "unsigned int"), ("real", "float"), ("own", "unsigned long long"), ("index_t", "long long"),
        ("unsigned", "unsigned int"), ("long", "long long"), ("int8_t", "int8_t"), ("half", "half"), ("Row", "Row"),
        ("word", "word"), ("auto", "auto"),
    ],
)  # fmt: skip
def test_other_names_of_types_are_followed_where_they_have_one_meaning(written: str, plain: str) -> None:
    (kernel,) = read(NAMES.encode(), Language.CUDA).kernels
    assert plain_type(kernel, written) == plain
