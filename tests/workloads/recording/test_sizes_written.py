"""The sizes that host code writes out, and numbers that are none."""

from __future__ import annotations

from kernel_lineage.workloads.recording.sizes_written import with_sizes


def sizes(text: str) -> dict[str, int]:
    return with_sizes(text)[1]


def test_constants_of_host_variables_calls_and_macros_are_sizes():
    text = """
#define ROWS 300
void run(int count, float by);
void run(int count, float by) {}
int main() {
  const int cols = 1 << 10;
  int left;
  left = 3 * 7;
  dim3 extents(40, 50);
  run(4096, 2.5f);
  int rows = ROWS;
  int depth = argc > 2 ? atoi(argv[2]) : 1 << 6;
}
"""

    assert sizes(text) == {
        "ROWS": 300,
        "cols": 1024,
        "left": 21,
        "extents_0": 40,
        "extents_1": 50,
        "count": 4096,
        "depth": 64,
    }


def test_what_a_compiler_or_the_device_needs_stays_a_number():
    text = """
#define TILE 16
#define LENGTH 64
constexpr int kept = 128;
const int on_device = 9;
template <int N> void tell() {}
__global__ void k(float* x) { __shared__ float s[TILE]; x[0] = s[0] + on_device; int inner = 77; }
int main() {
  float h[LENGTH];
  int threads = 256;
  tell<12>();
  for (int i = 5; i < 10; ++i) {}
  double scale = 44;
  k<<<1, threads>>>(h);
  dim3 wide(96);
  cudaLaunchCooperativeKernel((void*)k, 1, wide, arguments, 0, 0);
}
"""

    assert sizes(text) == {}


def test_what_structures_are_made_with_are_sizes():
    text = """
struct Config { int rows = 512; float eps = 1e-5f; int width{96}; static const int kept = 7; };
struct Tile { int side = 16; };
struct Problem { unsigned tokens, hidden; float rate; };
void run(const Problem& p) {}
__global__ void k(float* x) { Tile t; x[0] = t.side; }
int main() {
  Config config;
  Problem first = {17, 256, 2};
  run(Problem{64, 40});
}
"""
    changed, names = with_sizes(text)
    assert names == {"rows": 512, "width": 96, "tokens": 17, "hidden": 256, "tokens_2": 64, "hidden_2": 40}
    assert '{((unsigned)klineage_size("tokens", 17)), ' in changed


def test_what_a_function_is_asked_for_with_a_default_is_a_size():
    text = """
int integer(const char* name, int fallback) { return fallback; }
struct Extents { int nx, ny; int rank[2]; unsigned size[3]; };
int main(int argc, char** argv) {
  Args args(argc, argv);
  const int n = integer("rows", 4096);
  const auto k = args.integer("dim", 6);
  const size_t count = size_t(1) << 24, more = static_cast<size_t>(3) << 10;
  const Extents e{args.integer("nx", 96), args.integer("ny", 72), {2, 1}, {256, 320, 384}};
  unsigned state = state * 1664525 + 1013904223;
  std::mt19937 rng(31337);
}
"""
    assert sizes(text) == {
        "n": 4096,
        "k": 6,
        "count": 1 << 24,
        "more": 3 << 10,
        "nx": 96,
        "ny": 72,
        "size_0": 256,
        "size_1": 320,
        "size_2": 384,
    }


def test_the_changed_text_asks_for_the_size_by_its_name():
    text, _ = with_sizes("int main() { int n = 1 << 4; }\n")

    assert 'int n = ((decltype(1 << 4))klineage_size("n", 1 << 4));' in text


def test_one_name_with_two_values_is_two_sizes():
    assert sizes("void f() { int n = 5; }\nint main() { int n = 6; }\n") == {"n": 5, "n_2": 6}


def test_fields_that_are_set_are_sizes_by_their_names():
    header = (
        "struct Box { int deep, flat; }; struct Work { Box box; int items; float by; Box* next; int* data; };"
    )
    text = """
int main() {
  Work work, *other = &work;
  work.items = 640;
  other->box = {24, 31};
  work.by = 3;
  work.unknown = 77;
}
"""
    assert with_sizes(text, header + text)[1] == {"items": 640, "deep": 24, "flat": 31}
    assert sizes(text) == {}, "nothing tells what the fields are"


def test_the_largest_case_of_a_test_comes_first_and_has_sizes():
    text = """
struct Shape { int rows; size_t cols; float eps; };
const std::vector<Shape> kShapes = {{1, 128, 1e-5f}, {40, 300, 1e-5f}};
class Sum : public testing::TestWithParam<Shape> {};
TEST_P(Sum, Agrees) { auto shape = GetParam(); run(shape.rows, shape.cols); }
INSTANTIATE_TEST_SUITE_P(All, Sum, testing::ValuesIn(kShapes));
class Product : public testing::TestWithParam<std::tuple<int, int, int>> {};
TEST_P(Product, Agrees) { const auto& [M, N, K] = GetParam(); run(M, N, K); }
INSTANTIATE_TEST_SUITE_P(All, Product, testing::Values(std::make_tuple(16, 16, 16), std::make_tuple(33, 65, 17)));
class Fill : public testing::TestWithParam<std::tuple<int, bool>> {};
TEST_P(Fill, Agrees) { int length = std::get<0>(GetParam()); run(length, std::get<1>(GetParam())); }
INSTANTIATE_TEST_SUITE_P(All, Fill, testing::Combine(testing::Values(1, 900), testing::Bool()));
class Copy : public testing::TestWithParam<int> { void SetUp() override { count = GetParam(); } int count; };
INSTANTIATE_TEST_CASE_P(All, Copy, testing::Values(1, 1 << 20, 100));
constexpr int kFixed[] = {3, 700};
INSTANTIATE_TEST_SUITE_P(Fixed, Copy, testing::ValuesIn(kFixed));
"""
    changed, named = with_sizes(text)

    assert named == {
        "rows": 40, "cols": 300, "M": 33, "N": 65, "K": 17, "length": 900, "count": 1 << 20,
    }  # fmt: skip
    assert (
        '{{((int)klineage_size("rows", 40)), ((size_t)klineage_size("cols", 300)), 1e-5f}, {1, 128, 1e-5f}}'
        in changed
    )
    assert changed.count("std::make_tuple(16, 16, 16)));") == 1
