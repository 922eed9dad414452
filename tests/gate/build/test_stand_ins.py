"""Device code that asks for more than the toolkit alone has for it: PyTorch's names, CUB, functions of the host."""

import numpy as np
import pytest

from kernel_gate.build.compile import compile_program
from kernel_gate.build.errors import BuildError
from kernel_gate.build.nvrtc import compile_nvrtc
from kernel_gate.devices.emulated import EmulatedDevice
from kernel_gate.program import Program
from kernel_gate.stages.build import build
from kernel_gate.verdict import StageStatus
from kernel_gate.workload import parse_workload

TORCH = "#include <kernel_gate/pytorch.cuh>\n"


def cuda(source: str, **rest: object) -> Program:
    return Program(language="cuda", source=source, entry="k", name="a.cu", **rest)  # type: ignore[arg-type]


TYPES = (
    ("c10::Half", "float", "float"),
    ("at::BFloat16", "float", "float"),
    ("float", "float", "float"),
    ("double", "double", "double"),
    ("int", "int64_t", "int"),
    ("c10::complex<float>", "c10::complex<float>", "c10::complex<float>"),
)
BODIES = (
    "y[0] = y[1] * 2 + x; y[0] += y[1]; if (y[0] < y[1]) y[0] = -y[1];",
    "float s = y[0] * x; s += y[1]; y[0] = s; y[1] = __half(y[0]);",
    "y[0] = std::numeric_limits<c10::Half>::lowest(); y[1] = at::numeric_limits<c10::Half>::upper_bound();",
    "CUDA_KERNEL_LOOP(i, n) gpuAtomicAdd(y + i, x); gpuAtomicAdd(&n, 1); CUDA_KERNEL_ASSERT(n > 0);",
    "y[0] = at::ceil_div(n, C10_WARP_SIZE); for (auto i : c10::irange(n)) y[i] = c10::cuda::compat::exp(x);",
    "__shared__ float s[32]; x = at::native::cuda_utils::BlockReduceSum(WARP_SHFL_XOR(x, 1), s); y[0] = x;",
    "at::PhiloxCudaState p; auto [seed, offset] = at::cuda::philox::unpack(p); y[0] = float(seed + offset);",
    "c10::complex<float> z(x, x); z = std::conj(z * z); y[0] = z.real();",
)


ACCESSOR = """using A = torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits>;
static_assert(sizeof(A) == 8 + 4 * 2 + 4 * 2);
__global__ void h(A a) { a[threadIdx.x][1] = a[0][threadIdx.x] + a.size(1); }
"""
"""It lies in memory as PyTorch's does."""


def test_code_for_pytorch_compiles_and_types_to_compute_in_are_its_own():
    asked = "".join(
        f"static_assert(cuda::std::is_same_v<at::acc_type<{kind}, true>, {accumulates}>);\n"
        f"static_assert(cuda::std::is_same_v<at::opmath_type<{kind}>, {computes}>);\n"
        for kind, accumulates, computes in TYPES
    )
    head = "namespace std { using namespace cuda::std; }\n"
    kernels = "\n".join(
        f"__global__ void {name}(c10::Half *y, float x, int n) {{ {body} }}"
        for name, body in zip("kabcdefg", BODIES, strict=True)
    )
    compile_nvrtc(cuda(f"{TORCH}{asked}{ACCESSOR}{head}{kernels}"))


def test_floats_of_eight_bits_are_rounded_as_pytorch_rounds_them():
    source = TORCH + (
        "__global__ void k(c10::Float8_e4m3fn *a, at::Float8_e5m2 *b, const float *x) { int i = threadIdx.x;"
        " a[i] = static_cast<c10::Float8_e4m3fn>(x[i]); b[i] = x[i]; a[i] = float(a[i]); }"
    )
    values = np.array([1.0, -0.3, 448.0, 500.0, 70000.0, np.inf, np.nan, 1e-9], np.float32)
    device = EmulatedDevice("sm_90")
    buffers = [device.allocate(8, "a", 1), device.allocate(8, "b", 1), device.allocate(32, "x", 4)]
    buffers[2].write(values)
    result = device.load(compile_nvrtc(cuda(source), "sm_90")).launch((1, 1, 1), (8, 1, 1), 0, buffers)
    assert not result.faults
    assert buffers[0].read().tolist() == [0x38, 0xAA, 0x7E, 0x7F, 0x7F, 0x7F, 0x7F, 0x00]
    assert buffers[1].read().tolist() == [0x3C, 0xB5, 0x5F, 0x60, 0x7C, 0x7C, 0x7F, 0x00]


def test_small_atomics_change_their_own_bytes_only():
    source = TORCH + (
        "__global__ void k(signed char *bytes, short *words) {"
        " gpuAtomicAdd(bytes + threadIdx.x % 4, (signed char)1);"
        " gpuAtomicMax(words + threadIdx.x % 2, (short)threadIdx.x); }"
    )
    device = EmulatedDevice("sm_80")
    buffers = [device.allocate(8, "bytes", 1), device.allocate(8, "words", 2)]
    buffers[0].write(np.array([0, 1, 127, -1, 5, 6, 7, 8], np.int8))
    buffers[1].write(np.array([-3, 40, 9, 9], np.int16))
    result = device.load(compile_nvrtc(cuda(source), "sm_80")).launch((1, 1, 1), (32, 1, 1), 0, buffers)
    assert not result.faults
    assert buffers[0].read().view(np.int8).tolist() == [8, 9, -121, 7, 5, 6, 7, 8]
    assert buffers[1].read().view(np.int16).tolist() == [30, 40, 9, 9]


def test_cub_as_a_whole_gives_what_device_code_calls():
    source = (
        "#include <cub/cub.cuh>\n__global__ void k(float *y) { using R = cub::BlockReduce<float, 128>;"
        " __shared__ typename R::TempStorage s; float t = R(s).Sum(y[threadIdx.x]); if (!threadIdx.x) y[0] = t; }"
    )
    (image,) = compile_program(cuda(source), "sm_80").values()
    assert ".entry" in image.ptx


@pytest.mark.parametrize(
    "code",
    [
        "constexpr int most(int a, int b) { return a < b ? b : a; }\n__global__ void k(int *y) { y[most(1, 2)] = 1; }",
        "struct P { int n; P() : n(0) {} };\n__global__ void k(float *y, P p) { y[p.n] = 1; }",
    ],
)
def test_functions_of_the_host_stand_beside_a_kernel_as_they_do_for_nvcc(code):
    assert ".entry" in compile_nvrtc(cuda(code)).ptx


def test_code_that_is_wrong_is_told_before_the_kernel_that_it_hides():
    with pytest.raises(BuildError, match=r"a\.cu:1: .*Missing"):
        compile_nvrtc(
            cuda("template <class T> __global__ void k(T *y, Missing m) {}", template_arguments=("float",))
        )


def test_the_version_of_the_toolkit_is_there():
    source = "#if CUDA_VERSION < 11000 || CUDART_VERSION < 11000\n#error old\n#endif\n__global__ void k() {}"
    assert compile_nvrtc(cuda(source)).ptx


def test_a_verdict_notes_that_pytorchs_names_are_the_gates_own():
    workload = parse_workload(
        'kernel = "k"\nlanguage = "cuda"\n[dims]\nN = [32]\n[[args]]\nname = "y"\nkind = "output"\ndtype = "float16"\n'
        'shape = ["N"]\n[launch]\ngrid = ["1"]\nblock = [32]\n'
    )
    plain = cuda("#include <cuda_fp16.h>\n__global__ void k(half *y) { y[threadIdx.x] = 1; }")
    torch = cuda(TORCH + "__global__ void k(at::Half *y) { y[threadIdx.x] = 1; }")
    for candidate, notes in ((plain, 0), (torch, 1)):
        result = build(plain, candidate, workload, [{"N": 32}], arch="sm_80", want_cubin=False)
        assert result.stage.status is StageStatus.PASS
        assert len(result.stage.details.get("notes", ())) == notes


def test_types_of_a_kernels_own_namespace_are_named_as_its_callers_name_them():
    source = (
        "namespace ops { namespace detail { struct Twice { static __device__ float of(float v) { return 2 * v; } };\n"
        "template <typename F> __global__ void rows(float *y) { y[0] = F::of(y[1]); } } }\n"
    )
    program = Program("cuda", source, "ops::detail::rows", template_arguments=("Twice",))
    assert "rows" in compile_nvrtc(program).entry
