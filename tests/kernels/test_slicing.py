"""A kernel cut out of its file: what is kept, what goes, and that a device compiler takes it."""

import re

import pytest

from kernel_gate.build.errors import BuildError
from kernel_gate.build.nvrtc import compile_nvrtc
from kernel_gate.program import Program
from kernel_lineage.kernels import cuda, triton
from kernel_lineage.kernels.slicing import device_slice

HEADER = b"""\
#pragma once
#include <vector>
#include "inner.cuh"
#define WIDTH 4
template <typename T> struct Packed { T v[WIDTH]; __device__ T first() const { return v[0]; } };
typedef Packed<float> f4;
std::vector<float> host_only();
"""
INNER = b"#ifndef INNER\n#define INNER\n__device__ inline float twice(float x) { return 2 * x; }\n#endif\n"
HEADERS = {"dir/wide.cuh": HEADER, "dir/inner.cuh": INNER}
FILE = """\
#include <cstdio>
#include <cublas_v2.h>
#include "wide.cuh"
cublasHandle_t handle;
__constant__ float table[4] = {1, 2, 3, 4};
__constant__ float unused[4];
enum Mode { ADD, SCALE };
constexpr int OFFSET = 3;
#define VALUE(i) table[(i) % 4]
__device__ float helper(float x) { return twice(x) + VALUE(0) + OFFSET; }
__device__ float other(float x) { return x; }
__global__ void another(float* x) { x[0] = other(x[0]); }
/* copies */
__global__ void k(float* out, const f4* in, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = helper(in[i].first()) + SCALE;
}
void run(float* x) { printf("%d", 1); k<<<1, 2>>>(x, nullptr, 2); cudaDeviceSynchronize(); }
"""


def cut(code: str, name: str = "k", headers=HEADERS, path: str = "dir/a.cu", **options):
    return device_slice(cuda.parse(code.encode()), name, headers.get, path, **options)


def compiles(part, entry: str = "k", arguments=()) -> bool:
    program = Program("cuda", part.text, entry, template_arguments=arguments)
    return ".entry" in compile_nvrtc(program, "sm_80").ptx


def test_the_slice_holds_what_the_kernel_reaches_and_compiles():
    part = cut(FILE)
    assert part.problems == ()
    assert part.declarations == ("twice", "Packed", "f4", "table", "Mode", "OFFSET", "helper", "k")
    assert compiles(part)


@pytest.mark.parametrize(
    "gone", ["cublas", "another", "unused", "other(", "run(", "host_only", "cstdio", "<vector>"]
)
def test_host_code_and_what_is_not_reached_go(gone):
    assert gone not in cut(FILE).text


def test_lines_name_the_users_files():
    texts = {"dir/a.cu": FILE.split("\n"), **{p: d.decode().split("\n") for p, d in HEADERS.items()}}
    path, number = "", 0
    origins = set()
    for line in cut(FILE).text.split("\n"):
        if named := re.match(r'#line (\d+) "(.*)"', line):
            number, path = int(named[1]), named[2]
        elif path and not line.startswith(("namespace", "}")):
            assert line in texts[path][number - 1]
            origins.add((path, number))
            number += 1
    assert ("dir/inner.cuh", 3) in origins


def test_a_compilers_finding_is_at_the_users_line():
    part = cut(FILE.replace("if (i < n)", "if (i < m)"))
    with pytest.raises(BuildError) as error:
        compiles(part)
    line = FILE[: FILE.index("if (i < n)")].count("\n") + 1
    assert f"dir/a.cu({line}): error" in error.value.log


COMPILES = {
    # code, entry, template arguments
    "a template": ("template <typename T, int N> __global__ void k(T* x) { x[0] = N; }", "k", ("float", "3")),
    "a namespace": (
        "namespace a { namespace b { __device__ int f() { return 1; } __global__ void k(int* x) { x[0] = f(); } } }",
        "a::b::k",
        (),
    ),
    "a namespace that is used as a whole": (
        (
            "namespace a { namespace b { struct V { float x; }; __device__ float f(V v) { return v.x; } }\n"
            "using namespace b; }\nnamespace host { int g(); }\nusing namespace host;\nusing namespace a;\n"
            "__global__ void k(V* x) { x[0].x = f(x[1]); }"
        ),
        "k",
        (),
    ),
    "conditionals around declarations": (
        "#if defined(HALF)\ntypedef unknown T;\n#else\ntypedef float T;\n#endif\n__global__ void k(T* x) { x[0] = 1; }",
        "k",
        (),
    ),
    "a conditional in the host code that goes": (
        "void run() {\n#ifdef A\n  f();\n#else\n  g();\n#endif\n}\n__global__ void k(int* x) { x[0] = 1; }",
        "k",
        (),
    ),
    "a qualifier by macro": (
        "#define DEV __device__ __forceinline__\nDEV int f() { return 1; }\n__global__ void k(int* x) { x[0] = f(); }",
        "k",
        (),
    ),
    "cooperative groups": (
        (
            "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
            "__global__ void k(int* x) { auto b = cg::this_thread_block(); b.sync(); x[0] = 1; }"
        ),
        "k",
        (),
    ),
    "bfloat16 that a host header brought": ("__global__ void k(__nv_bfloat16* x) { x[0] = 1.0f; }", "k", ()),
    "a structure that is called by its typedef alone": (
        "typedef struct {\n  float a;\n} One;\n__global__ void k(float* x) { One one = {1.0f}; x[0] = one.a; }",
        "k",
        (),
    ),
    "linkage of C": ('extern "C" { __global__ void k(int* x) { x[0] = 1; } }', "k", ()),
    "type traits": (
        (
            "#include <type_traits>\n__device__ int f(std::true_type) { return 1; }\n"
            "__global__ void k(int* x) { x[0] = f(std::bool_constant<true>()); }"
        ),
        "k",
        (),
    ),
    "a function specialised": (
        (
            "template <typename T> __device__ float to(T x);\n"
            "template <> __device__ float to<int>(int x) { return x; }\n"
            "__global__ void k(float* x) { x[0] = to(3); }"
        ),
        "k",
        (),
    ),
    "a member defined outside": (
        (
            "struct S { __device__ int f(); };\n__device__ int S::f() { return 1; }\n"
            "__global__ void k(int* x) { S s; x[0] = s.f(); }"
        ),
        "k",
        (),
    ),
    "dynamic shared memory of the file": (
        "extern __shared__ float pool[];\n__global__ void k(float* x) { pool[0] = 1; x[0] = pool[0]; }",
        "k",
        (),
    ),
    "members of the host": (
        (
            "struct S {\n  __host__ S(const std::vector<int> &v)\n      : a(f(v.at(0))), b{g(v)}\n#ifdef MORE\n"
            "      , c{1}\n#endif\n  {\n    if (a) { h(); }\n  }\n"
            "  template <class T> __host__ static std::vector<T> list(int n = 3) { return {}; }\n"
            "  __host__ int later() const;\n  int a, b;\n  __device__ int f() const { return a; }\n"
            "  __host__ __device__ int both() const { return b; }\n};\n"
            "__global__ void k(int* x, S s) { x[0] = s.f() + s.both(); }"
        ),
        "k",
        (),
    ),
    "members that use what only the host has": (
        (
            "#define ON_BOTH __host__ __device__\nint *taken(int n) { return new int[n]; }\n"
            "struct S {\n public:\n  S() = default;\n  static int *made(int n) { return taken(n); }\n"
            "  int first() const { return taken(a)[0]; }\n  struct In { int v = 1; };\n  int a, b;\n"
            "  __device__ int f() const { return a; }\n  ON_BOTH int both() const { return b; }\n};\n"
            "__global__ void k(int* x, S s) { x[0] = s.f() + s.both() + S::In().v; }"
        ),
        "k",
        (),
    ),
    "a constant of the host": ("static const int N = 4;\n__global__ void k(int* x) { x[0] = N; }", "k", ()),
}


@pytest.mark.long
def test_what_a_library_s_type_has_of_a_template_comes_with_that_type():
    code = (
        "template <class T> struct count { static constexpr int value = 1; };\n"
        "template <> struct count<std::vector<int>> { static constexpr int value = 2; };\n"
        "template <> struct count<double> { static constexpr int value = 3; };\n"
        "template <class T> struct count<std::integral_constant<T, 1>> { static constexpr int value = 4; };\n"
    )
    plain = cut(code + "__global__ void k(int* x) { x[0] = count<double>::value; }", headers={})
    named = cut(
        "#include <type_traits>\n" + code + "using One = std::integral_constant<int, 1>;\n"
        "__global__ void k(int* x) { x[0] = count<One>::value; }",
        headers={},
    )

    assert "vector" not in plain.text and "integral_constant" not in plain.text
    assert "value = 3" in plain.text
    assert "vector" not in named.text
    assert "value = 4" in named.text
    assert compiles(plain) and compiles(named)


def test_a_concept_comes_with_what_asks_for_it():
    part = cut(
        "template <class T> constexpr bool small = sizeof(T) <= 4;\n"
        "template <class T> concept Small = small<T>;\n"
        "template <class T> struct Box { static_assert(Small<T>); T v; };\n"
        "__global__ void k(Box<int>* x) { x[0].v = 1; }",
        headers={},
    )

    assert part.declarations == ("small", "Small", "Box", "k")


@pytest.mark.parametrize(("code", "entry", "arguments"), COMPILES.values(), ids=COMPILES)
def test_slices_that_compile(code, entry, arguments):
    part = cut(code, headers={})
    assert part.problems == ()
    assert compiles(part, entry, arguments)


@pytest.mark.parametrize(
    "head",
    [
        "struct alignas(16) Pair",
        "struct alignas(sizeof(float) * (1 << 2)) Pair final",
        "struct __align__(sizeof(float) * 4) Pair : Base<float>",
        "struct __builtin_align__(16) Pair",
        "struct ALIGNED(16) Pair : Base<float>, Tag<int (int)>",
        "struct __attribute__((aligned(16), packed)) Pair",
        "struct [[maybe_unused]] alignas(16) Pair",
        "struct alignas(alignof(float) >= 4 ? 16 : 8) Pair",
        "template <typename T = float, int N = 2> struct alignas(sizeof(T) * N) Pair",
        "template <class T = float> class alignas(2 * sizeof(T)) Pair",
    ],
)
def test_attributes_before_the_name_of_a_type_leave_it_one(head):
    pair = f"Pair{'<>' * head.startswith('template')}"
    code = (
        "#define ALIGNED(n) __align__(n)\n"
        "template <class T> struct Base {};\ntemplate <class T> struct Tag {};\n"
        f"{head} {{ public: float a, b; }};\n"
        f"__global__ void k(float* x) {{ {pair} p; p.a = x[1]; p.b = 2; x[0] = p.a + p.b; }}\n"
    )
    part = cut(code)
    assert "Pair" in part.declarations and "ALIGNED" not in part.declarations
    assert compiles(part)


def test_a_function_that_returns_a_type_with_its_keyword_is_one():
    code = "struct P { float a; };\n__device__ struct P made(float a) noexcept { P p; p.a = a; return p; }\n"
    part = cut(code + "__global__ void k(float* x) { x[0] = made(x[1]).a; }\n")
    assert part.declarations == ("P", "made", "k")


def test_an_operator_is_needed_when_a_type_that_it_takes_is():
    code = """
struct Pair { float a, b; };
__device__ float sum(Pair p) { return p.a + p.b; }
__device__ Pair operator+(const Pair& x, const Pair& y) { Pair p = {x.a + y.a, x.b + y.b}; return p; }
__device__ float4 operator*(float4 v, float f) { return make_float4(v.x * f, v.y * f, v.z * f, v.w * f); }
__global__ void k(float* out, const Pair* in) { out[0] = sum(in[0] + in[1]); }
"""
    part = cut(code, headers={})
    assert compiles(part)
    assert "operator*" not in part.text


def test_template_arguments_are_needed_too():
    code = "__device__ float f() { return 1; }\ntemplate <float (*F)()> __global__ void k(float* x) { x[0] = F(); }"
    assert "float f()" not in cut(code).text
    assert compiles(cut(code, names=["f"]), "k", ("f",))


def test_a_header_that_nobody_has_is_a_problem():
    part = cut('#include "lost.cuh"\n__global__ void k(int* x) { x[0] = 1; }')
    assert "`lost.cuh`, which was not found" in part.problems[0].message
    assert compiles(part)


def test_headers_that_include_each_other_end():
    headers = {
        "a.cuh": b'#include "b.cuh"\n',
        "b.cuh": b'#include "a.cuh"\n__device__ int f() { return 1; }\n',
    }
    part = cut('#include "a.cuh"\n__global__ void k(int* x) { x[0] = f(); }', headers=headers, path="k.cu")
    assert compiles(part)


def test_a_kernel_that_is_not_there():
    part = cut(FILE, "nothing")
    assert part.text == ""
    assert part.problems[-1].message == "dir/a.cu holds no kernel named `nothing`"


def test_triton_is_not_sliced():
    source = triton.parse(b"import triton\n@triton.jit\ndef k(x): pass")
    assert "Triton" in device_slice(source, "k", {}.get).problems[0].message


def test_invariants_stated_directly_above_a_kernel_come_with_it():
    stated = "// klineage: tag x[i]\n  //klineage: tag y[i]\n"
    part = cut(f"// about\n{stated}__global__ void k(float* x) {{ x[0] = 1; }}\n", headers={})
    assert part.text.split("\n")[:4] == [
        '#line 2 "dir/a.cu"',
        *stated.splitlines(),
        "__global__ void k(float* x) { x[0] = 1; }",
    ]


TILE = b"const int TILE = 16;\n__device__ float scaled(float x) { return 2 * x; }\n__global__ void k(int* x) {}\n"
ROWS = (
    "__global__ void rows(float* out) { __shared__ float held[TILE]; out[0] = held[threadIdx.x % TILE]; }\n"
)


@pytest.mark.parametrize(
    ("own", "declared"),
    [
        ("", ("TILE", "rows")),
        ("#define TILE 8\n", ("rows",)),
        ("constexpr int TILE = 8;\n", ("TILE", "rows")),
    ],
    ids=["lacks it", "has a macro", "has its own"],
)
def test_a_header_takes_what_it_lacks_from_those_that_stand_before_it(
    own: str, declared: tuple[str, ...]
) -> None:
    part = cut(own + ROWS, "rows", {"tile.cuh": TILE}, "rows.cuh", before=("tile.cuh",))
    assert part.declarations == declared
    assert ("tile.cuh" in part.text) is not bool(own)
    assert compiles(part, "rows")


@pytest.mark.long
@pytest.mark.parametrize(
    "code",
    [
        "#include <ATen/ATen.h>\n__global__ void k(at::Half *y) { y[0] = at::opmath_type<at::Half>(y[1]) * 2; }",
        "#include <torch/extension.h>\n__global__ void k(float *y) { y[0] = WARP_SHFL_XOR(y[threadIdx.x], 1); }",
        "#include <c10/macros/Macros.h>\n__global__ void C10_LAUNCH_BOUNDS_1(64) k(int *y) { *y = C10_WARP_SIZE; }",
    ],
)
def test_what_pytorch_declares_for_device_code_is_there(code):
    part = cut(code, headers={})
    assert part.text.startswith("#include <kernel_gate/pytorch.cuh>")
    assert compiles(part)


@pytest.mark.parametrize(
    "code",
    [
        "#include <torch/extension.h>\n__global__ void k(float *y) { y[0] = 1; }\nat::Tensor f(at::Tensor x);",
        "namespace at { struct Half { short x; }; }\n__global__ void k(at::Half *y) { y[0].x = 1; }",
    ],
)
def test_code_that_needs_nothing_of_pytorch_does_without_it(code):
    part = cut(code, headers={})
    assert "pytorch" not in part.text
    assert compiles(part)


def test_code_that_names_pytorch_without_its_headers_does_not_compile():
    part = cut("__global__ void k(at::Half *y) { y[0] = 1; }", headers={})
    with pytest.raises(BuildError):
        compiles(part)


@pytest.mark.long
def test_algorithms_of_the_standard_library_are_there():
    part = cut(
        "#include <algorithm>\n#include <cub/cub.cuh>\n#include <cub/device/device_scan.cuh>\n"
        "__global__ void k(float *y) { using R = cub::WarpReduce<float>; __shared__ R::TempStorage s;"
        " y[0] = std::max(std::clamp(y[1], 0.f, 1.f), R(s).Sum(y[2])); }",
        headers={},
    )
    assert compiles(part)


def test_headers_of_libraries_that_nobody_has_are_named_where_the_kernel_uses_them():
    code = (
        "#include <matrices/small.hpp>\n#include <images/images.hpp>\n#include <vector>\n"
        "__global__ void k(float *y) { matrices::vec3 v; y[0] = v[0]; }\nvoid f(images::Image i);"
    )
    assert cut(code, headers={}).lacking == ("matrices/small.hpp",)
    assert (
        cut(code, headers={"matrices/small.hpp": b"namespace matrices { typedef float vec3[3]; }"}).lacking
        == ()
    )


VECTORS = b"""\xef\xbb\xbf// a mark of the encoding stands before this line
#define MARK __device__
#define FUNCTION MARK inline
enum class Kind { PLAIN };
template <int N, typename T, Kind K = Kind::PLAIN> struct vec;
template <typename T, Kind K> struct vec<2, T, K> {
  T x, y;
  FUNCTION vec();
  FUNCTION vec(T a, T b);
  FUNCTION T& operator[](int i);
};
#if 1
template <typename T, Kind K>
FUNCTION vec<2, T, K>::vec()
    : x{T(0)}, y{T(0)}
{}
#endif
template <typename T, Kind K> FUNCTION vec<2, T, K>::vec(T a, T b) : x{a}, y(b) {}
template <typename T, Kind K> FUNCTION T& vec<2, T, K>::operator[](int i) { return i ? y : x; }
template <typename T, Kind K> FUNCTION vec<2, T, K> operator*(vec<2, T, K> a, vec<2, T, K> b) {
  return vec<2, T, K>(std::fma(a.x, b.x, T(0)), a.y * b.y);
}
"""


@pytest.mark.long
def test_a_library_of_templates_is_cut_with_what_its_kernel_needs():
    text = '#include "vec.hpp"\n__global__ void k(float* x) { vec<2, float> v(x[0], x[1]), w; x[0] = (v * w)[1]; }\n'
    part = cut(text, headers={"dir/vec.hpp": VECTORS})
    assert compiles(part)
    assert part.text.count("#if ") == part.text.count("#endif")
