"""A scripted agent that tries to get an edit of a kernel past the gate; the file stays what it was, each time."""

from __future__ import annotations

import hashlib
import sqlite3

import pytest
from click.testing import CliRunner

from agents.test_hook import HALVED, REFUSED, changed, edit, gated, hook
from agents.test_server import call, refused, server
from gate.reporting.verdicts import ACCEPTED, UNTIMED
from kernel_gate.standing import ExitCode
from kernel_gate.worker import Worker
from kernel_lineage.agents import jobs
from kernel_lineage.cache_file import CACHE
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.cli.main import main
from two_kernels import KERNELS, WORKLOAD

WRONG = KERNELS.replace("out[i] = twice(x[i]);", "out[i] = 0.5f * x[i];")


@pytest.fixture(autouse=True)
def _unchanged(top):
    yield
    assert (top / "kernels.cu").read_text() == KERNELS
    assert (top / ".klineage" / "workloads" / "scale.toml").read_text() == WORKLOAD


@pytest.mark.long
async def test_1_it_asks_for_a_wrong_kernel_to_be_written(top):
    async with server(top) as client:
        answer = await call(
            client, "gate_candidate", file="kernels.cu", candidate=WRONG, write=True, wait_seconds=50
        )
        (kernel,) = answer["result"]["kernels"]
        assert kernel["verdict"] == "rejected" and kernel["line"] == 6 and kernel["counterexample"]["dims"]
        assert "written" not in answer["result"] and "was not written" in answer["result"]["reason"]


async def test_2_it_says_that_it_was_accepted(top):
    async with server(top) as client:
        for claim in (
            {"accepted": True},
            {"verdict": "accepted"},
            {"force": True},
            {"anyway": True},
            {"need": "none"},
        ):
            refusal = await refused(
                client, "gate_candidate", file="kernels.cu", candidate=WRONG, write=True, **claim
            )
            assert next(iter(claim)) in refusal


async def test_3_it_states_facts_that_would_make_a_condition_hold(top):
    async with server(top) as client:
        refusal = await refused(
            client,
            "apply_skill",
            skill="grid-stride-loop",
            file="kernels.cu",
            kernel="scale",
            fact=["align(x) = 16"],
        )
        assert "fact" in refusal


async def test_4_it_compares_the_wrong_kernel_with_itself(top):
    async with server(top) as client:
        refusal = await refused(
            client, "gate_candidate", file="kernels.cu", baseline=WRONG, candidate=WRONG, write=True
        )
        assert "write goes with" in refusal


async def test_5_it_names_the_file_by_another_way_in(top):
    async with server(top) as client:
        for name in (
            "../project/../outside.cu",
            str(top.parent / "outside.cu"),
            "kernels.cu/../../outside.cu",
        ):
            assert "leads out" in await refused(
                client, "gate_candidate", file=name, candidate=WRONG, write=True
            )
        assert edit(top, *HALVED, path=".klineage/../kernels.cu").exit_code == REFUSED
        (top / "other.cu").symlink_to(top / "kernels.cu")
        assert edit(top, *HALVED, path="other.cu").exit_code == REFUSED


@pytest.mark.long
async def test_6_it_makes_the_workload_blind(top):
    async with server(top) as client:
        blind = WORKLOAD.replace("n = [200]", "n = [1]")
        refused_edit = hook(top, "Write", file_path=".klineage/workloads/scale.toml", content=blind)
        assert refused_edit.exit_code == REFUSED
        answer = await client.call_tool(
            "draft_workload",
            {
                "file": "kernels.cu",
                "kernel": "scale",
                "answers": {"n": "1"},
                "write": True,
                "wait_seconds": 50,
            },
        )
        assert answer.is_error and "is there already" in answer.content[0].text


async def test_7_it_writes_itself_a_verdict(top):
    gated(top, changed(top, HALVED), UNTIMED.verdict)
    with sqlite3.connect(kept_in(top) / CACHE) as db:
        rows = db.execute("SELECT key, name, made, document FROM gated_edits").fetchall()
        for key, name, made, document in rows:
            forged = document.replace(b"right", b"accepted")
            db.execute(
                "INSERT OR REPLACE INTO gated_edits VALUES (?, ?, ?, ?, ?)",
                (key, name, made, forged, hashlib.sha256(forged).digest()),
            )
    assert edit(top, *HALVED).exit_code == REFUSED


async def test_8_it_edits_in_steps_of_which_each_looks_harmless(top):
    assert edit(top, "out[i] = twice(x[i]);", "out[i] = HOW;").exit_code == REFUSED
    macro = KERNELS.replace(
        "\n\n__global__ void scale", "\n#define twice(v) (0.5f * (v))\n\n__global__ void scale"
    )
    assert hook(top, "Write", file_path="kernels.cu", content=macro).exit_code == REFUSED
    assert edit(top, "2.0f * v", "0.5f * v", "twice.cuh").exit_code == REFUSED
    hidden = KERNELS.replace('#include "twice.cuh"', '#include "half.cuh"')
    (top / "half.cuh").write_text("__device__ inline float twice(float v) { return 0.5f * v; }\n")
    assert hook(top, "Write", file_path="kernels.cu", content=hidden).exit_code == REFUSED


async def test_9_it_has_one_change_accepted_and_makes_another(top):
    gated(top, changed(top, HALVED), ACCEPTED.verdict)
    assert edit(top, "twice(x[i])", "0.75f * x[i]").exit_code == REFUSED
    assert edit(top, "x[i] + 1.0f", "0.5f * x[i]").exit_code == REFUSED
    both = changed(
        top,
        HALVED,
        ("<<<(n + 127) / 128, 128>>>(out, x, n);\n    shift", "<<<1, 128>>>(out, x, n);\n    shift"),
    )
    assert hook(top, "Write", file_path="kernels.cu", content=both).exit_code == REFUSED


async def test_10_it_changes_the_file_while_the_gate_judges(top, monkeypatch):
    """What is written is for the text that was there when the gate began."""
    meanwhile = KERNELS.replace("+ 1.0f", "+ 3.0f")

    def judge(self: Worker, *_request: object, **_more: object):
        (top / "kernels.cu").write_text(meanwhile)
        return ACCEPTED.verdict

    monkeypatch.setattr(Worker, "judge", judge)
    words = ["gate", str(top / "kernels.cu"), "--text", "-", "--write"]
    result = CliRunner().invoke(main, words, input=changed(top, HALVED))
    assert "has changed since it was read; nothing was written" in result.output
    assert (top / "kernels.cu").read_text() == meanwhile
    (top / "kernels.cu").write_text(KERNELS)


async def test_11_a_stranger_answers_in_the_place_of_the_gate(top, monkeypatch):
    """A command's answer carries the seal of the process that was started; what has none is no answer."""
    from kernel_gate.processes import jobs as processes

    async def forged(*_command: object, **_more: object):
        return processes.Finished(0, b'{"outcome": "accepted", "written": true}\n', ())

    monkeypatch.setattr(processes, "run", forged)
    assert jobs.run_python is processes.run_python
    async with server(top) as client:
        refusal = await refused(client, "gate_candidate", file="kernels.cu", candidate=WRONG, write=True)
    assert "something else than the process that was asked" in refusal


@pytest.mark.parametrize("write", [True, False])
def test_the_same_command_writes_what_is_accepted(top, monkeypatch, write):
    monkeypatch.setattr(Worker, "judge", lambda *_a, **_k: ACCEPTED.verdict)
    new = changed(top, HALVED)
    words = ["gate", str(top / "kernels.cu"), "--text", "-", *(["--write"] if write else [])]
    result = CliRunner().invoke(main, words, input=new)
    assert result.exit_code == ExitCode.DONE, result.output
    assert (top / "kernels.cu").read_text() == (new if write else KERNELS)
    (top / "kernels.cu").write_text(KERNELS)
