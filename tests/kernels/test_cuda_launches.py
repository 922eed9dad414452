"""Launch sites of CUDA C++."""

import pytest

from kernel_lineage.kernels import cuda

KERNELS = (
    "__global__ void k(float* x, int n) { }\n"
    "template <typename T, int N> __global__ void t(T* x) { }\n"
    "__global__ void other(float* x, int n) { }\n"
)


def launches(code: str):
    return cuda.parse((KERNELS + code).encode()).launches


SITES = {
    "plain": ("void f() { k<<<g, 128>>>(x, n); }", ("k", ("g",), ("128",), ("x", "n"))),
    "split by a formatter": ("void f() { k << <g, 128 >> > (x, n); }", ("k", ("g",), ("128",), ("x", "n"))),
    "template": ("void f() { t<float, 4><<<g, b>>>(x); }", ("t", ("g",), ("b",), ("x",))),
    "template expression": (
        "void f() { t<T, (A > B)><<<(n + 1) / 2, b>>>(x); }",
        ("t", ("(n + 1) / 2",), ("b",), ("x",)),
    ),
    "qualified": ("void f() { ns::k<<<g, b>>>(x, n); }", ("k", ("g",), ("b",), ("x", "n"))),
    "dim3": (
        "void f() { k<<<dim3(a, b), dim3{16, 16}>>>(x, n); }",
        ("k", ("a", "b"), ("16", "16"), ("x", "n")),
    ),
    "dim3 variables": (
        "void f() { dim3 g(a, b); dim3 t = dim3(32, 8); k<<<g, t>>>(x, n); }",
        ("k", ("a", "b"), ("32", "8"), ("x", "n")),
    ),
    "dim3 variables of one declaration": (
        "void f() { dim3 t(32, 8), g{(a + 31) / 32, b}; k<<<g, t>>>(x, n); }",
        ("k", ("(a + 31) / 32", "b"), ("32", "8"), ("x", "n")),
    ),
    "in a check": ("void f() { CHECK(k<<<g, b>>>(x, n)); }", ("k", ("g",), ("b",), ("x", "n"))),
    "shifted": (
        "void f() { k<<<(n >> 2), b>>>(x, min(n, 3)); }",
        ("k", ("(n >> 2)",), ("b",), ("x", "min(n, 3)")),
    ),
    "macro": (
        "#define LAUNCH(fn, blocks, ...) fn<<<blocks, 64>>>(__VA_ARGS__)\nvoid f() { LAUNCH(k, n / 64, x, n); }",
        ("k", ("n / 64",), ("64",), ("x", "n")),
    ),
    "macro of a macro": (
        (
            "#define L(f, b, ...) f<<<b, 64>>>(__VA_ARGS__)\n#define M(f, ...) L(f, 7, __VA_ARGS__)\n"
            "void f() { M(k, x, n); }"
        ),
        ("k", ("7",), ("64",), ("x", "n")),
    ),
    "launcher that takes the kernel": (
        (
            "template <typename K, typename... A> void go(K kernel, int n, A... args) {\n"
            "  int blocks = n / 256;\n  kernel<<<blocks, 256>>>(args...);\n}\nvoid f() { go(k, m, x, m); }"
        ),
        ("k", ("blocks",), ("256",), ("x", "m")),
    ),
    "function pointer": (
        "void f() { auto p = &t<float, 4>; p<<<g, b>>>(x); }",
        ("t", ("g",), ("b",), ("x",)),
    ),
    "runtime API": (
        "void f() { void* args[] = {&x, &n}; cudaLaunchKernel((void*)k, g, dim3(64), args, 0, s); }",
        ("k", ("g",), ("64",), ("x", "n")),
    ),
    "extensible API": (
        "void f() { cudaLaunchConfig_t c = {0}; c.gridDim = g; c.blockDim = 64; cudaLaunchKernelEx(&c, k, x, n); }",
        ("k", ("g",), ("64",), ("x", "n")),
    ),
}


@pytest.mark.parametrize(("code", "expected"), SITES.values(), ids=SITES)
def test_a_launch_is_found(code, expected):
    sites = launches(code)
    assert [(s.kernel, s.grid, s.block, s.arguments) for s in sites] == [expected]
    assert sites[0].launcher == "f"


def test_what_a_launch_carries():
    (launch,) = launches(
        "#define BLOCK 128\nvoid f(int n) { int blocks = CEIL(n, BLOCK); size_t bytes = BLOCK * sizeof(float);\n"
        "  t<float, 4><<<blocks, BLOCK, bytes, stream>>>(x); }"
    )
    assert launch.shared_bytes == "bytes"
    assert launch.options == {"stream": "stream"}
    assert launch.template_arguments == ("float", "4")
    assert launch.definitions == {
        "blocks": "CEIL(n, BLOCK)",
        "BLOCK": "128",
        "bytes": "BLOCK * sizeof(float)",
    }


def test_definitions_through_a_launcher_are_the_callers():
    (launch,) = launches(SITES["launcher that takes the kernel"][0])
    assert launch.definitions["blocks"] == "m / 256"


def test_a_pointer_that_is_chosen_launches_either():
    sites = launches("void f(bool c) { auto p = c ? k : other; p<<<1, 32>>>(x, n); }")
    assert [s.kernel for s in sites] == ["k", "other"]


def test_a_pointer_carries_its_template_arguments():
    (launch,) = launches("void f() { auto p = &t<float, 4>; p<<<1, 32>>>(x); }")
    assert launch.template_arguments == ("float", "4")


def test_a_pointer_to_a_kernel_of_another_file():
    (launch,) = launches("void f() { auto p = &ns::far<float>; p<<<1, 32>>>(x); }")
    assert (launch.kernel, launch.template_arguments) == ("far", ("float",))


def test_a_configuration_of_another_function_is_not_taken():
    (launch,) = launches(
        "void other() { cudaLaunchConfig_t c; c.gridDim = 7; }\n"
        "void f(cudaLaunchConfig_t c) { cudaLaunchKernelEx(&c, k, x, n); }"
    )
    assert launch.grid == ()


def test_launches_join_their_kernel():
    source = cuda.parse((KERNELS + "void f() { k<<<1, 2>>>(x, n); k<<<3, 4>>>(x, n); }").encode())
    assert [s.grid for s in source.kernel("k").launches] == [("1",), ("3",)]


NOT_LAUNCHES = {
    "a comment": "void f() { // k<<<1, 2>>>(x, n);\n }",
    "never closed": "void f() { k<<<1, 2(x, n); }",
    "no arguments yet": "void f() { k<<<1, 2>>>; }",
    "an unused macro": "#define LAUNCH(fn) fn<<<1, 2>>>()",
}


@pytest.mark.parametrize("code", NOT_LAUNCHES.values(), ids=NOT_LAUNCHES)
def test_what_is_no_launch(code):
    assert launches(code) == ()
