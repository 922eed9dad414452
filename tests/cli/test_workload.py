"""`klineage workload`: the file it drafts, what it says of what is missing, and its exit codes."""

import json

import pytest
from click.testing import CliRunner

from kernel_gate.standing import ExitCode
from kernel_gate.workload import load_workload
from kernel_lineage.cli.main import main

FILE = """\
__global__ void fill(float* out, const float* x) {
    out[threadIdx.x] = x[threadIdx.x];
}
int main() {
    int N = 32;
    float *d_out;
    float *d_x;
    cudaMalloc(&d_out, N * sizeof(float));
    cudaMalloc(&d_x, N * sizeof(float));
    fill<<<1, N>>>(d_out, d_x);
}
"""


def run(*arguments: str):
    return CliRunner().invoke(main, ["workload", *arguments])


def test_a_complete_draft_is_written_and_proved(tmp_path):
    (tmp_path / "fill.cu").write_text(FILE)
    result = run("init", f"{tmp_path / 'fill.cu'}:fill", "--mutants", "1", "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == ExitCode.DONE, document
    assert document["missing"] == []
    assert document["proof"]["sees"]
    fates = {m["kind"]: m["fate"] for m in document["proof"]["mutants"]}
    assert fates["zero_output"] == "killed"
    written = load_workload(tmp_path / ".klineage" / "workloads" / "fill.toml")
    assert written.kernel == "fill"
    again = run("init", f"{tmp_path / 'fill.cu'}:fill")
    assert again.exit_code == ExitCode.WRONG_USE
    assert "is there already" in again.stderr


def test_what_is_missing_is_listed_and_the_draft_kept(tmp_path):
    (tmp_path / "fill.cu").write_text(FILE.replace("fill<<<1,", "fill<<<blocks(),"))
    result = run("init", f"{tmp_path / 'fill.cu'}:fill", "--no-record")
    assert result.exit_code == ExitCode.NOT_JUDGED
    assert "not found: the launch's grid: nothing tells `blocks()`" in result.stdout
    kept = (tmp_path / ".klineage" / "workloads" / "fill.toml").read_text()
    assert "# not found: grid = [...]" in kept


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("two.cu", "names no kernel; write FILE:KERNEL: two.cu:fill or two.cu:other"),
        ("none.cu", "none.cu has none"),
        ("fill.cu::fill", "write one: fill.cu:fill"),
        ("nowhere.cu:fill", "cannot be read"),
    ],
)
def test_wrong_use_is_said(target, message, tmp_path, monkeypatch):
    (tmp_path / "fill.cu").write_text(FILE)
    (tmp_path / "two.cu").write_text(FILE + "__global__ void other(int* x) { x[0] = 1; }")
    (tmp_path / "none.cu").write_text("int main() {}")
    monkeypatch.chdir(tmp_path)
    result = run("init", target)
    assert result.exit_code == ExitCode.WRONG_USE
    assert message in result.stderr


def test_of_a_file_with_one_kernel_the_kernel_need_not_be_named(tmp_path):
    (tmp_path / "fill.cu").write_text(FILE)
    result = run("init", str(tmp_path / "fill.cu"))
    assert result.exit_code == ExitCode.DONE, result.stderr
    assert load_workload(tmp_path / ".klineage" / "workloads" / "fill.toml").kernel == "fill"


def test_a_kernel_that_is_not_there_is_not_judged(tmp_path):
    (tmp_path / "fill.cu").write_text(FILE)
    result = run("init", f"{tmp_path / 'fill.cu'}:other")
    assert result.exit_code == ExitCode.NOT_JUDGED
    assert "its kernels: fill" in result.stderr
