"""Quick fixes for a condition that is not known: the workload says what a person states of every caller."""

from __future__ import annotations

import pytest
from lsprotocol import types

from editor.conftest import SCALE
from editor.session import session
from editor.test_apply import WORKLOAD
from kernel_gate.workload import parse_workload
from kernel_lineage.editor.workload_files.facts import statements
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.situation import workload_facts
from kernel_lineage.skills.applicable import applicable
from kernel_lineage.skills.library import library

VECTORISED = "vectorised-row-access"


def stated(workload: str) -> dict[str, str]:
    """What can be stated of the kernel's vectorised access, each with the workload after it."""
    kernel = read(SCALE.encode(), Language.CUDA).kernels[0]
    facts = workload_facts(parse_workload(workload), "scale.toml")
    data = workload.encode()
    return {
        one.sentence: (data[: one.start] + one.new.encode() + data[one.end :]).decode()
        for offer in applicable(kernel, [library().get(VECTORISED)], facts)
        for one in statements(offer, data)
    }


def test_an_alignment_is_a_key_of_its_argument():
    texts = stated(WORKLOAD)
    assert texts
    for sentence, text in texts.items():
        changed = [a.name for a in parse_workload(text).args if a.align == 16]
        assert len(changed) == 1
        assert changed[0] in sentence
        assert sentence not in stated(text)


@pytest.mark.long
async def test_the_menu_offers_it_when_a_person_asks_and_it_edits_the_workload_only(scale):
    path = scale.parent / ".klineage" / "workloads" / "scale.toml"
    path.parent.mkdir(parents=True)
    path.write_text(WORKLOAD)
    async with session(scale.parent, {"device": "emulated", "check": "off"}) as editor:
        uri = editor.open(scale)
        invoked = types.CodeActionTriggerKind.Invoked
        actions = [
            a for a in await editor.actions(uri, "row[i]", trigger=invoked) if a.title.startswith("State in")
        ]
        assert actions
        for action in actions:
            assert action.kind == types.CodeActionKind.QuickFix
            assert action.edit is not None
            assert action.edit.changes is not None
            assert [*action.edit.changes] == [path.as_uri()]
        assert not [a for a in await editor.actions(uri, "row[i]") if a.title.startswith("State in")]


@pytest.mark.long
async def test_a_kernel_without_a_workload_is_given_one(scale):
    async with session(scale.parent, {"device": "emulated", "check": "off"}) as editor:
        uri = editor.open(scale)
        invoked = types.CodeActionTriggerKind.Invoked
        (action,) = [
            a for a in await editor.actions(uri, "row[i]", trigger=invoked) if "Write down" in a.title
        ]
        assert action.command is not None
        answer = await editor.command(action.command.command, *(action.command.arguments or ()))
        path = scale.parent / ".klineage" / "workloads" / "scale.toml"
        assert parse_workload(path.read_text("utf-8")).kernel == "scale"
        assert [params.uri for params in editor.client.shown_documents] == [path.as_uri()]
        assert answer["message"].startswith("scale.toml sees a wrong scale: ")
        assert editor.client.messages[-1].message == answer["message"]
        again = await editor.command(action.command.command, *(action.command.arguments or ()))
        assert "is there already" in again["message"]


@pytest.mark.parametrize("asked", ["by the menu", "by a check"])
async def test_a_kernel_that_nothing_says_how_to_run_leads_to_its_workload_though_no_skill_applies(
    tmp_path, asked
):
    path = tmp_path / "first.cu"
    path.write_text("__global__ void first(float* out, const float* x) { out[0] = x[0]; }\n")
    async with session(tmp_path, {"device": "emulated", "check": "off"}) as editor:
        uri = editor.open(path)
        wanted = {"uri": uri, "kernel": "first"}
        if asked == "by the menu":
            invoked = types.CodeActionTriggerKind.Invoked
            actions = await editor.actions(uri, "out[0]", trigger=invoked)
            (action,) = [a for a in actions if "Write down" in a.title]
            assert action.command is not None
            assert [*(action.command.arguments or ())] == [wanted]
        else:
            at = editor.position(uri, "first(")
            answer = await editor.command("klineage.check", {**wanted, "line": at.line, "character": 0})
            assert answer["state"] == "unclear"
            assert answer["lacks"] == wanted
