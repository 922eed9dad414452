"""Columns whose rows several blocks share: the sums stay what they were, and only sums that are added are split."""

from __future__ import annotations

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.verdict import StageStatus
from kernel_lineage.kernels.anchors.registry import anchors_of
from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.registry import all_assists
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.workloads.following.launch_site import followed_launch
from kernel_lineage.workloads.following.unit import unit_of
from kernel_texts import kernel_in_text
from longer import first_now
from rewrite.assists.test_gate import program
from rewrite.assists.workloads import workload

GRADIENT = """\
__global__ void gradient(float* grad, const float* above, int tokens, int width) {
    const int unit = threadIdx.x + blockDim.x * blockIdx.x;
    if (unit >= width) return;
    float all = 0.f;
    for (int t = 0; t < tokens; ++t) all += above[t * width + unit];
    grad[unit] += all;
}

void backward(float* grad, const float* above, int tokens, int width) {
    gradient<<<(width + 63) / 64, 64>>>(grad, above, tokens, width);
}
"""


def made_of(code: str) -> list[Candidate]:
    assist = all_assists()["share_column_out"]
    kernel = kernel_in_text(code, "gradient")
    made = assist.rewrite(kernel, next(a for a in anchors_of(kernel) if a.pattern == assist.pattern))
    assert isinstance(made, Candidate), made.reason
    return [made, *made.alternatives]


def text_of(code: str, candidate: Candidate) -> str:
    return candidate.apply(code.encode()).decode()


def is_split(code: str) -> bool:
    return any("atomicAdd" in text_of(code, one) for one in made_of(code))


@pytest.mark.parametrize("number", first_now([-2, -1]))
def test_rows_that_are_split_over_blocks_add_up_to_the_same(number: int) -> None:
    after = text_of(GRADIENT, made_of(GRADIENT)[number])
    columns, split = ((16, 8), (32, 32))[number]
    assert "atomicAdd(&grad[unit], all);" in after
    assert f"<<<dim3(((width + 63) / 64) * {64 // columns}, {split}), 1024>>>" in after
    load = workload(
        "gradient", "T = [1, 150]\nC = [5, 70]", 'grid = ["ceil_div(C, 64)"]\nblock = [64]',
        "grad: inout float32 [C]", "above: input float32 [T, C]", "tokens: int32 = T", "width: int32 = C",
    )  # fmt: skip
    spec = load.launch.spec()
    kernel = kernel_in_text(after, "gradient")
    followed = followed_launch(kernel, unit_of(after), load, [a.name for a in load.args])
    assert followed is not None
    shared = followed.launch
    assert shared is not None
    assert shared.grid[1] == str(split)
    verdict = judge(
        program(Language.CUDA, GRADIENT, "gradient", spec),
        program(Language.CUDA, after, "gradient", shared),
        load,
        device="emulated",
        options=GateOptions(check_seconds=3600.0, hidden=False, seed=3),
    )
    for name in ("build", "check", "sanitize"):
        stage = verdict.stage(name)
        assert stage is not None
        assert stage.status is StageStatus.PASS, stage.reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("grad[unit] += all;", "grad[unit] = all;"),
        ("grad[unit] += all;", "grad[unit] += all * 0.5f + 1.0f;"),
        ("grad[unit] += all;", "grad[unit] += all; grad[unit] *= 2.0f;"),
        ("float all = 0.f;", "float all = grad[unit];"),
        ("+= above[t * width + unit];", "= fmaxf(all, above[t * width + unit]);"),
        ("all += above", "all += blockIdx.y + above"),
        ("(width + 63) / 64, 64>>>", "dim3((width + 63) / 64), 64>>>"),
    ],
)
def test_what_is_no_plain_addition_stays_with_one_block_for_each_column(old: str, new: str) -> None:
    assert old in GRADIENT
    assert is_split(GRADIENT)
    assert not is_split(GRADIENT.replace(old, new))
