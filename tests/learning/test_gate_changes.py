"""`gate --since`: which kernels a change touched, each old version against its new one, and what of the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from git import Actor, Repo

import merged_kernels
import two_kernels
from kernel_gate.reasons import Reason
from kernel_gate.standing import ExitCode, Standing, worst
from kernel_gate.verdict import Outcome
from kernel_lineage.history.git import RepositoryError, open_repository
from kernel_lineage.history.trees import trees
from kernel_lineage.learning.changed_kernels import changes_between
from kernel_lineage.learning.gate_changes import Judge, KernelVerdict, gate_changes
from two_kernels import WORKLOAD

HEADER = "#define FACTOR 2.0f\n#define OTHER 1\n"
KERNELS = two_kernels.KERNELS.replace('"twice.cuh"', '"factor.h"').replace("twice(x[i])", "FACTOR * x[i]")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "kernels.cu").write_text(KERNELS)
    (tmp_path / "factor.h").write_text(HEADER)
    (tmp_path / ".klineage" / "workloads").mkdir(parents=True)
    (tmp_path / ".klineage" / "workloads" / "scale.toml").write_text(WORKLOAD)
    commit(tmp_path)
    return tmp_path


def commit(top: Path) -> None:
    repo = Repo.init(top)
    repo.git.add("-A")
    someone = Actor("A", "a@example.org")
    repo.index.commit("state", author=someone, committer=someone)
    repo.close()


def edit(top: Path, old: str, new: str, file: str = "kernels.cu") -> None:
    text = (top / file).read_text()
    assert old in text
    (top / file).write_text(text.replace(old, new))


def changed(top: Path, since: str = "HEAD", files: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    with trees(open_repository(top), since) as (before, after):
        return [
            (c.before.kernel.name, c.after.kernel.name)
            for c in changes_between(before, after, files, whole=False).changed
        ]


@pytest.mark.parametrize(
    ("old", "new", "file", "expected"),
    [
        ("FACTOR * x[i]", "x[i] * FACTOR", "kernels.cu", [("scale", "scale")]),
        ("FACTOR 2.0f", "FACTOR 3.0f", "factor.h", [("scale", "scale")]),
        ("shift<<<(n + 127) / 128, 128", "shift<<<(n + 63) / 64, 64", "kernels.cu", [("shift", "shift")]),
        ("shift", "translate", "kernels.cu", []),
        ("x[i] + 1.0f", "x[i] + 1.5f", "kernels.cu", [("shift", "shift")]),
        ("int i = blockIdx.x", "int i  =  blockIdx.x /* the element */", "kernels.cu", []),
        ("OTHER 1", "OTHER 2", "factor.h", []),
    ],
    ids=["body", "macro-of-a-header", "launch", "only-renamed", "value", "only-comments", "unused-macro"],
)
def test_a_kernel_is_changed_when_what_it_computes_with_is(
    top: Path, old: str, new: str, file: str, expected: list[tuple[str, str]]
) -> None:
    edit(top, old, new, file)
    assert changed(top) == expected


def test_a_renamed_and_edited_kernel_is_compared_with_what_it_was(top: Path) -> None:
    edit(top, "shift", "translate")
    edit(top, "x[i] + 1.0f", "1.0f + x[i]")
    assert changed(top) == [("shift", "translate")]


def test_a_range_compares_two_commits_and_files_narrow_it(top: Path) -> None:
    edit(top, "FACTOR * x[i]", "x[i] * FACTOR")
    commit(top)
    edit(top, "x[i] + 1.0f", "1.0f + x[i]")
    assert changed(top, "HEAD~1..HEAD") == [("scale", "scale")]
    assert changed(top) == [("shift", "shift")]
    assert changed(top, "HEAD~1", ("other.cu",)) == []
    assert len(changed(top, "HEAD~1", ("kernels.cu",))) == 2


def test_a_revision_that_is_not_there_is_said(top: Path) -> None:
    with pytest.raises(RepositoryError, match="no revision `nowhere`"):
        changed(top, "nowhere")


@pytest.mark.long
def test_each_kernel_gets_a_verdict_and_one_without_a_workload_a_drafted_one(
    top: Path, judged: Judge
) -> None:
    edit(top, "FACTOR * x[i]", "FACTOR + x[i]")
    edit(top, "x[i] + 1.0f", "1.0f + x[i]")
    lines: list[str] = []
    repository = open_repository(top)
    scale, shift = gate_changes(repository, "HEAD", (), judged, device="emulated", say=lines.append)
    assert scale.verdict.outcome is Outcome.REJECTED
    assert isinstance(scale.verdict, KernelVerdict)
    assert scale.verdict.workload == ".klineage/workloads/scale.toml"
    assert (scale.kernel, scale.candidate, scale.line) == ("scale", "kernels.cu", 3)
    assert shift.verdict.environment["workload"] == "drafted"
    assert (scale.verdict.standing, shift.verdict.standing) == (Standing.REJECTED, Standing.RIGHT)
    (line,) = lines
    assert line.startswith("shift: no workload names it, so one is drafted from kernels.cu of ")


def test_a_kernel_that_nobody_launches_is_not_judged_and_the_question_is_asked(
    top: Path, judged: Judge
) -> None:
    text = (top / "kernels.cu").read_text()
    (top / "kernels.cu").write_text(text + "__global__ void lone(float* y) { y[0] = 1.0f; }\n")
    commit(top)
    edit(top, "y[0] = 1.0f", "y[0] = 2.0f")
    lines: list[str] = []
    (only,) = gate_changes(open_repository(top), "HEAD", (), judged, device="emulated", say=lines.append)
    assert (only.verdict.code, only.verdict.standing) == (Reason.NO_WORKLOAD, Standing.NOT_JUDGED)
    assert "klineage workload init kernels.cu:lone" in only.verdict.reason
    (line,) = lines
    assert line.startswith("lone: no workload names it, and kernels.cu leaves open: ")


@pytest.mark.long
def test_an_old_version_is_compiled_with_the_headers_of_its_time(top: Path, judged: Judge) -> None:
    edit(top, "FACTOR 2.0f", "FACTOR 3.0f", "factor.h")
    (only,) = gate_changes(open_repository(top), "HEAD", (), judged, device="emulated")
    assert only.verdict.code is Reason.WRONG_VALUE, only.verdict.reason


MERGED = merged_kernels.FUSED + merged_kernels.MAIN


@pytest.fixture
def lowered(tmp_path: Path) -> Path:
    (tmp_path / "lowered.cu").write_text(merged_kernels.LEAST + merged_kernels.MAIN)
    (tmp_path / ".klineage" / "workloads").mkdir(parents=True)
    (tmp_path / ".klineage" / "workloads" / "lowered.toml").write_text(merged_kernels.WORKLOAD)
    commit(tmp_path)
    return tmp_path


@pytest.mark.long
@pytest.mark.parametrize(
    ("old", "new", "standing", "why"),
    [
        ("", "", Standing.RIGHT, "not profiled"),
        ("    least[threadIdx.x] = own;\n    __syn", "    __syn", Standing.REJECTED, "uninitialised"),
        ("float own = INFINITY", "float own = 0.0f", Standing.REJECTED, "expected"),
        ("    (void)room;", "    asked(room);", Standing.NOT_JUDGED, "`asked()` cannot be followed"),
    ],
)
def test_a_function_that_merges_its_kernels_gets_one_verdict_for_all(
    lowered: Path, old: str, new: str, standing: Standing, why: str, judged: Judge
) -> None:
    (lowered / "lowered.cu").write_text(MERGED.replace(old, new))
    kept: list[tuple[str, str]] = []
    (only,) = gate_changes(
        open_repository(lowered),
        "HEAD",
        (),
        judged,
        device="emulated",
        keep=lambda pair, _verdict, _workload: kept.append((pair.before.kernel.name, pair.name)),
    )
    assert (only.kernel, only.verdict.standing) == ("lowered", standing), only.verdict.reason
    assert why in only.verdict.reason
    assert sorted(kept) == [("least_of", "lowered"), ("take", "lowered")]


def test_a_kernel_that_another_function_launches_too_is_judged_by_itself_as_well(lowered: Path) -> None:
    other = "void others(const float* x, float* out, float* l) { take<<<1, 64>>>(x, l, out, 8); }\n"
    _, _, take = merged_kernels.LEAST.partition("__global__ void take")
    take = "__global__ void take" + take.partition("struct")[0]
    (lowered / "lowered.cu").write_text(merged_kernels.LEAST + other)
    commit(lowered)
    (lowered / "lowered.cu").write_text(take.replace("- least", "+ least") + merged_kernels.FUSED + other)
    with trees(open_repository(lowered), "HEAD") as (before, after):
        pairs = changes_between(before, after).changed
    assert sorted((p.before.kernel.name, p.name) for p in pairs) == [
        ("least_of", "lowered"),
        ("take", "lowered"),
        ("take", "take"),
    ]


def test_one_of_several_kernels_that_becomes_two_is_judged_with_all(lowered: Path) -> None:
    text = (lowered / "lowered.cu").read_text()
    start, end = text.index("__global__ void take"), text.index("struct Room")
    first, other = (text[start:end].replace("take", name) for name in ("first_half", "other_half"))
    parts = first.replace("c < cols", "c < cols / 2") + other.replace("c = thr", "c = cols / 2 + thr")
    launch = "    take<<<rows, 64>>>(x, room.least, out, cols);\n"
    assert launch in text
    twice = launch.replace("take", "first_half") + launch.replace("take", "other_half")
    (lowered / "lowered.cu").write_text(text[:start] + parts + text[end:].replace(launch, twice))
    assert changed(lowered) == [("take", "first_half")]
    with trees(open_repository(lowered), "HEAD") as (before, after):
        (pair,) = changes_between(before, after).changed
    assert pair.name == "lowered"


@pytest.mark.parametrize(
    ("standings", "counted", "code"),
    [
        ([], tuple(Standing), ExitCode.DONE),
        (["accepted"], tuple(Standing), ExitCode.DONE),
        (["accepted", "right"], tuple(Standing), ExitCode.RIGHT),
        (["right", "undecided", "not-judged"], tuple(Standing), ExitCode.NOT_JUDGED),
        (["not-judged", "rejected", "accepted"], tuple(Standing), ExitCode.REJECTED),
        (["right", "not-judged"], (Standing.REJECTED,), ExitCode.DONE),
        (["right", "rejected"], (Standing.RIGHT,), ExitCode.RIGHT),
    ],
)
def test_the_worst_of_what_counts_decides(
    standings: list[str], counted: tuple[Standing, ...], code: ExitCode
) -> None:
    assert worst(map(Standing, standings), counted) is code


def test_a_kernel_in_whose_place_a_method_launches_another_is_changed(tmp_path: Path) -> None:
    text = """__global__ void halve(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] /= 2; }
class Halving {
  public:
    void run(float* x, int n) { halve<<<1, 32>>>(x, n); }
};
"""
    (tmp_path / "halving.cu").write_text(text)
    commit(tmp_path)
    other = "__global__ void scaled(float by, int n, float* x) { for (int i = 0; i < n; ++i) x[i] *= by; }"
    kernel, _, rest = text.partition("\n")
    (tmp_path / "halving.cu").write_text(
        f"{other}\n{rest.replace('halve<<<1, 32>>>(x, n)', 'scaled<<<1, 1>>>(0.5f, n, x)')}"
    )
    assert "halve" in kernel and changed(tmp_path) == [("halve", "scaled")]


PLAIN = """
__global__ void halve(const float* x, float* y, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i];
}
void halved(const float* x, float* y, int n, int groups) {
    halve<<<(n + 63) / 64, 64>>>(x, y, n);
}
"""
WIDE = """
__global__ void halve_rows(const float* x, float* y, int n) {
    for (int i = threadIdx.x; i < n; i += 64) y[i] = 0.5f * x[i];
}
"""
BY_SIZE = (WIDE + PLAIN).replace(
    "    halve<<<", "    if (n / groups > 8) halve_rows<<<1, 64>>>(x, y, n);\n    else halve<<<"
)
OF_HALVE = """
kernel = "{}"
language = "cuda"
[dims]
n = [40, 200]
{}
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = ["n"]
[[args]]
name = "y"
kind = "output"
dtype = "float32"
shape = ["n"]
{}
[launch]
grid = ["ceil_div(n, 64)"]
block = [64]
"""


@pytest.mark.parametrize(
    ("old", "new", "standing"),
    [("", "", Standing.RIGHT), ("n; i += 64) y", "n - 1; i += 64) y", Standing.REJECTED)],
    ids=["right", "wrong"],
)
def test_what_its_own_workload_does_not_tell_is_judged_with_the_host_function(
    tmp_path: Path, old: str, new: str, standing: Standing, judged: Judge
) -> None:
    folder = tmp_path / ".klineage" / "workloads"
    folder.mkdir(parents=True)
    number = '[[args]]\nname = "n"\nkind = "scalar"\ndtype = "int32"\nvalue = "n"\n'
    (folder / "halve.toml").write_text(OF_HALVE.format("halve", "", number))
    (folder / "halved.toml").write_text(OF_HALVE.format("halved", "groups = [4]", ""))
    (tmp_path / "halve.cu").write_text(PLAIN)
    commit(tmp_path)
    (tmp_path / "halve.cu").write_text(BY_SIZE.replace(old, new, 1))
    (only,) = gate_changes(open_repository(tmp_path), "HEAD", (), judged, device="emulated")
    assert (only.kernel, only.verdict.standing) == ("halve", standing), only.verdict.reason
    assert only.verdict.reason.startswith("with all of halved: ")


NORMED = """import torch
import triton
import triton.language as tl


@triton.jit
def norm_rows(x, y, cols, eps, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + r * cols + c, mask=c < cols, other=0.0)
    tl.store(y + r * cols + c, v * tl.rsqrt(tl.sum(v * v, 0) / cols + eps), mask=c < cols)


def normed(x, weight, residual, eps=1e-6):
    wide = x.float()
    y = torch.empty_like(wide)
    rows, cols = wide.shape
    norm_rows[(rows,)](wide, y, cols, eps, B=triton.next_power_of_2(cols))
    return (y * weight).to(x.dtype) + residual


def test_normed():
    for rows, cols in ((3, 40), (7, 64)):
        x = torch.randn(rows, cols, device="cuda", dtype=torch.float16)
        normed(x, torch.rand(cols, device="cuda", dtype=torch.float16), torch.randn_like(x))
"""
FUSED = """import torch
import triton
import triton.language as tl


@triton.jit
def norm_rows(x, weight, residual, y, cols, eps, B: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, B)
    v = tl.load(x + r * cols + c, mask=c < cols, other=0.0).to(tl.float32)
    w = tl.load(weight + c, mask=c < cols, other=0.0).to(tl.float32)
    more = tl.load(residual + r * cols + c, mask=c < cols, other=0.0)
    v = v * tl.rsqrt(tl.sum(v * v, 0) / cols + eps) * w
    tl.store(y + r * cols + c, v.to(y.dtype.element_ty) + more, mask=c < cols)


def normed(x, weight, residual, eps=1e-6):
    rows, cols = x.shape
    y = torch.empty_like(x)
    norm_rows[(rows,)](x, weight, residual, y, cols, eps, B=triton.next_power_of_2(cols))
    return y
"""


@pytest.mark.parametrize(
    ("old", "new", "standing"),
    [
        ("", "", Standing.RIGHT),
        (" + more", "", Standing.REJECTED),
        (" * w\n", "\n", Standing.REJECTED),
        ("    return y\n", "    return y * weight\n", Standing.REJECTED),
    ],
    ids=["right", "without the residual", "without the weight", "weighted twice"],
)
def test_what_a_triton_kernel_takes_over_from_torch_is_judged_with_the_host_function(
    tmp_path: Path, old: str, new: str, standing: Standing, judged: Judge
) -> None:
    (tmp_path / "norm.py").write_text(NORMED)
    commit(tmp_path)
    (tmp_path / "norm.py").write_text(FUSED.replace(old, new, 1) + NORMED[NORMED.index("\n\ndef test_") :])
    (only,) = gate_changes(open_repository(tmp_path), "HEAD", (), judged, device="emulated")
    assert only.verdict.standing is standing, only.verdict.reason
    assert only.verdict.reason.startswith("with all of normed: ")


APPLIED = NORMED.replace(
    """def normed(x, weight, residual, eps=1e-6):
    wide = x.float()
    y = torch.empty_like(wide)
    rows, cols = wide.shape
    norm_rows[(rows,)](wide, y, cols, eps, B=triton.next_power_of_2(cols))
    return (y * weight).to(x.dtype) + residual
""",
    """class Normed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, eps):
        y = torch.empty_like(x)
        rows, cols = x.shape
        norm_rows[(rows,)](x, y, cols, eps, B=triton.next_power_of_2(cols))
        return y


def normed(x, weight, residual, eps=1e-6):
    return Normed.apply(x + residual, eps) * 2.0
""",
).replace(", dtype=torch.float16", "")
TAKEN = APPLIED.replace("v * tl.rsqrt", "2.0 * v * tl.rsqrt").replace("eps) * 2.0", "eps)")


@pytest.mark.parametrize(
    ("old", "new", "standing"),
    [
        ("", "", Standing.RIGHT),
        ("x + residual", "x", Standing.REJECTED),
        ("2.0 * v", "4.0 * v", Standing.REJECTED),
    ],
    ids=["right", "without the residual", "another factor"],
)
def test_what_torch_works_out_around_an_autograd_function_is_judged_with_it(
    tmp_path: Path, old: str, new: str, standing: Standing, judged: Judge
) -> None:
    (tmp_path / "norm.py").write_text(APPLIED)
    commit(tmp_path)
    (tmp_path / "norm.py").write_text(TAKEN.replace(old, new, 1))
    (only,) = gate_changes(open_repository(tmp_path), "HEAD", (), judged, device="emulated")
    assert only.verdict.standing is standing, only.verdict.reason
    assert only.verdict.reason.startswith("with all of normed: ")
