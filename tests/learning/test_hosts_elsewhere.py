"""A Triton kernel whose host function is in another module is paired by it, and judged with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from git import Actor, Repo

from kernel_gate.standing import Standing
from kernel_lineage.history.git import open_repository
from kernel_lineage.history.trees import trees
from kernel_lineage.learning.changed_kernels import changes_between
from kernel_lineage.learning.gate_changes import Judge, gate_changes
from kernel_lineage.workloads.program_errors import ProgramError
from kernel_lineage.workloads.triton.joined_modules import joined_text

KERNELS = """import triton
import triton.language as tl

WIDE = 64


@triton.jit
def add_up(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) + 1.0, mask=i < n)
"""
HOST = """import torch
import triton

from .kernels import WIDE, add_up


def shifted(x, scale: float = 0.5):
    y = torch.empty_like(x)
    add_up[(triton.cdiv(x.numel(), WIDE),)](x, y, x.numel(), B=WIDE)
    return (y * scale).sum(-1)
"""
TEST = """import torch

from nets.ops import shifted


def test_shifted():
    shifted(torch.randn(6, 40, device="cuda"))
"""
ROWS = """import triton
import triton.language as tl


@triton.jit
def row_totals(source, totals, factor, columns, EXTENT: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    inside = tl.arange(0, EXTENT) < columns
    values = tl.load(source + row * columns + tl.arange(0, EXTENT), mask=inside, other=0.0)
    tl.store(totals + row, tl.sum(tl.where(inside, values + 1.0, 0.0)) * factor)
"""
ROW_HOST = """import torch
import triton

from . import kernels


def shifted(x, scale: float = 0.5):
    rows, columns = x.shape
    totals = torch.empty(rows, device=x.device)
    kernels.row_totals[(rows,)](x, totals, scale, columns, EXTENT=triton.next_power_of_2(columns))
    return totals
"""


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "nets").mkdir()
    for name, text in (("__init__.py", ""), ("kernels.py", KERNELS), ("ops.py", HOST)):
        (tmp_path / "nets" / name).write_text(text)
    (tmp_path / "test_ops.py").write_text(TEST)
    repo = Repo.init(tmp_path)
    repo.git.add("-A")
    someone = Actor("A", "a@example.org")
    repo.index.commit("state", author=someone, committer=someone)
    repo.close()
    return tmp_path


def pairs(top: Path) -> list[tuple[str, str, str, tuple[str, str]]]:
    with trees(open_repository(top), "HEAD") as (before, after):
        return [
            (c.before.kernel.name, c.after.kernel.name, c.function, c.hosts)
            for c in changes_between(before, after).changed
        ]


def test_a_kernel_in_whose_place_the_function_launches_an_unlike_one(top: Path) -> None:
    (top / "nets" / "kernels.py").write_text(ROWS)
    (top / "nets" / "ops.py").write_text(ROW_HOST)
    assert pairs(top) == [("add_up", "row_totals", "shifted", ("nets/ops.py", "nets/ops.py"))]


def test_a_function_that_moved_with_its_kernel(top: Path) -> None:
    (top / "nets" / "kernels.py").unlink()
    (top / "nets" / "ops.py").write_text("from .rows import shifted\n")
    (top / "nets" / "rows.py").write_text(
        ROWS + ROW_HOST.replace("from . import kernels\n", "").replace("kernels.", "")
    )
    assert pairs(top) == [("add_up", "row_totals", "shifted", ("nets/ops.py", "nets/rows.py"))]


def test_two_functions_of_a_name_that_moved_say_nothing(top: Path) -> None:
    (top / "nets" / "kernels.py").write_text(ROWS)
    (top / "nets" / "ops.py").write_text("from .rows import shifted\n")
    for name in ("rows.py", "more.py"):
        (top / "nets" / name).write_text(ROW_HOST)
    assert pairs(top) == []


@pytest.mark.parametrize(
    ("old", "new", "standing"),
    [
        ("", "", Standing.RIGHT),
        (" * factor", "", Standing.REJECTED),
        ("values + 1.0, 0.0", "values + 1.0, 1.0", Standing.REJECTED),
    ],
    ids=["right", "another scale", "columns too many"],
)
def test_it_is_judged_with_the_function(
    top: Path, old: str, new: str, standing: Standing, judged: Judge
) -> None:
    (top / "nets" / "kernels.py").write_text(ROWS.replace(old, new))
    (top / "nets" / "ops.py").write_text(ROW_HOST)
    (only,) = gate_changes(open_repository(top), "HEAD", (), judged, device="emulated")
    assert (only.kernel, only.verdict.standing) == ("shifted", standing), only.verdict.reason


def test_modules_that_name_two_things_alike_are_not_joined(top: Path) -> None:
    kernels, host = (top / "nets" / name for name in ("kernels.py", "ops.py"))
    host.write_text(
        HOST.replace("import WIDE, add_up", "import WIDE, add_up as up").replace("add_up[", "up[")
    )
    text = joined_text(kernels, host, top)
    assert b"import WIDE" not in text and b"add_up[triton" in text
    host.write_text(HOST.replace("import WIDE, add_up\n", "import add_up\n\nWIDE = 32\n"))
    with pytest.raises(ProgramError, match="`WIDE` is one thing in kernels"):
        joined_text(kernels, host, top)


SCALE = """#pragma once
__global__ void scale(float* x, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
"""
LAUNCHER = """#include "scale.cuh"
inline void scaled(float* x, float by, int n) { scale<<<(n + 127) / 128, 128>>>(x, by, n); }
"""
DRIVER = """#include "launcher.cuh"
#include <vector>
int main() {
  int n = 1000;
  std::vector<float> h(n, 2.f);
  float* x;
  cudaMalloc(&x, n * sizeof(float));
  cudaMemcpy(x, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  scaled(x, 3.f, n);
}
"""


@pytest.mark.parametrize(
    ("launch", "standing"),
    [
        ("<<<(n + 127) / 128, 128>>>", None),
        ("<<<  (n + 127) / 128, 128>>>", None),
        ("<<<n / 128, 128>>>", Standing.REJECTED),
        ("<<<(n + 63) / 64, 64>>>", Standing.RIGHT),
        ("<<<blocks_for(n), 128>>>", Standing.NOT_JUDGED),
    ],
    ids=["the same", "written with blanks", "without a last block", "of smaller blocks", "unread"],
)
def test_a_launch_in_another_header_is_judged_as_it_is_changed(
    tmp_path: Path, launch: str, standing: Standing | None, judged: Judge
) -> None:
    for name, text in (("scale.cuh", SCALE), ("launcher.cuh", LAUNCHER), ("main.cu", DRIVER)):
        (tmp_path / name).write_text(text)
    repo = Repo.init(tmp_path)
    repo.git.add("-A")
    someone = Actor("A", "a@example.org")
    repo.index.commit("state", author=someone, committer=someone)
    repo.close()
    (tmp_path / "launcher.cuh").write_text(LAUNCHER.replace("<<<(n + 127) / 128, 128>>>", launch))
    verdicts = [*gate_changes(open_repository(tmp_path), "HEAD", (), judged, device="emulated")]
    assert [v.verdict.standing for v in verdicts] == ([standing] if standing is not None else [])


@pytest.mark.parametrize(
    ("grid", "standings"),
    [
        ("triton.cdiv( x.numel(), WIDE)", []),
        ("x.numel() // WIDE", [Standing.REJECTED]),
        ("triton.cdiv(x.numel(), WIDE) + 1", [Standing.RIGHT]),
        ("asked_for(x)", [Standing.NOT_JUDGED]),
    ],
    ids=["written with a blank", "without a last block", "with a block more", "unread"],
)
def test_a_launch_that_another_module_makes_otherwise_is_judged(
    top: Path, grid: str, standings: list[Standing], judged: Judge
) -> None:
    (top / "nets" / "ops.py").write_text(HOST.replace("triton.cdiv(x.numel(), WIDE)", grid))
    verdicts = [*gate_changes(open_repository(top), "HEAD", (), judged, device="emulated")]
    assert [v.verdict.standing for v in verdicts] == standings, [v.verdict.reason for v in verdicts]


def test_a_kernel_of_the_same_name_that_a_file_launches_itself_is_another_one(top: Path) -> None:
    own = KERNELS + "\n\ndef once(x, y):\n    add_up[(1,)](x, y, 64, B=64)\n"
    (top / "nets" / "more.py").write_text(own)
    repo = Repo(top)
    repo.git.add("-A")
    someone = Actor("A", "a@example.org")
    repo.index.commit("more", author=someone, committer=someone)
    repo.close()
    (top / "nets" / "more.py").write_text(own.replace("[(1,)]", "[(2,)]"))
    with trees(open_repository(top), "HEAD") as (before, after):
        assert [c.after.path for c in changes_between(before, after).changed] == ["nets/more.py"]


AGAIN = """#include "scale.cuh"
inline void scaled_again(float* x, float by, int n) { scale<<<(n + 63) / 64, 64>>>(x, by, n); }
"""


@pytest.mark.parametrize(
    ("changes", "standing"),
    [
        ({"again.cuh": ("(n + 63) / 64", "n / 64")}, Standing.REJECTED),
        (
            {"again.cuh": ("(n + 63) / 64", "n / 64"), "launcher.cuh": ("128", "32")},
            Standing.NOT_JUDGED,
        ),
        ({"scale.cuh": ("*= by", "= x[i] * by")}, Standing.RIGHT),
    ],
    ids=["the second one", "both", "none"],
)
def test_each_file_that_launches_a_kernel_counts(
    tmp_path: Path, changes: dict[str, tuple[str, str]], standing: Standing, judged: Judge
) -> None:
    texts = {"scale.cuh": SCALE, "launcher.cuh": LAUNCHER, "again.cuh": AGAIN, "main.cu": DRIVER}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    repo = Repo.init(tmp_path)
    repo.git.add("-A")
    someone = Actor("A", "a@example.org")
    repo.index.commit("state", author=someone, committer=someone)
    repo.close()
    for name, (old, new) in changes.items():
        (tmp_path / name).write_text(texts[name].replace(old, new))
    verdicts = [*gate_changes(open_repository(tmp_path), "HEAD", (), judged, device="emulated")]
    assert [v.verdict.standing for v in verdicts] == [standing], [v.verdict.reason for v in verdicts]
