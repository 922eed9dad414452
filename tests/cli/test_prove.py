"""`klineage prove`: marks for people, one document for programs, and the exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernel_lineage.cli.main import main
from workload_texts import workload_text

WORKLOAD = workload_text(
    "copy",
    "N = 1000",
    'grid = ["ceil_div(N, 256)"]\nblock = [256]',
    "out: output float32 [N]",
    "x: input float32 [N]",
    "N: int32 = N",
)
COPY = """\
__global__ void copy(float* out, const float* x, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (%s) {
        out[i] = x[i];
    }
}
"""


def _prove(folder: Path, guard: str, *options: str) -> tuple[int, str]:
    (folder / "w.toml").write_text(WORKLOAD)
    (folder / "copy.cu").write_text(COPY % guard)
    target = f"{folder / 'copy.cu'}:copy"
    result = CliRunner().invoke(main, ["prove", target, "--workload", str(folder / "w.toml"), *options])
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("guard", "status", "mark"), [("i < N", 0, "✓"), ("i <= N", 1, "✗"), ("i < int(x[0])", 1, "?")]
)
def test_each_obligation_has_its_mark_and_line(guard: str, status: int, mark: str, tmp_path: Path) -> None:
    code, output = _prove(tmp_path, guard)
    assert code == status, output
    assert any(line.startswith(mark) and "copy.cu:4  out[i]" in line for line in output.splitlines()), output


def test_the_document_names_block_thread_and_element(tmp_path: Path) -> None:
    code, output = _prove(tmp_path, "i <= N", "--json")
    document = json.loads(output)
    wrong = next(
        o for o in document["obligations"] if o["kind"] == "in_bounds" and o["expression"] == "out[i]"
    )
    assert (code, document["version"], document["kernel"]) == (1, 1, "copy")
    assert (wrong["status"], wrong["line"], wrong["confirmed"]) == ("refuted", 4, "interpreter")
    assert wrong["counterexample"]["dims"] == {"N": 1}
    assert wrong["counterexample"]["thread"] == [1, 0, 0]
    assert (wrong["counterexample"]["buffer"], wrong["counterexample"]["element"]) == ("out", 1)


def test_a_target_without_a_kernel_is_wrong_use(tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text(WORKLOAD)
    result = CliRunner().invoke(main, ["prove", "copy.cu", "--workload", str(tmp_path / "w.toml")])
    assert result.exit_code == 2
