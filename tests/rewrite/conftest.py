"""A small repository with one kernel, its workload, and verdicts to order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kernel_gate.verdict import Outcome, Stage, StageStatus, Verdict
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.workloads.saved import FoundWorkload

SCALE = """\
#include <cuda_runtime.h>

__global__ void scale(float* out, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = a * x[i];
    }
}

void launch_scale(float* out, const float* x, float a, int n) {
    scale<<<(n + 255) / 256, 256>>>(out, x, a, n);
}
"""

WORKLOAD = """\
kernel = "scale"
language = "cuda"
source = "scale.cu"

[dims]
N = [64, 4096]
[[profile_dims]]
N = 1048576

[[args]]
name = "out"
kind = "output"
dtype = "float32"
shape = ["N"]
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = ["N"]
[[args]]
name = "a"
kind = "scalar"
dtype = "float32"
value = 1.5
[[args]]
name = "n"
kind = "scalar"
dtype = "int32"
value = "N"

[launch]
grid = ["ceil_div(N, 256)"]
block = [256]
"""


def verdict(outcome: Outcome, reason: str = "told by the test") -> Verdict:
    status = {Outcome.ACCEPTED: StageStatus.PASS, Outcome.REJECTED: StageStatus.FAIL}
    stage = Stage(name="check", status=status.get(outcome, StageStatus.UNAVAILABLE), reason=reason)
    return Verdict(outcome=outcome, reason=reason, stages=[stage], inputs_hash="0")


class Judges:
    """A judge that gives verdicts in order, the last one again and again, and keeps what it was asked."""

    def __init__(self, *verdicts: Verdict) -> None:
        self.verdicts = list(verdicts)
        self.seen: list[Candidate] = []
        self.meanwhile: Callable[[], None] = lambda: None

    def __call__(
        self, kernel: Kernel, path: Path, text: bytes, candidate: Candidate, _: FoundWorkload
    ) -> Verdict:
        self.seen.append(candidate)
        self.meanwhile()
        return self.verdicts.pop(0) if len(self.verdicts) > 1 else self.verdicts[0]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / ".klineage" / "workloads").mkdir(parents=True)
    (tmp_path / ".klineage" / "workloads" / "scale.toml").write_text(WORKLOAD)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "scale.cu").write_text(SCALE)
    return tmp_path
