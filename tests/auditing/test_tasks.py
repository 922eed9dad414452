"""Submissions to a leaderboard's task: `custom_kernel` against `ref_kernel` on the inputs of the task's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.standing import Standing
from kernel_lineage.auditing.judging import audit
from kernel_lineage.auditing.submissions import submissions

UTILS = """\
import torch
class Careful:
    def __enter__(self):
        torch.use_deterministic_algorithms(True)
    def __exit__(self, *error):
        torch.use_deterministic_algorithms(False)
def make_match_reference(reference, **kwargs):
    return lambda data, output: reference(data)
"""
REFERENCE = """\
import torch
from utils import Careful, make_match_reference
from task import input_t, output_t
def ref_kernel(data: input_t) -> output_t:
    with Careful():
        x, out = data
        return x.sum()
def generate_input(size: int, seed: int) -> input_t:
    gen = torch.Generator(device="cuda")
    gen.manual_seed(seed)
    x = torch.randn(size, device="cuda", generator=gen)
    return x, torch.{made}(1, device="cuda", dtype=torch.float32)
check_implementation = make_match_reference(ref_kernel)
"""
TASK = """\
files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
tests:
  - {"size": 127, "seed": 4242}
  - {"size": 300, "seed": 5236}
benchmarks:
  - {"size": 52428800, "seed": 12345}
"""
SUBMISSION = """\
import torch
import triton
import triton.language as tl
from task import input_t, output_t

@triton.jit
def total_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr, tl.sum(tl.load(x_ptr + at, mask=at < n, other=0.0), axis=0))

def _run(data: input_t) -> output_t:
    x, out = data
    total_kernel[(triton.cdiv(x.numel(), 128),)](x, out, x.numel(), BLOCK=128)
    return out[0]

custom_kernel = torch.compile(_run)
"""


def judged(folder: Path, made: str, submission: str = SUBMISSION) -> tuple[Standing, str]:
    task = folder / "task"
    (task / "solutions").mkdir(parents=True)
    (folder / "utils.py").write_text(UTILS)
    (task / "reference.py").write_text(REFERENCE.replace("{made}", made))
    (task / "task.yml").write_text(TASK)
    (task / "solutions" / "fast.py").write_text(submission)
    (one,) = submissions(folder)
    audited = audit(one)
    return audited.standing, audited.reason


def test_a_submission_is_judged_on_every_test_of_its_task(tmp_path: Path) -> None:
    standing, reason = judged(tmp_path, "zeros")
    assert standing is Standing.RIGHT, reason
    assert "of each of 2 tests" in reason


@pytest.mark.parametrize(
    ("made", "submission"),
    [
        ("empty", SUBMISSION),  # the sum is added to what the memory held
        ("zeros", SUBMISSION.replace("mask=at < n", "mask=at < n - n % 128")),
        ("zeros", SUBMISSION.replace("triton.cdiv(x.numel(), 128)", "1")),  # right for the first test alone
    ],
)
def test_a_wrong_submission_is_rejected(tmp_path: Path, made: str, submission: str) -> None:
    standing, reason = judged(tmp_path, made, submission)
    assert standing is Standing.REJECTED, reason


def test_a_task_without_tests_leaves_a_file_of_kernels(tmp_path: Path) -> None:
    standing, reason = judged(tmp_path, "zeros")
    assert standing is Standing.RIGHT, reason
    (tmp_path / "task" / "task.yml").write_text("tests: [")
    (one,) = submissions(tmp_path)
    assert not one.module
