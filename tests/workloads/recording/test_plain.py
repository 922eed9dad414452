"""Host code of CUDA C++ as plain C++: launches become calls, and what g++ cannot tell is left to nvcc."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.recording.plain import NotPlainError, as_plain, may_be_plain


@pytest.mark.parametrize(
    ("launch", "call"),
    [
        ("k<<<1, 32>>>(x);", "(klineage::configure(1, 32), k(x));"),
        ("if (n) k<<<g, b, 0, s>>>(x, n);", "if (n) (klineage::configure(g, b, 0, s), k(x, n));"),
        ("return ns::k<T, 4><<<g, b>>>(x);", "return (klineage::configure(g, b), ns::k<T, 4>(x));"),
        ("A<T>::k<<<g, b>>>(x);", "(klineage::configure(g, b), A<T>::k(x));"),
        (
            "else ::a::template k<int><<<g, b>>>();",
            "else (klineage::configure(g, b), ::a::template k<int>());",
        ),
        ("(*f) <<<dim3(a >> 1, f(b)), n>>> (x)", "(klineage::configure(dim3(a >> 1, f(b)), n), (*f) (x))"),
        ('printf("<<<%d>>>", 1);', 'printf("<<<%d>>>", 1);'),
        ("std::cout << x << y;", "std::cout << x << y;"),
    ],
)
def test_a_launch_is_a_call_of_its_kernel(launch: str, call: str) -> None:
    assert as_plain(launch) == call


KERNEL = "__attribute__((global)) void k(int x) "


@pytest.mark.parametrize("text", [KERNEL + "{ x = 1; }", "k<<<1, 2>>>;", "k<<<1, 2(x);", "<<<1, 2>>>(x)"])
def test_what_is_not_read_is_left_to_nvcc(text: str) -> None:
    with pytest.raises(NotPlainError):
        as_plain(text)


def test_a_kernel_that_is_only_declared_or_tells_what_it_is_given_is_plain() -> None:
    text = (
        KERNEL
        + ";"
        + KERNEL
        + "{ struct klineage_kernel {}; klineage::launched(typeid(klineage_kernel).name(), x); }"
    )
    assert as_plain(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "cudaLaunchKernelEx(&c, k, x);",
        "__managed__ int x;",
        "#include <thrust/sort.h>",
        "#include <cub/device/device_scan.cuh>",
        "cub::DeviceRadixSort::SortKeys(d_temp, bytes, d_in, d_out, n);",
    ],
)
def test_another_way_to_a_launch_is_left_to_nvcc(text: str) -> None:
    assert not may_be_plain(text)


@pytest.mark.parametrize(
    "text", ["k<<<1, 2>>>(x);", "#include <cub/block/block_scan.cuh>", "DeviceType::CUDA;"]
)
def test_what_launches_so_needs_no_nvcc(text: str) -> None:
    assert may_be_plain(text)


def test_a_header_of_the_repository_may_launch_in_another_way_and_a_library_may_not_matter() -> None:
    text = '# 1 "/usr/include/x.h" 1 3\ncudaError_t cudaLaunchKernel();\n# 1 "code.cu" 2\nint x;\n'
    assert as_plain(text, [Path("/usr")]) == text
    with pytest.raises(NotPlainError, match="launches in another way"):
        as_plain(text.replace("/usr/include/x.h", "/repository/lib.h"), [Path("/usr")])
