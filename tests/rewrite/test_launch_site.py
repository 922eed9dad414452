"""Edits at a launch site, and what a launch expression may not do."""

from __future__ import annotations

import pytest

from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.launch_site import LaunchError, configuration, launch_edits
from kernel_texts import kernel_in_text

HEAD = "template <typename T, int B>\n__global__ void k(T* x, int n) { x[0] = n; }\n"
CUDA = {
    "grid and block": (
        "void f(float* x, int n) { k<float, 4><<<(n + 3) / 4, 256>>>(x, n); }",
        {"grid": "n", "block": "128"},
        "void f(float* x, int n) { k<float, 4><<<n, 128>>>(x, n); }",
    ),
    "shared bytes that were not there": (
        "void f(float* x, int n) { k<float, 4><<<n, 256>>>(x, n); }",
        {"shared_bytes": "4 * 256"},
        "void f(float* x, int n) { k<float, 4><<<n, 256, 4 * 256>>>(x, n); }",
    ),
    "commas inside of calls, a stream after": (
        "void f(float* x, int n) { k<float, 4><<<dim3(n, 2), max(n, 1), 0, s>>>(x, n); }",
        {"block": "64"},
        "void f(float* x, int n) { k<float, 4><<<dim3(n, 2), 64, 0, s>>>(x, n); }",
    ),
    "over several lines": (
        "void f(float* x, int n) {\n    k<float, 4>\n        <<<n,\n           256>>>(x, n);\n}",
        {"block": "64"},
        "void f(float* x, int n) {\n    k<float, 4>\n        <<<n,\n           64>>>(x, n);\n}",
    ),
}

TRITON_HEAD = "import triton\n\n\n@triton.jit\ndef k(x, n, B: tl.constexpr):\n    pass\n\n\n"
TRITON = {
    "a new option": (
        "def f(x, n):\n    k[(n,)](x, n, B=64)\n",
        {"num_warps": "8"},
        "def f(x, n):\n    k[(n,)](x, n, B=64, num_warps=8)\n",
    ),
    "an option that is there": (
        "def f(x, n):\n    k[(n,)](x, n, B=64, num_warps=4)\n",
        {"num_warps": "8"},
        "def f(x, n):\n    k[(n,)](x, n, B=64, num_warps=8)\n",
    ),
    "one argument a line": (
        "def f(x, n):\n    k[(n,)](\n        x,\n        n,\n        B=64,\n    )\n",
        {"num_warps": "8", "num_stages": "2"},
        (
            "def f(x, n):\n    k[(n,)](\n        x,\n        n,\n        B=64,\n        num_warps=8,\n"
            "        num_stages=2,\n    )\n"
        ),
    ),
    "the grid": (
        "def f(x, n):\n    k[(triton.cdiv(n, 64),)](x, n, B=64)\n",
        {"grid": "(triton.cdiv(n, 128),)"},
        "def f(x, n):\n    k[(triton.cdiv(n, 128),)](x, n, B=64)\n",
    ),
    "names beyond ASCII before it": (
        "def f(größe, n):\n    k[(n,)](größe, n, B=64)\n",
        {"num_warps": "8"},
        "def f(größe, n):\n    k[(n,)](größe, n, B=64, num_warps=8)\n",
    ),
}


def kernel_of(language: Language, code: str) -> Kernel:
    kernel = kernel_in_text(code, "k", language)
    assert len(kernel.launches) == 1
    return kernel


@pytest.mark.parametrize(("before", "fields", "after"), CUDA.values(), ids=CUDA)
def test_a_cuda_launch_is_changed_where_it_is_written(
    before: str, fields: dict[str, str], after: str
) -> None:
    _changes(Language.CUDA, HEAD, before, fields, after)


@pytest.mark.parametrize(("before", "fields", "after"), TRITON.values(), ids=TRITON)
def test_a_triton_launch_is_changed_where_it_is_written(
    before: str, fields: dict[str, str], after: str
) -> None:
    _changes(Language.TRITON, TRITON_HEAD, before, fields, after)


def _changes(language: Language, head: str, before: str, fields: dict[str, str], after: str) -> None:
    kernel = kernel_of(language, head + before)
    data = (head + before).encode()
    for edit in reversed(launch_edits(kernel, kernel.launches[0], fields)):
        data = data[: edit.span.start] + edit.text.encode() + data[edit.span.end :]
    assert data.decode() == head + after


def test_a_field_that_a_launch_does_not_have_is_an_error() -> None:
    cuda = kernel_of(Language.CUDA, HEAD + "void f(float* x, int n) { k<float, 4><<<n, 256>>>(x, n); }")
    with pytest.raises(LaunchError, match="has no num_warps"):
        launch_edits(cuda, cuda.launches[0], {"num_warps": "4"})
    triton = kernel_of(Language.TRITON, TRITON_HEAD + "def f(x, n):\n    k[(n,)](x, n, B=64)\n")
    with pytest.raises(LaunchError, match="has no block"):
        launch_edits(triton, triton.launches[0], {"block": "4"})


def test_the_expressions_of_a_launch_are_read_with_their_places() -> None:
    code = HEAD + "void f(float* x, int n) { k<float, 4><<< (n + 3) / 4 , 256 >>>(x, n); }"
    kernel = kernel_of(Language.CUDA, code)
    parts = configuration(kernel, kernel.launches[0])
    assert [p.text for p in parts] == ["(n + 3) / 4", "256"]
    assert [code[p.span.start : p.span.end] for p in parts] == ["(n + 3) / 4", "256"]
