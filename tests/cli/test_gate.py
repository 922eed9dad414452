"""`klineage gate`: one verdict, its document and its exit codes."""

import errno
import json

import pytest
from click.testing import CliRunner
from git import Actor, Repo

from kernel_gate.standing import ExitCode
from kernel_gate.verdict import Verdict
from kernel_lineage.cli.main import main
from workload_texts import workload_text

WORKLOAD = workload_text(
    "twice",
    "n = [100]",
    'grid = ["ceil_div(n, 64)"]\nblock = [64]',
    "y: output float32 [n]",
    "x: input float32 [n]",
    "n: int32 = n",
)
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
        return CliRunner().invoke(main, ["gate", *files, *device, *more])

    return run


def test_a_right_candidate_is_inconclusive_without_a_gpu(gate):
    result = gate(KERNEL.replace("x[i] + x[i]", "2.0f * x[i]"), "--json")
    verdict = Verdict.model_validate(json.loads(result.stdout))
    assert result.exit_code == ExitCode.RIGHT
    assert [s.status.value for s in verdict.stages] == ["pass", "pass", "pass", "unavailable", "pass"]
    assert verdict.reason.startswith("not profiled")


def test_a_wrong_candidate_is_rejected_in_words(gate):
    result = gate(KERNEL.replace("i < n", "i < n - 1"))
    assert result.exit_code == ExitCode.REJECTED
    assert "Rejected by check: y[99] = NaN (not written)" in result.stdout
    assert "sanitize skipped" in result.stdout


@pytest.mark.long
def test_the_kernel_may_be_left_to_the_workload_and_be_named_in_full(gate):
    text = (
        "namespace ours { namespace inner {\ntemplate <typename T, int W>\n"
        + KERNEL.replace("float", "T")
        + "}}\n"
    )
    named = gate(
        text.replace("x[i] + x[i]", "x[i] * T(2)"), "--candidate-kernel", "ours::inner::twice<float, 4>"
    )
    assert named.exit_code == ExitCode.RIGHT, named.output


def test_a_kernel_that_is_not_there_is_a_verdict_of_its_own(gate):
    result = gate(KERNEL.replace("twice", "doubled"), "--json")
    verdict = json.loads(result.stdout)
    assert result.exit_code == ExitCode.NOT_JUDGED
    assert (verdict["outcome"], verdict["standing"], verdict["code"]) == (
        "inconclusive",
        "not-judged",
        "unknown-kernel",
    )
    assert "its kernels: doubled" in verdict["reason"]


def test_a_candidate_that_takes_other_arguments_is_not_judged(gate):
    other = KERNEL.replace("int n)", "int n, const float *more)")
    assert other != KERNEL
    result = gate(other, "--json")
    verdict = json.loads(result.stdout)
    assert (result.exit_code, verdict["code"]) == (ExitCode.NOT_JUDGED, "arguments-differ")
    assert "twice: " in verdict["reason"]


def test_a_candidate_whose_launch_is_not_read_is_not_judged(gate, tmp_path):
    other = KERNEL + "void run(float* y, float* x, int n) { twice<<<chosen_for(n), 32>>>(y, x, n); }"
    host = "void run(float* y, float* x, int n) { twice<<<(n + 63) / 64, 64>>>(y, x, n); }"
    (tmp_path / "old.cu").write_text(KERNEL + host)
    result = gate(other, "--json")
    verdict = json.loads(result.stdout)
    assert (result.exit_code, verdict["code"]) == (ExitCode.NOT_JUDGED, "launch-not-computable")
    assert "the launch of `twice` is changed" in verdict["reason"]


@pytest.mark.long
def test_only_what_was_asked_for_fails(gate):
    right = KERNEL.replace("x[i] + x[i]", "2.0f * x[i]")
    assert gate(right, "--fail-on", "rejected,not-judged").exit_code == ExitCode.DONE
    assert gate(right, "--fail-on", "right").exit_code == ExitCode.RIGHT
    unknown = gate(right, "--fail-on", "wrong")
    assert unknown.exit_code == ExitCode.WRONG_USE
    assert "--fail-on takes rejected, lacking, not-judged, undecided, right" in unknown.stderr


@pytest.mark.long
def test_the_candidate_may_have_another_name(gate):
    assert (
        gate(KERNEL.replace("twice", "doubled"), "--candidate-kernel", "doubled").exit_code == ExitCode.RIGHT
    )


@pytest.mark.parametrize("candidate", ["int main() {}", KERNEL.replace("twice", "other")])
def test_a_candidate_without_the_kernel_is_not_judged(gate, candidate):
    result = gate(candidate)
    assert result.exit_code == ExitCode.NOT_JUDGED
    assert "new.cu has no kernel `twice`" in result.stdout


@pytest.mark.long
def test_a_missing_gpu_is_the_environments_fault(gate, monkeypatch, tmp_path):
    blocked = tmp_path / "blocked" / "pycuda"
    blocked.mkdir(parents=True)
    (blocked / "__init__.py").write_text("raise ImportError('no driver here')\n")
    monkeypatch.syspath_prepend(str(blocked.parent))
    result = gate(KERNEL, "--device", "cuda")
    assert result.exit_code == ExitCode.ENVIRONMENT
    assert "kernel-lineage[gpu]" in result.stderr


@pytest.mark.long
def test_limits_are_options_and_part_of_the_evidence(gate):
    limits = ("--launch-seconds", "3.5", "--build-seconds", "77", "--check-seconds", "60")
    verdict = Verdict.model_validate_json(gate(KERNEL, *limits, "--json").stdout)
    asked = verdict.environment["options"]
    assert (asked["launch_seconds"], asked["build_seconds"], asked["check_seconds"]) == (3.5, 77.0, 60.0)
    assert gate(KERNEL, "--launch-seconds", "0").exit_code == ExitCode.WRONG_USE


@pytest.mark.long
@pytest.mark.parametrize("asked", [("--evidence", "made"), ("--html", "page.html")])
def test_a_full_disk_is_said_and_leaves_no_half_of_a_report(gate, tmp_path, monkeypatch, asked):
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("kernel_gate.files.writing.os.fsync", full)
    option, name = asked
    result = gate(KERNEL.replace("i < n", "i < n - 1"), option, str(tmp_path / "out" / name))
    assert result.exit_code == ExitCode.ENVIRONMENT
    assert "A report cannot be written: disk-full: " in result.stderr and "on another disk" in result.stderr
    assert [p for p in (tmp_path / "out").rglob("*") if p.is_file()] == []
    assert "Rejected by check" in result.stdout


@pytest.mark.long
def test_the_verdict_is_written_in_every_format_that_is_asked_for(gate, tmp_path, monkeypatch):
    step = tmp_path / "step.md"
    step.write_text("# Before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    made = {name: tmp_path / "made" / name for name in ("junit", "sarif", "html", "summary", "comment")}
    asked = [part for name, path in made.items() for part in (f"--{name}", str(path))]
    evidence = tmp_path / "evidence"
    result = gate(
        KERNEL.replace("i < n", "i < n - 1"), *asked, "--github-summary", "--evidence", str(evidence)
    )
    assert result.exit_code == ExitCode.REJECTED, result.output
    assert all("not-written" in path.read_text() for path in made.values())
    assert step.read_text().startswith("# Before\n## Kernel gate: 1 rejected")
    (kept,) = evidence.iterdir()
    assert kept.name.startswith("twice-rejected-")
    assert Verdict.model_validate_json(kept.read_text()).code == "not-written"


@pytest.mark.long
def test_a_report_that_cannot_be_written_is_said(gate, tmp_path):
    (tmp_path / "file").write_text("")
    result = gate(KERNEL, "--junit", str(tmp_path / "file" / "junit.xml"))
    assert result.exit_code == ExitCode.ENVIRONMENT
    assert "A report cannot be written" in result.output


@pytest.mark.long
def test_the_same_question_is_not_worked_out_twice(gate, tmp_path, monkeypatch):
    (tmp_path / ".klineage").mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    wrong = KERNEL.replace("i < n", "i < n - 1")
    seed = ("--seed", "7")
    first, again, anew = gate(wrong, *seed), gate(wrong, *seed), gate(wrong, *seed, "--no-cache")
    assert {r.exit_code for r in (first, again, anew)} == {ExitCode.REJECTED}
    assert "The same question was judged at" in again.stderr
    assert "The same question" not in first.stderr + anew.stderr
    assert first.stdout == again.stdout == anew.stdout


@pytest.mark.long
def test_since_gates_what_the_work_tree_changed(tmp_path, monkeypatch):
    repo = Repo.init(tmp_path)
    (tmp_path / "k.cu").write_text(KERNEL)
    (tmp_path / ".klineage" / "workloads").mkdir(parents=True)
    (tmp_path / ".klineage" / "workloads" / "twice.toml").write_text(WORKLOAD)
    repo.git.add("-A")
    repo.index.commit("one", author=Actor("A", "a@b.org"), committer=Actor("A", "a@b.org"))
    repo.close()
    monkeypatch.chdir(tmp_path)
    unchanged = CliRunner().invoke(main, ["gate", "--since", "HEAD", "--device", "emulated"])
    assert (unchanged.exit_code, unchanged.stdout) == (ExitCode.DONE, "No kernel changed since HEAD.\n")
    (tmp_path / "k.cu").write_text(KERNEL.replace("x[i] + x[i]", "x[i]"))
    result = CliRunner().invoke(main, ["gate", "--since", "HEAD", "--device", "emulated", "--json"])
    document = json.loads(result.stdout)
    assert result.exit_code == ExitCode.REJECTED
    assert [(v["kernel"], v["file"], v["outcome"]) for v in document["verdicts"]] == [
        ("twice", "k.cu", "rejected")
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--since", "HEAD", "--kernel", "k"], "leave --kernel, --workload and --case out"),
        (["a.cu"], "give BASELINE and CANDIDATE, or --since REV"),
        (["--since", "HEAD", "/elsewhere.cu"], "/elsewhere.cu is not in"),
    ],
)
def test_wrong_use_is_said(arguments, message, tmp_path, monkeypatch):
    Repo.init(tmp_path).close()
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["gate", *arguments])
    assert result.exit_code == ExitCode.WRONG_USE
    assert message in result.stderr
