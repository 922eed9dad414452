"""Which kernel is which: edits, renames, moves, copies, splits, templates, variants, launchers."""

from pathlib import Path

import pytest

from history.repositories import NAIVE, Step, make_repository
from kernel_lineage.history.mine import mine
from kernel_lineage.history.model import Lineage

KERNEL = """\
__global__ void row_sum(float* out, const float* inp, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N) {
        float total = 0.0f;
        for (int c = 0; c < C; c++) {
            total += inp[row * C + c];
        }
        out[row] = total;
    }
}
"""
WARP = """\
__global__ void {name}(float* out, const float* inp, int N, int C) {{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (row >= N) return;
    float total = 0.0f;
    for (int c = lane; c < C; c += 32) {{
        total += inp[row * C + c];
    }}
    for (int offset = 16; offset > 0; offset /= 2) {{
        total += __shfl_down_sync(0xffffffff, total, offset);
    }}
    if (lane == 0) out[row] = total;
}}
"""
LAUNCH = """\
void {name}(float* out, const float* inp, int N, int C) {{
    {kernel}<<<(N + 255) / 256, 256>>>(out, inp, N, C);
}}
"""
UNRELATED = """\
__global__ void histogram(int* bins, const unsigned char* pixels, int count) {
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < count; p += gridDim.x * blockDim.x) {
        atomicAdd(&bins[pixels[p]], 1);
    }
}
"""


def mined(folder: Path, *steps: Step) -> tuple[Lineage, ...]:
    make_repository(folder, steps)
    return mine(folder, use_cache=False).lineages


def edges(lineage: Lineage) -> list[tuple[str, str, str]]:
    by_id = {v.id: v for v in lineage.versions}
    return [(t.kind.value, by_id[t.before].symbol, by_id[t.after].symbol) for t in lineage.transitions]


SAME = Step("begin", {"a.cu": KERNEL})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"a.cu": KERNEL.replace("c++", "++c")}, ("edit", "row_sum", "row_sum")),
        ({"a.cu": KERNEL.replace("row_sum", "sum_rows")}, ("rename", "row_sum", "sum_rows")),
        ({"a.cu": None, "b.cu": KERNEL}, ("rename", "row_sum", "row_sum")),
        ({"a.cu": None, "b.cuh": KERNEL.replace("c++", "++c")}, ("rename", "row_sum", "row_sum")),
        ({"b.cu": KERNEL.replace("0.0f", "0.f")}, ("rename", "row_sum", "row_sum")),
        ({"a.cu": "template <class T>\n" + KERNEL.replace("float*", "T*")}, ("edit", "row_sum", "row_sum")),
        (
            {"a.cu": KERNEL + KERNEL.replace("row_sum", "row_sum_bias")},
            ("variant", "row_sum", "row_sum_bias"),
        ),
    ],
    ids=["edit", "rename", "move", "move with edits", "copy", "template", "split"],
)
def test_one_lineage_goes_on(tmp_path: Path, change: dict[str, str | None], expected: tuple[str, str, str]):
    (lineage,) = mined(tmp_path, SAME, Step("change", change))
    assert edges(lineage) == [expected]


def test_kernels_that_have_nothing_in_common_are_two_lineages(tmp_path: Path):
    assert len(mined(tmp_path, SAME, Step("another", {"b.cu": UNRELATED}))) == 2


def test_opposite_tasks_are_two_lineages_however_alike(tmp_path: Path):
    backward = KERNEL.replace("row_sum", "row_sum_backward")
    assert (
        len(mined(tmp_path, Step("both", {"a.cu": KERNEL.replace("row_sum", "row_sum_forward") + backward})))
        == 2
    )


def test_files_that_one_commit_brings_are_no_versions_of_each_other_by_a_few_lines(tmp_path: Path):
    """A collection of examples: what short kernels share says nothing of which came first."""
    one, other = NAIVE, NAIVE.replace("scale_kernel1", "negate").replace("inp[i] * factor", "-inp[i]")
    together = mined(tmp_path / "together", Step("kernels", {"a.cu": one, "b.cu": other}))
    assert [len(lineage.versions) for lineage in together] == [1, 1]
    steps = [Step("scale", {"a.cu": one}), Step("negate, from scale", {"b.cu": other})]
    assert [len(lineage.versions) for lineage in mined(tmp_path / "apart", *steps)] == [2]


def test_an_unchanged_kernel_in_a_changed_file_is_no_new_version(tmp_path: Path):
    (lineage, _) = mined(tmp_path, SAME, Step("beside", {"a.cu": KERNEL + UNRELATED}))
    assert len(lineage.versions) == 1


def test_numbered_kernels_of_a_file_are_one_lineage_in_order(tmp_path: Path):
    text = WARP.format(name="row_sum_kernel3") + KERNEL.replace("row_sum", "row_sum_kernel1")
    text += KERNEL.replace("row_sum", "row_sum_kernel2").replace("row * C + c", "c + row * C")
    (lineage,) = mined(tmp_path, Step("all", {"a.cu": text}))
    assert [v.symbol for v in lineage.versions] == ["row_sum_kernel1", "row_sum_kernel2", "row_sum_kernel3"]
    assert edges(lineage) == [
        ("variant", "row_sum_kernel1", "row_sum_kernel2"),
        ("variant", "row_sum_kernel2", "row_sum_kernel3"),
    ]


def test_a_numbered_launcher_numbers_kernels_that_have_no_number(tmp_path: Path):
    text = KERNEL + LAUNCH.format(name="rows1", kernel="row_sum")
    text += WARP.format(name="warp_rows") + LAUNCH.format(name="rows2", kernel="warp_rows")
    (lineage,) = mined(tmp_path, Step("all", {"a.cu": text}))
    assert edges(lineage) == [("variant", "row_sum", "warp_rows")]


def test_the_files_own_comment_explains_a_variant(tmp_path: Path):
    header = "/*\nversion 1 is one thread per row\nversion 2 uses a warp per row and shuffles\n*/\n"
    text = header + KERNEL.replace("row_sum", "sum_kernel1") + WARP.format(name="sum_kernel2")
    (lineage,) = mined(tmp_path, Step("all", {"a.cu": text}))
    assert "uses a warp per row and shuffles" in lineage.transitions[0].because
    assert "warp_shuffle" in lineage.transitions[0].added


def test_one_file_per_step_is_one_lineage(tmp_path: Path):
    files = {
        "k/01_naive.cu": KERNEL,
        "k/02_warp.cu": WARP.format(name="warp_sum"),
        "k/03_other.cu": UNRELATED,
    }
    lineage, other = mined(tmp_path, Step("all", files))
    assert edges(lineage) == [("variant", "row_sum", "warp_sum")]
    assert other.kernel == "histogram"


@pytest.mark.parametrize(
    ("one", "other"),
    [("sum_fp8", "sum_fp16"), ("sum_x2", "sum_x4"), ("sum_pass1", "sum_pass2"), ("sum_sm70", "sum_sm80")],
)
def test_a_number_that_names_something_else_is_no_step(tmp_path: Path, one: str, other: str):
    text = UNRELATED.replace("histogram", one) + KERNEL.replace("row_sum", other)
    assert len(mined(tmp_path, Step("all", {"a.cu": text}))) == 2


def test_a_variant_that_is_copied_into_a_header_goes_on_there(tmp_path: Path):
    first, second = KERNEL.replace("row_sum", "sum_kernel1"), WARP.format(name="sum_kernel2")
    (lineage,) = mined(
        tmp_path,
        Step("try variants", {"dev/sum.cu": first + second}),
        Step("use the second", {"lib/sum.cuh": second}),
        Step("mask", {"lib/sum.cuh": second.replace("0xffffffff", "~0u")}),
    )
    assert edges(lineage)[1:] == [
        ("rename", "sum_kernel2", "sum_kernel2"),
        ("edit", "sum_kernel2", "sum_kernel2"),
    ]


def test_a_changed_launch_is_a_new_version(tmp_path: Path):
    launch = LAUNCH.format(name="rows", kernel="row_sum")
    (lineage,) = mined(
        tmp_path,
        Step("add", {"a.cu": KERNEL + launch}),
        Step("tune", {"a.cu": KERNEL + launch.replace("256>", "128>")}),
    )
    assert edges(lineage) == [("edit", "row_sum", "row_sum")]


TRITON = """\
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n), mask=at < n)
"""
WRAPPER = """\
import torch
import triton
from ops.scale import scale_kernel


def scale(x):
    y = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
"""


def test_a_guard_in_a_wrapper_of_another_file_is_a_new_version_of_the_kernel(tmp_path: Path):
    guarded = WRAPPER.replace(
        "    y =", "    if torch.cuda.get_device_capability()[0] < 8:\n        return 2 * x\n    y ="
    )
    (lineage,) = mined(
        tmp_path,
        Step("add", {"ops/scale.py": TRITON, "api/scale.py": WRAPPER}),
        Step("guard", {"api/scale.py": guarded}),
    )
    (transition,) = lineage.transitions
    assert lineage.versions[-1].path == "ops/scale.py"
    assert any("get_device_capability" in g.expr for g in transition.guards_added)
    assert {part.path for part in transition.changed} == {"api/scale.py"}


def test_the_work_tree_is_the_last_version_where_it_differs(tmp_path: Path):
    make_repository(tmp_path, [SAME])
    assert mine(tmp_path).lineages[0].versions[-1].commit is not None
    (tmp_path / "a.cu").write_text(KERNEL.replace("c++", "++c"))
    (tmp_path / "new.cu").write_text(NAIVE)
    lineage, new = mine(tmp_path).lineages
    assert [v.commit is None for v in lineage.versions] == [False, True]
    assert new.versions[0].commit is None
    (tmp_path / "a.cu").write_text(KERNEL.replace("\n", "\r\n"))
    assert len(mine(tmp_path).lineages[0].versions) == 1
