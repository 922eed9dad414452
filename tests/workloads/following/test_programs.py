"""What a program does on the way to a launch: sizes that it goes through, memory that it makes, what stays open."""

from __future__ import annotations

import re
from math import prod
from pathlib import Path

import pytest

from kernel_lineage.workloads import sizes_that_run
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.following.written import tidy
from kernel_lineage.workloads.model import Draft, DraftArgument
from kernel_lineage.workloads.programs import program_from_file
from kernel_lineage.workloads.promises import broken
from kernel_lineage.workloads.state import State
from kernel_texts import kernel_in_text

KERNELS = """\
__global__ void fill(float* x, int n) { x[threadIdx.x] = n; }
__global__ void add(float* out, const float* x, const int* at, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] += x[at[i]];
}
"""


def drafted(tmp_path: Path, host: str, kernel: str = "add") -> Draft:
    path = tmp_path / "add.cu"
    path.write_text(KERNELS + host)
    kernel_source = kernel_in_text(path.read_bytes(), kernel)
    return draft_of(kernel_source, path, measure=False)


def argument(draft: Draft, name: str) -> DraftArgument:
    (only,) = (a for a in draft.arguments if a.name == name)
    return only


MAIN = """\
int main() {
    int n = 5000;
    float *out, *x;
    int* at;
    cudaMalloc(&out, n * sizeof(float));
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&at, n * sizeof(int));
    int* host = (int*)malloc(n * sizeof(int));
    for (int i = 0; i < n; i++) host[i] = i;
    cudaMemcpy(at, host, n * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemset(out, 0, n * sizeof(float));
    add<<<(n - 1 + 256) / 256, 256>>>(out, x, at, n);
}
"""


PAIRS = """\
template <int WIDTH>
__global__ void pairs(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int j = 0; j < n; j++) {
        float sum = 0.0f;
        for (int k = 0; k < WIDTH; k++) sum += x[i * WIDTH + k] * x[j * WIDTH + k];
        out[i * n + j] = sum;
    }
}
int main() {
    const int n = 4096, width = 48;
    float *out, *x;
    cudaMalloc(&out, n * n * sizeof(float));
    cudaMalloc(&x, n * width * sizeof(float));
    pairs<width><<<(n + 127) / 128, 128>>>(out, x, n);
}
"""


def test_a_size_that_a_template_is_made_for_stays_what_it_is(tmp_path: Path) -> None:
    draft = drafted(tmp_path, PAIRS, "pairs")
    assert draft.template_arguments == ("48",)
    assert draft.promises == ("width == 48",)
    assert draft.checked == {"n": 256, "width": 48}


@pytest.mark.parametrize(("is_long", "checked"), [(False, 256), (True, 64)])
def test_less_than_two_tiles_are_checked_where_a_launch_at_two_takes_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_long: bool, checked: int
) -> None:
    def is_much_work(*_: object, steps: int = 0, seconds: float = 0.0) -> bool:
        return is_long or bool(steps)

    monkeypatch.setattr(sizes_that_run, "_is_much_work", is_much_work)
    draft = drafted(tmp_path, PAIRS, "pairs")
    path = tmp_path / "add.cu"
    small = sizes_that_run.with_few_steps(draft, kernel_of(path, "pairs"), path, tmp_path)
    assert small.checked == {"n": checked, "width": 48}


def test_what_a_loop_numbers_is_below_its_bound_and_a_grid_is_rounded_up(tmp_path: Path) -> None:
    draft = drafted(tmp_path, MAIN)
    assert draft.missing == () and draft.grid == ("ceil_div(n, 256)",)
    assert argument(draft, "at").values == "integers(0, n)"
    assert argument(draft, "out").values == "integers(0, 1)", "it is cleared"


@pytest.mark.parametrize(
    ("outside", "sizes"),
    [
        ("#define COUNT 5000\n", {"COUNT": 5000}),
        ("constexpr int kCount = 5000;\n", {"kCount": 5000}),
        ("#define ROWS 50\n#define COUNT (ROWS * 100)\n", {"ROWS": 50}),
        ("namespace { const unsigned THREADS = 256, COUNT = 5000; }\n", {"COUNT": 5000}),
        ("enum { COUNT = 5000 };\n", {}),
        ("#define COUNT 5000\n__device__ int last() { return COUNT - 1; }\n", {}),
        ("template <int N> struct Fixed {};\n#define COUNT 5000\nFixed<COUNT> fixed;\n", {}),
    ],
)
def test_a_macro_or_constant_that_only_the_host_calculates_with_is_a_size(tmp_path, outside, sizes) -> None:
    host = MAIN.replace("    int n = 5000;\n", "").replace(
        "256", "THREADS" if "THREADS" in outside else "256"
    )
    name = "kCount" if "kCount" in outside else "COUNT"
    draft = drafted(tmp_path, outside + re.sub(r"\bn\b", name, host))
    assert draft.missing == () and draft.dims == sizes


@pytest.mark.parametrize("alias", ["using u32 = std::uint32_t;", "typedef unsigned int u32;"])
def test_a_cast_to_an_alias_in_brackets_is_no_call(tmp_path: Path, alias: str) -> None:
    host = MAIN.replace("(n - 1 + 256) / 256", "(u32)((n + 255) / 256)")
    draft = drafted(tmp_path, f"{alias}\n{host}")
    assert draft.missing == () and draft.grid == ("ceil_div(n, 256)",)


@pytest.mark.parametrize(
    "written", ["size_t n = size_t(5) << 10;", "auto n = static_cast<int>(5120);", "int n = (int)5120;"]
)
def test_a_number_with_a_cast_is_written_out_and_a_size(tmp_path: Path, written: str) -> None:
    draft = drafted(tmp_path, MAIN.replace("int n = 5000;", written))
    assert draft.missing == () and draft.grid == ("ceil_div(n, 256)",)
    assert draft.dims == {"n": 5120}


@pytest.mark.parametrize("written", ["5120", "5 << 10", "(int)(5 * 1024)"])
def test_a_number_that_is_written_at_a_call_is_a_size(tmp_path: Path, written: str) -> None:
    host = MAIN.replace("int main() {\n    int n = 5000;", "void run(int n) {")
    draft = drafted(tmp_path, f"{host}int main() {{ run({written}); }}\n")
    assert draft.missing == () and draft.grid == ("ceil_div(n, 256)",)
    assert draft.dims == {"n": 5120}


@pytest.mark.parametrize(
    "filled",
    [
        "cudaMemset(x, 0, n * sizeof(float));",
        "std::vector<float> h(n); cudaMemcpy(x, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);",
        "float* h = (float*)calloc(n, sizeof(float)); cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);",
    ],
)
def test_numbers_that_a_program_clears_and_only_reads_may_be_any(tmp_path: Path, filled: str) -> None:
    draft = drafted(tmp_path, MAIN.replace("    add<<<", f"    {filled}\n    add<<<"))
    assert (argument(draft, "x").kind, argument(draft, "x").values) == ("input", "")


def test_what_another_kernel_may_have_written_is_no_longer_all_zeros(tmp_path: Path) -> None:
    draft = drafted(tmp_path, MAIN.replace("    add<<<", "    fill<<<1, 32>>>(out, n);\n    add<<<"))
    assert argument(draft, "out").values == ""
    assert argument(draft, "at").values == "integers(0, n)", "ranges of indices stay"


def test_a_macro_that_calls_the_function_of_its_name_is_followed(tmp_path: Path) -> None:
    checks = (
        "void check(cudaError_t e, const char* file, int line) { if (e) exit(1); }\n"
        "#define check(e) (check(e, __FILE__, __LINE__))\n"
    )
    text = MAIN.replace("cudaMalloc(&x, n * sizeof(float));", "check(cudaMalloc(&x, n * sizeof(float)));")
    draft = drafted(tmp_path, checks + text.replace("*x;", "*x = nullptr;"))
    assert (argument(draft, "x").kind, argument(draft, "x").shape) == ("input", ("n",))


STRUCTS = """\
struct Data { float* out; float* x; int* at; int n; };
void make(Data* d, int n) {
    UNKNOWN(d);
    other::allocate(&d->x, n);
    d->n = n;
}
int main() {
    int n = 5000;
    Data d;
    d.x = NULL;
    d.at = NULL;
    Data all[2];
    make(&d, n);
    for (int i = 0; i < 2; i++) {
        cudaMalloc(&all[i].out, n * sizeof(float));
        add<<<1, 256>>>(all[i].out, d.x, d.at, n);
    }
}
"""


def test_a_field_that_some_function_is_handed_is_not_taken_to_be_null(tmp_path: Path) -> None:
    draft = drafted(tmp_path, STRUCTS)
    assert argument(draft, "x").kind == "input"
    assert any(m.startswith("the shape of x") for m in draft.missing)
    assert argument(draft, "at").kind == "null", "nothing ever gives it an address"


def test_an_element_of_an_array_of_structures_has_what_is_allocated_for_it(tmp_path: Path) -> None:
    assert argument(drafted(tmp_path, STRUCTS), "out").shape == ("n",)


@pytest.mark.parametrize("around", ["#ifdef OLD\n{}\n#endif\n", "{}\n"])
def test_a_case_in_a_branch_of_the_preprocessor_is_found(tmp_path: Path, around: str) -> None:
    case = around.format("    case 2: add<<<4, 64>>>(out, x, at, n); break;")
    launcher = (
        "void launch(int which, float* out, float* x, int* at, int n) {\n  switch (which) {\n"
        f"    case 1: fill<<<1, 32>>>(out, n); break;\n{case}  }}\n}}\n"
    )
    main = MAIN.partition("    add<<<")[0] + "    launch(2, out, x, at, n);\n}\n"
    draft = drafted(tmp_path, launcher + main)
    assert (draft.way, draft.grid, draft.block) == ("main", ("4",), ("64",))
    assert argument(draft, "x").shape == ("n",)


def test_sizes_that_are_set_to_a_number_of_a_list_are_told_apart_unless_memory_says_that_they_are_one(
    tmp_path: Path,
) -> None:
    loop = "    for (int size : {64, 128}) { int m = size; int n = size; run(m, n); }\n}\n"
    run = (
        "void run(int m, int n) {\n    float *x, *out;\n    int* at;\n    cudaMalloc(&x, m * 4);\n"
        "    add<<<m, 64>>>(out, x, at, n);\n}\n"
    )
    draft = drafted(tmp_path, run + "int main() {\n" + loop)
    assert dict(draft.told) == {"m": (64, 128), "n": (64, 128)}
    one = loop.replace("int n = size;", "").replace("run(m, n)", "run(m, size)")
    assert list(drafted(tmp_path, run + "int main() {\n" + one).told) == ["size"]


def test_a_pointer_that_a_condition_on_the_way_asks_for_is_not_null(tmp_path: Path) -> None:
    host = (
        "void run(float* out, float* x, int* at, int n) { if (x != NULL) { add<<<1, 64>>>(out, x, at, n); } }\n"
        "int main() { float* out; int* at; cudaMalloc(&out, 64 * 4); run(out, NULL, at, 64); }\n"
    )
    assert argument(drafted(tmp_path, host), "x").kind == "input"


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("(((n + 256) - 1) // 256)", "ceil_div(n, 256)"),
        ("((n + (d - 1)) // d)", "ceil_div(n, d)"),
        ("(((n - 1) + d) // d)", "ceil_div(n, d)"),
        ("((n * 32) + 255) // 256", "ceil_div(n * 32, 256)"),
        ("(n + 254) // 256", "(n + 254) // 256"),
        ("((n - d) // d)", "(n - d) // d"),
        ("-(-(n * 0.5) // 1)", "-(-(n * 0.5) // 1)"),
        ("n * 1", "n"),
        ("n +", "n +"),
    ],
)
def test_expressions_are_written_in_their_shortest_spelling(text: str, short: str) -> None:
    assert tidy(text) == short


BY_WIDTH = "rows<{}><<<x.size(0), 32>>>(out.data_ptr<float>(), x.data_ptr<float>(), width);"


@pytest.mark.parametrize(
    ("macro", "cases"),
    [
        ("", f"case 48: {BY_WIDTH.format(48)} break;"),
        (f"#define CASE(W) case W: {BY_WIDTH.format('W')} break", "CASE(48);\n    CASE(64);"),
        ("#define CASE(W, ...) case W: { __VA_ARGS__; } break;", f"CASE(48, {BY_WIDTH.format(48)})"),
    ],
    ids=["written out", "by a macro", "by a macro that is given the launch"],
)
def test_an_extent_by_which_a_switch_takes_the_launch_is_the_number_of_its_case(
    tmp_path, macro, cases
) -> None:
    host = (
        "template <int W> __global__ void rows(float* out, const float* x, int n) {\n"
        "  for (int i = threadIdx.x; i < W; i += 32) out[blockIdx.x * W + i] = x[blockIdx.x * W + i] * n;\n}\n"
        f"{macro}\n"
        "at::Tensor run(at::Tensor x) {\n  int width = x.size(1);\n  auto out = at::empty_like(x);\n"
        f"  switch (width) {{\n    {cases}\n    default: TORCH_CHECK(false);\n  }}\n  return out;\n}}\n"
    )
    draft = drafted(tmp_path, host, "rows")
    assert draft.template_arguments == ("48",)
    assert draft.dims["width"] == 48
    assert "width == 48" in draft.promises


def test_how_many_elements_share_a_scale_is_a_size_that_keeps_the_checks(tmp_path: Path) -> None:
    host = (
        "__global__ void scale(float* out, const float* x, int n, int group) {\n"
        "  int i = blockIdx.x * 64 + threadIdx.x;\n  if (i < n) out[i] = x[i] * (i / group);\n}\n"
        "at::Tensor run(at::Tensor x, int64_t group_size) {\n  int n = x.numel();\n"
        "  TORCH_CHECK(n % group_size == 0 && group_size % 8 == 0);\n  auto out = at::empty_like(x);\n"
        "  scale<<<(n + 63) / 64, 64>>>(out.data_ptr<float>(), x.data_ptr<float>(), n, group_size);\n"
        "  return out;\n}\n"
    )
    draft = drafted(tmp_path, host, "scale")
    assert argument(draft, "group").value == "group_size"
    assert not broken(draft.dims, draft.promises)
    assert draft.dims["group_size"] % 8 == 0


@pytest.mark.parametrize(
    "asked",
    [
        "argc > 1 ? atoi(argv[1]) : 1 << 16",
        "argc < 2 ? 65536 : std::stoi(argv[1])",
        "arg(1, 65536)",
        "given(argc, argv, 1, 65536)",
    ],
)
def test_a_size_that_a_user_may_give_is_a_dim(tmp_path, asked):
    text = """__global__ void ones(float* out, int in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < in) out[i] = 1.0f;
}
static int given(int argc, char** argv, int at, int usual) { return argc > at ? std::atoi(argv[at]) : usual; }
int main(int argc, char** argv) {
    auto arg = [&](int i, int usual) { return argc > i ? atoi(argv[i]) : usual; };
    int in = ASKED;
    float* out;
    cudaMalloc(&out, in * sizeof(float));
    dim3 block(256), grid((in + 255) / 256);
    ones<<<grid, block>>>(out, in);
}
"""
    draft = drafted(tmp_path, text.replace("ASKED", asked), "ones")
    assert draft.dims == {"in": 65536}
    assert [a.shape for a in draft.arguments if a.name == "out"] == [("in",)]


def test_what_a_program_writes_to_memory_of_its_own_overlaps_nothing(tmp_path):
    host = (
        "int main() {\n    const int n = 4096;\n    float *x, *y;\n    cudaMalloc(&x, n * sizeof(float));\n"
        "    cudaMalloc(&y, n * sizeof(float));\n    twice<<<(n + 127) / 128, 128>>>(WRITTEN, x, n);\n}\n"
    )
    for written, apart in (("y", True), ("x", False)):
        (tmp_path / written).mkdir()
        text = host.replace("WRITTEN", written)
        kernel = "__global__ void twice(float* y, const float* x, int n) {\n"
        kernel += "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] = 2 * x[i];\n}\n"
        draft = drafted(tmp_path / written, kernel + text, "twice")
        assert argument(draft, "y").noalias is apart


COUNTED = """
__global__ void counted(int* out, const int* at, int n, int bins) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&out[at[i]], 1);
}
int main() {
    const int n = 4096, bins = 64;
    std::vector<int> at(n), grown;
    FILL
    int *d_at, *d_out;
    cudaMalloc(&d_at, n * sizeof(int));
    cudaMalloc(&d_out, bins * sizeof(int));
    cudaMemcpy(d_at, at.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemset(d_out, 0, bins * sizeof(int));
    counted<<<(n + 127) / 128, 128>>>(d_out, d_at, n, bins);
}
"""


@pytest.mark.parametrize(
    ("fill", "values"),
    [
        ("for (auto& v : at) v = (int)(rand() % bins);", "integers(0, bins)"),
        ("for (int& v : at) v = 7;", "integers(0, 8)"),
        (
            "for (int i = 0; i < n; ++i) at[i] = bins - rand() % std::max(1, bins / 3);",
            "integers(0, bins + 1)",
        ),
        ("for (int i = 0; i < n; i++) { grown.push_back(i); at[i] = static_cast<int>(grown.size()); }", ""),
    ],
)
def test_what_an_array_is_filled_with_is_not_what_it_began_with(
    tmp_path: Path, fill: str, values: str
) -> None:
    draft = drafted(tmp_path, COUNTED.replace("FILL", fill), "counted")
    assert argument(draft, "at").values == values
    assert argument(draft, "out").values == "integers(0, 1)"


def test_rows_of_pitched_memory_are_as_far_apart_as_its_pitch(tmp_path: Path) -> None:
    path = tmp_path / "pitched.cu"
    path.write_text(
        "__global__ void twice(float* a, size_t pitch, int rows, int cols) {\n"
        "    float* row = (float*)((char*)a + blockIdx.x * pitch);\n"
        "    for (int i = threadIdx.x; i < cols; i += 32) row[i] *= 2;\n}\n"
        "int main() {\n    const int rows = 30, cols = 300;\n    float* a;\n    size_t pitch;\n"
        "    cudaMallocPitch(&a, &pitch, cols * sizeof(float), rows);\n"
        "    twice<<<rows, 32>>>(a, pitch, rows, cols);\n}\n"
    )
    draft = draft_of(kernel_of(path, "twice"), path)
    assert draft.missing == ()
    workload = draft.workload()
    for cols, pitch in ((128, 512), (129, 1024)):
        sizes = {"rows": 30, "cols": cols}
        assert workload.scalars(sizes)["pitch"] == pitch
        a = workload.argument("a")
        assert a is not None
        assert prod(workload.extents(a, sizes)) == 30 * pitch // 4


@pytest.mark.parametrize(
    "launch",
    [
        "twice<<<(n + 63) / 64, 64>>>(View<float>{a, n});",
        "View<float> view{a, n}; twice<<<(n + 63) / 64, 64>>>(view);",
    ],
)
def test_a_structure_that_is_made_in_place_has_its_fields(tmp_path: Path, launch: str) -> None:
    path = tmp_path / "view.cu"
    path.write_text(
        "template <typename T> struct View { T* data; int count; };\n"
        "__global__ void twice(View<float> v) {\n"
        "    int i = blockIdx.x * 64 + threadIdx.x;\n    if (i < v.count) v.data[i] *= 2;\n}\n"
        f"int main() {{\n    const int n = 1000;\n    float* a;\n    cudaMalloc(&a, n * 4);\n    {launch}\n}}\n"
    )
    draft = draft_of(kernel_of(path, "twice"), path)
    assert draft.missing == ()
    assert {a.name: (a.shape, a.value) for a in draft.arguments} == {
        "v_data": (("n",), None),
        "v_count": (None, "n"),
    }


@pytest.mark.parametrize(
    ("value", "values"),
    [
        ("i % 7", "integers(0, 7)"),
        ("static_cast<int>((i * 31) % 7)", "integers(0, 7)"),
        ("(int)(i % 7) + 2", "integers(0, 9)"),
        ("4 << (i % 7)", "integers"),
        ("(i % 7) * 100", "integers"),
        ("rand() % 1000 < i", "integers(0, 2)"),
        ("i && rand() % 4 ? h[i - 1] : rand() % 1000 < 300", "integers(0, 2)"),
        ("i > 8 ? i % 7 : (int)(i % 7)", "integers(0, 7)"),
        ("i > 8 ? i % 7 : i % 5", "integers"),
        ("i > 8 ? 2 * h[i - 1] : 1", "integers"),
        ("i > 8 ? h[i - 1] + 1 : 1", "integers"),
    ],
)
def test_a_remainder_alone_says_what_an_array_is_filled_with(tmp_path: Path, value: str, values: str) -> None:
    path = tmp_path / "fill.cu"
    path.write_text(
        "__global__ void twice(long long* out, const int* x, int n) {\n"
        "    int i = blockIdx.x * 64 + threadIdx.x;\n    if (i < n) out[i] = 2 * x[i];\n}\n"
        "int main() {\n    const int n = 1000;\n    int* h = new int[n];\n"
        f"    for (int i = 0; i < n; ++i) h[i] = {value};\n"
        "    int* x;\n    long long* out;\n    cudaMalloc(&x, n * 4);\n    cudaMalloc(&out, n * 8);\n"
        "    cudaMemcpy(x, h, n * 4, cudaMemcpyHostToDevice);\n    twice<<<(n + 63) / 64, 64>>>(out, x, n);\n}\n"
    )
    draft = draft_of(kernel_of(path, "twice"), path)
    assert draft.missing == ()
    assert next(a.values for a in draft.arguments if a.name == "x") == values


def test_memory_of_as_many_elements_as_an_array_says_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "rows.cu"
    path.write_text(
        "__global__ void sums(const int* at, const float* x, float* out, int rows) {\n"
        "    int r = blockIdx.x * 64 + threadIdx.x;\n    if (r >= rows) return;\n    float s = 0;\n"
        "    for (int i = at[r]; i < at[r + 1]; ++i) s += x[i];\n    out[r] = s;\n}\n"
        "int main() {\n    const int rows = 500;\n    std::vector<int> h(rows + 1, 0);\n"
        "    for (int r = 0; r < rows; ++r) h[r + 1] = h[r] + r % 5;\n"
        "    std::vector<float> hx(h[rows]);\n    int* at;\n    float *x, *out;\n"
        "    cudaMalloc(&at, h.size() * sizeof(int));\n    cudaMalloc(&x, hx.size() * sizeof(float));\n"
        "    cudaMalloc(&out, rows * sizeof(float));\n"
        "    cudaMemcpy(at, h.data(), h.size() * sizeof(int), cudaMemcpyHostToDevice);\n"
        "    sums<<<(rows + 63) / 64, 64>>>(at, x, out, rows);\n}\n"
    )
    draft = draft_of(kernel_of(path, "sums"), path)
    assert draft.missing == ()
    values = {a.name: a.values for a in draft.arguments}
    assert values["at"].startswith("offsets(")


SHAPE = """\
struct Shape { int rows, cols, taps; };
__global__ void smooth(Shape s, float* y, const float* x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < s.rows * s.cols) { y[i] = 0; for (int k = 0; k < s.taps; k++) y[i] += x[i * s.taps + k]; }
}
static int parts(int n, int size) { return (n + size - 1) / size; }
void forward(const Shape& s, float* y, const float* x, int threads) {
    int blocks = parts(s.rows * s.cols, 64);
    if (blocks > 65535) { blocks = 65535; }
    smooth<<<blocks, threads>>>(s, y, x);
}
MAKE
int main() {
    MADE
    float *x, *y;
    cudaMalloc(&y, s.rows * s.cols * sizeof(float));
    cudaMalloc(&x, s.rows * s.cols * s.taps * sizeof(float));
    forward(s, y, x, 64);
}
"""
MAKE = "static Shape make(int h, int w, int k) { Shape s; s.rows = h; s.cols = w; s.taps = k; return s; }"
FILL = "static void fill(Shape& s, int h, int w, int k) { s.rows = h; s.cols = w; s.taps = k; }"


@pytest.mark.parametrize(
    ("make", "made", "dims"),
    [
        (MAKE, "Shape s = make(50, 40, 3);", {"h": 50, "w": 40, "k": 3}),
        (FILL, "Shape s; fill(s, 50, 40, 3);", {"h": 50, "w": 40, "k": 3}),
        ("", "Shape s{50, 40, 3};", {"rows": 50, "cols": 40, "taps": 3}),
        ("", "Shape s; s.rows = 50; s.cols = 40; s.taps = 3;", {"rows": 50, "cols": 40, "taps": 3}),
        # What a program gives names is its sizes: then a number at a call stays one.
        (MAKE, "const int n = 50; Shape s = make(n, 40, 3);", {"n": 50}),
    ],
)
def test_sizes_that_stand_at_calls_alone_are_dims_by_the_names_there(tmp_path, make, made, dims) -> None:
    draft = drafted(tmp_path, SHAPE.replace("MAKE", make).replace("MADE", made), "smooth")
    assert draft.missing == () and dict(draft.dims) == dims
    rows, cols = list(dims)[:2] if len(dims) > 1 else ("n", "40")
    assert draft.grid[0].startswith("min(") and draft.grid[0].endswith(", 65535)")
    assert draft.block == ("64",)
    assert prod(int(e) if e.isdigit() else dims[e] for e in argument(draft, "y").shape or ()) == 2000
    assert rows in draft.grid[0] and (cols in draft.grid[0] or len(dims) == 1)


@pytest.mark.parametrize(
    ("clamp", "grid"),
    [
        ("if (b > 512) b = 512;", "min(ceil_div(n, 64), 512)"),
        ("if (512 <= b) { b = 512; }", "min(512, ceil_div(n, 64))"),
        ("if (b < 8) b = 8;", "max(ceil_div(n, 64), 8)"),
        ("if (b > 512) b = 256;", "ceil_div(n, 64)"),
    ],
)
def test_an_if_that_bounds_a_number_is_a_minimum_or_maximum(tmp_path, clamp, grid) -> None:
    host = f"""\
void go(float* out, const float* x, const int* at, int n) {{
    int b = (n + 63) / 64;
    {clamp}
    add<<<b, 64>>>(out, x, at, n);
}}
"""
    assert drafted(tmp_path, host).grid == (grid,)


HEADS = """\
__global__ void turn(float* x, int heads, int size, int threads) {
    for (int i = threadIdx.x; i < heads * size; i += blockDim.x) x[blockIdx.x * heads * size + i] *= 2;
}
void turned(float* x, int rows, int heads, int size, int threads) {
    turn<<<rows, BLOCK>>>(x, heads, size, threads);
}
int main() {
    const int rows = 300, heads = 16, size = 24, threads = 192;
    float* x;
    cudaMalloc(&x, rows * heads * size * sizeof(float));
    turned(x, rows, heads, size, threads);
}
"""


@pytest.mark.parametrize(
    ("block", "dims"),
    [
        ("min(heads * size / 2, 512)", {"rows", "heads", "size", "threads"}),
        ("threads", {"rows", "heads", "size"}),
    ],
)
def test_a_size_by_which_a_block_is_written_among_others_is_no_number_of_threads(tmp_path, block, dims):
    draft = drafted(tmp_path, HEADS.replace("BLOCK", block), "turn")
    assert draft.missing == () and set(draft.dims) == dims


PRODUCT = """\
#define ROWS 2048
constexpr int kCols = 1536;
#define BLOCK 16
#define AT(i, j) x[(i) * kCols + (j)]
__global__ void doubled(const float* x, float* out) {
    __shared__ float tile[BLOCK][BLOCK];
    int i = blockIdx.y * BLOCK + threadIdx.y, j = blockIdx.x * BLOCK + threadIdx.x;
    if (i < ROWS && j < kCols) tile[threadIdx.y][threadIdx.x] = AT(i, j);
    __syncthreads();
    if (i < ROWS && j < kCols) out[i * kCols + j] = 2 * tile[threadIdx.y][threadIdx.x];
}
int main() {
    float *x, *out;
    cudaMalloc(&x, ROWS * kCols * sizeof(float));
    cudaMalloc(&out, ROWS * kCols * sizeof(float));
    dim3 block(BLOCK, BLOCK), grid((kCols + BLOCK - 1) / BLOCK, (ROWS + BLOCK - 1) / BLOCK);
    doubled<<<grid, block>>>(x, out);
}
"""


def test_sizes_that_are_compiled_into_a_large_kernel_are_dims_of_each_build(tmp_path: Path) -> None:
    path = tmp_path / "doubled.cu"
    path.write_text(PRODUCT)
    draft = draft_of(kernel_of(path, "doubled"), path)
    assert draft.dims == {"ROWS": 2048, "kCols": 1536}
    assert draft.constexpr == {"ROWS": "ROWS", "kCols": "kCols"}
    assert draft.block == ("16", "16")
    assert {"ROWS % 32 == 0", "kCols % 32 == 0"} <= set(draft.promises)
    assert prod(draft.checked.values()) < 1 << 18
    path.write_text(PRODUCT.replace("2048", "64").replace("1536", "48"))
    assert not draft_of(kernel_of(path, "doubled"), path).dims, "it is small as it is"


CHUNKS = """\
__global__ void add(float* out, const float* x, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + 1.0f;
}
int main(int argc, char** argv) {
    const Arguments arguments(argc, argv);
    const size_t n = arguments.number("n"), chunk = 1 << 16;
    float *x, *out;
    cudaMalloc(&x, chunk * sizeof(float));
    cudaMalloc(&out, chunk * sizeof(float));
    for (int c = 0; c < arguments.number("chunks"); ++c) {
        if (c * chunk >= n) LEAVE;
        add<<<256, 256>>>(out, x, std::min(chunk, n - c * chunk));
    }
}
"""


@pytest.mark.parametrize("leave", ["break", "{ skipped++; continue; }", "return 0"])
def test_a_loop_is_not_left_before_its_launch_by_a_condition_that_nothing_tells(
    tmp_path: Path, leave: str
) -> None:
    path = tmp_path / "add.cu"
    path.write_text(CHUNKS.replace("LEAVE", leave))
    draft = draft_of(kernel_of(path, "add"), path, measure=False)
    assert (draft.grid, draft.block) == (("256",), ("256",))


def test_a_launch_that_is_not_reached_is_not_said_to_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "add.cu"
    path.write_text(CHUNKS.replace("if (c * chunk >= n) LEAVE;", "abandon(); return 0;"))
    draft = draft_of(kernel_of(path, "add"), path, measure=False)
    assert draft.missing == (
        "grid, block and sizes: the host code is not followed to the launch in line 13 of add.cu",
    )


RUNS = """\
#include <cuda_runtime.h>
__global__ void doubled(float* x, int rows, int cols) {
  for (int i = threadIdx.x; i < cols; i += blockDim.x) x[blockIdx.x * cols + i] *= 2;
}
void run(const char* name, int rows, int cols) {
  float* x;
  cudaMalloc(&x, size_t(rows) * cols * sizeof(float));
  doubled<<<rows, 128>>>(x, rows, cols);
  for (int i = 0; i < 10; ++i) doubled<<<rows, 128>>>(x, rows, cols);
}
int main() {
  run("small", 4, 500);
  run("wide", 8, 30000);
  run("odd", 7, 37);
  run("too large to be timed", 1 << 20, 1 << 20);
}
"""


def test_the_largest_of_the_sizes_that_a_program_runs_is_timed_and_much_smaller_ones_are_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / "runs.cu"
    path.write_text(RUNS)
    draft = draft_of(kernel_of(path, "doubled"), path, State(tmp_path), measure=False)
    assert draft.timed == ({"rows": 8, "cols": 30000},) and draft.others == ({"rows": 4, "cols": 500},)
    path.write_text(RUNS.replace("30000", "15000"))
    draft = draft_of(kernel_of(path, "doubled"), path, State(tmp_path), measure=False)
    assert draft.timed == ({"rows": 8, "cols": 15000}, {"rows": 4, "cols": 500})
    path.write_text(RUNS.replace('run("wide", 8, 30000);', ""))
    draft = draft_of(kernel_of(path, "doubled"), path, State(tmp_path), measure=False)
    assert draft.timed == ({"rows": 4, "cols": 500},)


RECURSIVE = """\
#include <cuda_runtime.h>
__global__ void add_sums(int* out, const int* sums, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (blockIdx.x > 0 && i < n) out[i] += sums[blockIdx.x - 1];
}
__global__ void sum_block(const int* in, int* out, int* sums, int n) {
  __shared__ int total;
  int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  if (i < n) { atomicAdd(&total, in[i]); out[i] = in[i] + 1; }
  __syncthreads();
  if (threadIdx.x == 0 && sums) sums[blockIdx.x] = total;
}
void sums_of(const int* in, int* out, int n) {
  int blocks = (n + 63) / 64;
  if (blocks == 1) { sum_block<<<1, 64>>>(in, out, nullptr, n); return; }
  int *sums, *summed;
  cudaMalloc(&sums, blocks * sizeof(int));
  cudaMalloc(&summed, blocks * sizeof(int));
  sum_block<<<blocks, 64>>>(in, out, sums, n);
  sums_of(sums, summed, blocks);
  add_sums<<<blocks, 64>>>(out, summed, n);
}
int main() {
  const int n = 100000;
  int *in, *out;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  sums_of(in, out, n);
}
"""


@pytest.mark.parametrize("kernel", ["sum_block", "add_sums"])
def test_a_function_that_calls_itself_launches_at_the_sizes_of_its_caller(
    tmp_path: Path, kernel: str
) -> None:
    path = tmp_path / "sums.cu"
    path.write_text(RECURSIVE)
    draft = draft_of(kernel_of(path, kernel), path, State(tmp_path), measure=False)
    assert draft.grid == ("ceil_div(n, 64)",) and draft.dims == {"n": 100000}
    assert {a.name: a.shape for a in draft.arguments if a.shape}["sums"] == ("ceil_div(n, 64)",)


MEETING = """\
#include <cooperative_groups.h>
#include <cuda_runtime.h>
__global__ void relax(float* x, float* y, int n) {
  auto grid = cooperative_groups::this_grid();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[n - 1 - i];
  grid.sync();
  if (i < n) x[i] += y[n - 1 - i];
}
int main() {
  int n = 3000;
  float *x, *y;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  void* given[] = {&x, &y, &n};
  cudaLaunchCooperativeKernel((void*)relax, dim3((n + 127) / 128), dim3(128), given, 0, 0);
}
"""


def test_a_kernel_whose_blocks_wait_for_each_other_is_drafted(tmp_path: Path) -> None:
    path = tmp_path / "relax.cu"
    path.write_text(MEETING)
    draft = draft_of(kernel_of(path, "relax"), path, State(tmp_path))
    assert draft.missing == () and draft.grid == ("ceil_div(n, 128)",)
    assert {a.name: a.kind for a in draft.arguments if a.is_buffer} == {"x": "inout", "y": "inout"}


STAGES = """\
#include <cuda_runtime.h>
__global__ void exchange(float* x, int distance, int length, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = i ^ distance;
  if (i < n && j > i && j < n && (x[i] > x[j]) == ((i & length) == 0)) { float t = x[i]; x[i] = x[j]; x[j] = t; }
}
__global__ void eliminate(float* a, int k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x + k + 1, j = blockIdx.y + k + 1;
  if (i < n) a[j * n + i] -= a[j * n + k] * a[k * n + i] / a[k * n + k];
}
__global__ void doubled(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}
int main() {
  const int n = 1024, m = 200;
  float *x, *a;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&a, m * m * sizeof(float));
  for (int length = 2; length <= n; length <<= 1)
    for (int distance = length >> 1; distance > 0; distance /= 2)
      exchange<<<(n + 255) / 256, 256>>>(x, distance, length, n);
  for (int k = 0; k < m - 1; k++) eliminate<<<dim3((m - k - 1 + 63) / 64, m - k - 1), 64>>>(a, k, m);
  for (int part = 0; part < 4; ++part) doubled<<<1, 256>>>(x + part * 256, 256);
}
"""


def test_what_numbers_the_rounds_of_a_loop_is_a_dim_in_the_middle_of_them(tmp_path: Path) -> None:
    path = tmp_path / "stages.cu"
    path.write_text(STAGES)
    draft = draft_of(kernel_of(path, "exchange"), path, State(tmp_path), measure=False)
    assert draft.dims == {"n": 1024, "distance": 4, "length": 64}
    assert (
        "next_power_of_2(length) == length" in draft.promises and "distance <= length // 2" in draft.promises
    )
    draft = draft_of(kernel_of(path, "eliminate"), path, State(tmp_path), measure=False)
    assert draft.dims == {"m": 200, "k": 99} and draft.grid == ("(m - k - 1 + 63) // 64", "m - k - 1")
    assert {"k >= 0", "k < m - 1"} <= {*draft.promises}
    assert "k is 99 in main, of its rounds from 0 to 198" in draft.assumed
    program = program_from_file(path, "eliminate", draft.workload())
    assert program.launch is not None and program.launch.grid == ("(n - k - 1 + 63) // 64", "n - k - 1")


def test_parts_of_a_buffer_that_a_loop_numbers_stay_the_first(tmp_path: Path) -> None:
    path = tmp_path / "stages.cu"
    path.write_text(STAGES)
    draft = draft_of(kernel_of(path, "doubled"), path, State(tmp_path), measure=False)
    assert draft.grid == ("1",) and "part" not in draft.dims


SWITCHED = [
    'bool bench = argc > 1 && !strcmp(argv[1], "bench"); int n = bench ? 1 << 22 : 5000;',
    'int n = 5000; if (argc > 1 && std::string(argv[1]) == "--bench") n = 1 << 22;',
    "int n; if (argc > 1) { n = 1 << 22; } else { n = 5000; }",
    'std::string mode = argc > 1 ? argv[1] : "test"; const int n = mode == "bench" ? 1 << 22 : 5000;',
    "Case one = {5000}; if (argc > 1) one = {1 << 22}; int n = one.n;",
]
"""How a program chooses between the size of its test and that of its benchmark."""


@pytest.mark.parametrize("chosen", SWITCHED)
def test_the_sizes_that_a_program_runs_when_it_is_asked_to_are_timed(tmp_path: Path, chosen: str) -> None:
    host = MAIN.replace("int main()", "struct Case { int n; };\nint main(int argc, char** argv)")
    draft = drafted(tmp_path, host.replace("int n = 5000;", chosen))
    assert (draft.dims, draft.others, draft.missing) == ({"n": 1 << 22}, ({"n": 5000},), ())


def test_a_size_that_a_user_types_is_what_it_is_where_none_is_typed(tmp_path: Path) -> None:
    host = MAIN.replace("int main()", "int main(int argc, char** argv)")
    read = 'int n = 5000; for (int i = 1; i < argc; i++) if (!strcmp(argv[i], "-n")) n = atoi(argv[++i]);'
    draft = drafted(tmp_path, host.replace("int n = 5000;", read))
    assert (draft.dims, draft.chosen) == ({"n": 5000}, ())


POINTERS = """\
__global__ void step(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 0.5f * in[i];
}
int main() {
    int n = 5000, steps = 10;
    DECLARED
    ALLOCATED
    int now = 0;
    for (int t = 0; t < steps; t++) {
        step<<<(n + 255) / 256, 256>>>(POINTS, n);
        now ^= 1;
    }
}
"""


@pytest.mark.parametrize(
    ("declared", "allocated"),
    [
        ("float* of[2];", "for (int k = 0; k < 2; k++) cudaMalloc(&of[k], n * sizeof(float));"),
        ("float* of[2] = {nullptr, nullptr};", "for (auto& p : of) cudaMalloc(&p, n * sizeof(float));"),
        ("std::vector<float*> of(2);", "for (float*& p : of) cudaMalloc((void**)&p, n * sizeof(float));"),
        (
            "std::array<float*, 2> of;",
            "cudaMalloc(&of[0], n * 4); float*& second = of[1]; cudaMalloc(&second, n * 4);",
        ),
    ],
)
@pytest.mark.parametrize("points", ["of[now], of[now ^ 1]", "of[t & 1], of[(t + 1) % 2]", "&of[0][0], of[1]"])
def test_buffers_that_an_array_of_pointers_holds(
    tmp_path: Path, declared: str, allocated: str, points: str
) -> None:
    source = POINTERS.replace("DECLARED", declared).replace("ALLOCATED", allocated).replace("POINTS", points)
    path = tmp_path / "step.cu"
    path.write_text(source)
    draft = draft_of(kernel_in_text(path.read_bytes(), "step"), path, measure=False)
    assert not draft.missing
    assert [(a.name, a.shape) for a in draft.arguments[:2]] == [("in", ("n",)), ("out", ("n",))]


def test_an_element_of_an_array_whose_place_nothing_tells_points_nowhere(tmp_path: Path) -> None:
    source = POINTERS.replace("DECLARED", "float* of[2]; extern int place;").replace("ALLOCATED", "")
    path = tmp_path / "step.cu"
    path.write_text(source.replace("POINTS", "of[place], of[1 - place]"))
    draft = draft_of(kernel_in_text(path.read_bytes(), "step"), path, measure=False)
    assert [m.partition(":")[0] for m in draft.missing] == ["the shape of in", "the shape of out"]


def test_what_two_variables_hold_is_exchanged_before_the_launch(tmp_path: Path) -> None:
    declared = "float *in, *out; cudaMalloc(&in, n * 8); cudaMalloc(&out, n * 4); std::swap(in, out);"
    source = POINTERS.replace("DECLARED", declared).replace("ALLOCATED", "").replace("POINTS", "in, out")
    path = tmp_path / "step.cu"
    path.write_text(source)
    draft = draft_of(kernel_in_text(path.read_bytes(), "step"), path, measure=False)
    assert [a.shape for a in draft.arguments[:2]] == [("n",), ("n", "2")]


STATE = """\
__global__ void momentum(float* w, const float* g, TYPE* m, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    m[i] = 0.9f * m[i] + g[i];
    w[i] -= 0.01f * m[i];
}
void step(float* w, const float* g, TYPE* m, int n) {
    momentum<<<(n + 255) / 256, 256>>>(w, g, m, n);
}
int main() {
    int n = 5000, steps = 50;
    float *w, *g;
    TYPE* m;
    float* host = (float*)calloc(n, sizeof(float));
    cudaMalloc(&w, n * sizeof(float));
    cudaMalloc(&g, n * sizeof(float));
    cudaMalloc(&m, n * sizeof(TYPE));
    BEFORE
    LOOP
    cudaMemcpy(host, w, n * sizeof(float), cudaMemcpyDeviceToHost);
}
"""
CLEARS = "cudaMemset(m, 0, n * sizeof(TYPE));"
EACH = "for (int t = 0; t < steps; t++)"


@pytest.mark.parametrize(
    ("kind", "before", "loop", "values"),
    [
        ("float", CLEARS, f"{EACH} momentum<<<(n + 255) / 256, 256>>>(w, g, m, n);", ""),
        ("float", CLEARS, f"{EACH} step(w, g, m, n);", ""),
        ("float", CLEARS, "int t = 0; while (t < steps) { step(w, g, m, n); t++; }", ""),
        ("float", CLEARS, "for (float rate : {0.1f, 0.2f}) step(w, g, m, n);", ""),
        (
            "float",
            "cudaMemcpy(m, host, n * sizeof(float), cudaMemcpyHostToDevice);",
            f"{EACH} step(w, g, m, n);",
            "",
        ),
        ("float", "", f"{EACH} {{ {CLEARS} step(w, g, m, n); }}", "integers(0, 1)"),
        ("float", CLEARS, "step(w, g, m, n);", "integers(0, 1)"),
        (
            "float",
            CLEARS,
            f"step(w, g, m, n); {EACH} step(w, g, m, n);",
            "integers(0, 1)",
        ),
        ("float", CLEARS, f"{EACH} step(w, g, m + t * 8, n);", "integers(0, 1)"),
        ("int", CLEARS, f"{EACH} step(w, g, m, n);", "integers(0, 1)"),
    ],
)
def test_a_state_that_is_zero_before_a_loop_goes_on_in_it(
    tmp_path: Path, kind: str, before: str, loop: str, values: str
) -> None:
    source = STATE.replace("BEFORE", before).replace("LOOP", loop).replace("TYPE", kind)
    path = tmp_path / "momentum.cu"
    path.write_text(source)
    draft = draft_of(kernel_in_text(path.read_bytes(), "momentum"), path, measure=False)
    m = argument(draft, "m")
    assert m.values == values
    assert m.kind == "inout" or values


@pytest.mark.parametrize("between", ["", "thrust::exclusive_scan(flags.begin(), flags.end(), at.begin());"])
def test_what_a_function_of_a_library_may_have_written_is_no_longer_zero(
    tmp_path: Path, between: str
) -> None:
    host = f"""\
int main() {{
    const int n = 5000;
    thrust::device_vector<float> out(n), x(n);
    thrust::device_vector<int> at(n), flags(n);
    {between}
    add<<<(n + 255) / 256, 256>>>(thrust::raw_pointer_cast(out.data()), x.data().get(), at.data().get(), n);
}}
"""
    draft = drafted(tmp_path, host)
    assert ("at is cleared before the launch" in draft.assumed) == (between == "")
    assert (argument(draft, "at").values == "integers(0, 1)") == (between == "")
