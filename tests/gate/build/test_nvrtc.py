"""NVRTC on our own device code: what it gives, and what it says when it cannot."""

import pytest

from kernel_gate.build.errors import BuildError
from kernel_gate.build.nvrtc import compile_nvrtc, nvrtc_version
from kernel_gate.program import Program

SCALE = """
__global__ void scale(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
"""


def cuda(source: str, entry: str = "scale", **rest: object) -> Program:
    return Program(language="cuda", source=source, entry=entry, name="a.cu", **rest)  # type: ignore[arg-type]


def refused(source: str, **rest: object) -> BuildError:
    with pytest.raises(BuildError) as caught:
        compile_nvrtc(cuda(source, **rest))
    return caught.value


def test_ptx_carries_the_entry_and_source_lines():
    image = compile_nvrtc(cuda(SCALE))
    assert image.entry == "_Z5scalePfPKfi"
    assert f".entry {image.entry}(" in image.ptx
    assert ".loc" in image.ptx
    assert image.cubin is None


def test_a_cubin_comes_with_registers_spills_and_shared_memory():
    source = "__global__ void k(float *y) { __shared__ float s[256]; s[threadIdx.x] = y[threadIdx.x]; __syncthreads(); "
    image = compile_nvrtc(
        cuda(source + "y[threadIdx.x] = s[255 - threadIdx.x]; }", "k"), "sm_90", want_cubin=True
    )
    assert image.cubin is not None and image.cubin[:4] == b"\x7fELF"
    assert image.registers is not None and image.registers > 0
    assert (image.spill_bytes, image.static_shared_bytes) == (0, 1024)


def test_a_template_is_named_by_its_arguments():
    source = "template <typename T, int N> __global__ void fill(T *y) { y[threadIdx.x] = N; }"
    image = compile_nvrtc(cuda(source, "fill", template_arguments=("float", "4")))
    assert image.entry == "_Z4fillIfLi4EEvPT_"


@pytest.mark.parametrize(
    "body",
    [
        "y[0] = -INFINITY + FLT_MAX + M_PI + INT_MAX;",
        "uint32_t a = 1; int64_t b = 2; size_t c = 3; y[0] = a + b + c;",
        "uintptr_t at = reinterpret_cast<uintptr_t>(y); y[0] = at & 3 ? 0 : intptr_t(at >> 2) % 7;",
        'assert(y != nullptr); printf("%f", y[0]);',
    ],
)
def test_what_nvcc_gives_every_file_is_there(body):
    assert compile_nvrtc(cuda(f"__global__ void scale(float *y) {{ {body} }}")).ptx


@pytest.mark.parametrize(
    "header",
    [
        "stdio.h",
        "assert.h",
        "cuda_runtime.h",
        "cuda_fp16.h",
        "cuda_bf16.h",
        "cooperative_groups.h",
        "float.h",
    ],
)
def test_headers_of_the_toolkit_and_common_host_headers(header):
    assert compile_nvrtc(cuda(f"#include <{header}>\n{SCALE}")).ptx


def test_headers_that_come_with_the_program():
    own = {"mine.cuh": "__device__ float two() { return 2.0f; }"}
    source = '#include "mine.cuh"\n__global__ void scale(float *y) { y[0] = two() * K; }'
    assert compile_nvrtc(cuda(source, includes=own, defines={"K": "3"})).ptx


def test_an_error_names_the_line_of_the_users_file():
    error = refused("__global__ void scale(float *y) {\n  y[0] = zz;\n}", first_line=40)
    assert str(error) == 'a.cu:41: identifier "zz" is undefined'
    assert error.diagnostics[0].line == 2


@pytest.mark.parametrize("entry", ["missing", "helper"])
def test_an_unknown_kernel_is_said(entry):
    assert entry in str(refused("__device__ void helper() {}\n" + SCALE, entry=entry))


def test_an_include_in_a_comment_or_string_is_none():
    source = '// #include "/etc/passwd"\n/*\n#include </etc/passwd>\n*/\n' + SCALE
    assert compile_nvrtc(cuda(source)).ptx


def test_inline_ptx_may_not_include_files():
    source = '__global__ void scale(float *y) { asm volatile("\\n.include \\"/etc/passwd\\""); y[0] = 1; }'
    assert ".include" in str(refused(source))


@pytest.mark.parametrize(
    "flag", ["-I/", "--include-path=/etc", "-Xptxas=-v", "-include=/etc/passwd", "@/etc/opts"]
)
def test_flags_that_reach_outside_are_refused(flag):
    assert "not allowed" in str(refused(SCALE, flags=(flag,)))


def test_fast_math_is_allowed():
    assert compile_nvrtc(cuda(SCALE, flags=("-use_fast_math", "-std=c++17"))).ptx


def test_the_version_is_told():
    assert nvrtc_version().split(".")[0].isdigit()
