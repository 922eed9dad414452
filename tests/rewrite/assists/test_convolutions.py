"""A direct convolution, one thread for each output: several channels of a thread, and products in tiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.verdict import StageStatus, Verdict
from kernel_gate.workload import Workload
from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.anchors.registry import anchors_of
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.model import Refusal
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
    check(judged(CODE, made()[number].apply(CODE.encode()).decode(), "convolve", LOAD))


def judged(before: str, after: str, name: str, load: Workload) -> Verdict:
    """The verdict on a kernel's new text, launched as its file launches it."""
    programs, launched = [], None
    for code in (before, after):
        launched = followed_launch(
            kernel_in_text(code, name), unit_of(code), load, [a.name for a in load.args], launched
        )
        assert launched is not None
        assert launched.launch is not None
        source = read(code.encode(), Language.CUDA)
        text, _ = device_code(source, (name,), Path("example.cu"), Path(), ())
        programs.append(Program("cuda", text, name, launched.launch))
    first, second = programs
    return judge(first, second, load, device="emulated", options=OPTIONS)


def check(verdict: Verdict) -> None:
    for name in ("build", "check", "sanitize"):
        stage = verdict.stage(name)
        assert stage is not None
        assert stage.status is StageStatus.PASS, stage.reason


STRIDED = """
__global__ void reduced(const float* in, const float* weight, float* out, int N, int C, int K, int H, int W, int OH,
                        int OW, int R) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < N * K * OH * OW) {
        int x = at % OW, y = at / OW % OH, k = at / (OW * OH) % K, n = at / (OW * OH * K);
        float sum = 0.0f;
        for (int c = 0; c < C; c++) {
            for (int r = 0; r < R; r++) {
                int row = 2 * y + r - R / 2;
                if (row < 0 || row >= H) continue;
                for (int q = 0; q < R; q++) {
                    int column = 2 * x + q - R / 2;
                    if (column >= 0 && column < W)
                        sum += weight[((k * C + c) * R + r) * R + q] * in[((n * C + c) * H + row) * W + column];
                }
            }
        }
        out[at] += sum;
    }
}
void run(const float* in, const float* weight, float* out, int N, int C, int K, int H, int W, int OH, int OW, int R) {
    reduced<<<(N * K * OH * OW + 127) / 128, 128>>>(in, weight, out, N, C, K, H, W, OH, OW, R);
}
"""
STRIDED_LOAD = workload(
    "reduced", "N = [2]\nC = [2]\nK = [3]\nH = [7]\nW = [5]\nR = [3, 2]",
    'grid = ["ceil_div(N * K * ((H + 1) // 2) * ((W + 1) // 2), 128)"]\nblock = [128]',
    "in: input float32 [N, C, H, W]", "weight: input float32 [K, C, R, R]",
    "out: inout float32 [N, K, (H + 1) // 2, (W + 1) // 2]", "N: int32 = N", "C: int32 = C", "K: int32 = K",
    "H: int32 = H", "W: int32 = W", "OH: int32 = (H + 1) // 2", "OW: int32 = (W + 1) // 2", "R: int32 = R",
)  # fmt: skip


def in_tiles(code: str, name: str) -> Candidate | Refusal:
    kernel = kernel_in_text(code, name)
    return all_assists()["multiply_in_tiles"].rewrite(kernel, Anchor(kernel.span, "", pattern="naive_matmul"))


@pytest.mark.sets
@pytest.mark.parametrize(
    "rows",
    ["if (row < 0 || row >= H) continue;", "if (!(row < 0 || row >= H))", "if (row >= 0 && H > (row))"],
)
def test_a_convolution_of_planes_is_a_product_of_their_pixels(rows: str) -> None:
    code = STRIDED.replace("if (row < 0 || row >= H) continue;", rows)
    made = in_tiles(code, "reduced")
    assert isinstance(made, Candidate)
    text = made.alternatives[-1].apply(code.encode()).decode()
    assert "OH * OW + 63) / 64" in text
    check(judged(code, text, "reduced", STRIDED_LOAD))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        # What is loaded says whether it is added.
        ("if (column >= 0 && column < W)", "if (in[c] > 0.0f)", "has not one loop"),
        # A condition on both places of an output.
        ("if (column >= 0 && column < W)", "if (column >= k && column < W)", "condition on both places"),
        # One condition that holds for no address.
        ("if (column >= 0 && column < W)", "if (column >= 0 && column < W && sum < 9.0f)", "under a condition on"),
        # What is left out is something else than nothing.
        ("q < R; q++) {", "q < R; q++) { if (q == row) { sum += 1.0f; }", "has not one loop"),
        # Comparisons that look like a template, and are none.
        ("if (row < 0 || row >= H) continue;", "if (!(row < 0 || row >= H))", ""),
        # Rows end with a step of their own.
        ("out[at] += sum", "sum += 1.0f; out[at] += sum", ""),
    ],
)  # fmt: skip
def test_what_is_no_product_with_zeros_is_left_alone(old: str, new: str, reason: str) -> None:
    assert old in STRIDED
    made = in_tiles(STRIDED.replace(old, new), "reduced")
    if not reason:
        assert isinstance(made, Candidate)
        return
    assert isinstance(made, Refusal)
    assert reason in made.reason


def test_distances_are_no_product_where_a_condition_leaves_elements_out() -> None:
    code = STRIDED.replace(
        "sum += weight[((k * C + c) * R + r) * R + q] * in[((n * C + c) * H + row) * W + column];",
        "{ float d = weight[((k * C + c) * R + r) * R + q] - in[((n * C + c) * H + row) * W + column]; sum += d * d; }",
    )
    made = in_tiles(code, "reduced")
    assert isinstance(made, Refusal)
    assert "what is skipped would be added" in made.reason
