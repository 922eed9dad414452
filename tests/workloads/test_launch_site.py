"""The launch that host code computes, read over the arguments of a workload."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.expressions import evaluate, evaluate_int
from kernel_gate.program import LaunchStep, MemsetStep, Program, Value
from kernel_gate.workload import Workload, parse_workload
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.programs import ProgramError, program_from_file

_KERNEL = """\
__global__ void scale(float* y, const float* x, int count, float a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] = a * x[i];
}
"""
_WORKLOAD = """\
kernel = "scale"
language = "cuda"
[dims]
n = [1, 1000]
[[args]]
name = "y"
kind = "output"
dtype = "float32"
shape = ["n"]
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = ["n"]
[[args]]
name = "count"
kind = "scalar"
dtype = "int32"
value = "n"
[[args]]
name = "a"
kind = "scalar"
dtype = "float32"
value = "0.5"
[launch]
grid = ["ceil_div(n, 7)"]
block = [7]
"""


def _launch_at(text: str, n: int, path: Path, changed_from: str | None = None) -> tuple[int, ...]:
    """Grid and block at a size, as the program has them."""
    workload: Workload = parse_workload(_WORKLOAD)
    before = changed_from.encode() if changed_from is not None else None
    program = program_from_file(
        path / "scale.cu", "scale", workload, data=text.encode(), root=path, changed_from=before
    )
    launch = program.launch or workload.launch.spec()
    return tuple(evaluate_int(t, {"n": n, "count": n}) for t in (*launch.grid, *launch.block))


_MEMBERS = """\
void go(float* y, const float* x, int m) {
    dim3 threads(128); dim3 tiles((m + threads.x - 1) / threads.x);
    scale<<<tiles, threads>>>(y, x, m, 0.5f);
}
"""
_ASSIGNED = """\
void go(float* y, const float* x, int m) {
    dim3 tiles; tiles.x = (m - 1) / 64 + 1; tiles.y = 1; tiles.z = 1;
    scale<<<tiles, 64>>>(y, x, m, 0.5f);
}
"""
_THROUGH_A_FUNCTION = """\
static int tiles_for(int items, int per) { return items / per + (items % per != 0); }
void go(float* y, const float* x, int m) {
    const int per = 1 << 8; const auto launch = dim3(tiles_for(m, per));
    scale<<<launch, per>>>(y, x, m, 0.5f);
}
"""
_OF_A_STRUCT = """\
struct Shape { int width; };
void go(float* y, const float* x, Shape s) {
    unsigned per = 32u; unsigned tiles = (s.width + per - 1u) / per;
    scale<<<tiles, per>>>(y, x, s.width, 0.5f);
}
"""


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        (_MEMBERS, (8, 128)),
        (_ASSIGNED, (16, 64)),
        (_THROUGH_A_FUNCTION, (4, 256)),
        (_OF_A_STRUCT, (32, 32)),
    ],
)
def test_a_launch_is_read_by_what_the_host_code_computes(
    host: str, expected: tuple[int, ...], tmp_path: Path
) -> None:
    assert _launch_at(_KERNEL + host, 1000, tmp_path) == expected


def test_a_launch_that_differs_by_size_is_not_read_as_one(tmp_path: Path) -> None:
    host = (
        "void go(float* y, const float* x, int m) {\n"
        "    int per; if (m > 500) { per = 512; } else { per = 64; }\n"
        "    scale<<<(m + per - 1) / per, per>>>(y, x, m, 0.5f);\n}"
    )
    assert _launch_at(_KERNEL + host, 1000, tmp_path) == (143, 7)


_ROWS = "void go(float* y, const float* x, int tiles, int m) {{\n    scale<<<{grid}, 7>>>(y, x, m, 0.5f);\n}}"


def test_what_a_name_stands_for_is_taken_from_the_launch_before_the_change(tmp_path: Path) -> None:
    before = _KERNEL + _ROWS.format(grid="tiles")
    after = _KERNEL + _ROWS.format(grid="(tiles + 3) / 4")
    assert _launch_at(before, 1000, tmp_path) == (143, 7)
    assert _launch_at(after, 1000, tmp_path, changed_from=before) == (36, 7)


def test_a_changed_launch_that_cannot_be_read_is_not_judged_by_another(tmp_path: Path) -> None:
    before = _KERNEL + _ROWS.format(grid="tiles")
    after = _KERNEL + _ROWS.format(grid="ask_the_device(tiles)")
    with pytest.raises(ProgramError, match="launch of `scale` is changed"):
        _launch_at(after, 1000, tmp_path, changed_from=before)
    assert _launch_at(after, 1000, tmp_path) == (143, 7), "without a change the workload says the launch"


def test_a_count_may_have_a_name_that_python_keeps_for_itself(tmp_path):
    text = _KERNEL + (
        "void run(float* y, const float* x, int in) { dim3 grid((in + 255) / 256);\n"
        "  scale<<<grid, 256>>>(y, x, in, 2.0f); }\n"
    )
    assert _launch_at(text, 1000, tmp_path) == (4, 256)
    renamed = text.replace("count", "in")
    workload = parse_workload(_WORKLOAD.replace('"count"', '"in"'))
    program = program_from_file(
        tmp_path / "scale.cu", "scale", workload, data=renamed.encode(), root=tmp_path
    )
    assert program.launch is not None and evaluate_int(program.launch.grid[0], {"in": 1000}) == 4


_IN_MAIN = """\
int main() {
    CONST int count = 1 << 20;
    float *y, *x;
    cudaMalloc(&y, count * sizeof(float)); cudaMalloc(&x, count * sizeof(float));
    CONST int tpb = 64;
    const int blocks = (int)((count + tpb - 1) / tpb);
    for (int step = 0; step < 3; ++step) scale<<<blocks, tpb>>>(y, x, count, 0.5f);
}
"""


@pytest.mark.parametrize("const", ["", "const", "constexpr"])
@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("<<<blocks,", "<<<(blocks + 3) / 4,", (4, 64)),
        ("<<<blocks, tpb", "<<<blocks * tpb, 256", (1024, 256)),
        ("tpb = 64", "tpb = 32", (32, 32)),
        (
            "blocks = (int)((count + tpb - 1) / tpb)",
            "each = 4 * tpb, blocks = (count + each - 1) / each",
            (4, 64),
        ),
    ],
)
def test_numbers_of_threads_of_a_main_are_no_sizes(
    const: str, before: str, after: str, expected: tuple[int, int], tmp_path: Path
) -> None:
    old = _KERNEL + _IN_MAIN.replace("CONST", const)
    assert _launch_at(old, 1000, tmp_path) == (16, 64)
    assert _launch_at(old.replace(before, after), 1000, tmp_path, old) == expected


def test_a_launch_of_a_sequence_is_read_beside_numbers_that_are_no_sizes(tmp_path: Path) -> None:
    listed = '[[launches]]\nkernel = "scale"\narguments = ["y", "x", "count", "a"]\n'
    workload = parse_workload(_WORKLOAD.replace("[launch]\n", listed))
    old = _KERNEL + _IN_MAIN.replace("CONST", "const").replace("tpb = 64", "tpb = 7").replace("0.5f", "a")
    old = old.replace("float *y, *x;", "float *y, *x; const float a = 0.5f;")
    new = old.replace("<<<blocks,", "<<<(blocks + 3) / 4,")
    program = program_from_file(
        tmp_path / "scale.cu", "scale", workload, data=new.encode(), root=tmp_path, changed_from=old.encode()
    )
    (step,) = program.steps
    assert isinstance(step, LaunchStep)
    assert evaluate_int(step.launch.grid[0], {"n": 1000, "count": 1000}) == 36


def test_a_change_may_give_a_kernel_numbers_that_its_launch_tells(tmp_path: Path) -> None:
    new = _KERNEL.replace("float a)", "float a, int rounds)") + (
        "void run(float* y, const float* x, int n) {\n"
        "    scale<<<(n + 127) / 128, 128>>>(y, x, n, 0.5f, (n + 31) / 32);\n}\n"
    )
    workload = parse_workload(_WORKLOAD)
    program = program_from_file(tmp_path / "scale.cu", "scale", workload, data=new.encode(), root=tmp_path)
    (step,) = program.steps
    assert isinstance(step, LaunchStep)
    assert step.arguments[:4] == ("y", "x", "count", "a")
    (rounds,) = step.arguments[4:]
    assert isinstance(rounds, Value)
    assert (evaluate_int(rounds.value, {"n": 1000, "count": 1000}), rounds.dtype) == (32, "int32")
    unread = new.replace("(n + 31) / 32", "asked(y)")
    with pytest.raises(ProgramError, match="takes 5 arguments"):
        program_from_file(tmp_path / "scale.cu", "scale", workload, data=unread.encode(), root=tmp_path)


def test_a_change_may_take_numbers_from_a_kernel(tmp_path: Path) -> None:
    old = _KERNEL + (
        "void run(float* y, const float* x, int n) {\n"
        "    cudaMemset(y, 0, n * sizeof(float));\n"
        "    scale<<<(n + 127) / 128, 128>>>(y, x, n, 0.5f);\n}\n"
    )
    new = (
        old.replace("(float* y, const float* x, int count, float a)", "(const float* x, int count, float* y)")
        .replace("a * x", "0.5f * x")
        .replace("(n + 127) / 128, 128>>>(y, x, n, 0.5f)", "(n + 255) / 256, 256>>>(x, n, y)")
    )
    workload, path = parse_workload(_WORKLOAD), tmp_path / "scale.cu"

    def changed(text: str) -> Program:
        return program_from_file(
            path, "scale", workload, data=text.encode(), root=tmp_path, changed_from=old.encode()
        )

    program = changed(new)
    assert program.arguments == ("x", "count", "y") and not program.steps
    assert program.launch is not None and program.launch.block == ("256",)
    more = changed(
        new.replace("int count, float* y", "int half, float* y").replace("(x, n, y)", "(x, n / 2, y)")
    )
    (step,) = more.steps
    assert isinstance(step, LaunchStep)
    assert step.arguments[::2] == ("x", "y") and isinstance(step.arguments[1], Value)
    renamed = changed(new.replace("int count, float* y", "int half, float* out"))
    (clears, step) = renamed.steps
    assert isinstance(clears, MemsetStep) and isinstance(step, LaunchStep)
    assert step.arguments == ("x", "count", "y")
    with pytest.raises(ProgramError, match=r"make them agree; `run`, line \d+: .*`asked\(\)`"):
        changed(new.replace("int count, float* y", "int half, float* out").replace("n, y)", "n, asked(y))"))


@pytest.mark.parametrize(
    ("passed", "number"),
    [("0.25f", 0.25), ("2.0f * 0.5f", 1.0), ("0.5f", None), ("1.0f / (float)n", 0.001)],
)
def test_a_change_may_pass_another_number(tmp_path: Path, passed: str, number: float | None) -> None:
    old = _KERNEL + (
        "void run(float* y, const float* x, int n) {\n"
        "    scale<<<(n + 127) / 128, 128>>>(y, x, n, 0.5f);\n}\n"
    )
    new = old.replace("n, 0.5f", f"n, {passed}")
    program = program_from_file(
        tmp_path / "scale.cu",
        "scale",
        parse_workload(_WORKLOAD),
        data=new.encode(),
        root=tmp_path,
        changed_from=old.encode(),
    )
    values = [a for step in program.steps if isinstance(step, LaunchStep) for a in step.arguments]
    numbers = [
        evaluate(a.value, {"n": 1000, "count": 1000, "a": 0.5}) for a in values if isinstance(a, Value)
    ]
    assert numbers == ([] if number is None else [pytest.approx(number)])


def test_a_changed_launch_of_a_kernel_that_takes_a_structure_is_read(tmp_path: Path) -> None:
    listed = '[[launches]]\nkernel = "scale"\narguments = ["y", "x", "s_count", "s_a"]\n'
    text = _WORKLOAD.replace("[launch]\n", listed).replace('"count"', '"s_count"').replace('"a"', '"s_a"')
    old = "struct Scaled { int count; float a; };\n" + _KERNEL.replace("int count, float a", "Scaled s")
    old = old.replace("i < count", "i < s.count").replace("a * x", "s.a * x") + (
        "void run(float* y, const float* x, const Scaled& s) {\n"
        "    scale<<<(s.count + 6) / 7, 7>>>(y, x, s);\n}\n"
    )
    new = old.replace("<<<(s.count + 6) / 7, 7>>>", "<<<std::min<int>((s.count + 63) / 64, 8), 64>>>")
    program = program_from_file(
        tmp_path / "scale.cu",
        "scale",
        parse_workload(text),
        data=new.encode(),
        root=tmp_path,
        changed_from=old.encode(),
    )
    (step,) = program.steps
    assert isinstance(step, LaunchStep)
    grids = [evaluate_int(step.launch.grid[0], {"n": n, "s_count": n}) for n in (65, 1000)]
    assert (grids, step.launch.block) == ([2, 8], ("64",))


def test_a_changed_launch_is_read_where_two_structures_of_a_main_have_other_sizes(tmp_path: Path) -> None:
    listed = '[[launches]]\nkernel = "scale"\narguments = ["y", "x", "s_count", "s_a", "t_count", "t_a"]\n'
    text = _WORKLOAD.replace("[launch]\n", listed).replace('"count"', '"s_count"').replace('"a"', '"s_a"')
    for name, dtype, value in (("t_count", "int32", "2 * n"), ("t_a", "float32", "0.5")):
        text += f'\n[[args]]\nname = "{name}"\nkind = "scalar"\ndtype = "{dtype}"\nvalue = "{value}"\n'
    old = "struct Scaled { int count; float a; };\n" + _KERNEL.replace(
        "int count, float a", "Scaled s, Scaled t"
    )
    old = old.replace("i < count", "i < s.count").replace("a * x", "s.a * t.a * x") + (
        "int main() {\n    Scaled s{4096, 0.5f}, t{8192, 0.5f};\n    float *x, *y;\n"
        "    cudaMalloc(&x, s.count * 4); cudaMalloc(&y, s.count * 4);\n"
        "    scale<<<(t.count + 13) / 14, 7>>>(y, x, s, t);\n}\n"
    )
    new = old.replace("<<<(t.count + 13) / 14, 7>>>", "<<<(t.count + 127) / 128, 64>>>")
    program = program_from_file(
        tmp_path / "scale.cu",
        "scale",
        parse_workload(text),
        data=new.encode(),
        root=tmp_path,
        changed_from=old.encode(),
    )
    (step,) = program.steps
    assert isinstance(step, LaunchStep)
    grids = [evaluate_int(step.launch.grid[0], {"n": n, "s_count": n, "t_count": 2 * n}) for n in (65, 1000)]
    assert (grids, step.launch.block) == ([2, 16], ("64",))


_OF_TYPES = "template <typename T> " + _KERNEL.replace("float", "T")
_OF_ANY_TYPE = (
    "template <typename U> void go(U* y, const U* x, int m) { scale<U><<<m, 64>>>(y, x, m, (U)2); }\n"
)


@pytest.mark.parametrize(
    ("caller", "type_"),
    [
        ("void all(double* y, double* x, int m) { go<double>(y, x, m); }", "double"),
        ("int main() { half *x, *y; cudaMalloc(&x, 4096); cudaMalloc(&y, 4096); go(y, x, 99); }", "half"),
        ("", "float"),
    ],
)
def test_a_template_is_launched_with_the_types_of_the_call_of_its_launcher(tmp_path, caller, type_):
    data = (_OF_TYPES + _OF_ANY_TYPE + caller).encode()
    program = program_from_file(
        tmp_path / "scale.cu", "scale", parse_workload(_WORKLOAD), data=data, root=tmp_path
    )
    assert program.template_arguments == (type_,)


def test_a_changed_launch_is_read_where_all_sizes_are_written_into_a_structure(tmp_path: Path) -> None:
    listed = '[[launches]]\nkernel = "scale"\narguments = ["y", "x", "s_count", "s_a"]\n'
    text = _WORKLOAD.replace("[launch]\n", listed).replace('"count"', '"s_count"').replace('"a"', '"s_a"')
    old = "struct Scaled { int count; float a; };\n" + _KERNEL.replace("int count, float a", "Scaled s")
    old = old.replace("i < count", "i < s.count").replace("a * x", "s.a * x") + (
        "int main() {\n    Scaled s;\n    s.count = 5000;\n    s.a = 0.5f;\n    float *x, *y;\n    int threads = 7;\n"
        "    cudaMalloc(&x, s.count * sizeof(float));\n    cudaMalloc(&y, s.count * sizeof(float));\n"
        "    unsigned blocks = (s.count + threads - 1) / threads;\n    scale<<<blocks, threads>>>(y, x, s);\n}\n"
    )
    new = old.replace("<<<blocks,", "<<<blocks < 100 ? blocks : 100,")
    program = program_from_file(
        tmp_path / "scale.cu",
        "scale",
        parse_workload(text),
        data=new.encode(),
        root=tmp_path,
        changed_from=old.encode(),
    )
    (step,) = program.steps
    assert isinstance(step, LaunchStep)
    assert [evaluate_int(step.launch.grid[0], {"n": n, "s_count": n}) for n in (70, 1000)] == [10, 100]


WHOLE = """\
__global__ void doubled(float* x, int rows, int cols) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < rows * cols) x[at] *= 2;
}
void run(float* x, int rows, int cols) { doubled<<<(rows * cols + 127) / 128, 128>>>(x, rows, cols); }
int main() { int rows = 40, cols = 500; float* x; cudaMalloc(&x, rows * cols * 4); run(x, rows, cols); }
"""
BY_ROWS = (
    WHOLE.replace("float* x, int rows, int cols) {\n  int at", "float* x, int cols) {\n  int at")
    .replace("blockIdx.x * blockDim.x + threadIdx.x", "blockIdx.x * cols + threadIdx.x")
    .replace("if (at < rows * cols) x[at]", "for (; at < (blockIdx.x + 1) * cols; at += blockDim.x) x[at]")
    .replace("<<<(rows * cols + 127) / 128, 128>>>(x, rows, cols)", "<<<rows, 128>>>(x, cols)")
)


def test_a_launch_for_few_elements_is_not_that_of_a_workload_of_many(tmp_path: Path) -> None:
    path = tmp_path / "rows.cu"
    path.write_text(
        WHOLE.replace("{ doubled", "{ if (rows == 1) { doubled<<<1, 128>>>(x, 1, cols); return; } doubled")
    )
    workload = draft_of(kernel_of(path, "doubled"), path).workload()
    assert workload.dims["rows"] != (1,)
    program = program_from_file(path, "doubled", workload)
    assert program.launch is not None and program.launch.grid == ("(rows * cols + 127) // 128",)


def test_a_grid_that_is_a_dim_of_the_workload_is_not_the_grid_before(tmp_path: Path) -> None:
    path = tmp_path / "rows.cu"
    path.write_text(WHOLE)
    workload = draft_of(kernel_of(path, "doubled"), path).workload()
    after = program_from_file(path, "doubled", workload, data=BY_ROWS.encode(), changed_from=WHOLE.encode())
    assert after.launch is not None and after.launch.grid == ("rows",)
    assert after.arguments == ("x", "cols")


SCALED = """\
__global__ void scaled(float* x, int n, float by) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < n) x[at] *= by;
}
void run(float* x, int n) { scaled<<<(n + 127) / 128, 128>>>(x, n, 2.0f); }
int main() { int n = 5000; float* x; cudaMalloc(&x, n * 4); run(x, n); }
"""


def test_a_change_that_moves_arguments_to_other_places_is_not_read_by_places(tmp_path: Path) -> None:
    path = tmp_path / "scaled.cu"
    path.write_text(SCALED)
    workload = draft_of(kernel_of(path, "scaled"), path).workload()
    other = SCALED.replace("int n, float by", "const float* factor, int n").replace("*= by", "*= *factor")
    other = other.replace("(x, n, 2.0f)", "(x, table(n), n)")
    with pytest.raises(ProgramError, match=r"the launch of `scaled` is changed|takes 3 arguments"):
        program_from_file(path, "scaled", workload, data=other.encode(), changed_from=SCALED.encode())
