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
    (folder / ".git").mkdir(parents=True)
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
SEVERAL_AT_ONCE = """\
def run(x, gate):
    (B, T, D), (rows, cols) = x.shape, gate.shape"""
NOTES = {
    "several taken apart at once": (SEVERAL_AT_ONCE, "rows * cols"),
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


ALIKE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def mix(out, x, y, x_row, x_col, y_row, y_col, cols, first, alpha, BLOCK: tl.constexpr):
    at = first + tl.arange(0, BLOCK)
    row = tl.program_id(0)
    kept = tl.load(x + row * x_row + at * x_col, mask=at < cols)
    more = 0.0
    for k in range(0, cols):
        more += tl.load(y + k * y_row + row * y_col)
    tl.store(out + row * x_row + at * x_col, kept * alpha + more, mask=at < cols)


def run(x, y, first, alpha):
    M, N = x.shape
    out = torch.empty_like(x)
    mix[(M,)](out, x, y, x.stride(0), x.stride(1), y.stride(0), y.stride(1), N, first, alpha, BLOCK=64)
    return out
"""


def test_strides_and_numbers_that_no_caller_tells_are_chosen_and_said(tmp_path: Path) -> None:
    draft = drafted(tmp_path, ALIKE, "mix")
    values = {a.name: (a.dtype, a.value) for a in draft.arguments if a.kind == "scalar"}
    assert values["y_row"] == ("int32", "N")
    assert values["alpha"] == ("float32", "0.5")
    assert values["first"] == ("int32", "first"), "the kernel adds it to an address"
    assert {"y is taken to have the strides of x: nothing tells its shape"} <= {*draft.assumed}
    # How far the kernel reaches with the strides is for its run to say.
    assert [m for m in draft.missing if "of y" not in m] == []


def test_where_a_test_leads_to_the_launch_a_number_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "test_rows.py").write_text(
        "import torch\nfrom rows import run\n\n\ndef test_run():\n"
        "    run(torch.randn(8, 40), torch.randn(8, 40), alpha=somewhere(), first=0)\n"
    )
    draft = drafted(tmp_path, ALIKE, "mix")
    assert any(m.startswith("the value of alpha") for m in draft.missing), draft.missing


def test_what_is_asked_of_a_tensor_that_the_kernel_is_not_given_is_no_promise(tmp_path: Path) -> None:
    code = ALIKE.replace("def run(x, y,", "def run(x, y, more,").replace(
        "    out = torch.empty_like(x)\n    mix",
        "    assert more.shape == (M, N)\n    out = torch.empty_like(x)\n    mix",
    )
    assert "more.shape" in code
    draft = drafted(tmp_path, code, "mix")
    assert not any("more" in p for p in draft.promises), draft.promises
    assert {*draft.dims} == {"M", "N", "first"}


PERMUTED = """\
import torch
import triton
import triton.language as tl


@triton.jit
def count(ids, counts, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(counts + tl.load(ids + at, mask=at < n, other=0), 1, mask=at < n)


@triton.jit
def sums(counts, ends, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(ends + at, tl.cumsum(tl.load(counts + at, mask=at < n, other=0), 0), mask=at < n)


@triton.jit
def gather(out, x, order, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(out + row * width + at, tl.load(x + tl.load(order + row) * width + at, mask=at < width), mask=at < width)


def permute(x, ids, bins: int):
    rows, width = x.shape
    counts = torch.zeros(bins, dtype=torch.int32, device=x.device)
    ends = torch.empty(bins, dtype=torch.int32, device=x.device)
    count[(triton.cdiv(rows, 64),)](ids, counts, rows, BLOCK=64)
    sums[(1,)](counts, ends, bins, BLOCK=triton.next_power_of_2(bins))
    order = torch.argsort(ids, stable=True)
    out = torch.empty_like(x)
    gather[(rows,)](out, x, order, width, BLOCK=triton.next_power_of_2(width))
    return out, ends
"""


def test_a_tensor_of_unknown_rank_that_nothing_ties_to_the_launch_is_as_the_kernel_addresses_it(
    tmp_path: Path,
) -> None:
    draft = drafted(tmp_path, PERMUTED, "gather")
    (order,) = [a for a in draft.arguments if a.name == "order"]
    assert (order.shape, order.values) == (("rows",), "integers(0, rows)")
    assert set(draft.dims) == {"rows", "width"}
    assert not any("ids_elements" in note for note in draft.assumed)


def test_a_tensor_of_unknown_rank_whose_elements_the_launch_counts_keeps_its_dim(tmp_path: Path) -> None:
    host = KERNEL + "\ndef run(x, gate):" + LAUNCH
    assert shape(drafted(tmp_path, host), "x") == ("x_elements",)


def test_a_whole_number_input_without_shape_asks_for_its_range_too(tmp_path: Path) -> None:
    draft = drafted(tmp_path, PERMUTED, "count")
    assert [m for m in draft.missing if m.startswith("the range")] == ["the range of the values of ids"]


def test_what_an_earlier_launch_stores_to_is_no_longer_what_the_host_put_there(tmp_path: Path) -> None:
    draft = drafted(tmp_path, PERMUTED, "sums")
    counts = next(a for a in draft.arguments if a.name == "counts")
    assert counts.values == ""
    assert draft.missing == ("the range of the values of counts",)
    (counting,) = [a for a in drafted(tmp_path / "other", PERMUTED, "count").arguments if a.name == "counts"]
    assert counting.values == "integers(0, 1)"


OTHERWISE = """
import torch
import triton
import triton.language as tl

@triton.jit
def doubled_tile(x, out, stride: tl.constexpr):
    at = tl.program_id(0) * stride + tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    tl.store(out + at, tl.load(x + at) * 2)

def run(data):
    batch, n, _ = data.shape
    if n != 32:
        return data * 2
    out = torch.empty_like(data)
    doubled_tile[(batch,)](data, out, n * n)
    return out
"""


def test_a_launch_past_a_return_of_something_else_is_read_at_sizes_that_reach_it(tmp_path: Path) -> None:
    draft = drafted(tmp_path, OTHERWISE, "doubled_tile")
    assert not draft.missing
    assert 32 in draft.dims.values()
    assert any("== 32" in p or "!= 32" in p for p in draft.promises)


SORTED_DIAGONAL = """
import torch
import triton
import triton.language as tl

@triton.jit
def permuted_eye(out, places, total, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    batch, rest = at // (n * n), at % (n * n)
    place = tl.load(places + batch * n + rest % n, mask=at < total, other=0)
    tl.store(out + at, (rest // n == place).to(tl.float32), mask=at < total)

def run(data):
    values, places = torch.diagonal(data, dim1=-2, dim2=-1).sort(dim=-1)
    batch, n = values.shape
    out = torch.empty_like(torch.diag_embed(values))
    permuted_eye[(triton.cdiv(out.numel(), 256),)](out, places, out.numel(), n, BLOCK=256)
    return out

def test_run():
    run(torch.randn(3, 40, 40))
"""


def test_the_diagonal_of_square_matrices_has_a_shape(tmp_path: Path) -> None:
    draft = drafted(tmp_path, SORTED_DIAGONAL, "permuted_eye")
    assert not draft.missing
    out, places = (next(a for a in draft.arguments if a.name == n) for n in ("out", "places"))
    batch, edge = places.shape or ()
    assert out.shape == (batch, edge, edge)
    assert places.values == f"integers(0, {edge})"


UNROLLED = """
import torch
import triton
import triton.language as tl

@triton.jit
def window_sums(x, out, n, EDGE: tl.constexpr, STEP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for k in tl.static_range(EDGE):
        total += tl.load(x + at * STEP + k, mask=at < n, other=0.0)
    tl.store(out + at, total, mask=at < n)

def run(x: torch.Tensor, kernel_size: int, stride: int):
    wide, = x.shape
    n = (wide - kernel_size) // stride + 1
    out = torch.empty(n, device=x.device)
    window_sums[(triton.cdiv(n, 64),)](x, out, n, EDGE=kernel_size, STEP=stride, BLOCK=64)
    return out
"""


def test_windows_have_the_usual_numbers(tmp_path: Path) -> None:
    """Loops over them are unrolled: with other sizes the kernel took minutes to compile."""
    draft = drafted(tmp_path, UNROLLED, "window_sums")
    assert not draft.missing
    assert (draft.constexpr["EDGE"], draft.constexpr["STEP"]) == ("3", "1")


MODULE = """\
import torch
import triton
import triton.language as tl

@triton.jit
def gain_kernel(out, x, gain, n_cols, EPS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * n_cols + at, mask=at < n_cols, other=0.0)
    g = tl.load(gain + at, mask=at < n_cols, other=0.0)
    tl.store(out + row * n_cols + at, v * (g + EPS), mask=at < n_cols)

class Gain(torch.nn.Module):
    def __init__(self, width: int, eps: float = 0.25):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        rows, cols = x.shape
        assert cols == self.gain.shape[0]
        out = torch.empty_like(x)
        gain_kernel[(rows,)](out, x, self.gain, cols, EPS=self.eps, BLOCK=triton.next_power_of_2(self.gain.shape[0]))
        return out
"""


def test_a_module_that_nobody_makes_is_made_with_sizes_of_its_own(tmp_path: Path) -> None:
    draft = drafted(tmp_path / "gain", MODULE, "gain_kernel")
    assert draft.missing == ()
    assert shape(draft, "gain") == ("width",)
    assert shape(draft, "x") == ("rows", "cols")
    assert (draft.promises, draft.dims["width"]) == (("cols == width",), draft.dims["cols"])
    assert draft.constexpr["EPS"] == "0.25"


PARTIAL_GRID = """\
def _grid(blocks, meta):
    return (blocks,)


def run(x, gate):
    out = torch.empty_like(x)
    grid = functools.partial(_grid, triton.cdiv(x.numel(), 64))
    blend[grid](out, x, gate, x.numel(), BLOCK=64)
    return out
"""
PARTIAL_LAUNCHER = """\
def _launch(out, x, gate, block):
    blend[(triton.cdiv(x.numel(), block),)](out, x, gate, x.numel(), BLOCK=block)


def run(x, gate):
    go = partial(_launch, block=64)
    go(torch.empty_like(x), x, gate)
"""


@pytest.mark.parametrize("host", [PARTIAL_GRID, PARTIAL_LAUNCHER], ids=["grid", "launcher"])
def test_a_function_with_some_of_its_arguments_is_followed(tmp_path: Path, host: str) -> None:
    draft = drafted(tmp_path, KERNEL + host)
    assert draft.grid == ("ceil_div(x_elements, 64)",)
    assert draft.constexpr == {"BLOCK": "64"}
