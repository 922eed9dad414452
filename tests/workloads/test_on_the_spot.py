"""Gating without naming a workload: the repository's is taken, else one drafted, and a blind draft accepts nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernel_gate.reasons import Reason
from kernel_gate.verdict import Outcome, Verdict
from kernel_gate.workload import WorkloadError, parse_workload
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.on_the_spot import (
    SpotWorkload,
    in_a_line,
    question,
    resting_on,
    workload_on_the_spot,
)
from kernel_lineage.workloads.proof import Proof
from longer import first_now

WORKLOAD = """\
kernel = "fill"
language = "cuda"
[[args]]
name = "out"
kind = "output"
dtype = "float32"
shape = [32]
[launch]
grid = [1]
block = [32]
"""
ACCEPTED = Verdict(outcome=Outcome.ACCEPTED, reason="faster", stages=[], inputs_hash="")
REJECTED = Verdict(outcome=Outcome.REJECTED, reason="wrong", stages=[], inputs_hash="")


def drafted(proof: Proof | None) -> SpotWorkload:
    return SpotWorkload(parse_workload(WORKLOAD), None, ("N is 32 in main",), proof)


def test_a_workload_that_cannot_be_read_is_no_reason_to_draft_another(tmp_path: Path) -> None:
    (tmp_path / ".klineage" / "workloads").mkdir(parents=True)
    (tmp_path / ".klineage" / "workloads" / "fill.toml").write_text(WORKLOAD.replace("float32", "float31"))
    (tmp_path / "fill.cu").write_text("__global__ void fill(float* out) { out[threadIdx.x] = 1.0f; }\n")
    (tmp_path / ".git").mkdir()
    with pytest.raises(WorkloadError, match=r"fill\.toml.*float31.*Mend the file"):
        workload_on_the_spot(tmp_path / "fill.cu", "fill", "emulated")


def test_the_repositorys_own_workload_comes_first(tmp_path: Path) -> None:
    (tmp_path / ".klineage" / "workloads").mkdir(parents=True)
    (tmp_path / ".klineage" / "workloads" / "fill.toml").write_text(WORKLOAD)
    (tmp_path / "fill.cu").write_text("__global__ void fill(float* out) { out[threadIdx.x] = 1.0f; }\n")
    (tmp_path / ".git").mkdir()
    spot = workload_on_the_spot(tmp_path / "fill.cu", "fill", "emulated")
    assert spot.path is not None
    assert spot.path.name == "fill.toml"
    assert resting_on(ACCEPTED, spot).outcome is Outcome.ACCEPTED


def test_a_file_that_does_not_tell_ends_with_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "fill.cu").write_text("__global__ void fill(float* out) { out[threadIdx.x] = 1.0f; }\n")
    with pytest.raises(WorkloadError, match=r"fill is not launched in fill.cu.*klineage workload init"):
        workload_on_the_spot(tmp_path / "fill.cu", "fill", "emulated")


def test_a_verdict_says_that_its_workload_was_drafted_and_what_was_assumed() -> None:
    verdict = resting_on(REJECTED, drafted(Proof("")))
    assert verdict.outcome is Outcome.REJECTED
    assert verdict.environment["workload"] == "drafted"
    assert verdict.environment["workload_assumed"] == ["N is 32 in main"]


def test_a_draft_that_misses_wrong_kernels_accepts_nothing() -> None:
    verdict = resting_on(ACCEPTED, drafted(Proof("")))
    assert (verdict.outcome, verdict.code) == (Outcome.INCONCLUSIVE, Reason.WORKLOAD_BLIND)
    assert "cannot be trusted" in verdict.reason


def test_a_draft_is_announced_in_a_line_with_what_was_assumed() -> None:
    spot = drafted(Proof(""))
    assert in_a_line("fill", "fill.cu", spot) == (
        "fill: no workload names it, so one is drafted from fill.cu: N is 32 in main"
    )
    many = replace(spot, assumed=("a", "b", "c", "d", "e"))
    assert in_a_line("fill", "fill.cu", many).endswith("fill.cu: a; b; c; and 2 more")


@pytest.mark.parametrize(
    ("missing", "asked"),
    [
        (
            ("the range of the values of tokens",),
            "Answer with `klineage workload init f.cu:k --set tokens=0..N`",
        ),
        (
            ("the dtype of s: nothing tells it", "the value of s, `s` at the launch: nothing tells s"),
            "(1 more is open). Answer with `klineage workload init f.cu:k --set s=NUMBER`",
        ),
        (
            ("the launch's grid: nothing tells n",),
            "Answer with `klineage workload init f.cu:k --set 'grid=[NUMBER]'`",
        ),
        (
            (
                "the shape of x: it was made (the kernel cannot be run to see it: bounds at n = 2; bounds at n = 3)",
            ),
            "bounds at n = 2; 1 more try fails too). Answer with `klineage workload init f.cu:k --set 'x=[NUMBER]'`",
        ),
        (
            ("the dtype of s: nothing tells it",),
            "Run `klineage workload init f.cu:k`, fill in what is missing",
        ),
    ],
)
def test_an_incomplete_draft_asks_one_question_with_the_command_that_answers_it(
    missing: tuple[str, ...], asked: str
) -> None:
    assert asked in question(Draft("k", Language.CUDA, "f.cu", {}, {}, (), missing=missing), "f.cu")


def test_why_running_the_host_code_tells_nothing_is_said_beside_the_question() -> None:
    notes = ("N is chosen", "not recorded: compiling the host code of f.cu took more than 30 s")
    draft = Draft("k", Language.CUDA, "f.cu", {}, {}, (), missing=("the launch's grid: ?",), assumed=notes)
    words = "Running its host code does not tell it: compiling the host code of f.cu took more than 30 s. Answer with"
    assert words in question(draft, "f.cu")


UNBUILT = """\
__global__ void scale(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * x[i] + shift;
}
void run(float* out, const float* x, int n) { scale<<<(n + 255) / 256, 256>>>(out, x, n); }
"""


def test_a_kernel_that_does_not_build_is_asked_for_no_shape(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "scale.cu").write_text(UNBUILT)
    with pytest.raises(WorkloadError, match=r"scale does not build.*scale\.cu:3.*shift") as raised:
        workload_on_the_spot(tmp_path / "scale.cu", "scale", "emulated")
    assert "--set" not in str(raised.value)


@pytest.mark.long
@pytest.mark.parametrize(
    ("block", "rows"), first_now([("rows", 128), ("dim3(32, rows)", 4), ("dim3(rows, 32)", 4)])
)
def test_no_block_of_a_draft_has_more_threads_than_a_device_runs(
    tmp_path: Path, block: str, rows: int
) -> None:
    """The host code takes the rows of a block from its caller."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "scale.cu").write_text(
        "__global__ void scale(float* out, const float* x, int n) {\n"
        "    int i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;\n"
        "    if (i < n) out[i] = 2 * x[i];\n"
        "}\n"
        "void run(float* out, const float* x, int n, int rows) {\n"
        f"    scale<<<(n + rows - 1) / rows, {block}>>>(out, x, n);\n"
        "}\n"
    )
    spot = workload_on_the_spot(tmp_path / "scale.cu", "scale", "emulated")
    assert str(rows) in [*map(str, spot.workload.launch.block)]
