"""`klineage gate`: one verdict, its document and its exit codes."""

import json

import pytest
from click.testing import CliRunner

from kernel_gate.verdict import ExitCode, Verdict
from kernel_lineage.cli.main import main

WORKLOAD = """
kernel = "twice"
language = "cuda"
[dims]
n = [100]
[[args]]
name = "y"
kind = "output"
dtype = "float32"
shape = ["n"]
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = ["n"]
[[args]]
name = "n"
kind = "scalar"
dtype = "int32"
value = "n"
[launch]
grid = ["ceil_div(n, 64)"]
block = [64]
"""
KERNEL = """__global__ void twice(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + x[i];
}
"""


@pytest.fixture
def gate(tmp_path):
    (tmp_path / "w.toml").write_text(WORKLOAD)
    (tmp_path / "old.cu").write_text(KERNEL)

    def run(candidate: str, *more: str):
        (tmp_path / "new.cu").write_text(candidate)
        files = [str(tmp_path / "old.cu"), str(tmp_path / "new.cu"), "--workload", str(tmp_path / "w.toml")]
        device = ["--device", "emulated"] if "--device" not in more else []
        return CliRunner().invoke(main, ["gate", *files, "--kernel", "twice", *device, *more])

    return run


def test_a_right_candidate_is_inconclusive_without_a_gpu(gate):
    result = gate(KERNEL.replace("x[i] + x[i]", "2.0f * x[i]"), "--json")
    verdict = Verdict.model_validate(json.loads(result.stdout))
    assert result.exit_code == ExitCode.INCONCLUSIVE
    assert [s.status.value for s in verdict.stages] == ["pass", "pass", "pass", "unavailable"]
    assert verdict.reason.startswith("not profiled")


def test_a_wrong_candidate_is_rejected_in_words(gate):
    result = gate(KERNEL.replace("i < n", "i < n - 1"))
    assert result.exit_code == ExitCode.REJECTED
    assert "Rejected by check: y[99] = NaN (not written)" in result.stdout
    assert "sanitize skipped" in result.stdout


def test_the_candidate_may_have_another_name(gate):
    assert (
        gate(KERNEL.replace("twice", "doubled"), "--candidate-kernel", "doubled").exit_code
        == ExitCode.INCONCLUSIVE
    )


@pytest.mark.parametrize("candidate", ["int main() {}", KERNEL.replace("twice", "other")])
def test_a_kernel_that_is_not_there_is_wrong_use(gate, candidate):
    result = gate(candidate)
    assert result.exit_code == ExitCode.WRONG_USE
    assert "new.cu has no kernel `twice`" in result.stderr


def test_a_missing_gpu_is_the_environments_fault(gate, monkeypatch, tmp_path):
    blocked = tmp_path / "blocked" / "pycuda"
    blocked.mkdir(parents=True)
    (blocked / "__init__.py").write_text("raise ImportError('no driver here')\n")
    monkeypatch.setenv("PYTHONPATH", str(blocked.parent))
    result = gate(KERNEL, "--device", "cuda")
    assert result.exit_code == ExitCode.ENVIRONMENT
    assert "kernel-lineage[gpu]" in result.stderr
