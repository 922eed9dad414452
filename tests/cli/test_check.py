"""`klineage check`: a kernel is run for its verdict alone, and once more where its draft has to be mended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kernel_gate.request import GateRequest
from kernel_gate.verdict import Verdict
from kernel_gate.worker import Worker
from kernel_lineage.cli.main import main
from longer import first_now

PROGRAM = """\
__global__ void scale(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (%s) out[i] = 2.0f * x[i];
}

int main() {
    int n = 300;
    float *x, *out;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    scale<<<(n + 63) / 64, 64>>>(out, x, n);
    cudaDeviceSynchronize();
}
"""


@pytest.mark.parametrize(
    ("guard", "requests", "state"),
    [("i < n", 1, "right"), ("i < n && i % 2 == 0", 2, "right"), ("i <= n", 1, "wrong")],
)
def test_a_drafted_kernel_is_run_for_its_verdict_alone(
    guard: str, requests: int, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "scale.cu").write_text(PROGRAM % guard)
    judged: list[GateRequest] = []
    whole = Worker.judge

    def judge(self: Worker, request: GateRequest, **how: Any) -> Verdict:
        judged.append(request)
        return whole(self, request, **how)

    monkeypatch.setattr(Worker, "judge", judge)
    command = ["check", f"{tmp_path / 'scale.cu'}:scale", "--no-record", "--json"]
    kernel = json.loads(CliRunner().invoke(main, command).output)["kernels"][0]
    assert kernel["state"] == state, kernel
    assert len(judged) == requests
    assert kernel["workload"] == "drafted"
    kept = "out is not written everywhere by the kernel, so what it leaves alone is compared too"
    assert (kept in kernel["assumed"]) is (requests == 2)


def test_a_kernel_below_another_of_its_name_does_not_get_its_verdict(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    text = PROGRAM % "i < n"
    kernel = text[text.index("__global__") : text.index("int main")]
    wrong = kernel.replace("i < n", "i <= n")
    path = tmp_path / "scale.cu"
    path.write_text(text.replace(kernel, f"{kernel}\nnamespace other {{\n{wrong}}}\n"))
    first, second = CliRunner().invoke(main, ["check", str(path)]).stdout.splitlines()
    assert " right: " in first
    assert second.startswith("? other_scale ")
    assert " unknown: no workload is given" in second, "nothing launches it"
    refused = CliRunner().invoke(main, ["optimise", f"{path}:other::scale"])
    assert "can be checked as other_scale, and changed once it has another name" in refused.stderr


RACING = """\
__global__ void scale(float* out, const float* x, int n) {
    __shared__ float last[64];
    last[threadIdx.x] = 2.0f;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = last[63 - threadIdx.x] * x[i];
}
"""


@pytest.mark.parametrize(
    ("text", "why"),
    first_now(
        [(RACING + PROGRAM[PROGRAM.index("int main") :], "race on "), (PROGRAM % "i <= n", "out of bounds: ")]
    ),
    ids=["what a detector saw", "a fault of a case"],
)
def test_a_check_speaks_of_one_kernel_and_of_no_baseline(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "scale.cu").write_text(text)
    kernel, *findings = CliRunner().invoke(main, ["check", str(tmp_path / "scale.cu")]).stdout.splitlines()
    assert f" wrong: {why}" in kernel
    assert f"error: scale: {why}" in findings[0]
    assert not any(
        word in line for line in (kernel, *findings) for word in ("baseline", "candidate", "itself")
    )
