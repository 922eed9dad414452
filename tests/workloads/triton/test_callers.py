"""Callers of a Triton kernel in its own file, what they write out, and what wrappers without callers ask for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernel_gate.cases import Case
from kernel_gate.inputs import make_inputs
from kernel_gate.workload import Workload
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.model import Draft, DraftArgument

KERNEL = """\
import torch
import triton
import triton.language as tl


@triton.jit
def add_rows(out_ptr, x_ptr, index_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(index_ptr + tl.program_id(0))
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) + row, mask=at < n)


def launch(x, index):
    out = torch.empty_like(x)
    add_rows[(triton.cdiv(x.numel(), 64),)](out, x, index, x.numel(), BLOCK=64)
    return out

"""


def drafted(folder: Path, code: str, kernel: str = "add_rows") -> Draft:
    (folder / ".git").mkdir(exist_ok=True)
    (folder / "rows.py").write_text(code)
    return draft_of(kernel_of(folder / "rows.py", kernel), folder / "rows.py", measure=False)


def argument(draft: Draft, name: str) -> DraftArgument:
    return next(a for a in draft.arguments if a.name == name)


INSIDE = {
    "a test of the module": "def test_it():\n    rows, cols = 12, 96\n    launch(torch.randn(rows, cols), {index})\n",
    "a function that needs nothing": "def example(rows=12, cols=96):\n    launch(torch.randn(12, 96), {index})\n",
    "a script": 'if __name__ == "__main__":\n    launch(torch.randn(12, 96), {index})\n',
    "statements of the module": "launch(torch.randn(12, 96), {index})\n",
}


@pytest.mark.parametrize("code", INSIDE.values(), ids=INSIDE)
def test_a_module_that_tries_itself_gives_its_sizes(tmp_path: Path, code: str) -> None:
    index = "torch.zeros(18, dtype=torch.int32)"
    draft = drafted(tmp_path, KERNEL + code.format(index=index))

    assert not draft.missing
    assert sorted(draft.dims.values()) == [12, 18, 96]


OTHER = """\
def other(x):
    out = torch.empty_like(x)
    if x.numel() < 300:
        out = x.clone()
    return out

"""


@pytest.mark.parametrize(
    ("line", "asks"),
    [
        ("torch.testing.assert_close(other(x), x)", False),
        ("x = other(x)", True),
        ("held = []; held.append(other(x))", True),
    ],
)
def test_what_a_test_tries_before_asks_nothing_of_sizes(tmp_path: Path, line: str, asks: bool) -> None:
    test = f"""
def test_it():
    rows, cols = 12, 96
    x = torch.randn(rows, cols)
    {line}
    launch(x, torch.zeros(18).int())
"""
    draft = drafted(tmp_path, KERNEL + OTHER + test)
    assert any("300" in promise for promise in draft.promises) == asks


def test_equal_sizes_with_names_of_their_own_are_dims_of_their_own(tmp_path: Path) -> None:
    code = "def test_it():\n    rows = 64\n    cols = 64\n    launch(torch.randn(rows, cols), torch.zeros(1).int())\n"
    draft = drafted(tmp_path, KERNEL + code)

    assert argument(draft, "x_ptr").shape == ("rows", "cols")


def test_sizes_that_a_test_hands_on_as_numbers_are_dims(tmp_path: Path) -> None:
    code = """\
def tried(rows, cols):
    return launch(torch.randn(rows, cols), torch.zeros(rows, dtype=torch.int32))


def test_it():
    tried(12, 96)
"""
    draft = drafted(tmp_path, KERNEL + code)

    assert draft.dims == {"rows": 12, "cols": 96}


COUNTED = """\
def counted():
    index = torch.zeros((3,), dtype=torch.int32)
    index[0] = 7
    index[1] = 96
    return index


"""
LISTED = {
    "offsets up to a size": ("torch.tensor([0, 24, 96], dtype=torch.int32)", "listed(0, d96 * 24 // 96, d96)"),
    "indices below a size": ("torch.tensor([95, 3, 7], dtype=torch.int32)", "integers(0, d96)"),
    "numbers that all are the same": ("torch.tensor([7, 7], dtype=torch.int32)", "integers(7, 8)"),
    "their running sums": ("torch.tensor([24, 72], dtype=torch.int32).cumsum(0)", "listed(d96 * 24 // 96, d96)"),
    "running sums behind a zero": (
        "torch.nn.functional.pad(torch.tensor([24, 72]).cumsum(0), (1, 0))", "listed(0, d96 * 24 // 96, d96)"
    ),
    "a list behind another": (
        "torch.cat([torch.zeros(1, dtype=torch.int64), torch.tensor([24, 96])])", "listed(0, d96 * 24 // 96, d96)"
    ),
    "a list whose elements are stored one by one": ("counted()", "listed(d96 * 7 // 96, d96, 0)"),
    "a part of a list": ("torch.tensor([0, 24, 96])[1:]", "listed(d96 * 24 // 96, d96)"),
}  # fmt: skip


@pytest.mark.parametrize(("index", "values"), LISTED.values(), ids=LISTED)
def test_numbers_that_a_test_writes_out(tmp_path: Path, index: str, values: str) -> None:
    draft = drafted(tmp_path, f"{KERNEL}{COUNTED}def test_it():\n    launch(torch.randn(12, 96), {index})\n")

    assert argument(draft, "index_ptr").values == values


def test_numbers_that_hold_at_the_sizes_of_the_test_alone(tmp_path: Path) -> None:
    code = "def test_it():\n    launch(torch.randn(12, 96), torch.tensor([3, 50, 17]))\n"
    draft = drafted(tmp_path, KERNEL + code)

    assert argument(draft, "index_ptr").values == "listed(3, 50, 17)"
    assert set(draft.promises) >= {f"{name} == {size}" for name, size in draft.dims.items()}


def test_a_number_of_a_tensor_that_is_written_out(tmp_path: Path) -> None:
    wrapper = KERNEL.replace(
        "index, x.numel(), BLOCK", "index, int(index.max().item()) + index[-1].item(), BLOCK"
    )
    draft = drafted(
        tmp_path, f"{wrapper}def test_it():\n    launch(torch.randn(12, 96), torch.tensor([3, 50, 17]))\n"
    )

    assert argument(draft, "n").value in ("67", "50 + 17")


TILED = """\
import torch
import triton
import triton.language as tl


@triton.jit
def copy(out_ptr, x_ptr, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    for start in range(0, cols, COLS):
        col = start + tl.arange(0, COLS)
        at = row[:, None] * cols + col[None, :]
        x = tl.load(x_ptr + at{mask})
        tl.store(out_ptr + at, x{mask})


def launch(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    copy[(triton.cdiv(rows, 16),)](out, x, rows, cols, ROWS=16, COLS=32)


def test_it():
    rows, cols = 64, 128
    launch(torch.randn(rows, cols))
"""
MASKS = {
    "no mask": ("", {"rows % 16 == 0", "cols % 32 == 0"}),
    "a mask over rows": (", mask=row[:, None] < rows", {"cols % 32 == 0"}),
    "a mask over columns": (", mask=col[None, :] < cols", {"rows % 16 == 0"}),
    "a mask over both": (", mask=(row[:, None] < rows) & (col[None, :] < cols)", set()),
}


@pytest.mark.parametrize(("mask", "promised"), MASKS.values(), ids=MASKS)
def test_what_no_mask_guards_is_whole_tiles(tmp_path: Path, mask: str, promised: set[str]) -> None:
    draft = drafted(tmp_path, TILED.format(mask=mask), "copy")

    assert {p.replace("(", "").replace(")", "") for p in draft.promises} == promised


@pytest.mark.parametrize("stated", [False, True], ids=["nowhere", "by the launcher"])
def test_whole_tiles_that_no_code_asks_for_are_said_to_be_taken(tmp_path: Path, stated: bool) -> None:
    code = TILED.format(mask=MASKS["a mask over columns"][0])
    if stated:
        code = code.replace("    out = torch", "    assert rows % 16 == 0\n    out = torch")
    draft = drafted(tmp_path, code, "copy")

    taken = "rows % 16 == 0 is taken to hold: nothing masks the access on line 12"
    assert (taken in draft.assumed) is not stated
    assert {p.replace("(", "").replace(")", "") for p in draft.promises} == {"rows % 16 == 0"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "        tl.store",
            "        tl.store(x_ptr + rows * cols + tl.program_id(0), 0.0)\n        tl.store",
        ),
        ("(triton.cdiv(rows, 16),)", "(triton.next_power_of_2(triton.cdiv(rows, 16)),)"),
    ],
    ids=["one element of each program", "a count that is rounded"],
)
def test_whole_tiles_are_no_promise_of_what_counts_no_tiles(tmp_path: Path, old: str, new: str) -> None:
    code = TILED.format(mask=MASKS["a mask over columns" if "cdiv" in old else "a mask over both"][0])
    draft = drafted(tmp_path, code.replace(old, new), "copy")

    assert not any("rows" in p for p in draft.promises)


def test_a_block_of_a_product_keeps_its_least_size(tmp_path: Path) -> None:
    code = TILED.format(mask="").replace("        tl.store", "        x = tl.dot(x, x)\n        tl.store")
    draft = drafted(tmp_path, code.replace("COLS=32", "COLS=cols"), "copy")

    assert "cols >= 16" in draft.promises


ASKED = """
def launch_checked(x, w):
    if x.dtype != torch.bfloat16 or w.dtype != torch.bfloat16:
        raise ValueError
    M, K = x.shape
    if w.ndim != 2:
        raise ValueError
    assert w.shape[0] == K
    assert K % 48 == 0, K
    out = torch.empty_like(x)
    add_rows[(1,)](out, w, torch.zeros(1, dtype=torch.int32), M * K, BLOCK=64)
"""


def test_what_a_wrapper_without_callers_asks_for_is_kept(tmp_path: Path) -> None:
    code = KERNEL[: KERNEL.index("def launch")] + ASKED
    draft = drafted(tmp_path, code)

    assert not draft.missing
    assert argument(draft, "x_ptr").dtype == "bfloat16"
    assert (argument(draft, "x_ptr").shape or ())[0] == "K"
    assert draft.dims["K"] % 48 == 0
    assert "K % 48 == 0" in draft.promises
    assert not any("float32 is assumed" in line for line in draft.assumed)


def inputs(values: str, shape: list[object]) -> np.ndarray:
    workload = Workload.model_validate(
        {
            "kernel": "k",
            "language": "cuda",
            "dims": {"N": [6], "T": [40]},
            "args": [
                {"name": "x", "kind": "input", "dtype": "int32", "shape": shape, "values": values},
                {"name": "y", "kind": "output", "dtype": "int32", "shape": shape},
            ],
            "launch": {"grid": [1], "block": [1]},
        }
    )
    return make_inputs(workload, Case({"N": 6, "T": 40}, 3))["x"]


def test_a_workload_draws_listed_numbers_in_turn() -> None:
    assert inputs("listed(0, ceil_div(T, 3), T)", ["N"]).tolist() == [0, 14, 40, 0, 14, 40]


def test_a_workload_draws_offsets_that_ascend_from_zero_to_the_total() -> None:
    drawn = inputs("offsets(T)", ["N"])

    assert drawn[0] == 0
    assert drawn[-1] == 40
    assert (np.diff(drawn) >= 0).all()


@pytest.mark.parametrize(
    "check",
    [
        "assert index.shape == (rows, cols)",
        "if index.shape != (rows, cols):\n        raise ValueError",
        "if (rows, cols) != index.shape or rows < 2:\n        raise ValueError",
        "assert index.size() == x.shape",
    ],
)
def test_shapes_that_are_compared_as_a_whole_are_kept_extent_by_extent(check: str, tmp_path: Path) -> None:
    code = KERNEL.replace("    out = torch", f"    rows, cols = x.shape\n    {check}\n    out = torch", 1)
    draft = drafted(tmp_path, code)
    shape = argument(draft, "index_ptr").shape
    assert shape is not None and len(shape) == 2
    assert [draft.checked[extent] for extent in shape] == [draft.checked["rows"], draft.checked["cols"]]


OPERATOR = """
{registered}
def launched(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return launch(x, index)
{after}
def test_rows():
    x = torch.randn(12, 96)
    torch.ops.adding.rows{overload}(x, torch.zeros(18, dtype=torch.int32))
"""


@pytest.mark.parametrize(
    ("registered", "after", "overload"),
    [
        ('@torch.library.custom_op("adding::rows", mutates_args=())', "", ""),
        ('@triton_op("adding::rows", mutates_args={})', "", ".default"),
        ('@torch.library.impl("adding::rows", "cuda")', "", ""),
        ("", 'library.impl("rows", launched, "CUDA")', ""),
    ],
)
def test_an_operator_is_called_by_its_name(
    tmp_path: Path, registered: str, after: str, overload: str
) -> None:
    code = OPERATOR.format(registered=registered, after=after, overload=overload)
    draft = drafted(tmp_path, KERNEL + code)
    assert draft.way == "test_rows in rows.py"
    assert argument(draft, "x_ptr").shape == ("d12", "d96")


def test_of_equal_cases_one_is_read_whose_numbers_hide_nothing(tmp_path: Path) -> None:
    code = KERNEL.replace("x.numel(), BLOCK", "x.numel(), by, BLOCK").replace("n, BLOCK:", "n, by, BLOCK:")
    code = code.replace("def launch(x, index):", "def launch(x, index, by):").replace("+ row", "* by + row")
    test = """
import pytest
@pytest.mark.parametrize("by", [0.0, 1.0, 0.25, 0.5])
@pytest.mark.parametrize("rows", [3, 12])
def test_rows(rows, by):
    launch(torch.randn(rows, 96), torch.zeros(18, dtype=torch.int32), by)
"""
    draft = drafted(tmp_path, code + test)
    assert (argument(draft, "by").value, draft.dims["rows"]) == ("0.25", 12)
