"""What PyTorch works out between the launches of a Triton host function stands as kernels that do the same."""

import re
from pathlib import Path

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.workload import Workload
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.programs import program_from_file

GATED = GateOptions(check_seconds=15, callers_seconds=0, hidden=False)
PLAIN = """import torch
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def twice(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def run(x, row, scale: float = 1.5):
    rows, cols = x.shape
    y = torch.empty_like(x)
    twice[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
    WORK
    return RESULT


def test_run():
    x = torch.randn(6, 40, device="cuda")
    run(x, torch.rand(40, device="cuda"))
"""
OWN = """import torch
import triton
import triton.language as tl


@triton.jit
def all_of(x, row, out, scale, rows, cols, n, B: tl.constexpr):
    i = (tl.program_id(0) * B + tl.arange(0, B)).to(tl.int64)
    m = i < n
    BODY
    tl.store(out + i, value.to(out.dtype.element_ty), mask=m)


def run(x, row, scale: float = 1.5):
    rows, cols = x.shape
    out = torch.empty(SHAPE, dtype=torch.KIND, device=x.device)
    all_of[(triton.cdiv(out.numel(), 64),)](x, ROW, out, SCALE, rows, cols, out.numel(), B=64)
    return out
"""
Y = "y = 2 * tl.load(x + i, mask=m, other=0.0)\n    r = tl.load(row + i % cols, mask=m, other=1.0)\n    value = "
LOOP = """value = tl.full([B], START, tl.float32)
    for k in range(0, COUNT):
        y = 2 * tl.load(x + AT, mask=m, other=0.0)
        value = JOIN"""


def loop(start: str, count: str, at: str, join: str, then: str = "value") -> str:
    """Elements of a reduction, one after the other."""
    text = LOOP.replace("START", start).replace("COUNT", count).replace("AT", at).replace("JOIN", join)
    return f"{text}\n    value = {then}"


def twice_at(place: str) -> str:
    return f"value = 2 * tl.load(x + {place}, mask=m)"


ALONG = ("cols", "i * cols + k")
DOWN = ("rows", "k * cols + i")
LARGER = "tl.where((y != y) | (y > value), y, value)"
TURNED = "i % rows * cols + i // rows"
SOFTMAX = """r = i // cols * cols
    most = tl.full([B], float("-inf"), tl.float32)
    for k in range(0, cols):
        most = tl.maximum(most, 2 * tl.load(x + r + k, mask=m, other=0.0))
    sums = tl.full([B], 0.0, tl.float32)
    for k in range(0, cols):
        sums += tl.exp(2 * tl.load(x + r + k, mask=m, other=0.0) - most)
    value = tl.exp(2 * tl.load(x + i, mask=m, other=0.0) - most) / sums"""
BESIDE = """c = i % (2 * cols)
    v = tl.load(x + i // (2 * cols) * cols + c % cols, mask=m)
    value = tl.where(c < cols, 2 * v, v)"""
ABOVE = "v = tl.load(x + i % (rows * cols), mask=m)\n    value = tl.where(i < rows * cols, v, 2 * v)"
BOUND = "tl.where(y < -0.5, -0.5, tl.where(y > 1, 1.0, y))"
ROUNDED = "((y.to(tl.float16).to(tl.float32) * 3.0).to(tl.float16)).to(tl.float32)"
COLUMN = "y + tl.load(x + i // cols * cols, mask=m)"
PADDED = """c = i % (cols + 3) - 1
    inside = (c >= 0) & (c < cols)
    v = tl.load(x + i // (cols + 3) * cols + c, mask=m & inside, other=0.0)
    value = tl.where(inside, 2 * v, 4.0)"""
REPEATED = "i // (3 * cols) * cols + i % cols"
CASES = {
    "a number and a row": ("y * scale + row", Y + "y * scale + r", ("+ r", "- r")),
    "a dropped epilogue": ("(y + row) * scale", Y + "(y + r) * scale", (" * scale", "")),
    "a number first": ("1.0 - y", Y + "1.0 - y", ("1.0 - y", "y - 1.0")),
    "columns": ("y + x[:, :1]", Y + COLUMN, ("i // cols * cols", "i % cols")),
    "alpha": ("torch.add(y, x, alpha=0.5)", Y + "y * 1.25", ("1.25", "1.5")),
    "a part": ("y[:, 1:] * 2", f"w = cols - 1\n    {twice_at('i // w * cols + i % w + 1')} * 2", ("% w + 1", "% w"),
               "(rows, cols - 1)"),
    "chosen": ("torch.where(x > 0.5, y, row)", Y + "tl.where(y > 1.0, y, r)", ("y, r", "r, y")),
    "masked": ("y.masked_fill(x < 0, 7.0)", Y + "tl.where(y < 0, 7.0, y)", ("y < 0", "y <= 1")),
    "bounds": ("y.clamp(min=-0.5, max=1)", Y + BOUND, ("> 1, 1.0", "> 2, 2.0")),
    "gelu": ("F.gelu(y)", Y + "0.5 * y * (1 + tl.erf(y * 0.70710678))", ("0.70710678", "0.79788456")),
    "a power": ("(y ** 2).sqrt()", Y + "tl.abs(y)", ("tl.abs(y)", "y")),
    "half": ("y.half()", Y + "y", ("value = y", "value = y * 1.01"), "(rows, cols)", "float16"),
    "rounded on the way": ("(y.half() * 3.0).float()", Y + ROUNDED, ("* 3.0", "* 3.5")),
    "never rounded": ("y.double().exp().float()", Y + "tl.exp(y)", ("tl.exp(y)", "tl.exp(y).to(tl.float16)")),
    "along rows": ("y.sum(-1)", loop("0.0", *ALONG, "value + y"), ("value + y", "value + 2 * y"), "(rows,)"),
    "down columns": ("y.mean(0)", loop("0.0", *DOWN, "value + y", "value / rows"), ("/ rows", "/ cols"), "(cols,)"),
    "an extreme": ("y.amax(dim=0, keepdim=True)", loop('float("-inf")', *DOWN, LARGER), ("y > value", "y < value"),
                   "(1, cols)"),
    "of all": ("y.mean()", loop("0.0", "rows * cols", "0 * i + k", "value + y", "value / (rows * cols)"),
               ("/ (rows * cols)", "/ rows"), "()"),
    "softmax": ("torch.softmax(y, dim=-1)", SOFTMAX, ("- most) / sums", "- most)")),
    "side by side": ("torch.cat([y, x], dim=1)", BESIDE, ("c < cols", "c >= cols"), "(rows, 2 * cols)"),
    "on top": ("torch.stack([x, y])", ABOVE, ("v, 2 * v", "2 * v, v"), "(2, rows, cols)"),
    "another order": ("y.t().contiguous()", twice_at(TURNED), (TURNED, "i"), "(cols, rows)"),
    "in another shape": ("y.t().reshape(-1) + 1", twice_at(TURNED) + " + 1", (TURNED, "i"), "(rows * cols,)"),
    "repeated": ("y[:, None, :].expand(rows, 3, cols).reshape(-1, cols)", twice_at(REPEATED),
                 (REPEATED, "i % (rows * cols)"), "(3 * rows, cols)"),
    "repeated in turn": ("y.repeat_interleave(3, dim=0)", twice_at("i // cols // 3 * cols + i % cols"),
                         ("i // cols // 3 * cols + i % cols", "i % (rows * cols)"), "(3 * rows, cols)"),
    "padded": ("F.pad(y, (1, 2), value=4.0)", PADDED, (", 4.0", ", 0.0"), "(rows, cols + 3)"),
    "ones": ("torch.ones_like(y) + y", Y + "y + 1", ("y + 1", "y")),
    "a truth": ("y > row", Y + "y > r", ("y > r", "y < r"), "(rows, cols)", "bool"),
}  # fmt: skip
IN_PLACE = {
    "an operator": ("y *= scale", Y + "y * scale", ("* scale", "")),
    "methods": ("y.clamp_(-0.5, 1).add_(row)", Y + BOUND + " + r", ("+ r", "")),
    "some elements": ("y[:, 0] = 5.0", Y + "tl.where(i % cols == 0, 5.0, y)", ("i % cols", "i // cols")),
    "some rows": ("y[1:] -= row", Y + "tl.where(i < cols, y, y - r)", ("i < cols", "i < 0")),
    "zeros that are added to": ("y = torch.zeros_like(y).add_(y)", Y + "y", ("value = y", "value = y + 1")),
    "a choice": ("y = y * 2 if scale > 0 else y.mul_(3)", Y + "y * 2", ("y * 2", "y * 6")),
    "a choice of statements": ("y = y * scale if rows > 2 else y.mul_(3)", Y + "y * scale", ("* scale", "* scale * 3")),
}  # fmt: skip
ALL = [
    *((name, "", result, *rest) for name, (result, *rest) in CASES.items()),
    *((name, work, "y", *rest) for name, (work, *rest) in IN_PLACE.items()),
]


def before_of(work: str, result: str) -> str:
    return PLAIN.replace("WORK", work or "pass").replace("RESULT", result)


def program(folder: Path, text: str) -> tuple[Program, Workload]:
    """The program of `run`, and the workload drafted of it."""
    path = folder / "work.py"
    path.write_text(text)
    draft = draft_of(target_of(path, "run"), path, measure=False)
    assert draft.missing == ()
    return program_from_file(path, "run", draft.workload()), draft.workload()


def candidate(folder: Path, workload: Workload, text: str) -> Program:
    path = folder / "work.py"
    return program_from_file(
        path, "run", workload, data=text.encode(), changed_from=path.read_bytes(), name="after"
    )


@pytest.mark.parametrize(
    ("work", "result", "body", "fault", "own"),
    [pytest.param(*case[1:5], case[5:], id=case[0]) for case in ALL],
)
def test_it_is_what_a_kernel_written_by_hand_does(
    tmp_path: Path, work: str, result: str, body: str, fault: tuple[str, str], own: tuple[str, ...]
):
    check(tmp_path, before_of(work, result), f"{work} {result}", body, fault, *own)


def check(folder: Path, text: str, work: str, body: str, fault: tuple[str, str], *own: str) -> None:
    """A kernel of this body agrees with the function of the text; with the fault it is rejected."""
    before, workload = program(folder, text)
    shape, kind = (*own, *("(rows, cols)", "float32")[len(own) :])
    after = OWN.replace("SHAPE", shape).replace("KIND", kind)
    # What the function does not use is no argument of its workload.
    for name, other in (("row", "x"), ("scale", "1.5")):
        after = after.replace(name.upper(), name if re.search(rf"\b{name}\b", work) else other)
    right = candidate(folder, workload, after.replace("BODY", body))
    verdict = judge(before, right, workload, device="emulated", options=GATED)
    assert verdict.stage("check").status.value == "pass", verdict.reason
    assert fault[0] in body
    wrong = candidate(folder, workload, after.replace("BODY", body.replace(*fault)))
    verdict = judge(before, wrong, workload, device="emulated", options=GATED)
    assert verdict.outcome == "rejected", verdict.reason


ALONG_ROWS = (
    "g = tl.load(row + i // cols, mask=m, other=0)\n    value = 2 * tl.load(x + g * cols + i % cols, mask=m)"
)
OF_COLUMNS = """w = n // rows
    g = tl.load(row + i % w, mask=m, other=0)
    value = 2 * tl.load(x + i // w * cols + g, mask=m)"""


@pytest.mark.parametrize(
    ("result", "body", "fault", "shape"),
    [
        ("y[row]", ALONG_ROWS, ("g * cols", "(g + 1) % rows * cols"), "(row.shape[0], cols)"),
        ("y.index_select(1, row)", OF_COLUMNS, ("// w * cols + g", "// w * cols"), "(rows, row.shape[0])"),
    ],
    ids=["rows", "columns"],
)
def test_elements_that_are_picked(tmp_path: Path, result: str, body: str, fault: tuple[str, str], shape: str):
    text = before_of("", result).replace('torch.rand(40, device="cuda")', "torch.randint(0, 6, (5,))")
    check(tmp_path, text, result, body, fault, shape)


@pytest.mark.parametrize(
    ("work", "why"),
    [
        ("x.t().copy_(x)", "overlaps what it is written to"),
        ("x.expand(3, rows, cols).add_(1)", "seen several times"),
        ("y.index_add_(0, row.long(), x)", "torch changes a tensor by `index_add_`"),
        ("y[x > 0] = 1.0", "torch changes `y`"),
        ("y //= 2", "torch changes a tensor by `floor_divide_`"),
    ],
)
def test_a_change_that_is_not_understood_is_refused(tmp_path: Path, work: str, why: str):
    path = tmp_path / "work.py"
    path.write_text(before_of(work, "y").replace("(6, 40", "(40, 40"))
    (missing, *_) = draft_of(target_of(path, "run"), path, measure=False).missing
    assert why in missing


def test_a_value_that_is_not_understood_is_no_kernel(tmp_path: Path):
    before, workload = program(tmp_path, before_of("y = y * 2", "torch.linalg.inv(y + row)"))
    assert "inv" not in before.name and [a.kind for a in workload.args].count("output") == 1
