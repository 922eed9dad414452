"""The launch that a Triton kernel's host code comes to, read over the arguments of a workload."""

from __future__ import annotations

from pathlib import Path

from kernel_gate.expressions import evaluate_int
from kernel_gate.workload import parse_workload
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.triton.launch_site import TritonSite, followed_launch
from kernel_texts import kernel_in_text
from workload_texts import workload_text

CODE = """\
import torch
import triton
import triton.language as tl

@triton.jit
def groups_of(y, x, rows, groups, GROUP: tl.constexpr, EACH: tl.constexpr):
    at = (tl.program_id(0) * EACH + tl.arange(0, EACH))[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    tl.store(y + at, tl.load(x + at, mask=at < rows * groups * GROUP), mask=at < rows * groups * GROUP)


def run(y, x, group_size=128):
    rows, cols = x.shape
    groups = cols // group_size
    each = max(1, 256 // triton.next_power_of_2(group_size))
    groups_of[(triton.cdiv(rows * groups, each),)](y, x, rows, groups, GROUP=group_size, EACH=each)
"""
# The rows are one, and the buffers are flat: the workload does not say what `x.shape` is.
WORKLOAD = workload_text(
    "groups_of",
    "C = [64, 320]",
    'grid = ["C // 32"]\nconstexpr = { GROUP = "32", EACH = "1" }',
    "y: output float32 [C]",
    "x: input float32 [C]",
    "rows: int32 = 1",
    "groups: int32 = C // 32",
    language="triton",
)


def test_names_that_are_passed_stand_for_what_the_workload_gives_there() -> None:
    workload = parse_workload(WORKLOAD)
    kernel = kernel_in_text(CODE, "groups_of", Language.TRITON)
    site = followed_launch(kernel, Path("m.py"), workload, [a.name for a in workload.args], Path())
    assert site is not None
    assert site.launch.constexpr == {"GROUP": "32", "EACH": "8"}
    grids = [evaluate_int(site.launch.grid[0], {"C": c, "rows": 1, "groups": c // 32}) for c in (64, 320)]
    assert grids == [1, 2]


def test_a_name_that_the_code_gives_another_number_is_no_argument() -> None:
    workload = parse_workload(WORKLOAD)
    kernel = read(
        CODE.replace("rows, cols = x.shape", "rows, cols = 7, 32").encode(), Language.TRITON
    ).kernel("groups_of")
    assert kernel is not None
    assert followed_launch(kernel, Path("m.py"), workload, [a.name for a in workload.args], Path()) is None


def test_sizes_that_a_condition_chooses_together_stay_conditions() -> None:
    either = (
        CODE.replace("each = max(1, 256 // triton.next_power_of_2(group_size))", "large = groups > 31")
        .replace("groups_of[", "each, warps = (16, 8) if large else (4, 2)\n    groups_of[")
        .replace("EACH=each)", "EACH=each, num_warps=warps)")
    )
    site = _site(either, WORKLOAD)
    assert site is not None
    assert site.launch.constexpr["EACH"] == "16 if groups > 31 else 4"
    assert site.launch.num_warps == "8 if groups > 31 else 2"


def test_a_way_that_is_not_taken_at_the_timed_size_is_no_launch() -> None:
    either = CODE.replace(
        "groups_of[",
        "kind = 'a' if groups > 31 else 'b'\n    each = 4 if kind == 'b' else 16\n    groups_of[",
    )
    timed = WORKLOAD.replace("[launch]", "[[profile_dims]]\nC = 4096\n\n[launch]")
    assert "profile_dims" in timed
    assert _site(either, WORKLOAD) is not None
    assert _site(either, timed) is None


def _site(code: str, workload_of_it: str) -> TritonSite | None:
    workload = parse_workload(workload_of_it)
    kernel = kernel_in_text(code, "groups_of", Language.TRITON)
    return followed_launch(kernel, Path("m.py"), workload, [a.name for a in workload.args], Path())
