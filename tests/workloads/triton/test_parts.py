"""Parts of tensors in host code begin, and lie in memory, where NumPy's do, at any sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernel_gate.expressions import evaluate
from kernel_gate.program import LaunchStep, Pointer, Value
from kernel_gate.workload import parse_workload
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.host_program import HostProgram, Unclear
from kernel_lineage.workloads.triton.function_program import function_steps

HOST = """
import torch
import triton
import triton.language as tl


@triton.jit
def rows(out, part, outer, inner, high, wide):
    tl.store(out, tl.load(part + outer + inner))


def launch(x):
    n, c = x.shape
    h = c // 4
    out = torch.empty_like(x)
    for part in [{part}]:
        rows[(1,)](out, part, part.stride(0), part.stride(-1), part.shape[0], part.shape[-1])
    return out
"""
WORKLOAD = """
kernel = "launch"
language = "triton"
source = "rows.py"
dims = { N = [6, 5], H = [4, 8] }
args = [
    { name = "x", kind = "input", dtype = "float32", shape = ["N", "4 * H"] },
    { name = "out", kind = "output", dtype = "float32", shape = ["N", "4 * H"] },
]
launch = { grid = ["1"] }
"""
SIZES = [(4, 2), (5, 3), (7, 16)]
PARTS = {
    "x[:, :h]": "",
    "x[:, h:]": "",
    "x[1:, h : 2 * h]": "",
    "x[:, -3:]": "",
    "x[..., 0::2]": "",
    "x[..., 1::2]": "",
    "x[1::2, ::3]": "",
    "x[2]": "",
    "x[-1, h:]": "",
    "x[:, :5000]": "",
    "x[:, None, h:]": "",
    "x.view(n, 4, h)[:, 2]": "x.reshape(n, 4, h)[:, 2]",
    "*x.view(n, 4, h).unbind(1)": "*np.moveaxis(x.reshape(n, 4, h), 1, 0)",
    "*x.split(h, dim=1)": "*np.split(x, 4, 1)",
    "*x.split([h, 3 * h], 1)": "x[:, :h], x[:, h:]",
    "*torch.split(x, 2 * h, dim=-1)": "*np.split(x, 2, 1)",
    "*x.chunk(2, dim=-1)": "*np.split(x, 2, 1)",
    "*torch.chunk(x, 4, 1)": "*np.split(x, 4, 1)",
    "*x.chunk(2, dim=1)[1].chunk(2, dim=1)": "*np.split(np.split(x, 2, 1)[1], 2, 1)",
    "*x.view(2, n * 2 * h)": "*x.reshape(2, n * 2 * h)",
    "*x.tensor_split(2, dim=1)": "*np.split(x, 2, 1)",
    "*(p for _, p in zip(range(2), x.view(4, n, h)))": "*x.reshape(4, n, h)[:2]",
    "x.t()[h]": "x.T[h]",
    "x.narrow(1, h, 2)": "x[:, h : h + 2]",
    "x.select(1, 3)": "x[:, 3]",
}


@pytest.mark.parametrize("part", PARTS)
def test_a_part_lies_where_it_does_for_numpy(tmp_path: Path, part: str):
    steps = _program(tmp_path, part).steps
    for n, h in SIZES:
        x = np.zeros((n, 4 * h))
        views = eval(f"[{PARTS[part] or part}]", {"x": x, "n": n, "h": h, "np": np})
        assert len(views) == len(steps)
        for step, view in zip(steps, views, strict=True):
            assert _of_step(step, {"N": n, "H": h}) == _lies(view, x), (n, h)


def test_what_a_part_asks_of_sizes_is_a_condition(tmp_path: Path):
    conditions = _program(tmp_path, "x[:, :20], x[3]").conditions
    assert conditions == ("4 * H <= 20", "4 <= N")
    assert "N // 3 * 3 == N" in _program(tmp_path, "x.split(n // 3)[0]").conditions


@pytest.mark.parametrize("part", ["x[:, :h:-1]", "x.split(h + 1, 1)[0]", "x.tensor_split(7, 0)[0]"])
def test_a_part_that_sizes_do_not_tell_is_not_launched_with(tmp_path: Path, part: str):
    with pytest.raises(Unclear):
        _program(tmp_path, part)


def _of_step(step: object, sizes: dict[str, int]) -> tuple[float, ...]:
    """Where the part begins that a launch is given, its strides, and its extents."""
    assert isinstance(step, LaunchStep)
    _, part, *words = step.arguments
    begins = evaluate(part.offset, sizes) if isinstance(part, Pointer) else 0
    numbers = [evaluate(word.value, sizes) for word in words if isinstance(word, Value)]
    return begins // 4, *numbers


def _lies(view: np.ndarray, of: np.ndarray) -> tuple[float, ...]:
    begins = view.__array_interface__["data"][0] - of.__array_interface__["data"][0]
    strides = view.strides[0] // 8, view.strides[-1] // 8
    return begins // 8, *strides, view.shape[0], view.shape[-1]


def _program(folder: Path, part: str) -> HostProgram:
    path = folder / "rows.py"
    path.write_text(HOST.replace("{part}", part))
    source = read(path.read_bytes(), Language.TRITON)
    return function_steps("launch", source, source, path, parse_workload(WORKLOAD), folder)
