"""The last step of an application: which verdicts make an edit, and of which text."""

from __future__ import annotations

import hashlib

import pytest
from lsprotocol import types

from editor.conftest import SCALE
from kernel_gate.processes.jobs import Finished
from kernel_lineage.editor.server import EditorServer
from kernel_lineage.rewrite.document import ApplyDocument, EditDocument

URI = "file:///repository/scale.cu"
START = SCALE.encode().index(b"alpha * row[i]")
END = START + len(b"alpha * row[i]")
REQUEST = {"uri": URI, "kernel": "scale", "skill": "s", "title": "Scale", "by": "assist"}


class Editor:
    """The server in this process, an editor that makes the edits it is sent, a gate that says what it is told."""

    def __init__(self, monkeypatch, confirms):
        self.server = EditorServer()
        self.server.trust.granted = True
        self.server.settings = self.server.settings.model_copy(update={"confirms_edits": confirms})
        self.edits = []
        self.messages = []
        self.outcome = "accepted"
        self.makes_edits = True
        monkeypatch.setattr(self.server.trust, "klineage", self.gate)
        monkeypatch.setattr(self.server, "workspace_apply_edit_async", self.make_edit)
        monkeypatch.setattr(self.server, "window_show_message", self.messages.append)
        self.server.documents.open(types.TextDocumentItem(URI, "cuda-cpp", 7, SCALE))

    async def gate(self, *_, stdin, **_more):
        document = ApplyDocument(
            skill="s", path="scale.cu", kernel="scale", by="assist", outcome=self.outcome, reason="so it is",
            source_sha256=hashlib.sha256(stdin).hexdigest(), edits=[EditDocument(start=START, end=END, text="2 * α")],
        )  # fmt: skip
        return Finished(0, document.model_dump_json().encode(), ())

    async def make_edit(self, params):
        self.edits.append(params.edit)
        return types.ApplyWorkspaceEditResult(applied=self.makes_edits)

    async def command(self, name, argument):
        params = types.ExecuteCommandParams(command=name, arguments=[argument], work_done_token="t")
        return await self.server.protocol.fm.commands[name](params)

    def type(self, text):
        change = types.TextDocumentContentChangePartial(
            range=types.Range(types.Position(0, 0), types.Position(0, 0)), text=text
        )
        self.server.documents.change(types.VersionedTextDocumentIdentifier(version=8, uri=URI), [change])


@pytest.fixture
def editor(monkeypatch):
    return lambda confirms=True: Editor(monkeypatch, confirms)


async def test_an_accepted_edit_is_made_when_the_person_says_so_and_only_once(editor):
    one = editor()
    answer = await one.command("klineage.apply", REQUEST)
    assert answer["outcome"] == "accepted"
    assert "= 2 * α;" in answer["candidate"]
    assert one.edits == []
    answered = await one.command("klineage.applyAccepted", {"job": answer["job"]})
    assert answered == {"applied": True, "reason": "Scale: applied."}
    (change,) = one.edits[0].document_changes
    assert change.text_document == types.OptionalVersionedTextDocumentIdentifier(uri=URI, version=7)
    (edit,) = change.edits
    assert edit.new_text == "2 * α"
    assert edit.range.start == types.Position(
        4, SCALE.splitlines()[4].encode("utf-16-le").index("alpha".encode("utf-16-le")) // 2
    )
    again = await one.command("klineage.applyAccepted", {"job": answer["job"]})
    assert not again["applied"]
    assert len(one.edits) == 1


async def test_an_editor_that_shows_no_verdicts_gets_the_edit_and_a_message(editor):
    one = editor(confirms=False)
    await one.command("klineage.apply", REQUEST)
    assert len(one.edits) == 1
    assert one.messages == [
        types.ShowMessageParams(types.MessageType.Info, "Accepted: so it is. Scale: applied.")
    ]


@pytest.mark.parametrize("outcome", ["rejected", "inconclusive", "refused"])
@pytest.mark.parametrize("confirms", [True, False])
async def test_no_other_verdict_makes_an_edit(editor, outcome, confirms):
    one = editor(confirms)
    one.outcome = outcome
    answer = await one.command("klineage.apply", REQUEST)
    assert answer["summary"].endswith("Nothing was changed.")
    assert not (await one.command("klineage.applyAccepted", {"job": answer["job"]}))["applied"]
    assert one.edits == []


async def test_a_document_that_was_edited_since_is_left_alone(editor):
    one = editor()
    answer = await one.command("klineage.apply", REQUEST)
    one.type("// new\n")
    answered = await one.command("klineage.applyAccepted", {"job": answer["job"]})
    assert not answered["applied"]
    assert "edited after the gate had read it" in answered["reason"]
    assert one.edits == []


async def test_a_document_that_was_closed_since_is_left_alone(editor):
    one = editor()
    answer = await one.command("klineage.apply", REQUEST)
    one.server.documents.close(URI)
    answered = await one.command("klineage.applyAccepted", {"job": answer["job"]})
    assert "was closed" in answered["reason"]
    assert one.edits == []


async def test_an_editor_that_refuses_the_edit_is_told_of(editor):
    one = editor()
    one.makes_edits = False
    answer = await one.command("klineage.apply", REQUEST)
    answered = await one.command("klineage.applyAccepted", {"job": answer["job"]})
    assert answered == {
        "applied": False,
        "reason": "Scale: the editor refused the edit. Nothing was changed.",
    }


async def test_a_command_that_prints_no_document_is_a_refusal_with_its_last_words(editor, monkeypatch):
    one = editor()

    async def fails(*_, **_more):
        return Finished(
            4, b"", ('{"stage": "build"}', "nvcc is not installed; pip install 'kernel-lineage[cuda]'")
        )

    monkeypatch.setattr(one.server.trust, "klineage", fails)
    answer = await one.command("klineage.apply", REQUEST)
    assert answer["outcome"] == "refused"
    assert "nvcc is not installed" in answer["summary"]
    assert answer["summary"].endswith("Nothing was changed.")
