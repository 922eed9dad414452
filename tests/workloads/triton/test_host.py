"""What of host code is followed on the way to a launch: each case is a wrapper, and what the launch gets by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.completing import tried_draft
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.model import Draft

KERNEL = """\
import functools
import math
import os

import torch
import triton
import triton.language as tl


@triton.jit
def fill(out_ptr, x_ptr, n, BLOCK: tl.constexpr, MODE: tl.constexpr = None):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)

"""
TEST = """\
import pytest
import torch
from rows import launch


@pytest.mark.parametrize("N, C", [(6, 40)])
def test_launch(N, C):
    launch(torch.randn(N, C))
"""


def drafted(folder: Path, code: str, test: str = TEST, kernel: str = "fill", file: str = "rows.py") -> Draft:
    (folder / ".git").mkdir(exist_ok=True)
    for path, text in {file: KERNEL + code, "test_rows.py": test}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return draft_of(kernel_of(folder / file, kernel), folder / file, measure=False)


def wrapper(body: str, n: str = "n") -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"\ndef launch(x):\n{lines}    out = torch.empty_like(x)\n    fill[(1,)](out, x, {n}, BLOCK=64)\n"


NUMBERS = {
    "unpacked with a star": ("*_, n = x.shape", "C"),
    "tensors of one device": ("n = x.shape[1]\nif torch.zeros(3).device != x.device:\n    n = 7", "C"),
    "an axis from behind": ("n = x.size(-1)", "C"),
    "all elements": ("n = x.numel()", "N * C"),
    "a view with what is left": ("n, _ = x.view(-1, 8).shape", "N * C // 8"),
    "a whole root": ("n = int((math.isqrt(4 + 4 * x.shape[1]) - 2) // 2)", "(isqrt(4 + 4 * C) - 2) // 2"),
    "a part of an axis": ("n = x[:, 1:].shape[1]", "C - 1"),
    "rows below each other": ("n = torch.cat([x, x], dim=0).shape[0]", "N * 2"),
    "a transposed tensor's stride": ("n = x.transpose(0, 1).stride(1)", "C"),
    "a sum over an axis": ("n = x.sum(dim=-1, keepdim=True).shape[0]", "N"),
    "a matrix product": ("n = (x @ x.t()).shape[1]", "N"),
    "an einsum": ("n = torch.einsum('nc,mc->nm', x, x).shape[0]", "N"),
    "a cell's weight": ("n = torch.nn.GRUCell(x.shape[1], 5).weight_hh.shape[0]", "15"),
    "a cell's bias": ("n = torch.nn.LSTMCell(3, x.shape[1]).bias_ih.shape[0]", "4 * C"),
    "a layer's weight": ("n = torch.nn.Linear(x.shape[1], 3)(x).shape[1]", "3"),
    "a loop that looks for something": (
        "n = None\nfor size in (16, 32, 64):\n    if x.shape[1] <= size:\n        n = size\n        break",
        "64",
    ),
    "a loop with a condition": ("n = 1\nwhile n < x.shape[1]:\n    n *= 2", "64"),
    "a dict that is filled": ("sizes = {}\nsizes[x.dtype] = x.shape[1]\nn = sizes[torch.float32]", "C"),
    "a comprehension": ("n = [e for e in x.shape if e > 10][0]", "C"),
    "a handler where what is tried raises": (
        "try:\n    raise ValueError('no')\nexcept ValueError:\n    n = x.shape[0]",
        "N",
    ),
    "a partial function": ("n = functools.partial(lambda a, b: a + b, 2)(x.shape[0])", "2 + N"),
    "a rounded quotient": ("n = math.ceil(x.shape[1] / 16)", "ceil_div(C, 16)"),
    "an environment variable that is not set": ("n = int(os.environ.get('ROWS', '') or x.shape[0])", "N"),
    "the maker of the device": ("n = 1 if IS_AMD else x.shape[0]", "N"),
    "the device's capability": (
        "n = x.shape[0] if torch.cuda.get_device_capability()[0] >= 8 else 1",
        "N",
    ),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_a_number_is_followed_through(case: str, tmp_path: Path) -> None:
    body, expected = NUMBERS[case]
    draft = drafted(tmp_path, wrapper(body))
    assert draft.missing == ()
    assert next(a.value for a in draft.arguments if a.name == "n") == expected


def test_the_number_of_processors_is_a_dim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernel_lineage.workloads.triton.device_facts.multiprocessors", lambda: 84)
    body = "n = torch.cuda.get_device_properties(x.device).multi_processor_count"
    draft = drafted(tmp_path, wrapper(body))
    assert (draft.dims["multi_processor_count"], draft.checked["multi_processor_count"]) == (84, 4)
    assert (
        "multi_processor_count is taken to be 84: it depends on the device; checked with 4" in draft.assumed
    )


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("MODE='mean'", "'mean'"),
        ("MODE=None", "None"),
        ("MODE=tl.float32", "tl.float32"),
        ("MODE={torch.float32: tl.float16}[x.dtype]", "tl.float16"),
        ("MODE=x.shape[0] > 4", "N > 4"),
    ],
)
def test_a_constexpr_may_be_more_than_a_number(option: str, expected: str, tmp_path: Path) -> None:
    code = wrapper("n = 1").replace("BLOCK=64", f"BLOCK=64, {option}")
    assert drafted(tmp_path, code).constexpr["MODE"] == expected


def test_a_pointer_that_the_launch_leaves_out_is_none_at_compile_time(tmp_path: Path) -> None:
    draft = drafted(tmp_path, wrapper("n = 1").replace("out, x, n", "out, None, n"))
    assert draft.constexpr["x_ptr"] == "None"
    assert [a.name for a in draft.arguments] == ["out_ptr", "n"]
    assert draft.workload().launch.constexpr["x_ptr"] == "None"


CLASSES = """

class Base(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("weight", torch.ones(width))

    @property
    def width(self):
        return self.weight.shape[0]


class Layer(Base):
    def __init__(self, width):
        super().__init__(width)
        self.twice = 2 * self.width

    def forward(self, x):
        out = torch.empty_like(x)
        fill[(1,)](out, x, self.twice, BLOCK=64)
        return out
"""


def test_methods_and_properties_of_a_base_class_are_followed(tmp_path: Path) -> None:
    test = TEST.replace("import launch", "import Layer").replace("launch(torch", "Layer(C)(torch")
    draft = drafted(tmp_path, CLASSES, test)
    assert draft.missing == ()
    assert next(a.value for a in draft.arguments if a.name == "n") == "2 * C"


def test_a_case_of_a_test_that_reaches_the_launch_is_looked_for(tmp_path: Path) -> None:
    code = wrapper("n = x.shape[0]\nif n > 100:\n    return x")
    draft = drafted(tmp_path, code, TEST.replace("(6, 40)]", "(6, 40), (600, 40)]"))
    assert draft.dims["N"] == 6, "600 is larger, and leaves the wrapper before the launch"


def test_a_kernel_that_another_module_launches(tmp_path: Path) -> None:
    (tmp_path / "wide.py").write_text("import torch\nfrom rows import fill\n" + wrapper("n = x.shape[1]"))
    draft = drafted(tmp_path, "", TEST.replace("from rows", "from wide"))
    assert draft.missing == ()
    assert draft.assumed[0] == "sizes are those of test_launch in test_rows.py"


def test_a_module_for_another_device_is_read_in_the_place_of_the_one_that_is_tested(tmp_path: Path) -> None:
    (tmp_path / "rows.py").write_text(KERNEL + wrapper("n = x.shape[1]"))
    draft = drafted(tmp_path, wrapper("n = x.shape[0]"), file="other/rows.py")
    assert draft.missing == ()
    assert draft.assumed[0] == "rows.py is tested, and this module is read in its place"


def test_code_that_raises_or_never_ends_costs_no_more_than_its_steps(tmp_path: Path) -> None:
    draft = drafted(tmp_path, wrapper("n = 1 // 0\nwhile True:\n    n = [n] * 2\n    for i in x: n += 1"))
    assert any(m.startswith("the value of n") for m in draft.missing)


WORDS = """

@triton.jit
def scaled(out_ptr, x_ptr, w_ptr, n, MODE: tl.constexpr, KIND: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(KIND)
    if w_ptr is not None:
        x = x * tl.load(w_ptr + at, mask=at < n)
    if MODE == "twice":
        x = 2 * x
    tl.store(out_ptr + at, x, mask=at < n)


def launch(x, w=None):
    out = torch.empty_like(x)
    kind = {torch.float32: tl.float32}[x.dtype]
    n = x.numel()
    scaled[(triton.cdiv(n, 64),)](out, x, w, n, MODE="twice", KIND=kind, BLOCK=64)
"""


@pytest.mark.long
def test_a_drafted_launch_with_words_and_nothing_runs_and_sees_a_wrong_kernel(tmp_path: Path) -> None:
    drafted(tmp_path, WORDS)
    path = tmp_path / "rows.py"
    draft, proof = tried_draft(kernel_of(path, "scaled"), path, per_kind=1, kinds=("zero_output",))
    assert dict(draft.constexpr) == {"w_ptr": "None", "MODE": "'twice'", "KIND": "tl.float32", "BLOCK": "64"}
    assert proof is not None
    assert [t.fate for t in proof.tried] == ["killed"]


def test_an_extent_of_a_block_that_is_a_dim_is_promised_to_be_a_power_of_two(tmp_path: Path) -> None:
    test = TEST.replace("(6, 40)", "(700, 128)")
    draft = drafted(tmp_path, wrapper("n = x.numel()").replace("BLOCK=64", "BLOCK=x.shape[1]"), test)
    assert draft.promises == ("next_power_of_2(C) == C",)
    assert draft.checked["C"] in (32, 64, 128)
    rounded = wrapper("n = x.numel()").replace("BLOCK=64", "BLOCK=triton.next_power_of_2(x.shape[1])")
    assert drafted(tmp_path, rounded, test).promises == (), "the wrapper sees to it"


def test_a_folder_of_the_repository_with_the_name_of_triton_is_not_triton(tmp_path: Path) -> None:
    for path in ("pack/triton/__init__.py", "pack/triton/patch.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("def patch():\n    pass\n")
    test = TEST.replace("from rows", "from pack.rows")
    code = wrapper("n = triton.next_power_of_2(x.shape[1])")
    draft = drafted(tmp_path, code, test, file="pack/rows.py")
    assert {a.name: a.value for a in draft.arguments}["n"] == "next_power_of_2(C)"


def test_tensors_of_a_tuple_that_nobody_tells_are_parameters(tmp_path: Path) -> None:
    code = """
def custom_kernel(data):
    x, out = data
    rows, columns = x.shape
    fill[(rows,)](out, x, rows * columns, BLOCK=64)
"""
    draft = drafted(tmp_path, code, test="")

    assert next(a.shape for a in draft.arguments if a.name == "x_ptr") == ("rows", "columns")
    assert not any("unpacked" in m for m in draft.missing)


@pytest.mark.parametrize("least", ["2.2.0", "99.0"])
def test_tests_of_a_version_are_decided(tmp_path: Path, least: str) -> None:
    code = f"""
from packaging import version

IS_NEW = version.parse(triton.__version__) >= version.parse("{least}")


def launch(x):
    out = torch.empty_like(x)
    fill[(1,)](out, x, x.numel(), BLOCK=64 if IS_NEW else 32)
"""
    draft = drafted(tmp_path, code)

    assert draft.missing == ()
    assert draft.constexpr["BLOCK"] == ("32" if least == "99.0" else "64")


def test_a_kernel_in_a_wrapper_of_torch_is_launched(tmp_path: Path) -> None:
    code = wrapper("n = x.numel()").replace("fill[(1,)]", "torch.library.wrap_triton(fill)[(1,)]")

    assert drafted(tmp_path, code).missing == ()


@pytest.mark.parametrize(
    ("made", "shape"),
    [
        ("torch._C._dynamo.guards._empty_strided_cuda((x.shape[0], 8), (8, 1), torch.float16)", ("N", "8")),
        ("torch.empty_strided((x.shape[0], 8), (1, x.shape[0]), dtype=torch.float16)", ("N * 8",)),
        ("torch.empty_like(x).half().as_strided((x.shape[1], 2), (2, 1))", ("C", "2")),
        ("torch.zeros_like(x, dtype=torch.float16).ravel()", ("N * C",)),
        ("triton.reinterpret(torch.empty_like(x, dtype=torch.int16), tl.float16)", ("N", "C")),
    ],
)
def test_memory_that_is_seen_otherwise_has_the_shape_that_it_is_seen_with(
    made: str, shape: tuple[str, ...], tmp_path: Path
) -> None:
    code = wrapper("n = 1").replace("out = torch.empty_like(x)", f"out = {made}")
    out = drafted(tmp_path, code).arguments[0]
    assert (out.shape, out.dtype) == (shape, "float16")


def test_a_grid_may_ask_for_what_is_no_constant_of_the_kernel(tmp_path: Path) -> None:
    code = wrapper("n = x.numel()").replace("(1,)", "lambda meta: (triton.cdiv(meta['n'], meta['BLOCK']),)")
    assert drafted(tmp_path, code).grid == ("ceil_div(N * C, BLOCK)",)


def test_an_axis_that_no_caller_gives_is_the_last_one(tmp_path: Path) -> None:
    body = "N, C = x.shape\nn = x.transpose(dim, -1).shape[-1]"
    code = wrapper(body).replace("def launch(x)", "def launch(x, dim)")
    draft = drafted(tmp_path, code, test="")
    assert "dim is taken to be -1: nothing tells it" in draft.assumed
    assert next(a.value for a in draft.arguments if a.name == "n") == "C"
