"""Structures that host code makes by their constructors, or with braces that name their fields."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.model import Draft
from workloads.following.first_drafts import first_draft

SUMS = """
__global__ void sums(const float* x, float* out, int cols, float by) {
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += 32) s += x[blockIdx.x * cols + c];
  for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o);
  if (threadIdx.x == 0) out[blockIdx.x] = s * by;
}
"""
WORKSPACE = """
struct Workspace {
  at::Tensor out;
  int rows, cols;
  float by = 0.25f;
  Workspace(const Workspace&) = default;
  explicit Workspace(const at::Tensor& x, int width = 0)
      : out(at::empty({x.size(0)}, x.options())), rows(x.size(0)) {
    cols = width ? width : x.size(1);
  }
  float* sums() { return out.data_ptr<float>(); }
};
"""
TASK = """
struct Task { const float* x; float* out; int rows; int cols; float by = 0.75f; };
void launch(const Task& task) { sums<<<task.rows, 32>>>(task.x, task.out, task.cols, task.by); }
"""
USE = "sums<<<work.rows, 32>>>(x.data_ptr<float>(), work.sums(), work.cols, work.by);"
FIELDS = (
    ".x = x.data_ptr<float>(), .out = out.data_ptr<float>(), .rows = (int)x.size(0), .cols = (int)x.size(1)"
)


def _draft(folder: Path, structure: str, body: str) -> Draft:
    return first_draft(folder, f"{SUMS}{structure}at::Tensor run(at::Tensor x) {{ {body} }}", "sums")


def _passed(draft: Draft) -> dict[str, object]:
    return {a.name: a.value if a.kind == "scalar" else a.shape for a in draft.arguments}


@pytest.mark.parametrize(
    "made",
    [
        "Workspace work(x);",
        "Workspace work{x};",
        "auto work = Workspace(x);",
        "Workspace work = Workspace(x);",
    ],
)
def test_a_constructor_gives_the_fields(tmp_path: Path, made: str) -> None:
    draft = _draft(tmp_path, WORKSPACE, f"{made} {USE} return work.out;")
    assert (draft.missing, draft.grid) == ((), ("x_size_0",))
    assert _passed(draft) == {
        "x": ("x_size_0", "x_size_1"), "out": ("x_size_0",), "cols": "x_size_1", "by": "0.25"
    }  # fmt: skip


def test_a_copy_has_the_fields_of_the_first(tmp_path: Path) -> None:
    draft = _draft(
        tmp_path, WORKSPACE, f"Workspace first(x, 48); Workspace work(first); {USE} return work.out;"
    )
    assert _passed(draft)["cols"] == "48"


def test_a_constructor_that_is_not_the_only_one_gives_nothing(tmp_path: Path) -> None:
    draft = _draft(tmp_path, WORKSPACE, f"Workspace work(x, 4, 5); {USE} return work.out;")
    assert draft.grid == ()
    assert draft.missing


@pytest.mark.parametrize(
    "call",
    [
        f"Task task = {{{FIELDS}}}; launch(task);",
        f"Task task{{{FIELDS}}}; launch(task);",
        f"launch({{{FIELDS}}});",
        f"launch(Task{{{FIELDS}}});",
        f"auto task = Task{{{FIELDS}}}; launch(task);",
    ],
)
def test_braces_name_the_fields(tmp_path: Path, call: str) -> None:
    draft = _draft(tmp_path, TASK, f"auto out = at::empty({{x.size(0)}}, x.options()); {call} return out;")
    assert (draft.missing, len(draft.grid)) == ((), 1)
    rows, passed = draft.grid[0], _passed(draft)
    assert passed["out"] == (rows,)
    assert passed["x"] == (rows, passed["cols"])
    assert passed["by"] == "0.75"


def test_a_field_that_the_structure_does_not_have_gives_nothing(tmp_path: Path) -> None:
    draft = _draft(tmp_path, TASK, f"Task task = {{{FIELDS}, .other = 3}}; launch(task); return x;")
    assert draft.grid == ()


BUFFERS = """
template <typename T>
class Memory {
 public:
  explicit Memory(size_t count) : count(count) { cudaMalloc(&data, count * sizeof(T)); }
  ~Memory() { cudaFree(data); }
  T* get() { return data; }
  T* at(size_t count) { return data + count; }
  size_t count;
  T* data = nullptr;
};
int main() {
  int rows = 300, cols = 70;
  Memory<float> x(rows * cols), out(rows);
  sums<<<rows, 32>>>(x.get(), OUT, cols, 0.5f);
}
"""


@pytest.mark.parametrize(
    ("out", "extent"), [("out.data", "rows"), ("out.get()", "rows"), ("out.at(cols)", "rows - cols")]
)
def test_a_class_template_keeps_memory_of_its_own(tmp_path: Path, out: str, extent: str) -> None:
    draft = first_draft(tmp_path, SUMS + BUFFERS.replace("OUT", out), "sums")
    passed = _passed(draft)
    assert (passed["x"], passed["out"], draft.missing) == (("rows", "cols"), (extent,), ())


OPTIONS = """
struct Options { int rows = 300; int cols = 70; float by = 0.25f; bool check; };
Options parsed(int argc, char** argv) {
  DECLARED
  for (int i = 1; i + 1 < argc; i += 2)
    if (std::string(argv[i]) == "--rows") options.rows = atoi(argv[i + 1]);
  return options;
}
int main(int argc, char** argv) {
  Options options = parsed(argc, argv);
  float *x, *out;
  cudaMalloc(&x, options.rows * options.cols * sizeof(float));
  cudaMalloc(&out, options.rows * sizeof(float));
  sums<<<options.rows, 32>>>(x, out, options.cols, options.by);
}
"""


def test_a_pointer_that_a_function_of_elsewhere_is_handed_is_not_null(tmp_path: Path) -> None:
    source = SUMS + BUFFERS.replace("cudaMalloc(&data", "allocate(&data").replace("OUT", "out.get()")
    draft = first_draft(tmp_path, source, "sums")
    assert {m.partition(":")[0] for m in draft.missing} == {"the shape of x", "the shape of out"}


@pytest.mark.parametrize("declared", ["Options options;", "Options options{};", "Options options = {};"])
def test_a_structure_is_made_of_what_it_says_of_its_fields(tmp_path: Path, declared: str) -> None:
    draft = first_draft(tmp_path, SUMS + OPTIONS.replace("DECLARED", declared), "sums")
    assert draft.dims == {"rows": 300, "cols": 70}
    assert _passed(draft) == {"x": ("rows", "cols"), "out": ("rows",), "cols": "cols", "by": "0.25"}


SOLVER = """
class Solver {
 public:
  Solver(int rows, int cols) : rows_(rows), cols_(cols) {
    for (auto** p : {&x_, &out_}) cudaMalloc(p, rows_ * cols_ * sizeof(float));
  }
  void run() { sums<<<rows_, 32>>>(x_, out_, cols_, 0.5f); }
 private:
  int rows_, cols_;
  float *x_ = nullptr, *out_ = nullptr;
};
int main() { Solver solver(300, 70); for (int i = 0; i < 10; ++i) solver.run(); }
"""


def test_numbers_that_a_constructor_is_handed_are_sizes_where_a_method_launches(tmp_path: Path) -> None:
    draft = first_draft(tmp_path, SUMS + SOLVER, "sums")
    assert draft.dims == {"rows": 300, "cols": 70}
    assert (_passed(draft)["x"], _passed(draft)["cols"]) == (("rows", "cols"), "cols")


def test_numbers_that_a_constructor_of_memory_is_handed_are_no_sizes(tmp_path: Path) -> None:
    source = SUMS + BUFFERS.replace("x(rows * cols), out(rows)", "x(21000), out(300)")
    draft = first_draft(tmp_path, source.replace("OUT", "out.get()"), "sums")
    assert (_passed(draft)["x"], _passed(draft)["out"]) == (("21000",), ("300",))
