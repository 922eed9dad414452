"""The server of tools, by the official SDK's client: in memory and over stdio, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, MCPError, StdioServerParameters

from kernel_lineage.agents import jobs
from kernel_lineage.agents.root import Root
from kernel_lineage.agents.server import agent_server
from longer import first_now
from two_kernels import KERNELS

ERAS = ["auto", "legacy"]
"""`server/discover` of 2026, `initialize` of 2025."""
TOOLS = {
    "apply_skill", "applicable_skills", "cancel_job", "check_kernel", "draft_workload", "gate_candidate",
    "gate_changes", "job_result", "kernel_lineage", "prove_kernel",
}  # fmt: skip


def server(top: Path, mode: str = "auto", *, trusted: bool = True) -> Client:
    return Client(agent_server(Root(top.resolve(), trusted)), mode=mode)


def stdio(top: Path, mode: str, *words: str) -> Client:
    names = ("XDG_STATE_HOME", "KLINEAGE_KEEP_IN", "PATH")
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "kernel_lineage", "mcp", str(top), *words],
        env={name: os.environ[name] for name in names},
        cwd="/",
    )
    return Client(command, mode=mode)


async def call(client: Client, tool: str, **arguments: object) -> dict:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content[0].text
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: object) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    return result.content[0].text


@pytest.mark.parametrize("mode", ERAS)
async def test_both_eras_find_the_tools_and_the_cards(top, mode):
    async with server(top, mode) as client:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == TOOLS
        assert all(
            tool.input_schema["additionalProperties"] is False and tool.output_schema for tool in tools
        )
        assert {t.name for t in tools if not t.annotations.read_only_hint} == {
            "apply_skill", "cancel_job", "draft_workload", "gate_candidate",
        }  # fmt: skip
        (card,) = (await client.read_resource("klineage://skills/grid-stride-loop")).contents
        assert card.text.startswith("**Grid-stride loop**")
        with pytest.raises(MCPError, match="did you mean `grid-stride-loop`"):
            await client.read_resource("klineage://skills/grid-stride-lop")


async def test_arguments_that_do_not_fit_are_refused_in_words(top):
    async with server(top) as client:
        answer = await refused(client, "check_kernel", flie="x.cu", seconds="a secret")
        assert "`file` is missing" in answer and "no argument `flie`, did you mean `file`?" in answer
        assert "`seconds`: input should be a valid number" in answer and "It takes `file` (needed)" in answer
        assert "secret" not in answer and "pydantic" not in answer


@pytest.mark.long
@pytest.mark.parametrize("mode", first_now(ERAS))
async def test_both_eras_over_stdio(top, mode):
    async with stdio(top, mode) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        listed = await call(client, "applicable_skills", file="kernels.cu", kernel="scale")
        (kernel,) = listed["result"]["kernels"]
        assert kernel["kernel"] == "scale" and kernel["offers"]
        assert "klineage trust" in await refused(client, "check_kernel", file="kernels.cu")


async def test_the_repository_of_a_subfolder_is_served_and_the_home_folder_is_not(top, monkeypatch):
    from click.testing import CliRunner

    from kernel_lineage.cli.main import main

    monkeypatch.setenv("HOME", str(top / "home"))
    result = CliRunner().invoke(main, ["mcp", str(top)])
    assert result.exit_code == 2 and "holds your home folder" in result.stderr


async def test_nothing_is_run_before_a_person_trusts_the_folder(top):
    before = sorted(top.rglob("*"))
    async with server(top, trusted=False) as client:
        for tool, arguments in {
            "check_kernel": {"file": "kernels.cu"},
            "prove_kernel": {"file": "kernels.cu", "kernel": "scale"},
            "gate_candidate": {"file": "kernels.cu", "candidate": KERNELS},
            "draft_workload": {"file": "kernels.cu", "kernel": "scale"},
            "apply_skill": {"skill": "grid-stride-loop", "file": "kernels.cu", "kernel": "scale"},
            "gate_changes": {},
            "kernel_lineage": {},
        }.items():
            assert "which nobody has trusted yet" in await refused(client, tool, **arguments)
    assert sorted(top.rglob("*")) == before


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("check_kernel", {}, "file"),
        ("check_kernel", {"file": "kernels.cu", "kernel": "; rm -rf /"}, "kernel"),
        ("check_kernel", {"file": "kernels.cu", "trusted": True}, "trusted"),
        ("check_kernel", {"file": "kernels.cu", "seconds": "for ever"}, "seconds"),
        ("check_kernel", {"file": "../outside.cu"}, "leads out of"),
        ("check_kernel", {"file": "/etc/passwd"}, "leads out of"),
        ("check_kernel", {"file": "kernels\x00.cu"}, "no name that a file can have"),
        ("check_kernel", {"file": "nothing.cu"}, "paths are relative to"),
        ("check_kernel", {"file": ".klineage"}, "a folder"),
        ("gate_candidate", {"file": "kernels.cu"}, "candidate or with diff"),
        ("gate_candidate", {"file": "kernels.cu", "diff": "@@ -1 +1 @@\n-q\n+r\n"}, "does not fit"),
        ("gate_candidate", {"baseline": "a", "candidate": "b", "write": True}, "write goes with"),
        ("gate_changes", {"since": "--output=/tmp/x y"}, "since"),
        ("draft_workload", {"file": "kernels.cu", "kernel": "scale", "answers": {"a b": "1"}}, "answers"),
        ("apply_skill", {"skill": "../x", "file": "kernels.cu", "kernel": "scale"}, "skill"),
        ("job_result", {"job": "00000000"}, "There is no job"),
        ("applicable_skills", {"file": "kernels.cu", "max_tokens": 10**9}, "max_tokens"),
    ],
)
async def test_malformed_arguments_are_refused_in_words(top, tool, arguments, why):
    async with server(top) as client:
        assert why in await refused(client, tool, **arguments)


async def test_a_link_that_leads_out_is_not_followed(top, tmp_path):
    (top / "link.cu").symlink_to(tmp_path / "outside.cu")
    async with server(top) as client:
        assert "leads out of" in await refused(client, "check_kernel", file="link.cu")


async def test_what_takes_long_gives_a_handle_and_ends_when_it_is_cancelled(top, monkeypatch):
    started, ended = asyncio.Event(), asyncio.Event()

    async def slowly(*_words: str, on_line, **_more: object):
        on_line('{"stage": "check", "message": "n 200", "share": 0.5}')
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    monkeypatch.setattr(jobs, "run_python", slowly)
    async with server(top) as client:
        first = await call(client, "check_kernel", file="kernels.cu", wait_seconds=0)
        await started.wait()
        assert first["state"] == "running"
        again = await call(client, "job_result", job=first["job"], wait_seconds=0)
        assert again["state"] == "running" and again["stage"] == "check: n 200"
        waiting = await call(client, "gate_changes", wait_seconds=0)
        waiting = await call(client, "job_result", job=waiting["job"], wait_seconds=0)
        assert waiting["stage"] == "waiting for the job before"
        cancelled = await call(client, "cancel_job", job=first["job"])
        assert cancelled["state"] == "cancelled" and ended.is_set()
        assert (await call(client, "job_result", job=first["job"]))["state"] == "cancelled"
        with pytest.raises(MCPError, match="no finished job"):
            await client.read_resource(f"klineage://jobs/{first['job']}")
        for _ in range(jobs.AT_ONCE - 1):
            await call(client, "gate_changes", wait_seconds=0)
        assert "8 jobs run already" in await refused(client, "gate_changes", wait_seconds=0)


async def test_cancelling_ends_the_process_and_what_it_started(top, monkeypatch):
    from kernel_gate.processes.jobs import run

    script = """sleep 20 & echo "{\\"stage\\": \\"$$\\", \\"message\\": \\"\\"}" >&2; wait"""

    async def sleeping(*_words: str, folder: Path, on_line, **_more: object):
        return await run(["/bin/sh", "-c", script], folder=folder, on_line=on_line)

    monkeypatch.setattr(jobs, "run_python", sleeping)
    async with server(top) as client:
        job = await call(client, "check_kernel", file="kernels.cu", wait_seconds=0)
        group = 0
        while not group:
            answer = await call(client, "job_result", job=job["job"], wait_seconds=0)
            group = int(answer["stage"].split(":")[0]) if answer["stage"][0].isdigit() else 0
        assert group in {_group_of(p) for p in Path("/proc").glob("[0-9]*/stat")}
        await call(client, "cancel_job", job=job["job"])
    assert group not in {_group_of(p) for p in Path("/proc").glob("[0-9]*/stat")}


def _group_of(stat: Path) -> int | None:
    """The group of a process that still runs; None for one that is gone, or waits to be noticed as gone."""
    try:
        state, _parent, group = stat.read_text().rpartition(")")[2].split()[:3]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state == "Z" else int(group)


@pytest.mark.long
async def test_a_result_fits_and_all_of_it_is_a_resource(top):
    source = "\n".join(
        KERNELS.split("void run")[0].replace("scale", f"scale{i}").replace("shift", f"shift{i}")
        for i in range(4)
    )
    launches = "\n".join(f"scale{i}<<<2, 128>>>(out, x, n);" for i in range(4))
    (top / "many.cu").write_text(f"{source}\nvoid run(float* out, float* x, int n) {{\n{launches}\n}}\n")
    async with server(top) as client:
        short = await client.call_tool("applicable_skills", {"file": "many.cu", "max_tokens": 300})
        assert len(short.content[0].text) <= 900
        assert short.structured_content["left_out"]
        (whole,) = (await client.read_resource(f"klineage://jobs/{short.structured_content['job']}")).contents
        assert len(json.loads(whole.text)["kernels"]) == 8


NO_MESSAGES = [b"not json", b'{"jsonrpc":', b"{}", b"[1, 2]", b"null", b"\xff\xfe", b"[" * 80_000,
               b'"' + b"x" * 300_000 + b'"',
               b'{"jsonrpc": "2.0", "id": ' + b"9" * 5000 + b', "method": "ping"}',
               b'{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": "x"}']  # fmt: skip


@pytest.mark.long
def test_a_line_that_is_no_message_gets_an_error_and_the_next_its_answer(top):
    ping = b'{"jsonrpc": "2.0", "id": 4, "method": "ping"}'
    command = [sys.executable, "-m", "kernel_lineage", "mcp", str(top)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as server:
        server.stdin.write(b"\n".join([*NO_MESSAGES, b"", b"  ", ping]) + b"\n")
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in (*NO_MESSAGES, ping)]
        assert server.communicate(timeout=30) == (b"", b"") and server.returncode == 0
    assert [a for a in answers if a["id"] is not None] == [{"jsonrpc": "2.0", "id": 4, "result": {}}]
    errors = [a["error"]["code"] for a in answers if a["id"] is None]
    assert len(errors) == len(NO_MESSAGES) and set(errors) == {-32700, -32600}
