"""A step whose benchmark goes through numbers of threads is timed with each state at its best."""

from __future__ import annotations

from pathlib import Path

import pytest
from git import Actor, Repo

from kernel_gate.gate import judge
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.verdict import ShapeSpeed, SpeedState, Speedup, Stage, StageStatus, Verdict
from kernel_lineage.history.git import open_repository
from kernel_lineage.history.mine import mine
from kernel_lineage.learning.replay.bench import Ground
from kernel_lineage.learning.replay.claims import claimed
from kernel_lineage.learning.replay.kept_drafts import KeptDrafts
from kernel_lineage.learning.replay.lineage_drafts import LineageDrafts
from kernel_lineage.learning.replay.record import Record
from kernel_lineage.learning.replay.repository import OPTIONS
from kernel_lineage.learning.replay.transition import replay_transition
from kernel_lineage.workloads.saved import workloads_in

EARLIER = """\
__global__ void scale(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = 2.0f * x[i] + 1.0f;
    }
}

void run(float* out, const float* x, int n, int block_size) {
    scale<<<(n + block_size - 1) / block_size, block_size>>>(out, x, n);
}

int main() {
    int n = 1024;
    float* out;
    float* x;
    cudaMalloc(&out, n * sizeof(float));
    cudaMalloc(&x, n * sizeof(float));
    int block_sizes[] = {32, 64, 128, 256, 512};
    for (int j = 0; j < 5; j++) {
        run(out, x, n, block_sizes[j]);
    }
}
"""
LATER = EARLIER.replace("2.0f * x[i]", "2.0f * __ldg(x + i)")


class Timed:
    """Verdicts of the emulated device with times that are given: microseconds by the number of threads."""

    def __init__(self, earlier: dict[str, float], later: dict[str, float]) -> None:
        self.times = {False: earlier, True: later}
        self.pairs: list[tuple[str, str]] = []

    def __call__(self, request: GateRequest) -> Verdict:
        programs = request.baseline, request.candidate
        verdict = judge(*programs, request.workload, device="emulated", options=request.options)
        check = verdict.stage("check")
        if check is None or check.status is not StageStatus.PASS or "mutant" in programs[1].name:
            return verdict
        blocks = [p.launch.block[0] for p in programs if p.launch is not None]
        self.pairs.append((blocks[0], blocks[1]))
        took = [self.times["__ldg" in p.source][b] for p, b in zip(programs, blocks, strict=True)]
        ratio = took[0] / took[1]
        state = SpeedState.FAST if ratio > 1.01 else SpeedState.SLOW if ratio < 0.99 else SpeedState.SAME
        figures = {"median": ratio, "low": ratio, "high": ratio, "state": state}
        shape = ShapeSpeed(
            dims={"n": 1024}, baseline_us=took[0], candidate_us=took[1], noise=0.001, **figures
        )
        code = Reason.FASTER if state is SpeedState.FAST else Reason.SLOWER
        profiled = Stage(name="profile", status=StageStatus.PASS, code=code)
        stages = [*(s for s in verdict.stages if s.name != "profile"), profiled]
        speedup = Speedup(**figures, by_shape=[shape])
        return verdict.model_copy(update={"stages": stages, "speedup": speedup, "code": code})


def replayed(top: Path, timed: Timed) -> Record:
    someone = Actor("A", "a@example.org")
    repo = Repo.init(top)
    for message, text in (("Scale", EARLIER), ("Speed up: 2x faster with cached loads", LATER)):
        (top / "scale.cu").write_text(text)
        repo.git.add("-A")
        repo.index.commit(message, author=someone, committer=someone)
    repo.close()
    repository = open_repository(top)
    (item,) = claimed(mine(top, use_cache=False))
    ground = Ground(
        repository=repository,
        workloads=workloads_in(top),
        judge=timed,
        probe=timed,
        device="emulated",
        device_name="timed",
        options=OPTIONS,
    )
    return replay_transition(item, ground, LineageDrafts(repository, KeptDrafts(top.parent)))[0]


@pytest.mark.parametrize(
    ("later", "status", "code", "median"),
    [
        ({"64": 30, "128": 22, "256": 16, "512": 14}, "reproduced", "faster", 18 / 14),
        ({"64": 30, "128": 22, "256": 23, "512": 24}, "failed", "slower", 18 / 22),
    ],
    ids=["faster at its best", "slower at its best too"],
)
def test_each_state_is_timed_at_its_best(tmp_path, later, status, code, median):
    timed = Timed({"64": 24, "128": 20, "256": 18, "512": 19}, later)
    record = replayed(tmp_path, timed)
    assert (record.status, record.code) == (status, code), record.reason
    assert record.effect is not None and record.effect.median == pytest.approx(median)
    assert timed.pairs[:4] == [("128", "128"), ("256", "256"), ("64", "64"), ("512", "512")]
    assert any("the earlier state is fastest with 256" in note for note in record.assumed)


def test_a_step_that_is_faster_at_the_number_that_was_taken_is_timed_once(tmp_path):
    timed = Timed({"128": 20}, {"128": 10})
    assert replayed(tmp_path, timed).status == "reproduced"
    assert timed.pairs == [("128", "128")]
