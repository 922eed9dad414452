"""Shapes of a Triton host function's tensors that no caller gives: how far its kernels reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.index_ranges import stays_in_bounds
from kernel_lineage.workloads.model import Draft

HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
MASKED = (
    HEAD
    + """
@triton.jit
def masked(x_ptr, mask_ptr, weight_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    ok = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=ok, other=0.0)
    m = tl.load(mask_ptr + row * n_cols + cols, mask=ok, other=0.0)
    w = tl.load(weight_ptr + cols, mask=ok, other=0.0)
    tl.store(out_ptr + row * n_cols + cols, tl.where(m > 0, x, 0.0) * w, mask=ok)


def weighed(x, mask, weight):
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    masked[(n_rows,)](x, mask.contiguous(), weight, out, n_cols, BLOCK=triton.next_power_of_2(n_cols))
    return out
"""
)
SCORES = (
    HEAD
    + """
@triton.jit
def score(q, k, bias, out, stride_q, stride_k, stride_b, stride_o, n, d, BLOCK: tl.constexpr, BD: tl.constexpr):
    i = tl.program_id(0)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    c = tl.arange(0, BD)
    qv = tl.load(q + i * stride_q + c, mask=c < d, other=0.0)
    kv = tl.load(k + j[:, None] * stride_k + c[None, :], mask=(j[:, None] < n) & (c[None, :] < d), other=0.0)
    s = tl.sum(kv * qv[None, :], 1) + tl.load(bias + i * stride_b + j, mask=j < n, other=0.0)
    tl.store(out + i * stride_o + j, s, mask=j < n)


def scores(q, k, bias):
    m, d = q.shape
    n = k.shape[0]
    out = torch.empty((m, n), device=q.device, dtype=q.dtype)
    strides = q.stride(0), k.stride(0), bias.stride(0), out.stride(0)
    score[(m, triton.cdiv(n, 64))](q, k, bias, out, *strides, n, d, BLOCK=64, BD=triton.next_power_of_2(d))
    return out
"""
)


def shapes(draft: Draft) -> dict[str, tuple[str, ...] | None]:
    return {a.name: a.shape for a in draft.arguments if a.is_buffer}


def stays_at_other_sizes(draft: Draft, path: Path, name: str, sizes: dict[str, int]) -> bool:
    assert sizes.keys() == draft.dims.keys()
    return stays_in_bounds(draft, sizes, target_of(path, name), path, path.parent)


def test_a_tensor_of_which_no_code_asks_anything_is_as_large_as_kernels_reach(tmp_path: Path) -> None:
    path = tmp_path / "masked.py"
    path.write_text(MASKED)
    draft = draft_of(target_of(path, "weighed"), path)
    assert draft.missing == ()
    rows = ("n_rows", "n_cols")
    assert shapes(draft) == {"x": rows, "mask": rows, "weight": ("n_cols",), "out": rows}
    assert "the shape of mask is what the kernel reaches on the emulated device" in draft.assumed
    assert stays_at_other_sizes(draft, path, "weighed", {"n_rows": 5, "n_cols": 200})


@pytest.mark.parametrize("target", ["scores", "score"])
def test_axes_that_only_kernels_walk_along_are_the_dims_that_they_bound(tmp_path: Path, target: str) -> None:
    path = tmp_path / "scores.py"
    path.write_text(SCORES)
    draft = draft_of(target_of(path, target), path)
    assert draft.missing == ()
    assert shapes(draft) == {"q": ("m", "d"), "k": ("n", "d"), "bias": ("m", "n"), "out": ("m", "n")}
    assert "k_1 is taken to be d: with fewer the kernel leaves its buffers" in draft.assumed
    assert stays_at_other_sizes(draft, path, target, {"m": 3, "d": 70, "n": 9})
    assert stays_at_other_sizes(draft, path, target, {"m": 90, "d": 7, "n": 65})
