"""Applying a skill through the real server, the real command and the real gate on the emulated device."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from editor.session import session
from gate.fleet.stand_in_ssh import OtherMachine
from longer import first_now

WORKLOAD = """\
kernel   = "scale"
language = "cuda"
source   = "scale.cu"
[dims]
N = [3]
C = [256]
[[args]]
name = "out"
kind = "output"
dtype = "float32"
shape = ["N", "C"]
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = ["N", "C"]
[[args]]
name = "alpha"
kind = "scalar"
dtype = "float32"
value = "2"
[[args]]
name = "C"
kind = "scalar"
dtype = "int32"
value = "C"
[launch]
grid = ["N"]
block = [64]
"""
EMULATED = {"device": "emulated", "confirmsEdits": True, "check": "off"}
SHOWN = {"device": "emulated", "check": "off"}


@pytest.fixture
def repository(scale):
    folder = scale.parent / ".klineage" / "workloads"
    folder.mkdir(parents=True)
    (folder / "scale.toml").write_text(WORKLOAD)
    return scale


@pytest.fixture
def other(tmp_path_factory, monkeypatch):
    """Another machine, whose `ssh` lies outside of the repository: there no program is looked up."""
    made = OtherMachine(tmp_path_factory.mktemp("other"))
    monkeypatch.setenv("PATH", f"{made.programs}:{os.environ['PATH']}")
    return made


async def vectorise(editor, uri):
    (action,) = [
        a for a in await editor.actions(uri, "row[i]") if a.title.startswith("Vectorised row access")
    ]
    assert action.command is not None
    (argument,) = action.command.arguments
    return argument


@pytest.mark.long
async def test_without_a_gpu_nothing_is_changed_and_the_reason_is_told(repository):
    text = repository.read_text("utf-8")
    async with session(repository.parent, EMULATED) as editor:
        uri = editor.open(repository)
        argument = await vectorise(editor, uri)
        editor.client.progress_reports["job"] = []
        answer = await editor.command("klineage.apply", argument, token="job")
        assert answer["outcome"] == "inconclusive"
        assert "not profiled" in answer["summary"]
        assert "✓ pass" in answer["page"]
        assert "float4" in answer["candidate"]
        refused = await editor.command("klineage.applyAccepted", {"job": answer["job"]})
        assert not refused["applied"]
        assert editor.edits == []
        kinds = [type(value) for value in editor.client.progress_reports["job"]]
        assert (kinds[0], kinds[-1]) == (types.WorkDoneProgressBegin, types.WorkDoneProgressEnd)
        messages = " ".join(value.message or "" for value in editor.client.progress_reports["job"])
        assert "build" in messages
        assert "check" in messages
    assert repository.read_text("utf-8") == text


@pytest.mark.long
async def test_an_editor_that_gives_no_token_is_shown_progress_of_the_servers_own(repository):
    async with session(repository.parent, SHOWN) as editor:
        uri = editor.open(repository)
        await editor.command("klineage.apply", await vectorise(editor, uri))
        ((token, reports),) = editor.client.progress_reports.items()
        assert str(token).startswith("klineage-")
        assert isinstance(reports[-1], types.WorkDoneProgressEnd)
        (message,) = editor.client.messages
        assert message.message.endswith("Nothing was changed.")


@pytest.mark.parametrize("way", first_now(["the request", "the progress"]))
async def test_cancelling_ends_the_command_and_changes_nothing(repository, way):
    async with session(repository.parent, EMULATED) as editor:
        uri = editor.open(repository)
        argument = await vectorise(editor, uri)
        editor.client.progress_reports["job"] = []
        params = types.ExecuteCommandParams(
            command="klineage.apply", arguments=[argument], work_done_token="job"
        )
        answer = editor.client.protocol.send_request(
            types.WORKSPACE_EXECUTE_COMMAND, params, msg_id="apply-1"
        )
        while not _applying(repository):
            await editor.client.wait_for_notification(types.PROGRESS)
        if way == "the request":
            editor.client.cancel_request(types.CancelParams(id="apply-1"))
            with pytest.raises(JsonRpcException, match="cancel"):
                await asyncio.wrap_future(answer)
        else:
            editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams("job"))
            assert await asyncio.wrap_future(answer) is None
        assert _applying(repository) == []
        assert editor.edits == []
        assert (await editor.card(uri, "scale(")).startswith("**scale**")


@pytest.mark.long
async def test_a_hover_does_not_wait_for_the_gate(repository):
    async with session(repository.parent, EMULATED) as editor:
        uri = editor.open(repository)
        argument = await vectorise(editor, uri)
        job = asyncio.create_task(editor.command("klineage.apply", argument))
        card = await editor.card(uri, "scale(")
        assert card.startswith("**scale**")
        assert not job.done()
        await job


async def test_in_a_workspace_that_is_not_trusted_nothing_is_run(repository):
    async with session(repository.parent, EMULATED) as editor:
        argument = await vectorise(editor, editor.open(repository))
    async with session(repository.parent, {**EMULATED, "trusted": False}) as editor:
        editor.open(repository)
        answer = await editor.command("klineage.apply", argument)
        assert answer["outcome"] == "refused"
        assert "not trusted" in answer["summary"]


@pytest.mark.long
async def test_a_document_that_is_not_open_is_refused(repository):
    async with session(repository.parent, EMULATED) as editor:
        uri = editor.open(repository)
        argument = await vectorise(editor, uri)
        editor.close(uri)
        answer = await editor.command("klineage.apply", argument)
        assert answer["outcome"] == "refused"
        assert "not open" in answer["summary"]


@pytest.mark.long
async def test_an_argument_that_is_none_of_ours_is_an_error_and_the_server_goes_on(repository):
    async with session(repository.parent, EMULATED) as editor:
        uri = editor.open(repository)
        for argument in (None, {}, {"uri": 3}):
            with pytest.raises(JsonRpcException):
                await editor.command("klineage.apply", argument)
        assert (await editor.card(uri, "scale(")).startswith("**scale**")


def _applying(path: Path) -> list[str]:
    """The processes that work on a file: their command lines name it."""
    lines = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal() and int(process.name) != os.getpid():
            with contextlib.suppress(OSError):
                line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if " apply " in line and str(path) in line:
                    lines.append(line)
    return lines


@pytest.mark.long
async def test_another_machine_judges_where_one_is_named(repository, other):
    async with session(repository.parent, {**EMULATED, "remote": "ssh://gpu-box"}) as editor:
        uri = editor.open(repository)
        answer = await editor.command("klineage.apply", await vectorise(editor, uri))
        assert answer["outcome"] == "inconclusive"
        assert "not profiled" in answer["summary"]
    assert other.log.read_text().endswith("gpu-box klineage judge\n")


@pytest.mark.long
async def test_a_machine_that_cannot_be_reached_is_named_and_nothing_is_changed(repository, other):
    async with session(repository.parent, {**EMULATED, "remote": "ssh://far-away"}) as editor:
        uri = editor.open(repository)
        answer = await editor.command("klineage.apply", await vectorise(editor, uri))
        assert answer["outcome"] == "refused"
        assert "Could not resolve hostname far-away" in answer["summary"]
