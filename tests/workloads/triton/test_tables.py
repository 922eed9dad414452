"""Tables of whole numbers that host code makes with torch: what they hold is what torch works out."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.model import DraftArgument

HOST = """\
import torch
import triton
import triton.language as tl


@triton.jit
def sums(x, table, out, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    first, behind = tl.load(table + row), tl.load(table + row + 1)
    total = tl.zeros((BLOCK,), tl.float32)
    for begin in range(first, behind, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        total += tl.load(x + at, mask=at < behind, other=0.0)
    tl.store(out + row, tl.sum(total))


def run(x, rows: int, width: int, labels: torch.Tensor, classes: int):
    table = TABLE
    out = torch.empty(rows, device=x.device)
    sums[(rows,)](x, table, out, BLOCK=64)
    return out
"""


def table(folder: Path, written: str) -> DraftArgument:
    (folder / ".git").mkdir(parents=True)
    path = folder / "rows.py"
    path.write_text(HOST.replace("TABLE", written))
    draft = draft_of(kernel_of(path, "sums"), path, measure=False)
    return next(a for a in draft.arguments if a.name == "table")


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("torch.arange(rows + 1, dtype=torch.int32) * width", "steps(0, width)"),
        ("width * torch.arange(rows + 1) + 3", "steps(3, width)"),
        ("torch.arange(0, (rows + 1) * width, width)", "steps(0, width)"),
        ("torch.arange(0, (rows + 1) * width, width).to(torch.int32) - 1", "steps(-1, width)"),
        ("torch.arange(rows + 1)", "permutation(rows + 1)"),
        ("torch.tensor([0, width, 3 * width]) * 2", "listed(0, width * 2, 3 * width * 2)"),
        ("torch.randint(0, width, (rows + 1,)) + 5", "integers(5, width + 5)"),
        ("torch.randint(0, width, (rows + 1,)) % classes", "integers(0, classes)"),
    ],
)
def test_a_table_holds_what_is_worked_out(tmp_path: Path, written: str, values: str) -> None:
    assert table(tmp_path, written).values == values


@pytest.mark.parametrize(
    "written",
    [
        "torch.randint(0, width, (rows + 1,)) * 3",
        "torch.arange(rows + 1) * torch.arange(rows + 1)",
        "torch.arange(0, (rows + 1) * width, width) // 3",
        "rows - torch.arange(rows + 1)",
    ],
)
def test_what_no_form_tells_is_unknown(tmp_path: Path, written: str) -> None:
    assert table(tmp_path, written).values == ""
