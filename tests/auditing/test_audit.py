"""`klineage audit`: modules with `ModelNew` against their reference, contained and without torch."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from kernel_gate.standing import ExitCode, Standing
from kernel_lineage.auditing.judging import audit
from kernel_lineage.auditing.operations import OPERATIONS
from kernel_lineage.auditing.signs import signs_of
from kernel_lineage.auditing.submissions import submissions
from kernel_lineage.cli.main import main

REFERENCE = """\
import torch
import torch.nn as nn
N = 1 << 2
ROWS, COLS = 3, 40
class Model(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale
    def forward(self, x):
        return torch.relu(x) * self.scale + x.mean(dim=1, keepdim=True)
def get_inputs():
    return [torch.randn(3, 40)]
def get_init_inputs():
    return [2.5]
"""
SUBMISSION = '''\
import torch
from torch.utils.cpp_extension import load_inline
source = """
#include <torch/extension.h>
__global__ void act(const float* x, float* out, int cols, float scale) {
    __shared__ float part[64];
    int row = blockIdx.x, t = threadIdx.x;
    part[t] = t < cols ? x[row * cols + t] : 0.0f;
    __syncthreads();
    for (int s = 32; s > 0; s >>= 1) { if (t < s) part[t] += part[t + s]; __syncthreads(); }
    if (t < cols) { float v = x[row * cols + t]; out[row * cols + t] = fmaxf(v, 0.0f) * scale + part[0] / cols; }
}
torch::Tensor run(torch::Tensor x, double scale) {
    TORCH_CHECK(x.is_contiguous(), "contiguous");
    auto out = torch::empty_like(x);
    const int rows = x.size(0), cols = x.size(1);
    dim3 grid(rows);
    act<<<grid, 64>>>(x.data_ptr<float>(), out.data_ptr<float>(), cols, (float)scale);
    return out;
}
"""
ext = load_inline(name="act", cpp_sources="", cuda_sources=source, functions=["run"])
class ModelNew(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale
    def forward(self, x):
        return ext.run(x.contiguous(), self.scale)
'''


@pytest.fixture
def judged(tmp_path: Path):
    def run(text: str, reference: str | None = REFERENCE):
        if reference is not None:
            (tmp_path / "reference.py").write_text(reference)
        (tmp_path / "act.py").write_text(text)
        (submission,) = submissions(tmp_path / "act.py")
        return audit(submission)

    return run


def test_a_right_submission_is_right_and_no_more(judged):
    verdict = judged(SUBMISSION)
    assert (verdict.standing, verdict.launched) == (Standing.RIGHT, ("act",)), verdict.reason
    assert verdict.reason == "240 elements agree on 2 inputs"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("* scale +", "+ scale +", "elements differ"),
        ("t < cols) {", "t < cols - 1) {", "NaN (as not written)"),
        ("act<<<", "if (false) act<<<", "NaN (as not written)"),
        ("t + s]; __syncthreads(); }", "t + s]; }", "race"),
        ("torch::empty_like(x)", "torch::empty({x.size(0), 1}, x.options())", "out of bounds: write"),
        ("return out;", "x.zero_(); return out;", "writes to its input 0"),
    ],
)
def test_a_wrong_one_is_rejected_in_words(judged, old, new, says):
    assert old in SUBMISSION
    verdict = judged(SUBMISSION.replace(old, new, 1))
    assert verdict.standing is Standing.REJECTED and says in verdict.reason, verdict.reason


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (SUBMISSION.replace("x.contiguous()", "torch.linalg.qr(x)[0]"), "torch.linalg.qr, which needs torch"),
        (
            SUBMISSION.replace("dim3 grid(rows);", "cublasHandle_t h; cublasCreate(&h); dim3 grid(rows);"),
            "line 15",
        ),
    ],
)
def test_what_needs_torch_is_not_judged_and_says_what(judged, text, says):
    verdict = judged(text)
    assert verdict.standing is Standing.NOT_JUDGED and says in verdict.reason, verdict.reason


def test_a_submission_without_a_reference_is_not_judged(judged):
    assert "name its file with --reference" in judged(SUBMISSION, None).reason


def test_a_submission_that_launches_nothing_is_not_right(judged):
    text = REFERENCE.replace("Model(", "ModelNew(")
    verdict = judged(text)
    assert verdict.standing is Standing.UNDECIDED and "launched no kernel" in verdict.reason


@pytest.mark.long
def test_sizes_that_are_too_large_are_made_smaller_and_said(judged):
    large = REFERENCE.replace("torch.randn(3, 40)", "torch.randn(40000, 40)")
    verdict = judged(SUBMISSION, large)
    assert verdict.standing is Standing.RIGHT, verdict.reason
    assert verdict.sizes["40000"] == (40000, 5000)
    wrong = judged(SUBMISSION.replace("* scale +", "* scale + 40000 +"), large)
    assert wrong.standing is Standing.UNDECIDED and "smaller sizes than its own" in wrong.reason


@pytest.mark.long
def test_code_that_names_its_sizes_is_run_again_at_them(judged):
    large = REFERENCE.replace("torch.randn(3, 40)", "torch.randn(4000, 40)")
    own = SUBMISSION.replace("        return ext", "        assert x.shape[0] == 4000\n        return ext")
    verdict = judged(own, large)
    assert verdict.standing is Standing.RIGHT and "4000" not in verdict.sizes, verdict.reason
    other_path = SUBMISSION.replace(
        "        return ext",
        "        if x.shape[0] != 4000:\n"
        "            return torch.relu(x) * self.scale + x.mean(dim=1, keepdim=True)\n"
        "        return ext",
    )
    assert judged(other_path, large).launched == ("act",)
    wrong = judged(own.replace("* scale +", "+ scale +"), large)
    assert wrong.standing is Standing.REJECTED, wrong.reason


@pytest.mark.parametrize(
    "forward",
    [
        "ext.run(torch.cat([x, x], 1)[:, :40], self.scale)",
        "ext.run((x.view(torch.int32) & -1).view(torch.float32), self.scale)",
        "ext.run(torch.from_numpy(x.cpu().numpy()), self.scale)",
        "ext.run(einops.rearrange(einops.rearrange(x, 'a b -> b a'), 'b a -> a b').contiguous(), self.scale)",
        "ext.run(x, self.scale) if x.dtype is torch.float32 else x",
        "sum(ext.run(x, self.scale).chunk(1, dim=1))",
    ],
)
def test_what_a_module_does_around_its_kernels_is_worked_out(judged, forward):
    text = SUBMISSION.replace("x.is_contiguous()", "true").replace(
        "ext.run(x.contiguous(), self.scale)", forward
    )
    text = text.replace("row * cols + t] : 0.0f", "row * x_row + t] : 0.0f").replace(
        "float v = x[row * cols", "float v = x[row * x_row"
    )
    text = text.replace("int cols, float scale)", "int cols, float scale, int x_row)").replace(
        "(float)scale)", "(float)scale, x.stride(0))"
    )
    verdict = judged(f"import einops\n{text}")
    assert verdict.standing is Standing.RIGHT, verdict.reason


UPDATED = """        flat = x.clone()
        view = flat.view(-1)
        before = view._version
        flat += 1
        assert view._version > before
        minus_one = ~torch.zeros_like(view, dtype=torch.int64)
        return ext.run((view + minus_one).reshape(3, 40), self.scale)"""


def test_an_update_in_place_is_seen_through_every_view(judged):
    verdict = judged(SUBMISSION.replace("        return ext.run(x.contiguous(), self.scale)", UPDATED))
    assert verdict.standing is Standing.RIGHT, verdict.reason


CAPTURED = """        held = torch.zeros_like(x)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(stream), torch.cuda.graph(graph):
            assert torch.cuda.is_current_stream_capturing()
            out = ext.run(held * 1, self.scale)
        held.copy_(x)
        graph.replay()
        return out"""


def test_a_graph_runs_when_it_is_replayed(judged):
    text = SUBMISSION.replace("        return ext.run(x.contiguous(), self.scale)", CAPTURED)
    verdict = judged(text)
    assert verdict.standing is Standing.RIGHT, verdict.reason
    unplayed = judged(text.replace("        graph.replay()\n", ""))
    assert unplayed.standing is Standing.REJECTED, unplayed.reason


def test_a_conversion_of_the_reference_rounds(judged):
    half = REFERENCE.replace("torch.relu(x)", "torch.relu(x.to(torch.float8_e4m3fn).float())")
    assert judged(SUBMISSION, half).standing is Standing.REJECTED
    text = SUBMISSION.replace(
        "return ext.run(x.contiguous(), self.scale)",
        "y = x.to(torch.float8_e4m3fn).float()\n"
        "        return ext.run(y, self.scale) - y.mean(dim=1, keepdim=True) + x.mean(dim=1, keepdim=True)",
    )
    assert judged(text, half).standing is Standing.RIGHT


def test_a_host_function_asks_whether_a_tensor_is_contiguous(judged):
    text = SUBMISSION.replace(
        "    auto out = ", "    if (!x.is_contiguous()) x = x.contiguous();\n    auto out = "
    )
    text = text.replace(
        "ext.run(x.contiguous(), self.scale)", "ext.run(torch.cat([x, x], 1)[:, :40], self.scale)"
    )
    verdict = judged(text)
    assert verdict.standing is Standing.RIGHT, verdict.reason


def test_a_macro_that_a_host_function_defines_is_followed(judged):
    launch = SUBMISSION[SUBMISSION.index("    act<<<") : SUBMISSION.index("    return out;")]
    macro = "    #define RUN(N) " + launch.strip().replace("64", "N").rstrip(";") + "\n    RUN(64);\n"
    text = SUBMISSION.replace(launch, macro)
    verdict = judged(text)
    assert verdict.standing is Standing.RIGHT, verdict.reason


def test_a_submission_runs_contained(judged, tmp_path):
    mark = tmp_path / "was-run"
    judged(f"open({str(mark)!r}, 'w')\n{SUBMISSION}")
    assert not mark.exists()


def test_a_submission_does_not_see_its_reference(judged, tmp_path):
    path = str(tmp_path / "reference.py")
    asked = SUBMISSION.replace("        return ext", f"        open({path!r}).read()\n        return ext")
    verdict = judged(asked)
    assert verdict.standing is Standing.NOT_JUDGED and "FileNotFoundError" in verdict.reason, verdict.reason


PYTHON = """
calls = 0
class Base(torch.nn.Module):
    def forward(self, x):
        global calls
        calls += 1
        with torch.no_grad():
            names = {name: getattr(ext, name) for name in ("run",)}
        try:
            run = names["walk"]
        except KeyError as error:
            run = names.setdefault(f"{error!s}", names["run"])
        return run(x.contiguous(), self.scale if x.dtype == torch.float32 else 0.0)
class ModelNew(Base):
    def __init__(self, scale):
        super().__init__()
        self.register_buffer("scale", scale)
"""


def test_all_of_python_is_there_and_packages_are_names(judged):
    text = f"import itertools, cupy.cuda as cp\n{SUBMISSION}{PYTHON}"
    verdict = judged(text)
    assert (verdict.standing, verdict.launched) == (Standing.RIGHT, ("act",)), verdict.reason


@pytest.mark.parametrize("caught", ["except Exception", "except"])
def test_what_needs_torch_is_not_judged_where_the_module_catches_it(judged, caught):
    tries = f"        try:\n            torch.linalg.qr(x)\n        {caught}:\n            pass\n        return ext"
    verdict = judged(SUBMISSION.replace("        return ext", tries))
    assert verdict.standing is Standing.NOT_JUDGED and "torch.linalg.qr" in verdict.reason, verdict.reason


@pytest.mark.parametrize(
    "lie",
    [
        '{"value": [[{"tensor": "AAAA", "kind": "<f8", "shape": [99999999], "strides": [1], "dtype": "int8"}], []]}',
        '{"value": [[{"tensor": "AAAA", "kind": "|O", "shape": [1], "strides": [1], "dtype": "float32"}], []]}',
        '{"value": [[{"tensor": "AAAA", "kind": "|u1", "shape": [3, 3], "strides": [-1, 1], "dtype": "uint8"}], []]}',
        '{"value": [[{"tensor": "AAAA", "kind": "|u1", "shape": [2, 2], "strides": [8, 1], "dtype": "uint8"}], []]}',
        '{"launch": "act", "grid": [1], "args": [{"tensor": 1}], "kwargs": 3}',
        "no line of JSON",
        "[]",
    ],
)
def test_what_a_process_says_is_not_believed(judged, lie):
    line = lie.encode() + b"\n"
    says = f"""        import contextlib, os
        for number in (3, 4, 5, 6):  # whichever is the one that is listened to
            with contextlib.suppress(OSError):
                os.write(number, {line!r})
        return ext"""
    verdict = judged(SUBMISSION.replace("        return ext", says))
    assert verdict.standing is Standing.NOT_JUDGED, verdict.reason


def test_signs_are_hints_with_their_lines():
    text = "class ModelNew:\n    def forward(self, x):\n        self.kept = x\n        return torch.matmul(x, x)\n"
    assert [(s.line, s.what) for s in signs_of(text)] == [
        (3, "forward keeps something from one call for the next"),
        (4, "torch.matmul is called: a library may do the work"),
    ]


@pytest.mark.long
def test_the_command_prints_a_table_of_80_columns_a_document_and_a_page(tmp_path):
    (tmp_path / "reference.py").write_text(REFERENCE)
    (tmp_path / "good.py").write_text(SUBMISSION)
    (tmp_path / "bad<b>.py").write_text(SUBMISSION.replace("* scale +", "+"))
    (tmp_path / "claims.csv").write_text("file,claim\ngood.py,clean\nbad<b>.py,clean\n")
    more = ["--claims", str(tmp_path / "claims.csv")]
    page = tmp_path / "audit.html"
    ran = CliRunner().invoke(main, ["audit", str(tmp_path), *more, "--html", str(page)])
    assert ran.exit_code == ExitCode.REJECTED, ran.output
    assert "claimed clean: 1 rejected, 1 right, speed not shown" in ran.stdout
    assert max(map(len, ran.stdout.splitlines())) <= 80
    assert "bad&lt;b&gt;.py" in page.read_text() and "<b>.py" not in page.read_text()
    document = json.loads(CliRunner().invoke(main, ["audit", str(tmp_path / "good.py"), "--json"]).stdout)
    assert document["standings"] == {"right": 1}


@pytest.mark.parametrize(("stride", "padding", "groups"), [(1, 0, 1), (2, 1, 1), (1, 2, 2)])
def test_a_convolution_is_the_sum_over_its_window(stride, padding, groups):
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal((2, 4, 7, 6)), rng.standard_normal((6, 4 // groups, 3, 2))
    got = OPERATIONS["conv2d"](x, w, None, stride, padding, 1, groups)
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    n, k, i, j = 1, 4, 2, 1
    group = k // (6 // groups)
    window = padded[
        n,
        group * (4 // groups) : (group + 1) * (4 // groups),
        i * stride : i * stride + 3,
        j * stride : j * stride + 2,
    ]
    assert got[n, k, i, j] == pytest.approx((window * w[k]).sum())
