"""What is proved in bounds never leaves its buffers in a run, whatever the sizes and the constants of the code."""

from __future__ import annotations

import tempfile
from pathlib import Path

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


@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    block=st.sampled_from([32, 64]),
    guard=st.sampled_from(["i < N * C", "i <= N * C - 2", "r < N", "c < N && r < N", "i < N * C + 1"]),
    index=st.sampled_from(["r * C + c", "i", "i + 1", "(r + 1) * C - 1 - c", "c * N + r"]),
    sizes=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 40)), min_size=2, max_size=2),
)
def test_what_is_proved_never_faults(
    block: int, guard: str, index: str, sizes: list[tuple[int, int]]
) -> None:
    source = _BODY.format(block=block, guard=guard, index=index)
    grid = [f"ceil_div(N * C, {block})"]
    case = Case(source, {"N": 3, "C": 7}, {"out": ["N", "C"]}, {"x": ["N", "C"]}, grid, [block])
    with tempfile.TemporaryDirectory() as folder:
        found = [o for o in case.obligations(Path(folder), replayed=False) if o.kind == "in_bounds"]
    assert len(found) == 2
    replay = Replay(Program("cuda", source, "k"), case.workload())
    if any(o.status != "proved" for o in found):
        return
    for rows, columns in sizes:
        assert not replay.run({"N": rows, "C": columns}).faults
