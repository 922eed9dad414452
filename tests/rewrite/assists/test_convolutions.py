"""A direct convolution, one thread for each output: several output channels of a thread are those of before."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.verdict import StageStatus
from kernel_lineage.kernels.anchors.registry import anchors_of
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.registry import all_assists
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.workloads.device_code import device_code
from kernel_lineage.workloads.following.launch_site import followed_launch
from kernel_lineage.workloads.following.unit import unit_of
from kernel_texts import kernel_in_text
from rewrite.assists.workloads import workload

OPTIONS = GateOptions(check_seconds=3600.0, hidden=False, seed=11)
CODE = """
__global__ void convolve(const float* x, const float* w, const float* bias, float* y, int B, int Ci, int Co, int H,
                         int W) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= B * Co * H * W) return;
    int ox = i % W;
    int oy = (i / W) % H;
    int oc = (i / (W * H)) % Co;
    int n = i / (W * H * Co);
    float acc = bias[oc];
    for (int ic = 0; ic < Ci; ++ic) {
        for (int ky = 0; ky < 3; ++ky) {
            for (int kx = 0; kx < 3; ++kx) {
                int iy = oy + ky - 1;
                int ix = ox + kx - 1;
                if (iy >= 0 && iy < H && ix >= 0 && ix < W) {
                    acc += x[((n * Ci + ic) * H + iy) * W + ix] * w[((oc * Ci + ic) * 3 + ky) * 3 + kx];
                }
            }
        }
    }
    y[i] = acc;
}
void run(const float* x, const float* w, const float* bias, float* y, int B, int Ci, int Co, int H, int W) {
    convolve<<<(B * Co * H * W + 255) / 256, 256>>>(x, w, bias, y, B, Ci, Co, H, W);
}
"""
LOAD = workload(
    "convolve", "B = [4, 3]\nCi = [3]\nCo = [8, 6, 3]\nH = [7]\nW = [5]",
    'grid = ["ceil_div(B * Co * H * W, 256)"]\nblock = [256]',
    "x: input float32 [B, Ci, H, W]", "w: input float32 [Co, Ci, 3, 3]", "bias: input float32 [Co]",
    "y: output float32 [B, Co, H, W]", "B: int32 = B", "Ci: int32 = Ci", "Co: int32 = Co", "H: int32 = H",
    "W: int32 = W",
)  # fmt: skip


def made() -> list[Candidate]:
    assist, kernel = all_assists()["take_several_outputs"], kernel_in_text(CODE, "convolve")
    (one,) = [
        c
        for a in anchors_of(kernel)
        if a.pattern == assist.pattern and isinstance(c := assist.rewrite(kernel, a), Candidate)
    ]
    return [one, *one.alternatives]


def test_a_thread_may_take_output_channels_alone() -> None:
    texts = [c.apply(CODE.encode()).decode() for c in made()]
    assert any("float acc[4]" in text and "w[(((oc + lane) * Ci + ic)" in text for text in texts)


@pytest.mark.sets
@pytest.mark.parametrize("number", range(len(made())))
def test_output_channels_of_one_thread_are_right_with_and_without_a_tail(number: int) -> None:
    programs, launched = [], None
    for code in (CODE, made()[number].apply(CODE.encode()).decode()):
        launched = followed_launch(
            kernel_in_text(code, "convolve"), unit_of(code), LOAD, [a.name for a in LOAD.args], launched
        )
        assert launched is not None
        assert launched.launch is not None
        source = read(code.encode(), Language.CUDA)
        text, _ = device_code(source, ("convolve",), Path("example.cu"), Path(), ())
        programs.append(Program("cuda", text, "convolve", launched.launch))
    verdict = judge(*programs, LOAD, device="emulated", options=OPTIONS)
    for name in ("build", "check", "sanitize"):
        stage = verdict.stage(name)
        assert stage is not None
        assert stage.status is StageStatus.PASS, stage.reason
