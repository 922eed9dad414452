"""Code actions: what is listed, what is said of those that cannot be done, and that none of them edits."""

from __future__ import annotations

import pytest
from lsprotocol import types

from editor.session import QUIET, session
from editor.test_apply import WORKLOAD

pytestmark = pytest.mark.asyncio(loop_scope="session")

VECTORISE = "Vectorised row access"
INVOKED = types.CodeActionTriggerKind.Invoked


def titled(actions, title):
    return [a for a in actions if a.title.startswith(title)]


async def test_a_skill_is_offered_once_and_leads_to_the_gate(editor, scale):
    uri = editor.open(scale)
    (action,) = titled(await editor.actions(uri, "row[i]"), VECTORISE)
    assert action.kind == "refactor.rewrite.klineage"
    assert action.edit is None
    assert action.command is not None
    assert action.command.command == "klineage.apply"
    (argument,) = action.command.arguments
    assert (argument["skill"], argument["kernel"], argument["by"]) == (
        "vectorised-row-access",
        "scale",
        "assist",
    )


async def test_an_unknown_condition_is_told_in_the_title(editor, scale):
    uri = editor.open(scale)
    (action,) = titled(await editor.actions(uri, "row[i]"), VECTORISE)
    assert "guarded" in action.title


async def test_what_cannot_be_done_is_listed_only_when_a_person_asks_and_with_the_reason(editor, scale):
    text = scale.read_text("utf-8").replace("float*", "bool*")
    uri = editor.open(scale, text)
    assert titled(await editor.actions(uri, "row[i]"), VECTORISE) == []
    for asked in (
        await editor.actions(uri, "row[i]", trigger=INVOKED),
        await editor.actions(uri, "row[i]", only=["refactor"]),
    ):
        (action,) = titled(asked, VECTORISE)
        assert action.command is None
        assert action.disabled is not None
        assert "dtype(x)" in action.disabled.reason or "bool" in action.disabled.reason


async def test_the_kinds_that_are_asked_for_are_honoured(editor, scale):
    uri = editor.open(scale)
    for only, listed in (
        (["refactor"], True),
        (["refactor.rewrite"], True),
        (["refactor.rewrite.klineage"], True),
        (["quickfix"], False),
        (["refactor.rewrite.klineage.deeper"], False),
        (["refactor.rew"], False),
        (["source.fixAll", "refactor"], True),
    ):
        assert bool(titled(await editor.actions(uri, "row[i]", only=only), VECTORISE)) is listed, only


async def test_nothing_is_offered_outside_of_a_kernel(editor, scale):
    uri = editor.open(scale)
    assert await editor.actions(uri, "void launch_scale", trigger=INVOKED) == []


async def test_in_a_workspace_that_is_not_trusted_nothing_is_offered(scale):
    async with session(scale.parent, {"trusted": False}) as editor:
        uri = editor.open(scale)
        assert await editor.actions(uri, "row[i]") == []
        (action,) = titled(await editor.actions(uri, "row[i]", trigger=INVOKED), VECTORISE)
        assert "not trusted" in action.disabled.reason


async def test_resolving_adds_no_edit(editor, scale):
    uri = editor.open(scale)
    (action,) = titled(await editor.actions(uri, "row[i]"), VECTORISE)
    resolved = await editor.client.code_action_resolve_async(action)
    assert resolved == action
    assert editor.edits == []


async def test_resolving_takes_back_what_no_longer_applies(editor, scale):
    uri = editor.open(scale)
    (action,) = titled(await editor.actions(uri, "row[i]"), VECTORISE)
    editor.replace(uri, "out[blockIdx.x * C + i] = alpha * row[i]", "")
    resolved = await editor.client.code_action_resolve_async(action)
    assert resolved.disabled is not None
    assert resolved.command is None


async def test_resolving_an_action_of_another_server_gives_it_back(editor, scale):
    action = types.CodeAction(title="Not ours", data=None)
    assert await editor.client.code_action_resolve_async(action) == action


@pytest.mark.long
async def test_a_hypothesis_is_offered_when_a_person_asks_and_by_itself_where_that_is_switched_on(scale):
    title = "Signed stride"
    folder = scale.parent / ".klineage" / "workloads"
    folder.mkdir(parents=True)
    (folder / "scale.toml").write_text(WORKLOAD)
    async with session(scale.parent, QUIET) as editor:
        uri = editor.open(scale)
        assert titled(await editor.actions(uri, "row[i]"), title) == []
        (action,) = titled(await editor.actions(uri, "row[i]", trigger=INVOKED), title)
        assert action.title == "Signed stride (a hypothesis)"
        assert (await editor.client.code_action_resolve_async(action)).disabled is None
    async with session(scale.parent, {"check": "off", "hypotheses": True}) as editor:
        (action,) = titled(await editor.actions(editor.open(scale), "row[i]"), title)
        assert action.command is not None
