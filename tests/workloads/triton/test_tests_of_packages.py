"""Tests that use a package by its name, and what its `__init__` takes from its modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of

KERNEL = """\
import torch
import triton
import triton.language as tl

@triton.jit
def double(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)

def doubled(x):
    out = torch.empty_like(x)
    double[(triton.cdiv(x.numel(), 64),)](out, x, x.numel(), BLOCK=64)
    return out
"""


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("import kit as k", "k.doubled(x)"),
        ("import kit", "kit.doubled(x)"),
        ("from kit import doubled", "doubled(x)"),
        ("import kit.double", "kit.double.doubled(x)"),
        ("from kit import twice", "twice(x)"),
        ("from kit import *", "doubled(x)"),
        ("import kit", "kit.twice(x)"),
    ],
)
def test_a_test_that_imports_the_package_tells_the_sizes(tmp_path: Path, imports: str, call: str) -> None:
    files = {
        "kit/__init__.py": "from .double import doubled\nfrom .double import doubled as twice\n",
        "kit/double.py": KERNEL,
        "tests/test_all.py": f"import torch\n{imports}\n\ndef test_it():\n    x = torch.randn(6, 40)\n    {call}\n",
    }
    (tmp_path / ".git").mkdir()
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    path = tmp_path / "kit" / "double.py"
    draft = draft_of(kernel_of(path, "double"), path)
    assert draft.missing == ()
    assert "sizes are those of test_it in test_all.py" in draft.assumed


SCATTER = """\
import torch
import triton
import triton.language as tl

@triton.jit
def scatter(out, x, index, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    at = tl.load(index + row)
    ADD

def scattered(x, index, rows):
    out = torch.zeros((rows, 16), dtype=torch.float32)
    scatter[(x.shape[0],)](out, x, index, BLOCK=16)
    return out

def test_scattered():
    x = torch.randn(24, 16)
    scattered(x, torch.randperm(40)[:24], 40)
"""


@pytest.mark.parametrize(
    ("add", "values"),
    [
        ("tl.atomic_add(out + at * 16 + i, tl.load(x + row * 16 + i))", "integers(0, "),
        ("tl.store(out + at * 16 + i, tl.load(x + row * 16 + i))  # no atomic", "permutation("),
    ],
)
def test_numbers_that_a_test_gives_once_may_come_twice_where_they_are_added_up(
    tmp_path: Path, add: str, values: str
) -> None:
    (tmp_path / ".git").mkdir()
    path = tmp_path / "scatter.py"
    path.write_text(SCATTER.replace("ADD", add))
    draft = draft_of(kernel_of(path, "scatter"), path)
    assert draft.missing == ()
    assert next(a.values for a in draft.arguments if a.name == "index").startswith(values)
