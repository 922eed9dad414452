"""From a file and a kernel's name to a program: code, launch and arguments as the file tells them."""

import ast

import pytest

from kernel_gate.build.errors import BuildError
from kernel_gate.build.nvrtc import compile_nvrtc
from kernel_gate.program import LaunchSpec, LaunchStep
from kernel_gate.workload import Workload, parse_workload
from kernel_lineage.workloads.preprocessed import standing_before
from kernel_lineage.workloads.programs import ProgramError, program_from_file
from kernel_lineage.workloads.triton_module import kernel_module

WORKLOAD = """
kernel = "scale_rows"
language = "{language}"
[dims]
N = [4]
C = [96]
[[args]]
name = "out"
kind = "output"
dtype = "float32"
shape = ["N", "C"]
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = ["N", "C"]
[[args]]
name = "rows"
kind = "scalar"
dtype = "int32"
value = "N"
[[args]]
name = "cols"
kind = "scalar"
dtype = "int32"
value = "C"
[launch]
grid = ["7"]
block = [7]
num_warps = 8
"""

CUDA = """#include <cstdio>
#include "common.cuh"
#define THREADS 128

__global__ void scale_rows(float* out, const float* x, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) out[i] = twice(x[i]);
}

void run(float* out, const float* x, int N, int C) {
LAUNCH
}
"""
COMMON = """#include <vector>
__device__ inline float twice(float v) { return 2.0f * v; }
inline int host() { return 1; }
"""

TRITON = """import torch
import triton
import triton.language as tl
from somewhere import wrapper

SCALE = 2.0


@triton.jit
def times(v):
    return v * 2.0


@triton.autotune(configs=[triton.Config({{}}, num_warps=w) for w in (2, 4)], key=["cols"])
@triton.jit
def scale_rows(out, x, rows, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + at, mask=at < cols)
    tl.store(out + row * cols + at, times(v), mask=at < cols)


def run(y, a):
    n_rows, n_cols = a.shape
    size = triton.next_power_of_2(n_cols)
    scale_rows[{grid}](y, a, n_rows, n_cols, BLOCK=size{options})
"""


def workload(language: str = "cuda") -> Workload:
    return parse_workload(WORKLOAD.format(language=language))


def cuda_program(tmp_path, site: str, **rest):
    (tmp_path / ".git").mkdir(exist_ok=True)
    (tmp_path / "common.cuh").write_text(COMMON)
    path = tmp_path / "scale.cu"
    path.write_text(CUDA.replace("LAUNCH", site))
    return program_from_file(path, "scale_rows", workload(), **rest)


@pytest.mark.parametrize(
    ("site", "grid", "block"),
    [
        ("    scale_rows<<<(N * C + 255) / 256, 256>>>(out, x, N, C);", ("(rows * cols + 255) // 256",), ("256",)),
        (("    const int n = N * C;\n    int blocks = ceil_div(n, THREADS);\n"
         "    scale_rows<<<blocks, THREADS>>>(out, x, N, C);"), ("ceil_div(rows * cols, 128)",), ("128",)),
        ("    dim3 g(CEIL_DIV(C, 32), (unsigned)N);\n    dim3 b(32, 4);\n    scale_rows<<<g, b>>>(out, x, N, C);",
         ("ceil_div(cols, 32)", "rows"), ("32", "4")),
        ("    scale_rows<<<std::min(N, 64), N > 4 ? 64 : 32>>>(out, x, N, C);",
         ("min(rows, 64)",), ("64 if rows > 4 else 32",)),
        ("    scale_rows<<<1 ^ 4, 128>>>(out, x, N, C);", ("5",), ("128",)),
    ],
)  # fmt: skip
def test_a_launch_over_dims_and_constants_is_read(tmp_path, site, grid, block):
    program = cuda_program(tmp_path, site)
    assert program.launch == LaunchSpec(grid, block)


@pytest.mark.parametrize(
    "site",
    [
        "    scale_rows<<<N, 2 * lanes>>>(out, x, N, C);",
        "    scale_rows<<<pick(N), 128>>>(out, x, N, C);",
        "    scale_rows<<<rand() ^ 4, 128>>>(out, x, N, C);",
        "",
    ],
)
def test_any_other_launch_is_the_workloads(tmp_path, site):
    assert cuda_program(tmp_path, site).launch is None


def test_a_candidate_may_override_fields_of_the_launch(tmp_path):
    site = "    scale_rows<<<N, 128>>>(out, x, N, C);"
    program = cuda_program(tmp_path, site, launch={"block": "[32, 2]", "grid": '["ceil_div(rows, 2)"]'})
    assert program.launch == LaunchSpec(("ceil_div(rows, 2)",), ("32", "2"))


def test_device_code_is_cut_out_and_its_headers_with_it(tmp_path):
    program = cuda_program(tmp_path, "    scale_rows<<<N, 128>>>(out, x, N, C);")
    assert "twice" in program.source and "cstdio" not in program.source and "void run" not in program.source
    assert compile_nvrtc(program).entry == "_Z10scale_rowsPfPKfii"


def test_a_header_has_what_stands_before_it_where_it_is_included(tmp_path):
    folder = tmp_path / "kernels"
    folder.mkdir()
    (tmp_path / "all.cuh").write_text(
        '#include "kernels/common.cuh"\n#include "kernels/scale.cuh"\n#include "kernels/more.cuh"\n'
    )
    (folder / "common.cuh").write_text(COMMON)
    path = folder / "scale.cuh"
    path.write_text(CUDA.replace('#include "common.cuh"\n', ""))
    assert standing_before(path, tmp_path) == ("common.cuh",)
    assert standing_before(folder / "common.cuh", tmp_path) == ()
    assert standing_before(path, folder) == (), "nothing above the root is read"
    program = program_from_file(path, "scale_rows", workload(), root=tmp_path)
    assert compile_nvrtc(program).entry == "_Z10scale_rowsPfPKfii"


def test_headers_outside_of_the_repository_are_not_read(tmp_path):
    (tmp_path / "secret.cuh").write_text("int secret = 42;\n")
    inner = tmp_path / "repository"
    inner.mkdir()
    (inner / ".git").mkdir()
    path = inner / "scale.cu"
    path.write_text(CUDA.replace("common.cuh", "../secret.cuh"))
    assert "42" not in program_from_file(path, "scale_rows", workload()).source


def test_arguments_go_by_name_where_all_names_agree_else_by_position(tmp_path):
    path = tmp_path / "k.cu"
    path.write_text("__global__ void k(int cols, float* out, const float* x, int rows) {}\n")
    assert program_from_file(path, "k", workload()).arguments == ("cols", "out", "x", "rows")
    path.write_text("__global__ void k(float* y, const float* a, int n, int c) {}\n")
    assert program_from_file(path, "k", workload()).arguments is None


@pytest.mark.parametrize(
    ("grid", "options", "expected"),
    [
        ("(n_rows,)", "", ("N",)),
        ("(a.shape[0],)", "", ("N",)),
        ("lambda meta: (triton.cdiv(n_rows, meta['BLOCK']),)", "", ("ceil_div(N, BLOCK)",)),
    ],
)
def test_a_triton_launch_is_read_and_its_module_cut_out(tmp_path, grid, options, expected):
    path = tmp_path / "scale.py"
    path.write_text(TRITON.format(grid=grid, options=options))
    program = program_from_file(path, "scale_rows", workload("triton"))
    assert program.launch is not None
    assert program.launch.grid == expected
    assert program.launch.constexpr == {"BLOCK": "next_power_of_2(C)"}
    assert program.launch.num_warps == 8  # autotuned: the workload says
    assert (
        "torch" not in program.source
        and "somewhere" not in program.source
        and "autotune" not in program.source
    )
    assert program.source.split("\n")[15].startswith("def scale_rows")


def test_num_warps_of_the_site_are_read(tmp_path):
    path = tmp_path / "scale.py"
    text = TRITON.format(grid="(n_rows,)", options=", num_warps=2, num_stages=5")
    path.write_text("\n".join(line for line in text.split("\n") if "autotune" not in line))
    launch = program_from_file(path, "scale_rows", workload("triton")).launch
    assert launch is not None
    assert (launch.num_warps, launch.num_stages) == (2, 5)


PLAIN = "\n".join(line for line in TRITON.split("\n") if "autotune" not in line)


@pytest.mark.parametrize(
    ("size", "block"),
    [
        ("size = 64\n    if n_cols > 64:\n        size = 1024", "256"),
        ("size = 1024\n    size //= 2", "512"),
        ("_, size, *_ = *a.shape, 5", "C"),
        ("_, *_, size = *a.shape, 512", "512"),
        ("a = a.reshape(-1, 1)\n    size = a.shape[1]", "256"),
        ("size = BLOCK_SIZE", "256"),
        ("if n_cols > 1:\n        size = 512", "512"),
    ],
)
def test_where_a_triton_site_can_mean_several_values_the_workload_says(tmp_path, size, block):
    path = tmp_path / "scale.py"
    text = PLAIN.format(grid="(n_rows,)", options=", num_warps=warps")
    path.write_text(text.replace("size = triton.next_power_of_2(n_cols)", size))
    fixed = WORKLOAD.format(language="triton").replace("num_warps", 'constexpr = {BLOCK = "256"}\nnum_warps')
    own = parse_workload(fixed)
    launch = program_from_file(path, "scale_rows", own).launch or own.launch.spec()
    assert (launch.constexpr["BLOCK"], launch.num_warps) == (block, 8)


def test_of_several_launches_of_one_kernel_the_one_that_the_workload_describes_is_read(tmp_path):
    path = tmp_path / "scale.py"
    text = (
        PLAIN.format(grid="(n_rows,)", options="")
        + "    scale_rows[(n_rows + 3,)](y, a, n_rows, n_cols, BLOCK=size)\n"
    )
    path.write_text(text)
    written = WORKLOAD.format(language="triton").replace('"7"', '"N"')
    same = parse_workload(written.replace("num_warps = 8", 'constexpr = {BLOCK = "128"}'))
    program = program_from_file(path, "scale_rows", same)
    assert program.launch is not None and program.launch.grid == ("N",)
    second = same.model_copy(update={"launch": same.launch.model_copy(update={"grid": ("N + 3",)})})
    program = program_from_file(path, "scale_rows", second)
    assert program.launch is not None and program.launch.grid == ("N + 3",)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.cu", "__global__ void other() {}", "has no kernel `k`; its kernels: other"),
        ("a.cu", "__global__ void k(float* a) {}", "takes 1 arguments (a), the workload declares 4"),
        (
            "a.cu",
            "template <typename T> __global__ void k(T* out, const T* x, int rows, int cols) {}",
            "is a template",
        ),
        ("a.txt", "hello", "neither CUDA C++ nor Triton"),
    ],
)
def test_what_cannot_be_a_program_is_said(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ProgramError) as caught:
        program_from_file(path, "k", workload())
    assert message in str(caught.value)
    with pytest.raises(ProgramError, match="cannot be read"):
        program_from_file(tmp_path / "none.cu", "k", workload())


SEQUENCE = """
[[launches]]
kernel = "scale_rows"
grid = ["rows"]
[[launches]]
memset = "out"
[[launches]]
kernel = "fill"
arguments = ["out"]
grid = [1]
"""


def sequence(language: str) -> Workload:
    return parse_workload(WORKLOAD.format(language=language).partition("[launch]")[0] + SEQUENCE)


def test_a_sequence_cuts_out_all_of_its_kernels(tmp_path):
    path = tmp_path / "scale.cu"
    path.write_text(
        CUDA.replace('#include "common.cuh"', COMMON) + "__global__ void fill(float* p) { *p = twice(1); }\n"
    )
    program = program_from_file(path, "scale_rows", sequence("cuda"))
    assert "void scale_rows" in program.source and "void fill" in program.source
    assert "void run" not in program.source
    module = tmp_path / "scale.py"
    module.write_text(
        TRITON.format(grid="(1,)", options="") + "\n@triton.jit\ndef fill(p):\n    tl.store(p, 1.0)\n"
    )
    text = program_from_file(module, "scale_rows", sequence("triton")).source
    assert "def scale_rows" in text and "def fill" in text and "import torch" not in text


OF_STRUCTURE = """
struct Shape {{ int rows, cols; }};
__global__ void scale_rows(float* out, const float* x, Shape s) {{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < s.rows) for (int i = 0; i < s.cols; i++) out[row * s.cols + i] = x[row * s.cols + i];
}}
void run(float* out, const float* x, int rows, int cols) {{
    cudaMemset(out, 0, sizeof(float) * rows * cols);
    Shape s{{rows, cols}};
    scale_rows<<<{grid}, 64>>>(out, x, s);
}}
"""
CLEARED = """
[[launches]]
memset = "out"
[[launches]]
kernel = "scale_rows"
arguments = ["out", "x", {{ fields = ["rows", "cols"], at = [0, 4], bytes = 8, align = 4 }}]
grid = ["ceil_div(N, {block})"]
block = [{block}]
"""


def test_a_launch_of_a_sequence_changes_with_the_host_code(tmp_path):
    path = tmp_path / "scale.cu"
    before, after = (OF_STRUCTURE.format(grid=g) for g in ("(rows + 63) / 64", "(rows + 63) / 64 * 32"))
    path.write_text(before)
    head = WORKLOAD.format(language="cuda").partition("[launch]")[0]
    own = parse_workload(head + CLEARED.format(block=64))

    def changed(workload: Workload) -> tuple[object, ...]:
        return program_from_file(
            path, "scale_rows", workload, data=after.encode(), changed_from=before.encode()
        ).steps

    assert program_from_file(path, "scale_rows", own, changed_from=before.encode()).steps == ()
    memset, launch = changed(own)
    assert memset == own.steps[0]
    assert isinstance(launch, LaunchStep)
    assert launch.arguments == own.steps[1].arguments
    assert launch.launch.grid == ("(rows + 63) // 64 * 32",)
    # Where the workload's launch is another one, nothing says what the changed one is.
    with pytest.raises(ProgramError, match="is changed, and what it computes cannot be read"):
        changed(parse_workload(head + CLEARED.format(block=32)))


@pytest.mark.parametrize(
    ("file", "message"), [("a.cu", "no kernel named `fill`"), ("a.py", "`scale_rows` or `fill`")]
)
def test_a_sequence_names_the_kernel_that_is_missing(tmp_path, file, message):
    (tmp_path / file).write_text(CUDA if file == "a.cu" else TRITON.format(grid="(1,)", options=""))
    with pytest.raises(ProgramError, match=message):
        program_from_file(tmp_path / file, "scale_rows", sequence("cuda" if file == "a.cu" else "triton"))


def test_invariants_beside_a_triton_function_come_with_it():
    stated = "# klineage: tag x[i]\n@triton.jit\ndef k(x):\n    v = 1\n    # klineage: assert tag(v).i == 0\n"
    text = f"# a remark\n{stated}# not its own\n\ny = 2\n"
    kept = kernel_module(text, "k")
    assert kept is not None
    assert [n for n, line in enumerate(kept.split("\n"), 1) if line] == [2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "imports",
    [
        "import torch, triton\nimport triton.language as tl",
        "import torch as th, triton as tri, triton.language as tl; import triton",
        "try:\n    import torch, triton\n    import triton.language as tl\nexcept ImportError:\n    raise SystemExit",
        "import torch; import triton; from triton import language as tl",
        "if True: import torch, triton; import triton.language as tl",
        "from at import (  # torch\n    torch,\n    é,\n); import torch, \\\n    triton, \\\n    triton.language as tl",
        "'''é\ntorch'''; import triton, torch.nn; from triton import (\n    language as tl,\n    Config,\n)",
    ],
)
def test_of_a_line_that_imports_several_modules_what_the_kernel_needs_is_kept(imports):
    text = f"{imports}\n\n@triton.jit\ndef k(x):\n    tl.store(x, 1)\n\nlog = torch.log\n"
    kept = kernel_module(text, "k")
    assert kept is not None
    imported = [n for n in ast.walk(ast.parse(kept)) if isinstance(n, ast.Import | ast.ImportFrom)]
    assert {a.asname or a.name for n in imported for a in n.names} - {"triton.language"} == {"triton", "tl"}
    assert kept.split("\n").index("def k(x):") == text.split("\n").index("def k(x):")


@pytest.mark.parametrize(
    ("modules", "remedy"),
    [
        ('[submodule "m"]\n\tpath = outside/matrices\n', "git submodule update --init outside/matrices"),
        ("", "put matrices's headers into the repository"),
    ],
)
def test_a_library_that_is_not_there_is_named_with_what_to_do(tmp_path, modules, remedy):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitmodules").write_text(modules)
    file = tmp_path / "a.cu"
    file.write_text(
        "#include <matrices/small.hpp>\n__global__ void scale_rows(float *out, const float *x, int rows, int cols)"
        "{ matrices::vec3 v(x); out[0] = v[0]; }"
    )
    program = program_from_file(file, "scale_rows", workload())
    with pytest.raises(BuildError, match=r"a\.cu:2: .*; it needs `matrices/small\.hpp`, wh") as caught:
        compile_nvrtc(program)
    assert remedy in str(caught.value)
