"""What Python works out of sizes in host code is, at any sizes, what Python itself comes to."""

from __future__ import annotations

import functools
import math
import operator
from pathlib import Path

import pytest

from kernel_gate.expressions import evaluate
from kernel_gate.program import LaunchStep, Value
from kernel_gate.workload import parse_workload
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.host_program import HostProgram, Unclear
from kernel_lineage.workloads.triton.function_program import function_steps

KERNEL = """
import functools, math, operator
import torch
import triton
import triton.language as tl


@triton.jit
def fill(out, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)


def launch(x):
    n, c = x.shape
    out = torch.empty_like(x)
    number = {}
    fill[(1,)](out, x, number, BLOCK=64)
    return out
"""
WORKLOAD = """
kernel = "launch"
language = "triton"
source = "rows.py"
dims = { N = [6, 33], C = [40, 8] }
args = [
    { name = "x", kind = "input", dtype = "float32", shape = ["N", "C"] },
    { name = "out", kind = "output", dtype = "float32", shape = ["N", "C"] },
]
launch = { grid = ["1"] }
"""
SIZES = [(1, 1), (1, 7), (2, 8), (5, 64), (31, 3), (64, 100), (1000, 257)]
NUMBERS = [
    "n.bit_length()",
    "1 << (n - 1).bit_length()",
    "2 ** (c * 3).bit_length()",
    "n << 3",
    "(n * c) >> 2",
    "1 << (n.bit_length() >> 1)",
    "n & 7",
    "(n & (n - 1)) + 3",
    "n & -8",
    "n | 1",
    "-(-n // 16)",
    "-n // 16",
    "sum(divmod(n * c, 17))",
    "math.prod(x.shape[:-1]) + len(x.shape) + x.dim()",
    "math.ceil(n / 8)",
    "math.floor((n - 50) / 3)",
    "int((n - 50) / 3)",
    "int(n * 0.3)",
    "int(c * 1.5 / 2)",
    "math.ceil(n * 0.25 / 2)",
    "round(n / 4)",
    "2 ** math.ceil(math.log2(c + 1))",
    "2 ** int(math.log2(n))",
    "int(math.sqrt(n))",
    "math.isqrt(n * c)",
    "functools.reduce(lambda a, b: a * b, x.shape, 2)",
    "functools.reduce(operator.mul, x.shape)",
    "min(max(16, n), *x.shape)",
    "sum(x.shape) + max(x.shape)",
    "n or 128",
    "(n // 10) or 128",
    "(n > 5 and c) or 3",
    "(n - 1) and 7",
    "c if n > 5 and c % 2 == 0 else n",
    "5 if all(s % 2 == 0 for s in x.shape) else 6",
    "5 if any(s > 40 for s in x.shape) else 6",
    "5 if bool(n // 10) else 6",
    "x.numel() // n",
    "sorted([3, 9, 4], reverse=True)[0] * n",
]


class Shaped:
    """A tensor as Python asks it."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape
        self.numel, self.dim = (lambda: math.prod(shape)), (lambda: len(shape))


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_is_what_python_comes_to(tmp_path: Path, number: str):
    passed = _passed(tmp_path, number)
    for n, c in SIZES:
        names = {"x": Shaped(n, c), "n": n, "c": c, "math": math}
        here = eval(number, {**names, "functools": functools, "operator": operator})
        assert evaluate(passed, {"N": n, "C": c}) == here, (number, passed, n, c)
        assert type(evaluate(passed, {"N": n, "C": c})) is type(here)


@pytest.mark.parametrize(
    "number",
    ["max(x.shape, key=lambda s: -s)", "n ^ c", "n // 10 or None"],
)
def test_what_sizes_do_not_tell_is_not_a_number(tmp_path: Path, number: str):
    with pytest.raises(Unclear):
        _passed(tmp_path, number)


def test_what_a_comprehension_leaves_out_is_a_condition(tmp_path: Path):
    program = _program(tmp_path, "len([s for s in x.shape if s > 20])")
    assert program.conditions == ("not N > 20", "C > 20")


def _passed(folder: Path, number: str) -> str:
    """What the launch is given for a number."""
    (step,) = _program(folder, number).steps
    assert isinstance(step, LaunchStep) and isinstance(step.arguments[2], Value)
    return step.arguments[2].value


def _program(folder: Path, number: str) -> HostProgram:
    path = folder / "rows.py"
    path.write_text(KERNEL.format(number))
    source = read(path.read_bytes(), Language.TRITON)
    return function_steps("launch", source, source, path, parse_workload(WORKLOAD), folder)
