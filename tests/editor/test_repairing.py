"""Repairs as a task: what is tried, what is asked of it, and what is told of the version that it agrees with."""

from __future__ import annotations

import subprocess

import pytest

from editor.test_check import SUM
from kernel_gate.gate import judge
from kernel_lineage.editor.checking import Task
from kernel_lineage.editor.checking import work as check
from kernel_lineage.editor.repairing import Broken, Mended, work
from kernel_lineage.kernels.edits import Edit, edited
from kernel_lineage.kernels.source import Span
from kernel_lineage.learning.check_document import UNMASKED_CODE, CheckedDocument

RACY = SUM.replace("    __syncthreads();\n    for", "    for")
UNMASKED = """\
import torch, triton, triton.language as tl


@triton.jit
def add(out_ptr, x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at)
    tl.store(
        out_ptr + at,
        x + y,
    )


def launch(x, y):
    assert y.shape == x.shape
    out = torch.empty_like(x)
    add[(triton.cdiv(x.numel(), 32),)](out, x, y, x.numel(), BLOCK=32)
    return out
"""


def ask(_judge, request):
    return judge(
        request.baseline, request.candidate, request.workload, device="emulated", options=request.options
    )


def repaired(path, code, lines, kernel):
    text = path.read_bytes()
    broken = Broken(path=path, text=text, kernel=kernel, code=code, lines=lines, passed=None, seconds=60)
    mended = Mended.model_validate_json(work(broken.model_dump_json(), ask))
    edits = [Edit(Span(e.start, e.end, 0, 0), e.text) for e in mended.edits]
    return mended, edited(text, edits).decode()


def checked(path, text, kernel):
    task = Task(path=path, text=text.encode(), kernel=kernel, line=5, seconds=60)
    return CheckedDocument.model_validate_json(check(task.model_dump_json(), ask))


@pytest.mark.long
@pytest.mark.parametrize(
    ("committed", "sentence"),
    [
        (
            RACY,
            "The committed version, with which it was compared, is wrong itself: block_sum: race on shared",
        ),
        (
            SUM.replace("= buf[0];", "= buf[0] * 1.0f;"),
            "The committed version, with which it was compared, is right itself.",
        ),
    ],
)
def test_a_repair_says_whether_the_version_that_it_agrees_with_is_right(tmp_path, committed, sentence):
    path = tmp_path / "sum.cu"
    path.write_text(committed)
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "one"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    path.write_text("// Changed.\n" + RACY)
    mended, text = repaired(path, "race", (7, 5), "block_sum")
    assert "__syncthreads();\n    for" in text
    assert sentence in mended.beside


def test_a_mask_that_is_missed_is_added_to_each_access_of_the_tile(tmp_path):
    path = tmp_path / "add.py"
    path.write_text(UNMASKED)
    before = checked(path, UNMASKED, "add")
    (finding,) = before.findings
    assert (finding.code, finding.line, finding.related[0].line) == (UNMASKED_CODE, 8, 7)
    mended, text = repaired(path, UNMASKED_CODE, (8, 7), "add")
    assert "tl.load(y_ptr + at, mask=at < n)" in text
    assert "x + y,\n    mask=at < n)" in text
    assert mended.title == "the mask of its tile at line 8 and line 9"
    # Neither asking for a repair nor making it leaves the condition, or takes it away from the text without it.
    assert checked(path, UNMASKED, "add") == before
    assert checked(path, text, "add").where == ""


def test_an_access_out_of_bounds_takes_the_mask_of_another_one(tmp_path):
    path = tmp_path / "add.py"
    text = UNMASKED.replace("        x + y,\n    )", "        x + y,\n        mask=at < n,\n    )")
    path.write_text(text.replace("32", "256"))
    assert [f.code for f in checked(path, path.read_text(), "add").findings] == ["out-of-bounds"]
    mended, text = repaired(path, "out-of-bounds", (8,), "add")
    assert "y = tl.load(y_ptr + at, mask=at < n)" in text
    assert mended.title == "the mask of line 7 at line 8"


@pytest.mark.long
def test_a_mask_that_another_access_cannot_take_is_not_added(tmp_path):
    path = tmp_path / "add.py"
    text = UNMASKED.replace(
        "tl.load(y_ptr + at)", "tl.load(y_ptr + at[:, None] + tl.zeros([1, 2], tl.int32))"
    )
    path.write_text(text.replace("x + y,", "x + tl.sum(y, 1),"))
    mended, _ = repaired(path, UNMASKED_CODE, (8, 7), "add")
    assert not mended.edits
    assert mended.reason
