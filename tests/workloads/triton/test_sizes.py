"""How the sizes of a test hang together in a draft, at which of them a kernel is checked, and what is left out."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from kernel_gate.launching import bind
from kernel_lineage.workloads.completing import tried_draft
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.programs import program_from_file
from kernel_lineage.workloads.triton.indices import indices_of
from kernel_lineage.workloads.triton_module import kernel_module

HEAD = """\
import torch
import triton
import triton.language as tl

"""
PARTS = """\
@triton.jit
def part_sums(out, x, n, chunks, LENGTH: tl.constexpr):
    row, chunk = tl.program_id(0), tl.program_id(1)
    at = tl.arange(0, LENGTH)
    v = tl.load(x + row * n + chunk * LENGTH + at)
    tl.store(out + row * chunks + chunk, tl.sum(v, 0))


def sums(x, weights, length):
    rows, n = x.shape
    assert n % length == 0, "whole chunks"
    chunks = n // length
    out = torch.empty(rows, chunks)
    part_sums[(rows, chunks)](out, x, n, chunks, LENGTH=length)
    return out
"""


def drafted(folder: Path, code: str, test: str, kernel: str) -> Draft:
    (folder / ".git").mkdir(exist_ok=True)
    (folder / "rows.py").write_text(HEAD + code)
    names = ", ".join(n.name for n in ast.parse(code).body if isinstance(n, ast.FunctionDef))
    (folder / "test_rows.py").write_text(f"import torch\nfrom rows import {names}\n\n\n{test}")
    return draft_of(kernel_of(folder / "rows.py", kernel), folder / "rows.py", measure=False)


def shapes(draft: Draft) -> dict[str, tuple[str, ...] | None]:
    return {a.name: a.shape for a in draft.arguments if a.kind != "scalar"}


def test_numbers_of_a_test_stay_what_they_are_made_of(tmp_path: Path) -> None:
    test = """\
def test_sums():
    rows, size = 4, 4096
    length = 16
    chunks = size // length
    sums(torch.randn(rows, size), torch.randn(rows, chunks), length)
"""
    draft = drafted(tmp_path, PARTS, test, "part_sums")
    assert draft.missing == ()
    assert shapes(draft) == {"out": ("rows", "size // length_"), "x": ("rows", "size")} or shapes(draft) == {
        "out": ("rows", "size // length"),
        "x": ("rows", "size"),
    }
    assert any("size % length" in p for p in draft.promises)
    assert draft.checked["size"] % draft.checked[next(n for n in draft.dims if n.startswith("length"))] == 0


def test_what_a_wrapper_asserts_is_kept_by_the_sizes_that_are_checked(tmp_path: Path) -> None:
    test = """\
def test_sums():
    rows, size = 6, 24576
    sums(torch.randn(rows, size), None, 48)
"""
    masked = "chunk * LENGTH + at, mask=at < LENGTH, other=0.0)"
    code = PARTS.replace("tl.arange(0, LENGTH)", "tl.arange(0, 64)").replace("chunk * LENGTH + at)", masked)
    draft = drafted(tmp_path, code, test, "part_sums")
    assert draft.missing == ()
    assert draft.promises == ("size % 48 == 0", "size // 48 >= 1")
    assert draft.checked["size"] % 48 == 0 and draft.checked["size"] < 24576


def test_a_number_is_no_dim_that_happens_to_be_as_large(tmp_path: Path) -> None:
    test = """\
def test_sums():
    batch, size = 16, 2048
    parts(torch.randn(batch, size), 16)
"""
    code = (
        PARTS + "\n\ndef parts(x, length):\n    return sums(torch.empty(x.shape[1], length), None, length)\n"
    )
    draft = drafted(tmp_path, code, test, "part_sums")
    assert shapes(draft)["x"] == ("size", "16")


def test_functions_beside_a_test_name_dims_too(tmp_path: Path) -> None:
    test = """\
def made(batch, size):
    return torch.randn(batch, size)


def test_sums():
    sums(made(8, 2048), None, 32)
"""
    assert shapes(drafted(tmp_path, PARTS, test, "part_sums"))["x"] == ("batch", "size")


COPY = """\
@triton.jit
def scatter(out, x, places, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    place = tl.load(places + row)
    at = tl.arange(0, BLOCK)
    tl.store(out + place * n + at, tl.load(x + row * n + at, mask=at < n), mask=at < n)


def copied(x, places, out):
    scatter[(x.shape[0],)](out, x, places, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
"""


def test_numbers_of_a_table_are_dims_by_their_keys(tmp_path: Path) -> None:
    test = """\
CASES = [{"rows": 12, "cols": 96, "dtype": torch.float32}, {"rows": 40, "cols": 64, "dtype": torch.float32}]


def inputs(case):
    return torch.randn(case["rows"], case["cols"], dtype=case["dtype"])


def run(case):
    return sums(inputs(case), None, 32)


def test_sums():
    for case in CASES:
        run(case)
"""
    draft = drafted(tmp_path, PARTS, test, "part_sums")
    assert draft.missing == ()
    assert dict(draft.dims) == {"rows": 12, "cols": 96}
    assert shapes(draft) == {"out": ("rows", "cols // 32"), "x": ("rows", "cols")}


@pytest.mark.long
@pytest.mark.parametrize("made", ["arange(rows)", "arange(0, rows)", "randperm(rows)"])
def test_places_that_a_test_counts_come_once_each(tmp_path: Path, made: str) -> None:
    test = f"""\
def test_copied():
    rows, size = 12, 40
    copied(torch.randn(rows, size), torch.{made}, torch.empty(rows, size))
"""
    draft = drafted(tmp_path, COPY, test, "scatter")
    values = {a.name: a.values for a in draft.arguments}
    assert values["places"] == "permutation(rows)"
    if made == "randperm(rows)":
        proof = tried_draft(kernel_of(tmp_path / "rows.py", "scatter"), tmp_path / "rows.py", kinds=())[1]
        assert proof is not None and proof.baseline == ""


@pytest.mark.long
def test_places_that_are_some_of_many_are_never_more_than_there_are(tmp_path: Path) -> None:
    test = """\
def test_copied():
    rows, size, blocks, many = 12, 40, 8, 4
    copied(torch.randn(rows, size), torch.randperm(blocks * many)[:rows], torch.empty(blocks * many, size))
"""
    draft = drafted(tmp_path, COPY, test, "scatter")
    assert "rows <= blocks * many" in draft.promises
    proof = tried_draft(kernel_of(tmp_path / "rows.py", "scatter"), tmp_path / "rows.py", kinds=())[1]
    assert proof is not None
    assert proof.baseline == ""


def test_what_is_loaded_for_an_address_is_whole_numbers() -> None:
    text = """
def k(x, y, places, ends, out, n):
    i = tl.program_id(0)
    row = tl.load(places + i)
    end = tl.load(ends + row)
    base = y + row * n
    for j in range(0, end, 4):
        tl.store(out + i * n + j, tl.load(base + j) + tl.load(x + j))
"""
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert indices_of(function) == {"places", "ends"}


GATED = """\
@triton.heuristics({"GATED": lambda args: args["gate"] is not None})
@triton.jit
def gated(out, k, v, gate, K: tl.constexpr, V: tl.constexpr, GATED: tl.constexpr):
    i, at = tl.program_id(0), tl.arange(0, V)
    s = tl.sum(tl.load(k + i * K + tl.arange(0, K)), 0) * tl.load(v + i * V + at)
    if GATED:
        s = s * tl.load(gate + helped(i))
    tl.store(out + i * V + at, s)


def forward(k, v, gate):
    B, T, K, V = *k.shape, v.shape[-1]
    out = torch.empty_like(v)
    gated[(B * T,)](out, k, v, gate, K=K, V=V)
    return out
"""


def test_what_may_be_none_is_left_out_where_nothing_tells_its_shape(tmp_path: Path) -> None:
    draft = drafted(tmp_path, GATED, "def test_nothing():\n    pass\n", "gated")
    assert draft.missing == ()
    assert draft.constexpr["gate"] == "None" and draft.constexpr["GATED"] == "False"
    assert "gate is taken to be None: nothing tells its shape" in draft.assumed
    assert [s and s[:2] for s in shapes(draft).values()] == [("B", "T")] * 3


def test_a_scalar_may_be_infinite(tmp_path: Path) -> None:
    code = COPY.replace("n, BLOCK: tl.constexpr):", "n, most, BLOCK: tl.constexpr):").replace(
        "x.shape[1], BLOCK=", 'x.shape[1], float("inf"), BLOCK='
    )
    test = """\
def test_copied():
    copied(torch.randn(12, 40), torch.arange(12), torch.empty(12, 40))
"""
    draft = drafted(tmp_path, code, test, "scatter")
    assert draft.workload().scalars(draft.checked)["most"] == float("inf")


def test_two_tiles_are_checked_where_tiles_are_counted(tmp_path: Path) -> None:
    code = """\
@triton.jit
def add_one(out, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    row = tl.program_id(0)
    tl.store(out + row * n + at, tl.load(x + row * n + at, mask=at < n) + 1, mask=at < n)


def added(x):
    out = torch.empty_like(x)
    add_one[(x.shape[0], triton.cdiv(x.shape[1], 256))](out, x, x.shape[1], BLOCK=256)
    return out
"""
    test = "def test_added():\n    rows, size = 4096, 4096\n    added(torch.randn(rows, size))\n"
    checked = drafted(tmp_path, code, test, "add_one").checked
    assert checked["size"] == 512 and checked["rows"] < 64


@pytest.mark.parametrize(
    ("rounds", "at"), [("range(0, n, BLOCK)", "k"), ("range(tl.cdiv(n, BLOCK))", "k * BLOCK")]
)
def test_two_rounds_are_checked_of_a_loop_over_tiles(rounds: str, at: str, tmp_path: Path) -> None:
    code = f"""\
@triton.jit
def add_up(out, x, m, n, BLOCK: tl.constexpr):
    total = 0.0
    for k in {rounds}:
        at = {at} + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=0.0), axis=0)
    tl.store(out + tl.program_id(0), total)


def added(x):
    out = x.new_empty(x.shape[0])
    add_up[(x.shape[0],)](out, x, x.shape[0], x.shape[1], BLOCK=128)
    return out
"""
    test = "def test_added():\n    rows, size = 8192, 1024\n    added(torch.randn(rows, size))\n"
    checked = drafted(tmp_path, code, test, "add_up").checked
    assert checked["size"] == 256 and checked["rows"] < 128


@pytest.mark.long
def test_a_size_that_the_kernel_counts_on_is_its_only_one(tmp_path: Path) -> None:
    code = """\
@triton.jit
def centred(out, x, n):
    row, at = tl.program_id(0), tl.arange(0, 1024)
    v = tl.load(x + row * n + at)
    tl.store(out + row * n + at, v - tl.sum(v, 0) / 1024)


def centre(x):
    out = torch.empty_like(x)
    centred[(x.shape[0],)](out, x, x.shape[1])
    return out
"""
    test = "def test_centre():\n    rows, size = 32, 1024\n    centre(torch.randn(rows, size))\n"
    draft = drafted(tmp_path, code, test, "centred")
    assert draft.checked["size"] < 1024
    draft, proof = tried_draft(kernel_of(tmp_path / "rows.py", "centred"), tmp_path / "rows.py", kinds=())
    assert proof is not None and proof.baseline == ""
    assert draft.checked["size"] == 1024 and "size == 1024" in draft.promises
    assert "size == 1024: at smaller sizes the kernel leaves its buffers" in draft.assumed


def test_a_module_is_cut_without_names_that_are_its_own() -> None:
    text = (
        HEAD
        + """\
import not_there

if not_there.FAST:
    CONFIGS = [{"BLOCK": BLOCK, "w": w} for BLOCK, w in ((1, 2), (3, 4))]
w = not_there.WARPS
SCALE = 2


@triton.jit
def k(out, BLOCK: tl.constexpr):
    w = tl.arange(0, BLOCK)
    tl.store(out + w, w * SCALE)
"""
    )
    cut = kernel_module(text, "k")
    assert cut is not None
    assert "not_there" not in cut and "SCALE = 2" in cut


FLAT = """\
@triton.jit
def add_kernel(out, x, T, D, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < T) + D, mask=at < T)


def add(x):
    out = torch.empty_like(x)
    T, D = x.numel(), x.shape[-1]
    add_kernel[(triton.cdiv(T, 64),)](out, x, T, D, BLOCK=64)
    return out
"""


def test_a_dim_and_a_scalar_of_one_name_are_told_apart(tmp_path: Path) -> None:
    test = "def test_add():\n    T, D = 32, 24\n    assert add(torch.randn(3, T, D)).shape == (3, T, D)\n"
    draft = drafted(tmp_path, FLAT, test, "add_kernel")
    assert draft.missing == ()
    assert {a.name: a.value for a in draft.arguments if a.kind == "scalar"} == {"T": "d3 * T_ * D", "D": "D"}
    workload = draft.workload()
    program = program_from_file(tmp_path / "rows.py", "add_kernel", workload)
    assert bind(workload, program, {"d3": 3, "T_": 32, "D": 24}).launches[0].grid == (36, 1, 1)


@pytest.mark.parametrize("tile", ["64", "meta['BLOCK']"])
def test_checked_sizes_launch_at_least_one_program(tmp_path: Path, tile: str) -> None:
    launch = f"lambda meta: (triton.cdiv(T, {tile}) - triton.cdiv(T, {tile}) % 16,)"
    code = FLAT.replace("(triton.cdiv(T, 64),)", launch)
    test = "def test_add():\n    T, D = 1024, 32\n    add(torch.randn(T, D))\n"
    draft = drafted(tmp_path, code, test, "add_kernel")
    workload = draft.workload()
    program = program_from_file(tmp_path / "rows.py", "add_kernel", workload)
    assert draft.checked != draft.dims
    assert bind(workload, program, draft.checked).launches[0].grid[0] >= 16
    assert not workload.keeps_promises({**draft.dims, "T_": 3})


TABLE = """\
@triton.jit
def take(out, table, n, WIDTH: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, WIDTH)
    tl.store(out + row * WIDTH + at, tl.load(table + row * WIDTH + at))


def table_of(most, width):
    return torch.arange(most)[:, None] * torch.ones(width)[None, :]


def taken(x, table):
    n, width = x.shape
    assert table.shape[0] >= n and table.shape[1] == width
    out = torch.empty_like(x)
    take[(n,)](out, table, n, WIDTH=width)
    return out
"""


def test_a_table_that_a_function_of_the_test_makes_has_dims_where_it_is_large(tmp_path: Path) -> None:
    test = "def test_taken():\n    taken(torch.randn(50, 64), table_of(MOST, 64))\n"
    draft = drafted(tmp_path, TABLE, test.replace("MOST", "8192"), "take")
    assert shapes(draft)["table"] is not None
    most = shapes(draft)["table"][0]  # type: ignore[index]
    assert draft.dims[most] == 8192 and draft.checked[most] < 8192
    assert draft.checked[most] >= draft.checked[draft.grid[0]]
    small = shapes(drafted(tmp_path, TABLE, test.replace("MOST", "90"), "take"))["table"]
    assert small is not None and small[0] == "90"
