"""Which files are read, and what happens with those that cannot be."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_lineage.kernels.guards import guards_of
from kernel_lineage.kernels.reading import LARGEST_FILE, language_of, read
from kernel_lineage.kernels.slicing import device_slice
from kernel_lineage.kernels.source import Language

CUDA = b"""\
// adds
#define LAUNCH(k, ...) k<<<1, 2>>>(__VA_ARGS__)
template <typename T>
__global__ void __launch_bounds__(256) add(T* out, const T* __restrict__ a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = a[i]; }
}
extern "C" { __device__ float twice(float x) { return x * 2; } }
void run(float* x) { dim3 grid(4, 4); add<float><<<grid, 256, 0>>>(x, x, 3); LAUNCH(add<float>, x, x, 1); }
"""
TRITON = b"""\
import triton
import triton.language as tl

@triton.autotune(configs=[], key=["n"])
@triton.jit
def add(out, a, n, BLOCK: tl.constexpr = 64):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(a + i, mask=i < n), mask=i < n)

def run(x):
    add[lambda meta: (triton.cdiv(3, meta["BLOCK"]),)](x, x, 3, num_warps=4)
"""

PATHS = [
    ("a.cu", b"", Language.CUDA),
    ("dir/a.CUH", None, Language.CUDA),
    ("a.h", b"__global__ void k();", Language.CUDA),
    ("a.h", b"int f();", None),
    ("a.h", None, None),
    ("a.cpp", b"__global__", Language.CUDA),
    ("a.inl", b"__global__", Language.CUDA),
    ("a.py", b"import triton\n@triton.jit", Language.TRITON),
    ("a.py", b"import torch", None),
    ("a.txt", b"__global__", None),
    ("cu", b"__global__", None),
]


@pytest.mark.parametrize(("path", "data", "language"), PATHS, ids=[f"{p[0]}-{p[1]}" for p in PATHS])
def test_the_language_of_a_file(path, data, language):
    assert language_of(path, data) is language


@pytest.mark.parametrize("language", Language)
def test_a_binary_is_a_problem(language):
    source = read(b"\x7fELF\0\0\1" + CUDA, language)
    assert source.kernels == ()
    assert "binary" in source.problems[0].message


def test_a_huge_file_is_refused_at_once():
    data = CUDA * (LARGEST_FILE // len(CUDA) * 4)
    start = time.process_time()
    source = read(data, Language.CUDA)
    assert time.process_time() - start < 0.05
    assert source.kernels == ()
    assert "MB" in source.problems[0].message


@pytest.mark.parametrize(("code", "language"), [(CUDA, Language.CUDA), (TRITON, Language.TRITON)])
def test_bytes_that_are_not_utf8_are_a_problem_and_the_rest_is_read(code, language):
    source = read(code + (b"// \xff\n" if language is Language.CUDA else b"# \xff\n"), language)
    assert [k.name for k in source.kernels] == ["add"]
    assert "not UTF-8" in source.problems[0].message


@pytest.mark.parametrize(("code", "language"), [(CUDA, Language.CUDA), (TRITON, Language.TRITON)])
def test_windows_line_ends_and_a_byte_order_mark(code, language):
    source = read(b"\xef\xbb\xbf" + code.replace(b"\n", b"\r\n"), language)
    plain = read(code, language)
    assert [(k.name, k.span.first_line, k.span.last_line) for k in source.kernels] == [
        (k.name, k.span.first_line, k.span.last_line) for k in plain.kernels
    ]


def spans(source):
    for kernel in source.kernels:
        yield kernel.span
        yield kernel.name_span
        yield kernel.body_span
        yield from (p.span for p in kernel.parameters)
    for launch in source.launches:
        yield launch.span
        if launch.launcher_span:
            yield launch.launcher_span
    yield from (f.span for f in source.device_functions)
    yield from (p.span for p in source.problems if p.span)


PIECES = (
    *(
        b"{",
        b"}",
        b"(",
        b")",
        b"<<<",
        b">>>",
        b"__global__ ",
        b'"',
        b"'",
        b"/*",
        b"*/",
        b",",
        b"<",
        b"template <",
    ),
    *(b"\n#if A\n", b"\n#else\n", b"\n#endif\n", b"#define X(", b"\\", b"\xc3"),
    *(b"@triton.jit\n", b"def ", b":", b"\n"),
)


@pytest.mark.long
@settings(max_examples=150)
@given(
    which=st.sampled_from([(CUDA, Language.CUDA), (TRITON, Language.TRITON)]),
    cuts=st.lists(
        st.tuples(st.integers(0, 700), st.integers(0, 40), st.sampled_from([b"", *PIECES])), max_size=6
    ),
)
def test_mutated_source_is_read_with_spans_in_range(which, cuts):
    data, language = which
    for start, length, inserted in cuts:
        data = data[:start] + inserted + data[start + length :]
    source = read(data, language)
    lines = data.count(b"\n") + 1 + data.count(b"\r")
    for span in spans(source):
        assert 0 <= span.start <= span.end <= len(data)
        assert 1 <= span.first_line <= span.last_line <= lines
    for kernel in source.kernels:
        assert kernel.span.contains(kernel.name_span)
        assert kernel.text == source.text(kernel.span)
        for guard in guards_of(kernel):
            assert 0 <= guard.span.start <= guard.span.end <= len(data)
        if language is Language.CUDA:
            device_slice(source, kernel.name, {}.get)


@settings(max_examples=100)
@given(data=st.binary(max_size=300), language=st.sampled_from(Language))
def test_any_bytes_are_read(data, language):
    assert read(data, language).data == data


LONG = 3000
DEEP = {
    "a chain of &&": b"__global__ void k(int* x) { if ("
    + b" && ".join([b"x[0] < 1"] * LONG)
    + b") { x[0] = 1; } }",
    "nested blocks": b"__global__ void k(int* x) {" + b"{" * LONG + b"}" * LONG + b"}",
    "nested parentheses": b"__global__ void k(int* x) { x[0] = " + b"(" * LONG + b"1" + b")" * LONG + b"; }",
    "else after else": b"__global__ void k(int* x) { " + b"if (x[0] < 1) { } else " * LONG + b"{ } }",
    "open blocks": b"__global__ void k(int* x) { } void f() " + b"{" * LONG,
    "open launches": b"__global__ void k(int* x) { } void f() { " + b"k<<<" * LONG,
}


@pytest.mark.parametrize("data", DEEP.values(), ids=DEEP)
def test_deep_code_is_read_and_its_guards_found(data):
    start = time.process_time()
    (kernel,) = read(data, Language.CUDA).kernels
    assert all(g.expr == "x[0] < 1" for g in guards_of(kernel))
    assert time.process_time() - start < 5


HEAD = b"import triton\nimport triton.language as tl\n@triton.jit\ndef k(x, n):\n    "
DEEP_PYTHON = {
    "a long sum": HEAD + b"tl.load(x + " + b" + ".join([b"n"] * 900) + b")\n",
    "a long mask": HEAD + b"tl.load(x, mask=" + b" & ".join([b"(n < 1)"] * 900) + b")\n",
    "nested brackets": HEAD + b"y = " + b"(" * LONG + b"\n",
    "unary signs": HEAD + b"y = " + b"-" * 50_000 + b"1\n",
}


@pytest.mark.parametrize("data", DEEP_PYTHON.values(), ids=DEEP_PYTHON)
def test_deep_python_is_read_and_its_guards_found(data):
    (kernel,) = read(data, Language.TRITON).kernels
    assert {g.expr for g in guards_of(kernel)} <= {"n < 1"}
