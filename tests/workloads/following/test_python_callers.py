"""What Python gives a function of an extension: tests, scripts and published inputs tell extents and values."""

from pathlib import Path

import pytest

from kernel_gate.expressions import evaluate
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.state import State

PICK = """
#include <torch/extension.h>
template <typename E>
__global__ void pick(E* picked, const E* table, const long* where, const float* gain, int width) {
    const long row = where[blockIdx.x];
    const float g = gain == nullptr ? 1.f : gain[blockIdx.x];
    for (int c = threadIdx.x; c < width; c += blockDim.x)
        picked[blockIdx.x * width + c] = static_cast<E>(float(table[row * width + c]) * g);
}
at::Tensor pick_rows(const at::Tensor& table, const at::Tensor& where, c10::optional<at::Tensor> gain) {
    const auto width = table.numel() / table.size(0);
    auto picked = at::empty({where.numel(), width}, table.options());
    const float* g = gain.has_value() ? gain.value().data_ptr<float>() : nullptr;
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(table.scalar_type(), "pick", [&] {
        pick<scalar_t><<<where.numel(), std::min<int64_t>(width, 256)>>>(
            picked.data_ptr<scalar_t>(), table.data_ptr<scalar_t>(), where.data_ptr<int64_t>(), g, width);
    });
    return picked;
}
"""
BOUND = 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("take", &pick_rows); }'
LIBRARY = """
TORCH_LIBRARY(picking, m) { m.def("take(Tensor table, Tensor where, Tensor? gain) -> Tensor"); }
TORCH_LIBRARY_IMPL(picking, CUDA, m) { m.impl("take", &pick_rows); }
"""
WRAPPER = """
import torch
from . import _picking

class Take(torch.autograd.Function):
    @staticmethod
    def forward(ctx, table, where, gain=None):
        return _picking.take(table.contiguous(), where, gain)

def take(table, where, gain=None):
    return Take.apply(table, where, gain)
"""
TEST = """
import pytest, torch
from picker.ops import take

@pytest.mark.parametrize("gained", [False, True])
@pytest.mark.parametrize("vocabulary, width", [(50, 12), (3000, 160)])
def test_take(vocabulary, width, gained):
    count = 75
    table = torch.randn(vocabulary, width, device="cuda", dtype=torch.half)
    where = torch.randint(vocabulary, (count,), device="cuda")
    gain = torch.ones(count, device="cuda") if gained else None
    assert take(table, where, gain).shape == (count, width)
"""
PLACES = {
    "table": ("vocabulary", "width"),
    "where": ("count",),
    "gain": ("count",),
    "picked": ("count", "width"),
}


def _draft(folder: Path, files: dict[str, str], kernel: str, measure: bool = False) -> Draft:
    """The draft of a kernel of the first file; without `measure`, nothing is run."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    path = folder / next(iter(files))
    return draft_of(target_of(path, kernel), path, State(folder), measure=measure)


@pytest.mark.parametrize("binding", [BOUND, LIBRARY], ids=["pybind", "library"])
def test_a_test_gives_extents_ranges_and_what_may_be_left_out(tmp_path: Path, binding: str):
    wrapper = WRAPPER.replace("_picking.take", "torch.ops.picking.take") if binding is LIBRARY else WRAPPER
    files = {
        "csrc/pick.cu": PICK,
        "csrc/bind.cpp": f"at::Tensor pick_rows(at::Tensor, at::Tensor, c10::optional<at::Tensor>);{binding}",
        "picker/ops.py": wrapper,
        "picker/__init__.py": "",
        "tests/test_take.py": TEST,
    }
    draft = _draft(tmp_path, files, "pick")
    assert draft.missing == ()
    assert draft.way == "test_take in test_take.py"
    assert dict(draft.dims) == {"count": 75, "width": 160, "vocabulary": 3000}
    assert {a.name: a.shape for a in draft.arguments if a.is_buffer} == PLACES
    assert {a.name: a.values for a in draft.arguments}["where"] == "integers(0, vocabulary)"
    assert draft.grid == ("count",)
    assert draft.block == ("min(width, 256)",), "an extent is no number of threads"
    assert draft.others == ({"count": 75, "width": 12, "vocabulary": 50},)


def test_what_may_be_left_out_is_there_by_itself(tmp_path: Path):
    short = PICK.replace("gain.has_value() ? gain.value().data_ptr", "gain ? gain->data_ptr")
    files = {"csrc/pick.cu": short + BOUND, "picker/ops.py": WRAPPER, "tests/test_take.py": TEST}
    draft = _draft(tmp_path, files, "pick")
    assert {a.name: a.shape for a in draft.arguments if a.is_buffer} == PLACES


def test_a_view_that_a_test_gives_counts_by_its_extents(tmp_path: Path):
    made = "torch.randn(vocabulary, width"
    test = TEST.replace(made, "torch.randn(width, vocabulary").replace(
        "dtype=torch.half)", "dtype=torch.half).t()"
    )
    draft = _draft(
        tmp_path, {"csrc/pick.cu": PICK + BOUND, "picker/ops.py": WRAPPER, "tests/test_take.py": test}, "pick"
    )
    assert {a.name: a.shape for a in draft.arguments if a.is_buffer} == PLACES
    assert dict(draft.dims) == {"count": 75, "width": 160, "vocabulary": 3000}


@pytest.mark.parametrize(
    ("order", "values"),
    [
        (".sort().values", "ascending(0, vocabulary)"),
        (".sort(dim=0)[0]", "ascending(0, vocabulary)"),
        (".sort(descending=True).values", "integers(0, vocabulary)"),
    ],
)
def test_numbers_that_a_test_sorts_ascend(tmp_path: Path, order: str, values: str):
    test = TEST.replace('(count,), device="cuda")', f'(count,), device="cuda"){order}')
    draft = _draft(
        tmp_path, {"csrc/pick.cu": PICK + BOUND, "picker/ops.py": WRAPPER, "tests/test_take.py": test}, "pick"
    )
    assert {a.name: a.values for a in draft.arguments}["where"] == values


def test_places_that_a_test_leaves_out_hold_at_its_sizes_alone(tmp_path: Path):
    listed = "where = torch.tensor([-1, 7, -1], device='cuda')"
    test = TEST.replace('where = torch.randint(vocabulary, (count,), device="cuda")', listed).replace(
        "75", "3"
    )
    files = {"csrc/pick.cu": PICK + BOUND, "picker/ops.py": WRAPPER, "tests/test_take.py": test}
    assert _draft(tmp_path, files, "pick").way == "pick_rows"


def test_a_module_that_a_test_imports_where_it_is_there_is_followed(tmp_path: Path):
    test = TEST.replace("from picker.ops import take", 'ops = pytest.importorskip("picker.ops")')
    test = test.replace("take(table, where, gain)", "ops.take(table, where, gain)")
    files = {"csrc/pick.cu": PICK + BOUND, "picker/ops.py": WRAPPER, "tests/test_take.py": test}
    draft = _draft(tmp_path, files, "pick")
    assert (draft.missing, draft.way) == ((), "test_take in test_take.py")
    assert {a.name: a.shape for a in draft.arguments if a.is_buffer} == PLACES


def test_a_part_of_a_tensor_that_a_test_gives_counts_by_its_extents(tmp_path: Path):
    test = TEST.replace("take(table, where", "take(table[:, 1:], where")
    wrapper = WRAPPER.replace("table.contiguous()", "table")
    files = {"csrc/pick.cu": PICK + BOUND, "picker/ops.py": wrapper, "tests/test_take.py": test}
    draft = _draft(tmp_path, files, "pick")
    table = next(a for a in draft.arguments if a.name == "table")
    assert draft.way == "test_take in test_take.py"
    assert [evaluate(extent, draft.dims) for extent in table.shape or ()] == [3000, 159]


SHRINK = '''
import torch
from torch.utils.cpp_extension import load_inline
code = """
__global__ void shrink(float* y, const float* x, float by, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) y[at] = x[at] > by ? x[at] - by : x[at] < -by ? x[at] + by : 0.f;
}
torch::Tensor shrunk(torch::Tensor x, double by) {
    auto y = torch::empty_like(x);
    shrink<<<(x.numel() + 511) / 512, 512>>>(y.data_ptr<float>(), x.data_ptr<float>(), by, x.numel());
    return y;
}
"""
built = load_inline("shrinking", ["torch::Tensor shrunk(torch::Tensor, double);"], [code], functions=["shrunk"])
'''
MODEL = """
class Model(torch.nn.Module):
    def __init__(self, width, by):
        super().__init__()
        self.project, self.by = torch.nn.Linear(width, width), by
    def forward(self, x):
        return built.shrunk(self.project(x), self.by)
rows, width = 300, 96
def get_inputs():
    return [torch.rand(rows, width)]
def get_init_inputs():
    return [width, 0.25]
"""
SCRIPT = """
import sys
if __name__ == "__main__":
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    x = 2 * torch.rand(rows, 96) - 1
    print(built.shrunk(x, by=0.25).sum())
"""


@pytest.mark.parametrize(("use", "extents"), [(MODEL, ("rows", "width")), (SCRIPT, ("rows", "d96"))])
def test_an_extension_that_is_built_inline_is_called(tmp_path: Path, use: str, extents: tuple[str]):
    draft = _draft(tmp_path, {"shrinking.py": SHRINK + use}, "shrink")
    assert (draft.missing, draft.chosen) == ((), ())
    shapes = {a.name: a.shape for a in draft.arguments if a.is_buffer}
    assert shapes == {"x": extents, "y": extents}
    assert {a.name: a.value for a in draft.arguments}["by"] == "0.25"
    assert {a.name: a.values for a in draft.arguments}["x"] == "", "it is below 0 as well"


def test_elements_that_nothing_tells_make_no_tensor_of_one(tmp_path: Path):
    script = """
import random
from reading import rows_of
def test_shrink():
    count = 40
    x = torch.tensor(rows_of("a file")).cuda()
    built.shrunk(x, 0.5)
"""
    draft = _draft(tmp_path, {"shrinking.py": SHRINK + script}, "shrink")
    assert draft.way == "shrunk"


@pytest.mark.parametrize(
    ("fields", "size"),
    [("float value; int place;", 8), ("char a; int b; char c;", 12), ("double d; int* p; char c;", 24)],
)
def test_a_structure_has_the_bytes_of_its_fields_where_they_lie(tmp_path: Path, fields: str, size: int):
    text = f"""
namespace lib {{ struct Held {{ {fields} }}; }}
__global__ void hold(float* y, int n) {{
    extern __shared__ lib::Held held[];
    if (threadIdx.x < n) y[threadIdx.x] = 1;
}}
int main() {{
    float* y; int n = 64;
    cudaMalloc(&y, n * 4);
    hold<<<1, 64, n * sizeof(lib::Held)>>>(y, n);
}}
"""
    draft = _draft(tmp_path, {"hold.cu": text}, "hold")
    assert draft.shared_bytes == f"n * {size}"


POINTED = """
#include <torch/extension.h>
namespace ops {
template <typename E> __device__ E twice(const E& x) { return x + x; }
template <typename E, E (*F)(const E&)> __global__ void each(E* y, const E* x, int n) {
    for (int c = threadIdx.x; c < n; c += blockDim.x) y[blockIdx.x * n + c] = F(x[blockIdx.x * n + c]);
}
}
#define EACH(F) AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "each", [&] { \\
    ops::each<scalar_t, ops::F<scalar_t>><<<x.numel() / x.size(-1), 64>>>( \\
        y.data_ptr<scalar_t>(), x.data_ptr<scalar_t>(), x.size(-1)); });
void doubled(at::Tensor x, at::Tensor y) { EACH(twice); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("doubled", &doubled); }
"""
RUN = """
import torch, pointed
def test_doubled():
    rows, cols = 21, 200
    x = torch.randn(rows, cols)
    y = torch.empty_like(x)
    pointed.doubled(x, y)
"""


def test_a_kernel_gets_a_function_by_its_types(tmp_path: Path):
    draft = _draft(tmp_path, {"pointed.cu": POINTED, "tests/test_pointed.py": RUN}, "each")
    assert draft.missing == ()
    assert draft.template_arguments == ("float", "twice<float>")
    assert draft.grid == ("rows",)


PAGED = """
#include <torch/extension.h>
__global__ void place(float* pages, const float* rows, const long* slots, int per_page, int width) {
    const long page = slots[blockIdx.x] / per_page, at = slots[blockIdx.x] % per_page;
    float* to = pages + (page * per_page + at) * width;
    for (int c = threadIdx.x; c < width; c += 32) to[c] = rows[blockIdx.x * width + c];
}
void place_rows(at::Tensor pages, at::Tensor rows, at::Tensor slots) {
    place<<<rows.size(0), 32>>>(pages.data_ptr<float>(), rows.data_ptr<float>(), slots.data_ptr<int64_t>(),
                                pages.size(1), pages.size(2));
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("place_rows", &place_rows); }
"""
PLACE = """
import random, torch, paging
def test_place():
    count, length, per_page, width = 70, 40, 16, 24
    pages = torch.zeros(length, per_page, width)
    slots = torch.tensor(random.sample(range(length * per_page), k=count))
    paging.place_rows(pages, torch.randn(count, width), slots)
"""


def test_places_in_pages_are_below_all_places_and_come_once(tmp_path: Path):
    files = {"place.cu": PAGED, "tests/test_place.py": PLACE}
    draft = _draft(tmp_path, files, "place", measure=True)
    assert {a.name: a.values for a in draft.arguments}["slots"] == "permutation(length * per_page)"
    assert "length * per_page >= (count)" in draft.promises
    assert {a.name: a.shape for a in draft.arguments}["pages"] == ("length", "per_page", "width")


GATED = """
#include <torch/extension.h>
template <typename T> __global__ void gated(const T* x, const float* gain, T* y, int n) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i] = (T)(gain[i] * (float)x[i]);
}
at::Tensor gate(at::Tensor x, at::Tensor gain) {
  auto y = at::empty_like(x);
  DISPATCH(x.scalar_type(), "gate", [&] {
    gated<scalar_t><<<(x.numel() + 127) / 128, 128>>>(
        x.data_ptr<scalar_t>(), gain.data_ptr<float>(), y.data_ptr<scalar_t>(), x.numel());
  });
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("gate", &gate); }
"""
GATES = """
import torch, gating
dtype = torch.bfloat16
x, gain = torch.randn(999, device="cuda").to(dtype), torch.randn(999, device="cuda")
gating.gate(x, gain)
"""


@pytest.mark.parametrize(
    ("dispatch", "dtype", "others"),
    [
        ("AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, ", "bfloat16", "float, double, half"),
        ("AT_DISPATCH_FLOATING_TYPES_AND_HALF(", "float32", "double, half"),
    ],
)
def test_a_dispatch_is_followed_with_the_type_that_a_caller_gives_if_it_takes_it(
    tmp_path: Path, dispatch: str, dtype: str, others: str
):
    files = {"gate.cu": GATED.replace("DISPATCH(", dispatch), "bench.py": GATES}
    draft = _draft(tmp_path, files, "gated")
    dtypes = {a.name: a.dtype for a in draft.arguments if a.is_buffer}
    assert dtypes == {"x": dtype, "gain": "float32", "y": dtype}
    assert any(note.endswith(f"; it takes {others} as well") for note in draft.assumed)


MEANS = """
#include <torch/extension.h>
__global__ void means(const long* begins, const long* columns, const float* rows, float* out, long count, long width) {
    const long row = blockIdx.x;
    for (long c = threadIdx.x; c < width; c += blockDim.x) {
        float sum = 0.f;
        for (long e = begins[row]; e < begins[row + 1]; ++e) sum += rows[columns[e] * width + c];
        out[row * width + c] = sum;
    }
}
at::Tensor mean_rows(at::Tensor begins, at::Tensor columns, at::Tensor rows) {
    const long count = begins.size(0) - 1, width = rows.size(1);
    auto out = at::empty({count, width}, rows.options());
    means<<<count, 64>>>(begins.data_ptr<int64_t>(), columns.data_ptr<int64_t>(), rows.data_ptr<float>(),
                         out.data_ptr<float>(), count, width);
    return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("mean_rows", &mean_rows); }
"""
BEGINS = """
import torch
from means import mean_rows

def test_means():
    nodes, edges, width = 300, 900, 24
    to = torch.randint(nodes, (edges,), device="cuda")
    begins = torch.zeros(nodes + 1, dtype=torch.int64, device="cuda")
    FILLED
    columns = torch.randint(nodes, (edges,), device="cuda")
    mean_rows(begins, columns, torch.randn(nodes, width, device="cuda"))
"""


@pytest.mark.parametrize(
    ("filled", "values"),
    [
        ("torch.cumsum(torch.bincount(to, minlength=nodes), 0, out=begins[1:])", "offsets(edges)"),
        ("begins[1:].copy_(torch.bincount(to, minlength=nodes).cumsum(0))", "offsets(edges)"),
        ("begins.add_(to)", "offsets(edges)"),
        ("begins.zero_()", "integers(0, 1)"),
        ("begins.cuda()", "integers(0, 1)"),
    ],
)
def test_zeros_that_are_written_to_are_none(tmp_path: Path, filled: str, values: str):
    files = {"means.cu": MEANS, "test_means.py": BEGINS.replace("FILLED", filled)}
    draft = _draft(tmp_path, files, "means", measure=True)
    assert draft.missing == () and draft.way == "test_means in test_means.py"
    assert {a.name: a.values for a in draft.arguments}["begins"] == values


PLANES = """
#include <torch/extension.h>
__global__ void add_up(const float* x, const float* y, float* out, int channels, int size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float total = 0.f;
    for (int c = 0; c < channels && i < size; ++c) total += x[c * size + i] * y[c * size + i];
    if (i < size) out[i] = total;
}
at::Tensor sum_planes(const at::Tensor& x, const at::Tensor& y) {
    const int C = x.size(0), size = x.size(1);
    auto out = at::empty({size}, x.options());
    add_up<<<(size + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), C, size);
    return out;
}
at::Tensor planes(const at::Tensor& x, const at::Tensor& y) { return sum_planes(x.contiguous(), y.contiguous()); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("planes", &planes); }
"""
ONE_PLANE = """
import torch
from planes_ext import planes

def test_planes():
    x = torch.randn(1, 300, device="cuda")
    planes(x, torch.randn_like(x))
"""


def test_an_extent_of_1_that_host_code_asks_for_is_a_size_of_its_own(tmp_path: Path) -> None:
    draft = _draft(tmp_path, {"csrc/planes.cu": PLANES, "tests/test_planes.py": ONE_PLANE}, "add_up")
    shapes = {a.name: a.shape for a in draft.arguments if a.shape is not None}
    numbers = {a.name: a.value for a in draft.arguments if a.shape is None}
    assert shapes == {"x": ("C", "d300"), "y": ("C", "d300"), "out": ("d300",)}
    assert (numbers, draft.dims) == ({"channels": "C", "size": "d300"}, {"C": 1, "d300": 300})


TIMED = {
    "events": """
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(20):
        fn()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / 20
""",
    "clock": """
    t0 = time.perf_counter()
    fn()
    torch.cuda.synchronize()
    return time.perf_counter() - t0
""",
    "timer": """
    return Timer(stmt="fn()", globals={"fn": fn}).blocked_autorange().median
""",
    "triton": """
    return do_bench(fn)
""",
}
BENCH = """
import time, torch
from torch.utils.benchmark import Timer
from triton.testing import do_bench
from picker.ops import take

def measure(fn):{how}
def run(count, vocabulary, width):
    table = torch.randn(vocabulary, width, device="cuda", dtype=torch.half)
    where = torch.randint(vocabulary, (count,), device="cuda")
    return measure(lambda: take(table, where))

if __name__ == "__main__":
    small = torch.randn(9, 20, device="cuda", dtype=torch.half)
    assert take(small, torch.arange(9, device="cuda")).shape == small.shape
    for count, vocabulary, width in [(4096, 32000, 1024), (65536, 50000, 2048)]:
        print(count, run(count, vocabulary, width))
"""


@pytest.mark.parametrize("how", TIMED)
def test_what_a_benchmark_times_is_timed_and_neither_its_check_nor_a_test(tmp_path: Path, how: str):
    files = {
        "csrc/pick.cu": PICK + BOUND,
        "picker/ops.py": WRAPPER,
        "tests/test_take.py": TEST,
        "benchmarks/bench_take.py": BENCH.format(how=TIMED[how]),
    }
    draft = _draft(tmp_path, files, "pick")
    assert draft.missing == ()
    assert draft.timed == (
        {"count": 65536, "width": 2048, "vocabulary": 50000},
        {"count": 4096, "width": 1024, "vocabulary": 32000},
    )
    assert draft.assumed[0] == "sizes are those that bench_take.py times"


def test_a_benchmark_alone_tells_all_its_sizes(tmp_path: Path):
    script = BENCH.format(how=TIMED["events"]).replace("in [(4096,", "in [(1, 1, 1), (5, 8, 0), (4096,")
    files = {"csrc/pick.cu": PICK + BOUND, "picker/ops.py": WRAPPER, "benchmarks/bench_take.py": script}
    draft = _draft(tmp_path, files, "pick")
    assert [sizes["count"] for sizes in draft.timed] == [65536, 4096], "no tensors without elements are timed"


WINDOW = """
#include <torch/extension.h>
__global__ void window(float* y, const float* x, int64_t width, int64_t taps, int64_t step) {
    float sum = 0.f;
    for (int64_t t = 0; t < taps; ++t) sum += x[blockIdx.x * width + threadIdx.x * step + t];
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
at::Tensor window_sums(const at::Tensor& x, std::vector<int64_t> taps, at::IntArrayRef step) {
    TORCH_CHECK(taps.size() == 1 && step.size() == 1);
    const int64_t places = (x.size(1) - taps[0]) / step[0] + 1;
    auto y = at::empty({x.size(0), places}, x.options());
    window<<<x.size(0), places>>>(y.data_ptr<float>(), x.data_ptr<float>(), x.size(1), taps[0], step[0]);
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("window_sums", &window_sums); }
"""


def test_numbers_of_lists_are_those_of_the_call(tmp_path: Path):
    test = """
import torch, _window

def test_sums():
    rows, width, taps = 6, 96, 5
    x = torch.randn(rows, width, device="cuda")
    _window.window_sums(x, [taps], (2,))
"""
    draft = _draft(tmp_path, {"window.cu": WINDOW, "test_window.py": test}, "window")
    assert draft.missing == ()
    assert {a.name: a.value for a in draft.arguments}["step"] == "2"
    assert draft.dims == {"rows": 6, "width": 96}
