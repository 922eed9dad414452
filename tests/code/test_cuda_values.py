"""What a kernel's text says of neighbouring lanes: values flow in order, and what is not understood is unknown."""

from __future__ import annotations

import pytest

from benchmarks.lane_strides import lane_stride
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.code.model import Access, Model
from kernel_lineage.kernels.cuda import parse

_HEAD = "__global__ void k(float* o, const float* x, int n, int c) {"


def _model(body: str, before: str = "", head: str = _HEAD) -> Model:
    source = parse(f"{before}\n{head}\n{body}\n}}\n".encode())
    return read_open(source.kernels[-1])


def _store(body: str, before: str = "", head: str = _HEAD) -> tuple[Model, Access]:
    model = _model(body, before, head)
    stores = [a for a in model.accesses if a.writes]
    assert stores, model.problems
    return model, stores[-1]


@pytest.mark.parametrize(
    ("body", "stride"),
    [
        ("int i = threadIdx.x; o[i] = 1;", "unit"),
        ("int i = threadIdx.x; i = i * 4; o[i] = 1;", "strided 4"),
        ("int i = threadIdx.x; i *= 33; o[i] = 1;", "strided 33"),
        ("int i = threadIdx.x; i <<= 1; o[i] = 1;", "strided 2"),
        ("size_t const r{threadIdx.x}; o[r] = 1;", "unit"),
        ("int i(threadIdx.x); o[i] = 1;", "unit"),
        ("o[blockIdx.x] = 1;", "uniform"),
        ("o[threadIdx.x * c] = 1;", "strided"),
        ("o[threadIdx.x / 2] = 1;", "mixed"),
        ("o[threadIdx.x / 32] = 1;", "uniform"),
        ("o[threadIdx.x >> 5] = 1;", "uniform"),
        ("o[threadIdx.x % 32] = 1;", "unit"),
        ("o[threadIdx.x & 31] = 1;", "unit"),
        ("int w = threadIdx.x / 32; o[threadIdx.x - w * 32] = 1;", "unit"),
        ("o[threadIdx.x ^ 1] = 1;", "mixed"),
        ("int i = blockIdx.x * blockDim.x + threadIdx.x; int r = i / c, q = i % c; o[r * c + q] = 1;", "unit"),
        ("int i = threadIdx.x; if (n > 3) i = i * 2; else i = i * 2 + 1; o[i] = 1;", "strided 2"),
        ("float* p = o + blockIdx.x * c; p += threadIdx.x; *p = 1;", "unit"),
        ("float& r = o[threadIdx.x]; r = 1;", "unit"),
        ("auto at = [&](int i) { return i * 3; }; o[at(threadIdx.x)] = 1;", "strided 3"),
        ("for (int i = threadIdx.x; i < n; i += blockDim.x) o[i] = 1;", "unit"),
        ("int i = threadIdx.x; while (i < n) { o[i] = 1; i += 64; }", "unit"),
        ("int i = 0; do { o[i] = 1; i++; } while (i < n);", "uniform"),
        ("*reinterpret_cast<float4*>(&o[threadIdx.x * 4]) = make_float4(0, 0, 0, 0);", "unit"),
        ("((float2*)o)[threadIdx.x] = make_float2(0, 0);", "unit"),
        ("int2 p = make_int2(threadIdx.x, 3); o[p.x + p.y] = 1;", "unit"),
        ("dim3 t = threadIdx; o[t.x] = 1;", "unit"),
        ("switch (n) { case 0: o[threadIdx.x * 2] = 1; }", "strided 2"),
        ("__stcs(&o[threadIdx.x], 1.f);", "unit"),
        ("o[(int)x[threadIdx.x]] = 1;", "unknown"),
        ("int i = threadIdx.x; i = helper_of_another_file(&i); o[i] = 1;", "unknown"),
        ("UNSEEN_LOOP(i, n) { o[i] = 1; }", "unknown"),
        ("int i = 0; for (int k = 0; k < n; ++k) if (x[k] > x[threadIdx.x]) i = k; o[i] = 1;", "unknown"),
        ("for (int s = blockDim.x / 2; s > 0; s >>= 1) o[threadIdx.x / s] = 1;", "unknown"),
    ],
)  # fmt: skip
def test_how_far_neighbouring_lanes_store_apart(body: str, stride: str) -> None:
    model, access = _store(body)
    assert str(lane_stride(model, access)) == stride


_PACK = """template <typename T, int N> struct __align__(16) Pack { T v[N]; static constexpr int size = N; };
using Four = Pack<float, 4>;
"""
_VIEW = (
    "struct View { float* p; int ld; __device__ float& at(int r, int c) const { return p[r * ld + c]; } };"
)


@pytest.mark.parametrize(
    ("before", "body", "stride"),
    [
        ("#define AT(r, c, ld) ((r) * (ld) + (c))", "o[AT(blockIdx.x, threadIdx.x, c)] = 1;", "unit"),
        ("#define EACH(i, n) for (int i = threadIdx.x; i < (n); i += 32)", "EACH(i, n) { o[i] = 1; }", "unit"),
        ("#define PUT(i) do { o[i] = 1; } while (0)", "PUT(threadIdx.x * 2);", "strided 2"),
        ("constexpr int K = 4;", "o[threadIdx.x * K] = 1;", "strided 4"),
        ("enum { A = 2, B };", "o[threadIdx.x * B] = 1;", "strided 3"),
        ("struct C { static constexpr int k = 5; };", "o[threadIdx.x * C::k] = 1;", "strided 5"),
        (_PACK, "o[threadIdx.x * Four::size] = 1;", "strided 4"),
        (_PACK, "reinterpret_cast<Four*>(o)[threadIdx.x] = Four{};", "unit"),
        ("__device__ int twice(int i) { return 2 * i; }", "o[twice(threadIdx.x)] = 1;", "strided 2"),
        ("template <int K> __device__ int by(int i) { return K * i; }", "o[by<6>(threadIdx.x)] = 1;", "strided 6"),
        ("template <typename T> __device__ void put(T* p) { p[threadIdx.x] = T(1); }", "put(o);", "unit"),
        ("", "#ifdef UNSEEN\no[threadIdx.x * 2] = 1;\n#else\no[threadIdx.x] = 1;\n#endif", "unit"),
        ("template <class T> struct Mem { __device__ operator T*() { extern __shared__ int m[]; return (T*)m; } };",
         "float* s = Mem<float>(); s[threadIdx.x * 2] = 1;", "strided 2"),
        ("#define WARP_SIZE 16", "o[threadIdx.x / WARP_SIZE] = 1;", "mixed"),
    ],
)  # fmt: skip
def test_names_of_the_file_mean_what_it_says(before: str, body: str, stride: str) -> None:
    model, access = _store(body, before)
    assert str(lane_stride(model, access)) == stride


@pytest.mark.parametrize(
    ("macro", "body", "reads"),
    [
        ("AT(i) o[i]", "AT(threadIdx.x) = x[n];", False),
        ("AT(i) (o[i])", "AT(threadIdx.x) += x[n];", True),
        ("AT(i) (*(o + (i)))", "AT(threadIdx.x)++;", True),
        ("ONE o[threadIdx.x]", "ONE = x[n];", False),
        ("ROW o", "ROW[threadIdx.x] = x[n];", False),
        ("AT(i) o[i]", "atomicAdd(&AT(threadIdx.x), x[n]);", True),
        ("AT(i) o[i]", "float& own = AT(threadIdx.x); own = x[n];", False),
    ],
)
def test_a_place_that_a_macro_stands_for_is_written(macro: str, body: str, reads: bool) -> None:
    model, access = _store(body, f"#define {macro}")
    assert (access.root, access.reads, str(lane_stride(model, access))) == ("o", reads, "unit")


def test_members_of_an_argument_are_followed() -> None:
    head = "__global__ void k(View v) {"
    model, access = _store("v.at(1, threadIdx.x) = 1; v.at(threadIdx.x, 1) = 1;", _VIEW, head)
    assert [str(lane_stride(model, a)) for a in model.accesses] == ["unit", "strided"]
    assert access.root == "v.p"


def test_a_template_without_arguments_does_not_guess() -> None:
    head = "template <int B> __global__ void k(float* o) {"
    model, access = _store("o[threadIdx.x / B] = 1;", "", head)
    assert lane_stride(model, access).form == "unknown"
    (kernel,) = parse(f"{head} o[threadIdx.x / B] = 1; }}".encode()).kernels
    instance = read_open(kernel, template=("32",))
    assert lane_stride(instance, instance.accesses[0]).form == "uniform"


def test_what_each_round_has_anew_is_no_step() -> None:
    (loop,) = _model(
        "int s = 0; for (int i = 0; i < n; i++) { int a = x[i]; s += a * c; } o[s] = 1;"
    ).loops.values()
    assert set(loop.counters) == {"i"}


def test_loops_say_what_they_count() -> None:
    (loop,) = _model("for (int i = threadIdx.x; i < n; i += 4 * blockDim.x) o[i] = 1;").loops.values()
    first, step = loop.counters["i"]
    assert (str(first), str(step)) == ("threadIdx.x", "(4 * blockDim.x)")


def test_barriers_exchanges_and_copies_are_events() -> None:
    model = _model("__syncthreads(); float v = __shfl_xor_sync(~0u, x[0], 1); memcpy(o, x, 4);")
    assert [(e.kind, e.name) for e in model.events] == [
        ("barrier", "__syncthreads"),
        ("exchange", "__shfl_xor_sync"),
        ("copy", "memcpy"),
    ]
    assert [(a.kind, a.nbytes) for a in model.accesses] == [("load", 4), ("load", 4), ("store", 4)]


@pytest.mark.parametrize("cut", range(0, 160, 7))
def test_broken_code_is_read_as_far_as_it_goes(cut: int) -> None:
    body = "for (int i = 0; i < n; i++) { auto f = [&](int a) { return a[o]; }; o[f(i)] = P{1, x}; } s.t->u(v)[w];"
    source = parse((_VIEW + _HEAD + body)[: cut + 120].encode())
    for kernel in source.kernels:
        read_open(kernel)
