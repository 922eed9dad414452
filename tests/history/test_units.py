"""What belongs to a kernel's version: headers, macros, imported helpers, its own part of a shared launcher."""

from collections import Counter
from pathlib import Path

import pytest

from history.repositories import Step, make_repository
from kernel_lineage.history.mine import mine
from kernel_lineage.kernels.source import Language

DEVICE = "#pragma once\ntemplate <typename T> __device__ T doubled(T x) {{ return {} * x; }}\n"
OTHER = "__device__ inline float halved(float x) { return x / 2; }\n"
KERNEL = """\
#include "{header}"
__global__ void scale(float* y, const float* x, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = doubled(x[i]);
}}
"""


def versions(folder: Path, *steps: Step) -> dict[str, int]:
    """How many versions each kernel has."""
    make_repository(folder, steps)
    return dict(Counter(v.symbol for line in mine(folder, use_cache=False).lineages for v in line.versions))


@pytest.mark.parametrize(
    ("header", "include"),
    [
        ("src/math.cuh", "math.cuh"),
        ("include/lib/math.h", "lib/math.h"),
        ("common/math.hpp", "../common/math.hpp"),
    ],
    ids=["beside", "an include folder", "relative"],
)
def test_a_device_function_in_a_header_belongs_to_the_kernels_that_reach_it(
    tmp_path: Path, header: str, include: str
):
    counts = versions(
        tmp_path,
        Step("add", {"src/a.cu": KERNEL.format(header=include), header: DEVICE.format(2)}),
        Step("fix the factor", {header: DEVICE.format("T(2)")}),
        Step("add what nobody here uses", {header: DEVICE.format("T(2)") + OTHER}),
    )
    assert counts == {"scale": 2}


def test_what_a_header_includes_is_reached_and_a_cycle_of_includes_ends(tmp_path: Path):
    outer = '#include "inner.cuh"\n__device__ float doubled(float x) { return x * FACTOR; }\n'
    inner = '#include "outer.cuh"\n#define FACTOR {}\n'
    files = {"a.cu": KERNEL.format(header="outer.cuh"), "outer.cuh": outer, "inner.cuh": inner.format(2)}
    counts = versions(tmp_path, Step("add", files), Step("more", {"inner.cuh": inner.format(3)}))
    assert counts == {"scale": 2}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("constexpr int kFactor = 2;", "constexpr int kFactor = 4;"),
        ("static const float kFactor = 2;", "static const float kFactor = 4;"),
        ("enum { kFactor = 2 };", "enum { kFactor = 4 };"),
        (
            "struct S { static constexpr int f = 2; }; using kFactor = S;",
            "struct S { static constexpr int f = 4; }; using kFactor = S;",
        ),
        ("__constant__ float kFactor[2] = {1, 2};", "__constant__ float kFactor[4] = {1, 2, 3, 4};"),
        ("typedef struct { float a; } kFactor;", "typedef struct { double a; } kFactor;"),
        (
            "template <class T> struct alignas(16) kFactor { T held[4]; };",
            "template <class T> struct alignas(16) kFactor { T held[8]; };",
        ),
        ("#define kFactor 2", "#define kFactor 4"),
        (
            "#define HD __host__ __device__\nHD int kFactor() { return 2; }",
            "#define HD __host__ __device__\nHD int kFactor() { return 4; }",
        ),
        (
            "LIB_DEVICE int kFactor() { return 2; }",
            "LIB_DEVICE int kFactor() { return 4; }",
        ),
    ],
)
def test_types_constants_and_macros_are_reached(tmp_path: Path, before: str, after: str):
    kernel = '#include "h.h"\n__global__ void k(float* y) { y[0] = sizeof(kFactor); }\n'
    header = "#pragma once\nnamespace lib {{\n{}\n}}  // namespace lib\n"
    counts = versions(
        tmp_path,
        Step("add", {"a.cu": kernel, "h.h": header.format(before)}),
        Step("more", {"h.h": header.format(after)}),
    )
    assert counts == {"k": 2}


def test_the_headers_of_a_branch_are_those_of_that_branch(tmp_path: Path):
    kernel, header = KERNEL.format(header="m.cuh"), DEVICE
    counts = versions(
        tmp_path,
        Step("add", {"a.cu": kernel, "m.cuh": header.format(2)}),
        Step("left", {"m.cuh": header.format(3)}),
        Step("right", {"a.cu": kernel.replace("i < n", "n > i")}, parent=0),
        Step("merge", {"m.cuh": header.format(3), "a.cu": kernel.replace("i < n", "n > i")}, 1, 2),
    )
    assert counts == {"scale": 4}  # begin, each branch, and both together


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("#define ENTRY static __global__\nENTRY void k(float* x) { x[0] = 1; }\n", "k"),
        ("#define KERNEL(n) __global__ void n(float* x)\nKERNEL(k) { x[0] = 1; }\n", "k"),
        ("#define K(T) \\\n__global__ void k_##T(T* x) { \\\n  x[0] = 1; \\\n}\nK(float)\n", "k_T"),
        (
            (
                'extern "C" {\ntemplate <int N>\n'
                "__global__ static void __launch_bounds__(N) k(float* x) { x[0] = 1; }\n}\n"
            ),
            "k",
        ),
        (
            "namespace a::b {\nnamespace {\n[[maybe_unused]] __global__ void k(float* x) { x[0] = 1; }\n}\n}\n",
            "k",
        ),
        ("struct K { CUTLASS_DEVICE void operator()(float* x) { x[0] = 1; } };\n", "K"),
    ],
)
def test_spellings_of_cuda_kernels(tmp_path: Path, text: str, name: str):
    assert versions(tmp_path, Step("add", {"k.cuh": text})) == {name: 1}


def test_a_type_that_a_kernel_uses_is_no_kernel(tmp_path: Path):
    functor = "struct Op { __device__ float operator()(float x) { return x; } };\n"
    kernel = '#include "op.h"\n__global__ void k(float* x) { x[0] = Op{}(1); }\n'
    assert versions(tmp_path, Step("add", {"op.h": functor, "k.cu": kernel})) == {"k": 1}


MASKED = "def k(x, n, B: tl.constexpr):\n    i = tl.arange(0, B)\n"
MASKED += "    tl.store(x + i, 1.0, mask=i < n)\nk2 = triton.jit(k)\n"
NESTED = "(x, BLOCK: tl.constexpr):\n        tl.store(x + tl.arange(0, BLOCK), 1.0)\n"
BODY = "(x, BLOCK: tl.constexpr):\n    tl.store(x + tl.arange(0, BLOCK), 1.0)\n"
IMPORTS = "import triton\nimport triton.language as tl\n"


@pytest.mark.parametrize(
    "text",
    [
        f"{IMPORTS}@triton.jit\ndef k{BODY}",
        f"import triton as tr\nimport triton.language as tl\n@tr.jit\ndef k{BODY}",
        f"from triton import jit\nimport triton.language as tl\n@jit\ndef k{BODY}",
        f"{IMPORTS}compiled = triton.jit\n@compiled\ndef k{BODY}",
        f"{IMPORTS}def k{BODY}k = triton.jit(k)\n",
        f"{IMPORTS}def k{BODY}fast = triton.jit(k)\ndef run(x):\n    fast[(1,)](x, BLOCK=4)\n",
        f"{IMPORTS}def own(f):\n    return triton.jit(f)\n@own\ndef k{BODY}",
        f"{IMPORTS}def make():\n    @triton.jit\n    def k{NESTED}    return k\n",
        f'"""Two kernels.\n\nUsage:\nimport this = it\ndef is not\n"""\n{IMPORTS}@triton.jit\ndef k{BODY}',
        f"{IMPORTS}try:\n    @triton.jit(do_not_specialize=['x'])\n    def k{NESTED}except ImportError:\n    pass\n",
    ],
    ids=["plain", "module", "from", "alias", "wrapped", "under another", "own", "nested", "docstring", "try"],
)
def test_spellings_of_triton_kernels(tmp_path: Path, text: str):
    (lineage,) = _mined(tmp_path, Step("add", {"k.py": text}))
    assert lineage.kernel == "k"


def test_an_imported_helper_and_decorator_belong_to_the_kernel(tmp_path: Path):
    helper = f"{IMPORTS}@triton.jit\ndef doubled(x):\n    return {{}} * x\n"
    deco = "import triton\ndef own(f):\n    return triton.jit(f)\n"
    kernel = "import triton.language as tl\nfrom .parts import doubled\nfrom pkg.deco import own\n"
    kernel += "@own\ndef k" + BODY.replace("1.0", "doubled(1.0)")
    files = {
        "pkg/__init__.py": "",
        "pkg/k.py": kernel,
        "pkg/deco.py": deco,
        "pkg/parts/__init__.py": "from .double import doubled\n",
        "pkg/parts/double.py": helper.format(2),
    }
    counts = versions(tmp_path, Step("add", files), Step("3", {"pkg/parts/double.py": helper.format(3)}))
    assert counts["k"] == 2


def test_an_edit_of_a_shared_launcher_is_a_version_of_the_kernel_whose_launch_changed(tmp_path: Path):
    kernels = "".join(f"__global__ void {n}(float* x, int n) {{ x[n] = 1; }}\n" for n in ("one", "two"))
    launcher = """\
void run(float* x, int n) {
    int blocks = n / 64;
    one<<<blocks, 64>>>(x, n);
    int many = n / 128;
    two<<<many, 128>>>(x, n);
}
"""
    counts = versions(
        tmp_path,
        Step("add", {"a.cu": kernels + launcher}),
        Step("wider", {"a.cu": kernels + launcher.replace("128", "256")}),
        Step("print", {"a.cu": kernels + launcher.replace("    two", '    printf("two");\n    two')}),
    )
    assert counts == {"one": 1, "two": 3}  # 128 → 256 → 128


def _mined(folder: Path, *steps: Step):
    make_repository(folder, steps)
    return mine(folder, use_cache=False).lineages


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("k.py", IMPORTS + MASKED),
        ("k.cuh", "struct K { LIB_DEVICE void operator()(float* x, int i, int n) { if (i < n) x[i] = 1; } };\n"),
    ],
)  # fmt: skip
def test_the_guards_of_what_only_code_beside_it_makes_a_kernel_are_read(tmp_path: Path, path: str, text: str):
    (lineage,) = _mined(tmp_path, Step("add", {path: text}))
    assert [g.expr for g in lineage.versions[0].guards] == ["i < n"]


IN_PYTHON = '''\
import torch
from torch.utils.cpp_extension import load_inline

source = """
__device__ float doubled(float x) {{ return {factor} * x; }}
__global__ void scale(float* y, const float* x, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = doubled(x[i]);
}}
torch::Tensor run(torch::Tensor x) {{
    auto y = torch::empty_like(x);
    scale<<<(x.numel() + 255) / 256, {threads}>>>(y.data_ptr<float>(), x.data_ptr<float>(), x.numel());
    return y;
}}
"""
module = load_inline("scale", "torch::Tensor run(torch::Tensor x);", source, functions=["run"])
print("{said}")
'''


def test_cuda_in_the_strings_of_a_python_file_is_a_kernel_with_its_device_code_and_launch(tmp_path: Path):
    first = {"factor": "2", "threads": "256", "said": "done"}
    changed = ({}, {"factor": "2.0f"}, {"threads": "128"}, {"said": "ended"})
    steps = (Step(str(change), {"op.py": IN_PYTHON.format(**first | change)}) for change in changed)
    make_repository(tmp_path, list(steps))
    (lineage,) = mine(tmp_path, use_cache=False).lineages
    assert lineage.language is Language.CUDA
    assert (
        len(lineage.versions) == 4
    )  # the last step takes the launch back; the text beside it counts for nothing


def test_a_kernel_that_moves_from_a_string_into_a_file_goes_on(tmp_path: Path):
    inside = IN_PYTHON.format(factor="2", threads="256", said="done")
    body = inside.split('"""')[1]
    make_repository(
        tmp_path, [Step("add", {"op.py": inside}), Step("into a file", {"op.py": None, "op.cu": body})]
    )
    (lineage,) = mine(tmp_path, use_cache=False).lineages
    assert [v.path for v in lineage.versions] == ["op.py", "op.cu"]


def test_a_kernel_that_is_written_anew_in_another_language_is_another_lineage(tmp_path: Path):
    inside = IN_PYTHON.format(factor="2", threads="256", said="done")
    triton = "import triton\n\n\n@triton.jit\ndef scale(y, x):\n    pass\n"
    make_repository(tmp_path, [Step("add", {"op.py": inside}), Step("in Triton", {"op.py": triton})])
    lines = mine(tmp_path, use_cache=False).lineages
    assert {line.language: len(line.versions) for line in lines} == {Language.CUDA: 1, Language.TRITON: 1}
