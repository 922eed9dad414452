"""Shapes of tensors of which no caller is known: from texts, from how the host code uses them, from the kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.model import Draft

KERNEL = """\
import torch
import triton
import triton.language as tl


@triton.jit
def blend(out, x, gate, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    every = tl.load(gate + at * 3 % 7)
    tl.store(out + at, tl.load(x + at, mask=at < n) * every, mask=at < n)

"""
LAUNCH = """
    out = torch.empty_like(x)
    flat = gate.reshape(-1)
    blend[(triton.cdiv(x.numel(), 64),)](out, x, flat, x.numel(), BLOCK=64)
    return out
"""


def drafted(folder: Path, host: str, kernel: str = "blend") -> Draft:
    (folder / ".git").mkdir()
    (folder / "rows.py").write_text(host)
    return draft_of(kernel_of(folder / "rows.py", kernel), folder / "rows.py", measure=False)


def shape(draft: Draft, name: str) -> tuple[str, ...] | None:
    return next(a.shape for a in draft.arguments if a.name == name)


DOCSTRING = """\
def run(x, gate):
    '''Blend.

    Args:
        gate (torch.Tensor):
            how much, of shape `[batch, H]`.
    '''
    B, T, D = x.shape"""
NAMES_AS_THE_CODE_HAS_THEM = """\
def run(x, gate):
    '''x: (batch, length, dim)
    gate: (batch, dim)'''
    B, T, D = x.shape"""
COMMENT = """\
def run(
    x: torch.Tensor,
    gate: torch.Tensor,  # [B, T // 2]
):
    B, T, D = x.shape"""
HELPER = """\
def narrow(t):
    rows, cols = t.shape
    return rows


def run(x, gate):
    B, T, D = x.shape
    narrow(gate)"""
EINOPS = """\
from einops import rearrange


def run(x, gate):
    B, T, D = x.shape
    rearrange(gate, "b k -> k b")"""
NOTES = {
    "a docstring": (DOCSTRING, "batch * H"),
    "names as the code has them": (NAMES_AS_THE_CODE_HAS_THEM, "B * D"),
    "a comment": (COMMENT, "B * (T // 2)"),
    "how a helper takes it apart": (HELPER, "rows * cols"),
    "einops": (EINOPS, "b * k"),
}


@pytest.mark.parametrize(("head", "elements"), NOTES.values(), ids=NOTES)
def test_a_shape_is_told(tmp_path: Path, head: str, elements: str) -> None:
    draft = drafted(tmp_path, KERNEL + head + LAUNCH)
    assert not draft.missing
    assert shape(draft, "x") == ("B", "T", "D")
    assert shape(draft, "gate") == (elements,)


def test_another_function_does_not_name_the_axes_of_this_one(tmp_path: Path) -> None:
    host = "def run(x, gate):\n    B, T = gate.shape" + LAUNCH
    other = "\n\ndef reference(x, y):\n    rows, heads, length, dim = x.shape\n    return y\n"
    draft = drafted(tmp_path, KERNEL + host + other)
    assert shape(draft, "x") != ("rows", "heads", "length", "dim")


WINDOWS = """\
import torch
import triton
import triton.language as tl


@triton.jit
def add(out, x, bias, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    dx = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    do = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BM, BN])
    row = tl.make_block_ptr(bias, (N,), (1,), (n,), (BN,), (0,))
    do.store([m, n], dx.load([m, n]) + tl.load(row, boundary_check=(0,))[None, :])


def run(x, bias):
    M, N = x.shape
    out = torch.empty_like(x)
    add[(triton.cdiv(M, 16), triton.cdiv(N, 32))](out, x, bias, M, N, BM=16, BN=32)
    return out
"""


def test_windows_of_the_kernel_say_shapes_and_roles(tmp_path: Path) -> None:
    draft = drafted(tmp_path, WINDOWS, "add")
    assert not draft.missing
    assert {a.name: (a.kind, a.shape) for a in draft.arguments if a.is_buffer} == {
        "out": ("output", ("M", "N")),
        "x": ("input", ("M", "N")),
        "bias": ("input", ("N",)),
    }
