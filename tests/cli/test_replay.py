"""`klineage replay`: its exit codes, its document and its schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from git import Actor, Repo

from kernel_lineage.cli.main import main

KERNEL = "__global__ void scale(float* out, const float* x, int n) { out[threadIdx.x] = x[threadIdx.x]; }\n"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    repo = Repo.init(tmp_path)
    someone = Actor("A", "a@example.org")
    for message, text in (
        ("Scale", KERNEL),
        (
            "Speed up: restrict",
            KERNEL.replace("float* out, const float* x", "float* __restrict__ out, const float* x"),
        ),
    ):
        (tmp_path / "scale.cu").write_text(text)
        repo.git.add("-A")
        repo.index.commit(message, author=someone, committer=someone)
    repo.close()
    return tmp_path


def run(*arguments: str):
    return CliRunner().invoke(main, ["replay", *arguments, "--device", "emulated"])


def test_the_document_is_what_the_schema_says(top):
    ran = run(str(top), "--json")
    assert ran.exit_code == 0
    document = json.loads(ran.stdout)
    schema = json.loads(CliRunner().invoke(main, ["schema", "replay"]).stdout)
    assert schema["required"] == [n for n in schema["properties"] if n != "version"]
    assert set(document) == set(schema["properties"])
    assert set(document["transitions"][0]) == set(schema["$defs"]["ReplayedTransition"]["properties"])
    (step,) = document["transitions"]
    assert (document["version"], document["device"], document["remaining"]) == (1, "emulated", 0)
    assert (step["status"], step["code"], step["effect"]) == ("undecided", "no-workload", None)
    assert "scale is not launched in scale.cu" in step["reason"]
    assert document["skills"] == {"proposed": [], "admitted": [], "refused": []}


def test_what_is_finished_is_told_on_stderr_with_its_number(top):
    ran = run(str(top))
    assert ran.stderr.startswith("1/1 undecided")
    assert "1 transitions on emulated: 1 undecided" in ran.stdout


def test_transitions_that_are_left_are_an_exit_code_of_their_own(top):
    ran = run(str(top), "--limit", "0")
    assert ran.exit_code == 5
    assert "1 are left" in ran.stdout


def test_a_folder_without_a_history_is_wrong_use(tmp_path):
    ran = run(str(tmp_path))
    assert ran.exit_code == 2


def test_a_gpu_that_is_not_there_is_said(top, monkeypatch):
    from kernel_gate.devices.base import DeviceError
    from kernel_gate.fleet import places

    def none() -> list[places.Place]:
        raise DeviceError("no GPU can be used: there is none")

    monkeypatch.setattr(places, "gpu_places", none)
    ran = CliRunner().invoke(main, ["replay", str(top), "--device", "cuda"])
    assert ran.exit_code == 4
    assert "no GPU can be used" in ran.stderr
