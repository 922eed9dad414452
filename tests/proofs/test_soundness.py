"""What is proved in bounds never leaves its buffers in a run, whatever the sizes and the constants of the code."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernel_gate.program import Program
from kernel_lineage.rewrite.proving.replay import Replay
from proofs.cases import Case

_BODY = """__global__ void k(float* out, const float* x, int N, int C) {{
int i = blockIdx.x * {block} + threadIdx.x;
int r = i / C, c = i % C;
if ({guard}) out[r * C + c] = x[{index}];
}}
"""


_TRITON = """import triton
import triton.language as tl


@triton.jit
def k(out, x, N, C, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    r = i // C
    c = i % C
    at = {index}
    for step in range({rounds}):
        mask = {guard}
        tl.store(out + i, tl.load(x + at, mask=mask, other=0.0), mask=mask)
        at += {step}
        i += {step}
"""
_SIZES = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 40)), min_size=2, max_size=2)
_ROWS = ({"N": 3, "C": 7}, {"out": ["N", "C"]}, {"x": ["N", "C"]})


@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(
    block=st.sampled_from([32, 64]),
    guard=st.sampled_from(["i < N * C", "i <= N * C - 2", "r < N", "c < N && r < N", "i < N * C + 1"]),
    index=st.sampled_from(["r * C + c", "i", "i + 1", "(r + 1) * C - 1 - c", "c * N + r"]),
    sizes=_SIZES,
)
@pytest.mark.long
def test_what_is_proved_never_faults(
    block: int, guard: str, index: str, sizes: list[tuple[int, int]]
) -> None:
    source = _BODY.format(block=block, guard=guard, index=index)
    case = Case(source, *_ROWS, [f"ceil_div(N * C, {block})"], [block])
    _proved_is_safe(case, sizes)


@settings(max_examples=5, suppress_health_check=list(HealthCheck))
@given(
    guard=st.sampled_from(
        ["i < N * C", "(i < N * C) & (at < N * C)", "(r < N) & (at < N * C - 1) & (i < N * C)"]
    ),
    index=st.sampled_from(["r * C + c", "i", "(r + 1) * C - 1 - c"]),
    loop=st.sampled_from([("1", "0"), ("2", "B"), ("tl.cdiv(C, B)", "B * tl.num_programs(0)")]),
    sizes=_SIZES,
)
@pytest.mark.long
def test_what_is_proved_of_a_triton_kernel_never_faults(
    guard: str, index: str, loop: tuple[str, str], sizes: list[tuple[int, int]]
) -> None:
    source = _TRITON.format(guard=guard, index=index, rounds=loop[0], step=loop[1])
    grid = ["ceil_div(N * C, B)"]
    _proved_is_safe(Case(source, *_ROWS, grid, [1], constexpr={"B": 32}, language="triton"), sizes)


def _proved_is_safe(case: Case, sizes: list[tuple[int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        obligations = case.obligations(Path(folder), replayed=False)
    by_kind = {kind: [o for o in obligations if o.kind == kind] for kind in ("in_bounds", "written")}
    assert len(by_kind["in_bounds"]) == 2
    assert len(by_kind["written"]) == 1
    if any(o.status != "proved" for o in by_kind["in_bounds"]):
        return
    replay = Replay(Program(case.language, case.source, "k"), case.workload())
    for rows, columns in sizes:
        dims = {"N": rows, "C": columns}
        assert not [f for f in replay.run(dims).faults if f.kind == "out_of_bounds"]
        assert by_kind["written"][0].status != "proved" or replay.missed(dims, "out") is None
