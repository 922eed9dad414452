"""`klineage apply`: exit codes, what is printed, a buffer on stdin, and one run through the real gate."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernel_gate.standing import ExitCode
from kernel_lineage.cli.commands.apply import command
from kernel_lineage.rewrite.document import ApplyDocument, Progress
from rewrite.conftest import SCALE
from rewrite.model.test_lane import NO_TAIL, answer
from rewrite.protocol_server import ProtocolServer, Reply

SKILL = "vectorised-row-access"


@pytest.fixture(autouse=True)
def _no_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "KLINEAGE_BASE_URL",
        "KLINEAGE_API_KEY",
        "KLINEAGE_MODEL",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
    ):
        monkeypatch.delenv(name, raising=False)


def test_without_a_gpu_the_candidate_is_checked_and_kept(repository: Path) -> None:
    target = f"{repository / 'src' / 'scale.cu'}:scale"
    arguments = [SKILL, target, "--device", "emulated", "--json", "--progress", "json"]
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == ExitCode.RIGHT, result.output
    document = ApplyDocument.model_validate_json(result.stdout)
    assert document.verdict is not None
    assert {s.name: s.status.value for s in document.verdict.stages} == {
        "build": "pass",
        "check": "pass",
        "sanitize": "pass",
        "profile": "unavailable",
        "prove": "pass",
    }
    assert document.patch is not None
    stages = [Progress.model_validate_json(line).stage for line in result.stderr.splitlines()]
    assert stages[0] == "materialise"
    assert {"build", "check"} <= set(stages)
    assert (repository / "src" / "scale.cu").read_text() == SCALE


@pytest.mark.long
def test_a_models_rounds_are_told_in_words(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = f"{repository / 'src' / 'scale.cu'}:scale"
    facts = ["--fact", "align(x) = 16", "--fact", "align(out) = 16"]
    arguments = [SKILL, target, "--by", "model", "--device", "emulated", *facts, "--progress", "json"]
    with ProtocolServer(Reply(answer(NO_TAIL)), Reply(answer())).running() as server:
        monkeypatch.setenv("KLINEAGE_BASE_URL", server.url)
        monkeypatch.setenv("KLINEAGE_MODEL", "m")
        result = CliRunner().invoke(command, arguments)
    lines = result.stderr.splitlines()
    reports = [Progress.model_validate_json(line) for line in lines if line.startswith("{")]
    assert [f"{one.stage}: {one.message}" for one in reports if one.stage.endswith("ask")] == [
        "round 1 of 4, ask: waiting for the model's answer",
        "round 2 of 4, ask: the model is told what was wrong, and answers again",
    ]
    assert {"round 1 of 4, check", "round 2 of 4, check"} <= {one.stage for one in reports}
    assert not any("seed" in one.message for one in reports)


def test_a_buffer_on_stdin_is_what_is_read(repository: Path) -> None:
    path = repository / "src" / "unsaved.cu"
    buffer = SCALE.replace("scale(", "rescale(").replace("scale<<<", "rescale<<<")
    result = CliRunner().invoke(command, [SKILL, f"{path}:rescale", "--text", "-", "--json"], input=buffer)
    document = ApplyDocument.model_validate_json(result.stdout)
    assert result.exit_code == ExitCode.NOT_JUDGED
    assert document.reason.startswith("No workload says")
    assert document.edits
    assert not path.exists()


def test_a_refusal_is_one_line_and_exit_code_1(repository: Path) -> None:
    result = CliRunner().invoke(
        command, ["warp-shuffle-reduction", f"{repository / 'src' / 'scale.cu'}:scale"]
    )
    assert result.exit_code == ExitCode.REJECTED
    assert result.stdout.count("\n") == 1
    assert result.stdout.startswith("Refused: ")
    assert "Nothing was changed." in result.stdout


WRONG = {
    "no kernel": ([SKILL, "scale.cu"], ExitCode.WRONG_USE, "write FILE:KERNEL"),
    "no file": ([SKILL, "none.cu:scale"], ExitCode.WRONG_USE, "cannot be read"),
    "no such skill": (["vectorised-row-acces", "src/scale.cu:scale"], ExitCode.WRONG_USE, "did you mean"),
    "no such kernel": ([SKILL, "src/scale.cu:scales"], ExitCode.WRONG_USE, "its kernels: scale"),
    "a fact that is none": (
        [SKILL, "src/scale.cu:scale", "--fact", "align("],
        ExitCode.WRONG_USE,
        "align(",
    ),
    "no endpoint": (
        [SKILL, "src/scale.cu:scale", "--by", "model"],
        ExitCode.ENVIRONMENT,
        "KLINEAGE_BASE_URL",
    ),
}


@pytest.mark.parametrize(("arguments", "code", "message"), WRONG.values(), ids=WRONG)
def test_wrong_use_says_what_to_do(
    repository: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: ExitCode, message: str
) -> None:
    monkeypatch.chdir(repository)
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == code
    assert message in result.stderr
    assert result.stdout == ""


def test_a_workload_that_does_not_fit_the_kernel_is_wrong_use(repository: Path) -> None:
    path = repository / ".klineage" / "workloads" / "scale.toml"
    path.write_text(
        path.read_text().replace('name = "a"', 'name = "factor"').replace("value = 1.5", "value = 2.0")
    )
    text = path.read_text() + '\n[[args]]\nname = "more"\nkind = "scalar"\ndtype = "int32"\nvalue = 1\n'
    path.write_text(text)
    result = CliRunner().invoke(command, [SKILL, f"{repository / 'src' / 'scale.cu'}:scale"])
    assert result.exit_code == ExitCode.WRONG_USE
    assert "the workload declares" in result.stderr


@pytest.mark.long
def test_the_kept_document_is_what_was_printed(repository: Path) -> None:
    (repository / ".klineage" / "workloads" / "scale.toml").unlink()
    result = CliRunner().invoke(command, [SKILL, f"{repository / 'src' / 'scale.cu'}:scale", "--json"])
    printed = json.loads(result.stdout)
    assert json.loads(Path(printed["patch"]).with_suffix(".json").read_text()) == printed


def test_a_request_to_end_stops_the_work_and_changes_nothing(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_arguments: object, **_options: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("kernel_lineage.rewrite.run.run_in_child", ended)
    before = signal.getsignal(signal.SIGTERM)
    result = CliRunner().invoke(command, [SKILL, f"{repository / 'src' / 'scale.cu'}:scale"])
    assert result.exit_code == ExitCode.UNDECIDED
    assert "Cancelled; nothing was changed." in result.stderr
    assert (repository / "src" / "scale.cu").read_text() == SCALE
    assert signal.getsignal(signal.SIGTERM) == before


def test_the_key_is_not_left_to_the_gates_processes(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ProtocolServer(Reply(status=401)).running() as server:
        monkeypatch.setenv("KLINEAGE_BASE_URL", server.url)
        monkeypatch.setenv("KLINEAGE_MODEL", "m")
        monkeypatch.setenv("KLINEAGE_API_KEY", "secret")
        target = f"{repository / 'src' / 'scale.cu'}:scale"
        result = CliRunner().invoke(command, [SKILL, target, "--by", "model"])
    assert server.authorisations == ["Bearer secret"]
    assert result.exit_code == ExitCode.ENVIRONMENT
    assert "secret" not in result.output
    assert "KLINEAGE_API_KEY" not in os.environ
