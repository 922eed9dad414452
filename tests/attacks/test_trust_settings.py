"""Trust in a workspace comes from the editor alone: no setting, and nothing that cannot be read, gives it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from git import Repo
from lsprotocol import types

from attacks.interruptions import descendants
from attacks.wire import Editor
from editor.session import session
from kernel_lineage.editor.settings import Settings
from kernel_lineage.editor.trust import Trust, UntrustedError

MANIFEST = json.loads((Path(__file__).parents[2] / "package.json").read_text("utf-8"))
PROPERTIES = MANIFEST["contributes"]["configuration"]["properties"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("checkSeconds", 0),
        ("checkSeconds", float("nan")),
        ("checkSeconds", float("inf")),
        ("checkSeconds", None),
        ("device", "tpu"),
        ("commandLinks", []),
        ("modelName", {}),
        ("hypotheses", "perhaps"),
    ],
)
@pytest.mark.parametrize("trusted", [True, False])
def test_a_field_that_cannot_be_read_is_named_and_costs_no_other(field, value, trusted):
    settings, problems = Settings.read({"trusted": trusted, "confirmsEdits": True, field: value})
    assert (settings.trusted, settings.confirms_edits) == (trusted, True)
    (problem,) = problems
    assert problem.startswith(f"{field}: ")
    assert "its default" in problem


@pytest.mark.parametrize("options", [None, {}, [], "trusted", 1, {"Trusted": True}, {"trust": True}])
def test_who_says_nothing_of_trust_is_not_trusted(options):
    assert not Settings.read(options)[0].trusted


@pytest.mark.parametrize("value", ["true", "yes", 1, 1.0, [True], {"trusted": True}, None])
def test_trust_is_true_and_nothing_like_it(value):
    settings, problems = Settings.read({"trusted": value})
    assert not settings.trusted
    assert problems[0].startswith("trusted: ")


async def test_without_trust_nothing_is_started(tmp_path):
    trust = Trust()
    with pytest.raises(UntrustedError):
        await trust.run(["touch", str(tmp_path / "mark")], folder=tmp_path)
    with pytest.raises(UntrustedError):
        await trust.klineage("--version", folder=tmp_path)
    with pytest.raises(UntrustedError):
        trust.worker()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize(
    "options", [{"trusted": False, "checkSeconds": 0}, {"checkSeconds": 0, "trusted": "true"}]
)
async def test_an_invalid_setting_runs_nothing_and_is_shown(scale, options):
    with Repo.init(scale.parent) as repository:
        repository.git.add("-A")
    workloads = scale.parent / ".klineage" / "workloads"
    workloads.mkdir(parents=True)
    mark = scale.parent.parent / "mark"
    (workloads / "oracles.py").write_text(f"open({str(mark)!r}, 'w')\n")
    before = {p: p.stat().st_mtime_ns for p in scale.parent.rglob("*")}
    async with session(scale.parent, {**options, "check": "typing"}) as editor:
        uri = editor.open(scale)
        editor.save(uri)
        answer = await editor.command("klineage.check", {"uri": uri, "line": 1, "character": 20})
        assert "not trusted" in answer["message"]
        at = {"uri": uri, "kernel": "scale", "skill": "restrict-const-pointers", "title": "Restrict"}
        applied = await editor.command("klineage.apply", at)
        assert (applied["outcome"], editor.statuses) == ("refused", [])
        repaired = await editor.command("klineage.repair", {**at, "line": 2})
        assert (repaired["outcome"], "not trusted" in repaired["summary"]) == ("refused", True)
        drawn = await editor.command("klineage.timeline", {"uri": uri, "line": 1, "character": 20})
        assert drawn["html"] is None
        shown = [message.message for message in editor.client.messages]
        assert any("checkSeconds" in message for message in shown)
        assert all(m.type is types.MessageType.Warning for m in editor.client.messages)
    assert not mark.exists()
    assert {p: p.stat().st_mtime_ns for p in scale.parent.rglob("*")} == before


@pytest.mark.long
@pytest.mark.parametrize("trusted", [False, True])
def test_opening_starts_a_check_only_where_it_is_trusted(scale, trusted):
    """Kernels are checked when a document is opened: a compiler, a kernel, an oracle, below the server."""
    editor = Editor(scale.parent, {**os.environ, "KLINEAGE_KEEP_IN": str(scale.parent.parent / "kept")})
    try:
        editor.start(trusted=trusted, check="typing", device="emulated")
        uri = editor.open(scale)
        started, until = False, time.monotonic() + (30 if trusted else 4)
        while time.monotonic() < until and not started:
            before = set(descendants(editor.process.pid))
            time.sleep(0.2)  # longer than `git version`, which GitPython asks for where it is imported
            started = not before.isdisjoint(descendants(editor.process.pid))
        assert started == trusted
        assert "result" in editor.hover(uri, 1, 18)
    finally:
        editor.close()


@pytest.mark.long
async def test_a_change_of_settings_gives_no_trust(scale):
    async with session(scale.parent, {"trusted": False}) as editor:
        uri = editor.open(scale)
        changed = types.DidChangeConfigurationParams({"trusted": True, "klineage": {"trusted": True}})
        editor.client.workspace_did_change_configuration(changed)
        answer = await editor.command("klineage.check", {"uri": uri, "line": 1, "character": 20})
        assert "not trusted" in answer["message"]


def test_a_workspace_that_is_not_trusted_sets_nothing_that_names_a_program_or_an_address():
    restricted = MANIFEST["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    for name in ("server.command", "interpreter", "model.baseUrl", "model.name", "check.when", "device"):
        assert f"klineage.{name}" in restricted
    for name in (
        "model.baseUrl",
        "model.name",
        "remote",
    ):  # where the key and programs go: no workspace at all
        assert PROPERTIES[f"klineage.{name}"]["scope"] == "machine"
    assert set(restricted) <= set(PROPERTIES)
    assert MANIFEST["capabilities"]["untrustedWorkspaces"]["supported"] == "limited"
