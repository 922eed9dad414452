"""Changes of a kernel that hide it from the reader: what is not read is never taken for unchanged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from history.repositories import Step, make_repository
from kernel_gate.reasons import Reason
from kernel_gate.standing import Standing
from kernel_lineage.agents.hook.decide import ungated
from kernel_lineage.cli.commands.hook import command as hook
from kernel_lineage.history.git import open_repository
from kernel_lineage.learning.gate_changes import gate_changes

BODY = "    for (int i = threadIdx.x; i < C; i += blockDim.x) out[i] = 2 * x[i];\n"
HEAD = "__global__ void scale(float* out, const float* x, int C)"
LAUNCH = "void run(float* out, const float* x, int C) { scale<<<1, 64>>>(out, x, C); }\n"
KERNEL = f"{HEAD} {{\n{BODY}}}\n{LAUNCH}"
BEFORE, AFTER = KERNEL, KERNEL.replace("2 * x", "3 * x")
OTHER = "    if (C < 0) { out[0] = x[C] + x[C - 1] * 7 - out[C] / 3; return; }\n"
LONG = "// " + "x" * (5 << 20) + "\n"
MIDDLING = "// " + "x" * (9 << 20) + "\n"

UNREAD = {
    "a zero byte in a comment": (BEFORE, AFTER + "// \0\n"),
    "a constant of 12,000 terms": (BEFORE, AFTER + f"static const int unused = {'1 + ' * 12_000}1;\n"),
    "five megabytes before and after": (BEFORE + LONG, AFTER + LONG),
    "five megabytes after": (BEFORE, AFTER + LONG),
    "nine megabytes after": (BEFORE, AFTER + MIDDLING),
    "another name of the attribute": (BEFORE, AFTER.replace("__global__", "__attribute__((global))")),
    "a bracket in a macro": (BEFORE, "#define BEGIN {\n" + AFTER.replace("C) {\n    for", "C) BEGIN\n    for")),
    "brackets of two signs": (BEFORE, AFTER.replace("C) {\n    for", "C) <%\n    for").replace(";\n}\n", ";\n%>\n")),
    "a word over two lines": (BEFORE, AFTER.replace("__global__", "__glo\\\nbal__")),
    "a name that is pasted": (
        BEFORE,
        "#define K(n) n##le\n" + KERNEL.replace("scale(float", "K(sca)(float").replace(BODY, OTHER),
    ),
}  # fmt: skip


def made(folder: Path, before: str, after: str) -> Path:
    make_repository(folder, [Step("Add", {"a.cu": before})])
    (folder / "a.cu").write_text(after)
    return folder


@pytest.mark.parametrize("name", UNREAD)
def test_a_change_that_cannot_be_read_is_not_judged_and_never_no_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    monkeypatch.setenv("KLINEAGE_KEEP_IN", str(tmp_path / "kept"))
    top = made(tmp_path / "repository", *UNREAD[name])
    never = lambda *_: pytest.fail("it was judged")  # noqa: E731
    (one,) = gate_changes(open_repository(top), "HEAD", [], never)
    assert one.verdict.code is Reason.SOURCE_UNREAD and one.verdict.standing is Standing.NOT_JUDGED
    assert (
        one.verdict.reason.startswith("a.cu: in the work tree")
        or "it is larger than 4 MiB" in one.verdict.reason
    )
    if "pasted" not in name:  # an edit may take a kernel out before another puts it back
        assert "cannot be judged" in (ungated(top) or "")


@pytest.mark.parametrize("name", [n for n in UNREAD if "pasted" not in n and "megabytes" not in n])
def test_the_hook_refuses_an_edit_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    monkeypatch.setenv("KLINEAGE_KEEP_IN", str(tmp_path / "kept"))
    before, after = UNREAD[name]
    top = made(tmp_path / "repository", before, before)
    edit = {"file_path": str(top / "a.cu"), "content": after}
    asked = {"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": edit, "cwd": str(top)}
    done = CliRunner().invoke(hook, input=json.dumps(asked))
    assert done.exit_code == 2 and "Refused: a.cu: in the edit" in done.stderr, done.stderr


def test_a_large_file_that_does_not_change_hinders_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("KLINEAGE_KEEP_IN", str(tmp_path / "kept"))
    huge = "// " + "x" * (17 << 20)
    make_repository(tmp_path / "repository", [Step("Add", {"a.cu": BEFORE, "data.h": LONG, "more.h": huge})])
    (tmp_path / "repository" / "data.h").write_text(LONG)
    (tmp_path / "repository" / "more.h").write_text(huge)
    (tmp_path / "repository" / "a.cu").write_text(BEFORE.replace("int i =", "int  i ="))
    repository = open_repository(tmp_path / "repository")
    assert list(gate_changes(repository, "HEAD", [], lambda *_: pytest.fail("it was judged"))) == []
    assert ungated(tmp_path / "repository") is None
