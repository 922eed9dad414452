"""A dim that no code has a name for is the one that every caller keeps equal to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.model import Draft

LOSSES = """\
import torch
import triton
import triton.language as tl

@triton.jit
def losses_kernel(losses, logits, targets, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(logits + row * n_cols + at, mask=at < n_cols, other=float("-inf"))
    target = tl.load(targets + row)
    wanted = tl.load(logits + row * n_cols + target)
    tl.store(losses + row, tl.log(tl.sum(tl.exp(x), axis=0)) - wanted)

def losses_of(logits, targets):
    n_rows, n_cols = logits.shape
    assert targets.shape[0] {asked} n_rows
    losses = torch.empty(n_rows, device=logits.device)
    losses_kernel[(n_rows,)](losses, logits, targets, n_cols, BLOCK=triton.next_power_of_2(n_cols))
    return losses
"""


def drafted(folder: Path, asked: str) -> Draft:
    (folder / ".git").mkdir()
    path = folder / "losses.py"
    path.write_text(LOSSES.format(asked=asked))
    return draft_of(kernel_of(path, "losses_kernel"), path)


@pytest.mark.parametrize(("asked", "rows"), [("==", "n_rows"), (">=", "targets_0")])
def test_an_extent_that_is_asked_to_be_a_dim_is_that_dim(tmp_path: Path, asked: str, rows: str) -> None:
    draft = drafted(tmp_path, asked)
    targets = next(a for a in draft.arguments if a.name == "targets")
    assert targets.shape == (rows,)
    assert [*draft.promises] == ([] if asked == "==" else ["targets_0 >= n_rows"])


def test_an_index_of_columns_is_below_the_columns(tmp_path: Path) -> None:
    """Rows and columns differ at the sizes that are tried, so that one range is not taken for the other."""
    targets = next(a for a in drafted(tmp_path, "==").arguments if a.name == "targets")
    assert targets.values == "integers(0, n_cols)"
