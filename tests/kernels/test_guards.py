"""What code itself tests, in kernels and on the way to their launches."""

import textwrap

import pytest

from kernel_lineage.kernels import cuda, triton
from kernel_lineage.kernels.guards import guards_of, launcher_guards


def cuda_guards(body: str, host: str = ""):
    source = cuda.parse(f"template <int B>\n__global__ void k(float* x, int n) {{ {body} }}\n{host}".encode())
    return [(g.kind, g.where, g.expr) for g in guards_of(source.kernel("k"))]


IN_KERNEL = {
    "a mask": ("if (i < n) { x[i] = 0; }", [("mask", "i < n")]),
    "an early return": ("if (i >= n) return;", [("early_return", "i >= n")]),
    "either leads out": (
        "if (i >= n || j >= m) { return; }",
        [("early_return", "i >= n"), ("early_return", "j >= m")],
    ),
    "both must hold": ("if (i < n && j < m) { x[i] = 0; }", [("mask", "i < n"), ("mask", "j < m")]),
    "a role": ("if (threadIdx.x == 0) { x[0] = 0; }", [("branch", "threadIdx.x == 0")]),
    "compile time": ("if constexpr (B > 1) { x[0] = 0; }", [("dispatch", "B > 1")]),
    "static_assert": ('static_assert(B % 32 == 0, "warps");', [("static_assert", "B % 32 == 0")]),
    "assert": ("assert(n % 4 == 0 && n > 0);", [("assert", "n % 4 == 0"), ("assert", "n > 0")]),
    "a conditional load": ("float v = i < n ? x[i] : 0;", [("mask", "i < n")]),
    "a bound that says something of a size": (
        "for (int i = 0; i < n / 4; i++) {}",
        [("loop_bound", "i < n / 4")],
    ),
    "a plain loop": ("for (int i = 0; i < n; i++) {}", []),
    "a call": ("check(x);", []),
}


@pytest.mark.parametrize(("body", "expected"), IN_KERNEL.values(), ids=IN_KERNEL)
def test_guards_in_a_cuda_kernel(body, expected):
    assert cuda_guards(body) == [(kind, "kernel", expr) for kind, expr in expected]


LAUNCHERS = {
    "assert before": ("void f() { assert(n % 4 == 0); k<<<1, 2>>>(x, n); }", [("assert", "n % 4 == 0")]),
    "assert behind": ("void f() { k<<<1, 2>>>(x, n); assert(n % 4 == 0); }", []),
    "a check": ('void f() { TORCH_CHECK(n > 0, "empty"); k<<<1, 2>>>(x, n); }', [("check", "n > 0")]),
    "a comparing check": ("void f() { CHECK_EQ(n % 8, 0); k<<<1, 2>>>(x, n); }", [("check", "n % 8 == 0")]),
    "an error check": (
        "void f() { CUDA_CHECK(cudaGetLastError()); cudaCheck(a == b); k<<<1, 2>>>(x, n); }",
        [],
    ),
    "a branch": ("void f() { if (n % 4 == 0) { k<<<1, 2>>>(x, n); } }", [("dispatch", "n % 4 == 0")]),
    "the other branch": (
        "void f() { if (n % 4 == 0) g(); else { k<<<1, 2>>>(x, n); } }",
        [("dispatch", "!(n % 4 == 0)")],
    ),
    "another branch": ("void f() { if (n % 4 == 0) { g(); } k<<<1, 2>>>(x, n); }", []),
    "a return": ("void f() { if (n == 0) return; k<<<1, 2>>>(x, n); }", [("early_return", "n == 0")]),
    "an exit": ("void f() { if (n > 8) { puts(s); exit(1); } k<<<1, 2>>>(x, n); }", [("check", "n > 8")]),
    "a case": ("void f() { switch (d) { case 64: k<<<1, 2>>>(x, n); break; } }", [("dispatch", "d == 64")]),
    "a check in the caller": (
        "void f() { k<<<1, 2>>>(x, n); }\nvoid g() { TORCH_CHECK(n == 3); f(); }",
        [("check", "n == 3")],
    ),
}


@pytest.mark.parametrize(("host", "expected"), LAUNCHERS.values(), ids=LAUNCHERS)
def test_guards_on_the_way_to_a_cuda_launch(host, expected):
    assert cuda_guards("", host) == [(kind, "launcher", expr) for kind, expr in expected]


def triton_guards(body: str = "pass", host: str = "pass"):
    code = (
        "import triton\nimport triton.language as tl\n@triton.jit\ndef k(x, n, B: tl.constexpr, FAST: tl.constexpr):\n"
        + textwrap.indent(body, "    ")
        + "\ndef f(x, n):\n"
        + textwrap.indent(host, "    ")
    )
    return [(g.kind, g.where, g.expr) for g in guards_of(triton.parse(code.encode()).kernel("k"))]


IN_TRITON = {
    "a mask": ("tl.load(x + i, mask=i < n)", [("mask", "i < n")]),
    "a mask by name": ("m = i < n\ntl.load(x + i, mask=m, other=0.0)", [("mask", "i < n")]),
    "a mask by position": ("tl.store(x + i, v, i < n)", [("mask", "i < n")]),
    "a mask of two axes": ("tl.load(x, mask=(i < n) & (j < m))", [("mask", "i < n"), ("mask", "j < m")]),
    "no mask": ("tl.load(x, mask=None)", []),
    "block pointers": ("tl.load(x, boundary_check=(0, 1))", [("mask", "boundary_check=(0, 1)")]),
    "an early return": ("if n == 0:\n    return", [("early_return", "n == 0")]),
    "compile time": ("if FAST:\n    pass", [("dispatch", "FAST")]),
    "run time": ("if n > 3:\n    pass", [("branch", "n > 3")]),
    "static_assert": ("tl.static_assert(B % 16 == 0)", [("static_assert", "B % 16 == 0")]),
    "a bound that says something of a size": (
        "for i in range(n // B):\n    pass",
        [("loop_bound", "range(n // B)")],
    ),
    "a plain loop": ("for i in range(n):\n    pass", []),
}


@pytest.mark.parametrize(("body", "expected"), IN_TRITON.values(), ids=IN_TRITON)
def test_guards_in_a_triton_kernel(body, expected):
    assert triton_guards(body) == [(kind, "kernel", expr) for kind, expr in expected]


TRITON_LAUNCHERS = {
    "assert": ("assert n % 4 == 0\nk[(1,)](x, n, 4, True)", [("assert", "n % 4 == 0")]),
    "raise": ("if n > 8:\n    raise ValueError\nk[(1,)](x, n, 4, True)", [("check", "n > 8")]),
    "a branch": ("if n > 8:\n    k[(1,)](x, n, 4, True)", [("dispatch", "n > 8")]),
    "the other branch": (
        "if n > 8:\n    pass\nelse:\n    k[(1,)](x, n, 4, True)",
        [("dispatch", "not (n > 8)")],
    ),
    "what an argument is": (
        "w = 8 if n > 3 else 4\nk[(1,)](x, n, 4, True, num_warps=w)",
        [("branch", "n > 3")],
    ),
    "the device": (
        "y = None\nif y is None and torch.cuda.get_device_capability()[0] >= 8:\n    z = 1\nk[(1,)](x, n, 4, True)",
        [("branch", "y is None"), ("branch", "torch.cuda.get_device_capability()[0] >= 8")],
    ),
    "something else": ("if n > 3:\n    z = 1\nk[(1,)](x, n, 4, True)", []),
}


@pytest.mark.parametrize(("host", "expected"), TRITON_LAUNCHERS.values(), ids=TRITON_LAUNCHERS)
def test_guards_on_the_way_to_a_triton_launch(host, expected):
    assert triton_guards(host=host) == [(kind, "launcher", expr) for kind, expr in expected]


def test_guards_of_a_launch_of_a_kernel_of_another_file():
    source = triton.parse(b"from a import k\ndef f(x, n):\n    assert n > 0\n    k[(n,)](x, B=4)\n")
    assert [g.expr for g in launcher_guards(source, source.launches[0])] == ["n > 0"]


def test_a_span_names_its_own_text():
    code = b"__global__ void k(float* x, int n) {\n  int i = 0;\n  if (i < n) { x[i] = 0; }\n}"
    (guard,) = guards_of(cuda.parse(code).kernels[0])
    assert code[guard.span.start : guard.span.end] == b"i < n"
    assert guard.span.first_line == 3


def test_what_leaves_on_every_way_is_told_from_what_leaves_on_some():
    host = (
        "def go(x, out, n, fast):\n    if n % 4 != 0:\n        raise ValueError\n    if fast:\n"
        "        if n % 8 != 0:\n            return\n    k[(n,)](x, out, n, BLOCK=64)\n"
    )
    text = (
        "import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(x, out, n, BLOCK: tl.constexpr):\n"
    )
    (kernel,) = triton.parse(f"{text}    pass\n\n{host}".encode()).kernels
    guards = launcher_guards(kernel.source, kernel.launches[0])
    assert {g.expr: g.leaves for g in guards} == {"n % 4 != 0": True, "n % 8 != 0": False}
