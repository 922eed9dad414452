"""Sizes that are compiled into a product keep their names in its rewrites, which are right for other values of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.verdict import StageStatus
from kernel_gate.workload import Workload
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.named_sizes import named_sizes
from kernel_lineage.workloads.device_code import device_code
from kernel_lineage.workloads.following.launch_site import followed_launch
from kernel_lineage.workloads.following.unit import unit_of
from rewrite.assists.test_products import assist, kernel_of, made_of
from rewrite.assists.workloads import workload

OPTIONS = GateOptions(check_seconds=3600.0, hidden=False, seed=11)
SIZES = "M = [33, 128]\nN = [70, 40]\nK = [19, 64]"
_CONSTANTS = {
    "macros": "#define M 688\n#define N 528\n#define K (35 << 4)\n",
    "constants": "constexpr int M = 688, N = 528;\nnamespace {\nstatic const int K = 560;\n}\n",
    "wide constants": "constexpr size_t M = 688, N = 528;\nstatic constexpr unsigned K = 560;\n",
}
_BLOCK = "#define TILE 16\n#define OF_A(r, k) A[(r) * K + (k)]\n"
_ELEMENTS = {
    "float": "acc += OF_A(row, k) * B[k * N + col]",
    "half": "acc += __half2float(OF_A(row, k)) * __half2float(B[k * N + col])",
}
_PLACES = """    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    if (row >= M || col >= N) return;
"""
_FLAT = """    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= M * N) return;
    int row = i / N, col = i % N;
"""
_LAUNCH = """    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    prod<<<grid, block>>>(A, B, C);
"""
_FLAT_LAUNCH = "    prod<<<(M * N + 255) / 256, 256>>>(A, B, C);\n"


def code_of(constants: str, element: str, *, flat: bool = False) -> str:
    """A file with a naive product whose sizes are compiled in, and its launch."""
    arguments = f"const {element}* A, const {element}* B, float* C"
    return (
        f"#include <cuda_fp16.h>\n{_CONSTANTS[constants]}{_BLOCK}"
        f"__global__ void prod({arguments}) {{\n{_FLAT if flat else _PLACES}"
        "    float acc = 0.0f;\n"
        f"    for (int k = 0; k < K; ++k) {_ELEMENTS[element]};\n"
        "    C[row * N + col] = acc;\n"
        f"}}\nint main() {{\n    {element} *A, *B;\n    float* C;\n"
        f"    cudaMalloc(&A, M * K * sizeof({element}));\n    cudaMalloc(&B, K * N * sizeof({element}));\n"
        f"    cudaMalloc(&C, M * N * sizeof(float));\n{_FLAT_LAUNCH if flat else _LAUNCH}}}\n"
    )


def programs_of(codes: list[str], load: Workload) -> list[Program]:
    """The kernel of each file with what it needs, launched as the file says, a change of the file before it."""
    programs, launched = [], None
    for code in codes:
        text, _ = device_code(read(code.encode(), Language.CUDA), ("prod",), Path("example.cu"), Path(), ())
        order = [a.name for a in load.args]
        launched = followed_launch(kernel_of(code), unit_of(code), load, order, launched)
        assert launched is not None
        assert launched.launch is not None
        programs.append(Program("cuda", text, "prod", launched.launch))
    return programs


def load_of(element: str) -> Workload:
    dtype = {"float": "float32", "half": "float16"}[element]
    load = workload(
        "prod", SIZES, 'grid = ["ceil_div(N, 16)", "ceil_div(M, 16)"]\nblock = [16, 16]\n'
        'constexpr = { M = "M", N = "N", K = "K" }',
        f"A: input {dtype} [M, K]", f"B: input {dtype} [K, N]", "C: output float32 [M, N]",
    )  # fmt: skip
    args = (a.model_copy(update={"values": "uniform(-1, 1)"}) if a.kind == "input" else a for a in load.args)
    return load.model_copy(update={"args": tuple(args)})


@pytest.mark.sets
@pytest.mark.parametrize("flat", [False, True], ids=["rows and columns", "flat"])
@pytest.mark.parametrize(
    ("identity", "element"), [("multiply_in_tiles", "float"), ("multiply_on_tensor_cores", "half")]
)
@pytest.mark.parametrize("constants", _CONSTANTS)
def test_a_product_is_right_for_other_values_of_sizes_that_are_compiled_in(
    constants: str, identity: str, element: str, flat: bool
) -> None:
    code = code_of(constants, element, flat=flat)
    load = load_of(element)
    for candidate in made_of(assist(identity), code)[-1:]:
        after = candidate.apply(code.encode()).decode()
        before, tiled = programs_of([code, after], load)
        verdict = judge(before, tiled, load, device="emulated", options=OPTIONS)
        for name in ("build", "check", "sanitize"):
            stage = verdict.stage(name)
            assert stage is not None
            assert stage.status is StageStatus.PASS, stage.reason


@pytest.mark.parametrize("constants", _CONSTANTS)
@pytest.mark.parametrize(
    "identity", ["multiply_in_tiles", "multiply_on_tensor_cores", "multiply_by_warpgroups"]
)
def test_no_choice_of_a_tile_writes_the_number_of_a_size(constants: str, identity: str) -> None:
    code = code_of(constants, "float" if identity == "multiply_in_tiles" else "half")
    for candidate in made_of(assist(identity), code):
        texts = [e.text for e in candidate.edits]
        assert not any(number in text for text in texts for number in ("688", "528", "560"))


def test_sizes_of_blocks_macros_without_brackets_and_shadowed_names_are_numbers() -> None:
    code = code_of("macros", "float")
    assert named_sizes(kernel_of(code)) == {"M", "N", "K"}
    assert named_sizes(kernel_of(code.replace("(35 << 4)", "280 + 280"))) == {"M", "N"}
    assert named_sizes(kernel_of(code.replace("float acc", "const int M = 5; float acc"))) == {"N", "K"}
    assert named_sizes(kernel_of(code.replace("#define M 688", "#define M (N + 128)"))) == {"N", "K"}
