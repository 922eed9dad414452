"""Wrappers in Python, recorded in the compiler child and replayed: what they launch, allocate and delegate."""

import importlib.util
from dataclasses import replace

import pytest

from kernel_gate.capture.record import Record
from kernel_gate.capture.replay import replayed
from kernel_gate.gate import judge
from kernel_gate.launching import LaunchError
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.standing import Standing
from kernel_gate.verdict import Outcome, StageStatus, Verdict
from kernel_gate.workload import Workload, WorkloadError, parse_workload

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None,
    reason="wrappers are recorded with torch, which is not installed",
)

WORKLOAD = """
kernel = "centre"
language = "triton"
[dims]
N = [3]
C = [70]
[[args]]
name = "y"
kind = "output"
dtype = "float32"
shape = ["N", "C"]
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = ["N", "C"]
[wrapper]
call = "centre(x)"
returns = ["y"]
"""
MODULE = """
import torch
import triton
import triton.language as tl
from mine.sizes import block_of


@triton.jit
def row_sums(sums, x, stride, C, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * stride + at, mask=at < C, other=0.0)
    tl.atomic_add(sums + tl.program_id(0), tl.sum(v, axis=0))


@triton.jit
def subtract(y, x, sums, stride, C, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * stride + at, mask=at < C, other=0.0)
    tl.store(y + tl.program_id(0) * stride + at, v - tl.load(sums + tl.program_id(0)) / C, mask=at < C)


def centre(x):
    n, c = x.shape
    y = torch.empty_like(x)
    sums = torch.zeros(n, dtype=torch.float32, device=x.device)
    assert x.is_cuda and x.device.type == "cuda"
    row_sums[(n,)](sums, x, x.stride(0), c, BLOCK=block_of(c))
    subtract[lambda meta: (triton.cdiv(n * c, c),)](y, x, sums, x.stride(0), c, block_of(c), num_warps=2)
    return y
"""
SIZES = "import triton\n\ndef block_of(n):\n    return triton.next_power_of_2(n)\n"


def program(old: str = "", new: str = "") -> Program:
    assert old in MODULE
    text = MODULE.replace(old, new, 1) if old else MODULE
    return Program(
        "triton", text, "centre", includes={"mine/sizes.py": SIZES}, module="mine/ops/norm.py", name="norm.py"
    )


def workload(old: str = "", new: str = "") -> Workload:
    assert old in WORKLOAD
    return parse_workload(WORKLOAD.replace(old, new, 1) if old else WORKLOAD)


def verdict(candidate: Program, w: Workload | None = None) -> Verdict:
    options = GateOptions(hidden=False)
    return judge(program(), candidate, w or workload(), device="emulated", options=options)


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed")
def test_without_torch_a_wrapper_is_not_judged_and_the_remedy_is_told():
    v = judge(program(), program(), workload(), device="emulated")
    assert (v.code, v.standing, v.exit_code) == (Reason.TORCH_MISSING, Standing.NOT_JUDGED, 5), v.reason
    assert "pip install torch" in v.reason


@needs_torch
def test_a_wrapper_is_judged_by_what_it_launches():
    v = verdict(program("/ C", "* (1.0 / C)"))
    assert [s.status for s in v.stages[:3]] == [StageStatus.PASS] * 3, v.reason
    recorded = v.stages[0].details["candidate"]["recorded"]
    assert recorded["launches"] == ["row_sums", "subtract"]
    assert (recorded["memsets"], recorded["scratch"], recorded["delegated"]) == (1, ["float32[3]"], [])


@needs_torch
def test_scratch_that_the_wrapper_forgets_to_clear_is_seen():
    v = verdict(program("torch.zeros(n", "torch.empty(n"))
    assert v.outcome is Outcome.REJECTED
    assert "y[0, 0] = NaN" in v.reason


@needs_torch
def test_a_library_call_whose_result_is_used_is_never_right():
    v = verdict(program("return y", "return y + 0.0"))
    assert v.outcome is Outcome.INCONCLUSIVE
    assert v.stages[0].code is Reason.DELEGATED_LIBRARY_CALL
    assert "delegated: norm.py leaves add (norm.py:29) to torch" in v.reason


@needs_torch
def test_a_library_call_whose_result_is_not_used_is_shown():
    v = verdict(program("    return y", "    x.sum(0)\n    return y"))
    (call,) = v.stages[0].details["candidate"]["recorded"]["delegated"]
    assert (call["op"], call["place"], call["matters"]) == ("sum", "norm.py:29", False)
    assert v.stages[1].status is StageStatus.PASS


@needs_torch
@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ("    return y", "    return y.sum().item()", Reason.UNSUPPORTED_PROGRAM, "norm.py:29"),
        ("    return y", "    return y[1:]", Reason.UNSUPPORTED_PROGRAM, "y is returned as float32 (2, 70)"),
        ("    return y", "    return y, int(x.sum())", Reason.UNSUPPORTED_PROGRAM, "norm.py:29"),
        ("x.stride(0), c, BLOCK", "x.stride(0), BLOCK", Reason.CANDIDATE_DOES_NOT_COMPILE, "`C` is not given"),
        ("def centre(x)", "def centre(x, eps)", Reason.UNKNOWN_KERNEL, "does not take the arguments of `centre(x)`"),
        ("def centre(x)", "def middle(x)", Reason.UNKNOWN_KERNEL, "it has no `centre`"),
        ("import block_of", "import nothing", Reason.CANDIDATE_DOES_NOT_COMPILE, "norm.py:5"),
        ("tl.sum(v", "tl.summ(v", Reason.CANDIDATE_DOES_NOT_COMPILE, "summ"),
    ],
)  # fmt: skip
def test_what_cannot_be_recorded_says_why(old, new, code, said):
    v = verdict(program(old, new))
    assert v.stages[0].code is code
    assert said in v.reason


@needs_torch
def test_an_autotuned_kernel_takes_the_first_configuration_or_the_one_that_is_asked_for():
    tuned = program(
        "@triton.jit\ndef subtract",
        "@triton.autotune([triton.Config({}, num_stages=s) for s in (1, 2)], ['C'])\n@triton.jit\ndef subtract",
    )
    tuned = replace(tuned, source=tuned.source.replace(", num_warps=2", ""))
    notes = verdict(tuned).stages[0].details["candidate"]["recorded"]["notes"]
    assert notes[0].startswith("subtract: configuration ") and notes[0].endswith("the first of 2")
    asked = workload("[wrapper]\n", "[wrapper]\nconfigs = { subtract = { num_stages = 2 } }\n")
    notes = verdict(tuned, asked).stages[0].details["candidate"]["recorded"]["notes"]
    assert notes == ["subtract: configuration {'num_stages': 2}, as asked"]


@pytest.mark.parametrize(
    "step",
    [
        {"buffer": "y", "offset": 0, "nbytes": 1 << 20},
        {"buffer": "elsewhere", "offset": 0, "nbytes": 1},
        {"image": 7, "entry": "k", "grid": (1, 1, 1), "operands": {}},
    ],
)
def test_a_record_that_lies_binds_nothing(step):
    record = Record.model_validate({"dims": {"N": 3, "C": 70}, "steps": [step]})
    with pytest.raises(LaunchError, match=r"norm\.py"):
        replayed(record, {}, workload(), "norm.py")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('returns = ["y"]', 'returns = ["x"]', "`x` is not an output"),
        ('language = "triton"', 'language = "cuda"', "for Triton"),
    ],
)
def test_a_wrapper_of_a_workload_is_held_to_its_args(old, new, said):
    with pytest.raises(WorkloadError, match=said):
        workload(old, new)
