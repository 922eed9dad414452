"""Checking a kernel as it is edited, through the real server and the real gate on the emulated device."""

from __future__ import annotations

import asyncio
import os
import re

import pytest
from lsprotocol import types

from editor.session import session
from editor.test_apply import WORKLOAD
from editor.test_documents import INLINE
from kernel_lineage.editor.checks import PAUSE
from kernel_lineage.editor.crowding import crowding

pytestmark = pytest.mark.asyncio(loop_scope="session")
ON = {"checkSeconds": 60}
RIGHT = "alpha * row[i]"
WRONG = "alpha + row[i]"
ORACLE = '[oracle]\npython = "oracle.py:scale"\n'
RACE = """\
__global__ void scale(float* out, const float* x, float alpha, int C) {
    __shared__ float last[64];
    last[threadIdx.x] = alpha;
    for (int i = threadIdx.x; i < C; i += blockDim.x)
        out[blockIdx.x * C + i] = x[blockIdx.x * C + i] * last[63 - threadIdx.x];
}
"""
DIVERGENT = """\
__global__ void sums(int* out, const int* in, int n) {
    extern __shared__ int held[];
    int t = threadIdx.x, at = blockIdx.x * n + t;
    held[t] = t < n ? in[at] : 0;
    __syncthreads();
    if (t >= 32) {
        held[t] += 1;
        __syncthreads();  // waits
    }
    __syncthreads();
    if (t < n) out[at] = held[t];
}

void launch(int* out, const int* in, int rows, int n) {
    sums<<<rows, 64, 64 * sizeof(int)>>>(out, in, n);
}
"""


@pytest.fixture
def repository(scale):
    folder = scale.parent / ".klineage" / "workloads"
    folder.mkdir(parents=True)
    (folder / "scale.toml").write_text(
        WORKLOAD.replace('kind = "output"', 'kind = "output"\nnoalias = true') + ORACLE
    )
    (folder / "oracle.py").write_text("def scale(x, alpha, **_):\n    return x * alpha\n")
    return scale


@pytest.fixture
def editor(checking_editor):
    return checking_editor


class Checked:
    """What a session is told of the checks."""

    def __init__(self, editor, uri, *others):
        self.editor, self.uri, self.statuses = editor, uri, asyncio.Queue()
        hears = {uri, *others}
        editor.hears_of_checks = lambda params: params.uri in hears and self.statuses.put_nowait(params)

    async def ended(self):
        """How the next check that is not ended by a newer text ends."""
        while (status := await self.statuses.get()).state in ("edited", "checking"):
            pass
        return status

    @property
    def diagnostics(self):
        """As the editor shows them now."""
        return list(self.editor.client.diagnostics.get(self.uri, ()))

    async def save(self):
        """Save, and wait until the check has ended."""
        self.editor.save(self.uri)
        return await self.ended()


async def test_the_first_card_of_a_document_comes_before_its_check(editor, repository):
    heard = []
    editor.hears_of_checks = lambda params: heard.append(params.state)
    uri = editor.open(repository)
    assert await editor.hover(uri, "scale(")
    assert heard == []


@pytest.mark.long
async def test_a_check_that_was_asked_for_at_the_opening_is_not_ended_by_the_one_of_the_opening(
    editor, repository
):
    place = {"uri": editor.open(repository), "line": 0, "character": 30}
    asked = await editor.command("klineage.check", place)
    assert asked["state"] == "right", asked


@pytest.mark.parametrize(("load", "times"), [(0.0, 1.0), (2.0, 1.0), (6.0, 3.0), (80.0, 4.0)])
async def test_a_check_may_take_longer_where_other_work_keeps_the_processors(monkeypatch, load, times):
    monkeypatch.setattr(os, "getloadavg", lambda: (load, load, load))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert crowding() == times


@pytest.mark.long
async def test_a_wrong_element_is_shown_where_it_was_written_and_goes_with_the_mistake(repository, editor):
    uri = editor.open(repository)
    checked = Checked(editor, uri)
    editor.replace(uri, RIGHT, WRONG)
    assert (await checked.save()).state == "wrong"
    (diagnostic,) = checked.diagnostics
    assert diagnostic.range.start.line == editor.position(uri, WRONG).line
    assert diagnostic.severity is types.DiagnosticSeverity.Error
    (seed,) = re.findall(r"N 3, C 256, seed (\d+)", diagnostic.message)
    repeat = "klineage gate scale.cu scale.cu --kernel scale --device emulated --case N=3,C=256"
    # The seed is drawn in the process that judges: which element is the first wrong one depends on it.
    assert re.search(
        r"scale: out\[0, \d+\] = .*, expected .*block \(0, 0, 0\), thread \(\d+, 0, 0\)", diagnostic.message
    )
    for part in (
        "Expected by the workload's oracle (oracle.py:scale).",
        f"Repeat in this folder: {repeat} --seed {seed}",
    ):
        assert part in diagnostic.message
    assert str(repository.parent) not in diagnostic.message
    editor.replace(uri, WRONG, RIGHT)
    assert (await checked.save()).state == "right"
    assert checked.diagnostics == []


@pytest.mark.long
async def test_a_race_is_shown_with_its_other_side_and_stays_at_its_line(repository, editor):
    repository.write_text(RACE)
    uri = editor.open(repository)
    checked = Checked(editor, uri)
    await checked.save()
    (diagnostic,) = checked.diagnostics
    (other,) = diagnostic.related_information
    assert (diagnostic.range.start.line, other.location.range.start.line) == (4, 2)
    assert other.message.startswith("the other access of the race: block (0, 0, 0), thread (")
    editor.replace(uri, "__global__", "// A race.\n__global__")
    await editor.client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert [d.range.start.line for d in checked.diagnostics] == [5]
    editor.replace(uri, "last[threadIdx.x] = alpha;", "last[threadIdx.x] = alpha; __syncthreads();")
    await editor.client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert checked.diagnostics == []
    assert (await checked.save()).state == "right"


STATED = """\
    // klineage: tag x[row][col]
    // klineage: tag out[row][col]
"""
STORED = "out[blockIdx.x * C + i] = alpha * row[i]; // klineage: assert stored.col == at.col"


@pytest.mark.long
async def test_a_violated_invariant_is_shown_with_where_the_datum_came_from(repository, editor):
    text = repository.read_text("utf-8").replace("{\n", "{\n" + STATED, 1)
    repository.write_text(text.replace("out[blockIdx.x * C + i] = alpha * row[i];", STORED), "utf-8")
    uri = editor.open(repository)
    checked = Checked(editor, uri)
    assert (await checked.save()).state == "right"
    editor.replace(uri, "row[i];", "row[C - 1 - i];")
    assert (await checked.save()).state == "wrong"
    (diagnostic,) = checked.diagnostics
    assert (diagnostic.code, diagnostic.range.start.line) == (
        "invariant-violated",
        editor.position(uri, "row[C").line,
    )
    assert "stored.col is 255, from x[0, 255]" in diagnostic.message
    assert "at.col is 0, of out[0, 0]" in diagnostic.message
    (other,) = diagnostic.related_information
    assert other.message == "x[0, 255] was loaded here"
    editor.replace(uri, "stored.col == at.col", "stored.column == at.col")
    assert (await checked.save()).state == "wrong"
    by_code = {d.code: d for d in checked.diagnostics}
    unread = by_code["invariant-unreadable"]
    assert unread.range.start.line == editor.position(uri, "stored.column").line
    assert "no tag gives a coordinate `column`; they give row, col" in unread.message
    editor.replace(uri, "stored.column == at.col", "tag(alpha).col == i")
    editor.replace(uri, "row[C - 1 - i];", "row[i];")
    await checked.save()
    (diagnostic,) = checked.diagnostics
    assert (diagnostic.code, diagnostic.severity) == ("invariant-undecided", types.DiagnosticSeverity.Warning)
    assert "never by data with tags" in diagnostic.message


async def test_a_kernel_that_does_not_build_is_shown_at_its_line(repository, editor):
    uri = editor.open(repository)
    checked = Checked(editor, uri)
    editor.replace(uri, RIGHT, "beta * row[i]")
    await checked.save()
    (diagnostic,) = checked.diagnostics
    assert diagnostic.range.start.line == 4
    assert 'identifier "beta" is undefined' in diagnostic.message


@pytest.mark.long
async def test_switched_off_nothing_is_checked_but_on_request(repository):
    async with session(repository.parent, {**ON, "check": "off"}) as editor:
        uri = editor.open(repository)
        checked = Checked(editor, uri)
        editor.replace(uri, RIGHT, WRONG)
        editor.save(uri)
        await editor.card(uri, "scale(")
        assert checked.statuses.empty()
        at = editor.position(uri, "scale(")
        place = {"uri": uri, "line": at.line, "character": at.character}
        assert (await editor.command("klineage.check", place))["state"] == "wrong"


async def test_opening_and_typing_are_enough(repository, editor):
    uri = editor.open(repository)
    checked = Checked(editor, uri)
    assert (await checked.ended()).state == "right"
    editor.replace(uri, RIGHT, WRONG)
    assert (await checked.ended()).state == "wrong"
    assert [d.range.start.line for d in checked.diagnostics] == [editor.position(uri, WRONG).line]
    editor.replace(uri, WRONG, RIGHT)
    assert (await checked.ended()).state == "right"
    assert checked.diagnostics == []


@pytest.mark.long
async def test_where_only_saving_checks_typing_does_not(repository):
    async with session(repository.parent, {**ON, "check": "saving"}) as editor:
        uri = editor.open(repository)
        checked = Checked(editor, uri)
        assert (await checked.ended()).state == "right"
        editor.replace(uri, RIGHT, WRONG)
        assert (await checked.statuses.get()).state == "edited"
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(checked.statuses.get(), 2 * PAUSE)
        assert (await checked.save()).state == "wrong"


SUM = """\
__global__ void block_sum(float* out, const float* x, int n) {
    __shared__ float buf[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    buf[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) buf[threadIdx.x] += buf[threadIdx.x + s];
        __syncthreads(); // of the step
    }
    if (threadIdx.x == 0) out[blockIdx.x] = buf[0];
}

__global__ void twice(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * x[i];
}

void launch(float* out, const float* x, int n) {
    block_sum<<<(n + 255) / 256, 256>>>(out, x, n);
    twice<<<(n + 255) / 256, 256>>>(out, x, n);
}
"""


@pytest.mark.long
async def test_without_a_workload_one_is_drafted_and_only_what_changed_is_checked_again(tmp_path, editor):
    path = tmp_path / "sum.cu"
    path.write_text(SUM)
    uri = editor.open(path)
    checked = Checked(editor, uri)
    status = await checked.ended()
    assert status.state == "right"
    assert status.message.count("with a drafted workload") == 2
    editor.replace(uri, "__syncthreads(); // of the step", "")
    while (status := await checked.statuses.get()).state == "edited":
        assert status.message == "edited since the last check: block_sum"
    assert status.message == "checking block_sum"
    assert (await checked.ended()).state == "wrong"
    (diagnostic,) = checked.diagnostics
    assert diagnostic.code == "race"
    assert "race on shared buf[" in diagnostic.message
    assert "seed" not in diagnostic.message, "a draft is repeated by no command that takes one"
    assert "`klineage workload init sum.cu:block_sum` in this folder writes it down" in diagnostic.message
    assert str(tmp_path) not in diagnostic.message
    assert diagnostic.related_information
    assert not (tmp_path / ".klineage").exists()
    block_sum, twice = await editor.command("klineage.kernels", {"uri": uri, "line": 0, "character": 0})
    assert (block_sum["state"], block_sum["findings"][0]["line"]) == ("wrong", 7)
    assert twice["state"] == "right"
    assert "n 1, hidden shape" in "; ".join(twice["passed"])
    at = editor.position(uri, "block_sum")
    text = await editor.command(
        "klineage.debugText", {"uri": uri, "line": at.line, "character": at.character}
    )
    assert text.startswith("block_sum: wrong\n")
    assert re.search(r"sum\.cu:7: error \[race\]\n  block_sum: race on shared buf", text)
    (marked, *_) = re.findall(r"^  > +7 \| (.*)$", text, re.MULTILINE)
    assert marked in path.read_text()
    assert f"See it again: klineage check '{path}:block_sum'" in text


async def test_a_barrier_in_divergent_code_is_shown_at_its_line_though_nothing_tells_the_shapes(
    tmp_path, editor
):
    path = tmp_path / "sums.cu"
    path.write_text(DIVERGENT)
    uri = editor.open(path)
    checked = Checked(editor, uri)
    status = await checked.ended()
    assert status.state == "wrong", status.message
    (diagnostic,) = checked.diagnostics
    assert diagnostic.range.start.line == DIVERGENT[: DIVERGENT.index("// waits")].count("\n")
    assert "barrier in divergent code" in diagnostic.message


async def test_what_leaves_elements_alone_is_compared_there_too(tmp_path, editor):
    path = tmp_path / "every_other.cu"
    path.write_text(
        "__global__ void every_other(float* out, const float* x, int n) {\n"
        "    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);\n"
        "    if (i < n) out[i] = 2 * x[i];\n"
        "}\n"
        "void launch(float* out, const float* x, int n) {\n"
        "    every_other<<<(n / 2 + 255) / 256, 256>>>(out, x, n);\n"
        "}\n"
    )
    checked = Checked(editor, editor.open(path))
    assert (await checked.ended()).state == "right"
    assert checked.diagnostics == []


async def says_quietly(editor, path, message):
    checked = Checked(editor, editor.open(path))
    status = await checked.save()
    assert status.state == "unclear"
    assert message in status.message
    assert checked.diagnostics == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("__global__ void scale(float* out, {{{", "is not decided"),
        ("__global__ void other(float* out) { out[0] = 1; }\n", "has no kernel `scale`"),
    ],
    ids=["a text that is broken", "a kernel that has another name now"],
)
async def test_what_cannot_be_judged_is_said_quietly(repository, editor, text, message):
    repository.write_text(text)
    await says_quietly(editor, repository, message)


@pytest.mark.long
async def test_in_a_workspace_that_is_not_trusted_nothing_is_judged(repository):
    async with session(repository.parent, {**ON, "trusted": False}) as editor:
        await says_quietly(editor, repository, "not trusted")


async def test_a_newer_text_ends_the_check_of_the_older_one(repository, editor):
    uri = editor.open(repository)
    checked = Checked(editor, uri)
    editor.replace(uri, "i += blockDim.x", "i += 0")
    editor.save(uri)
    while (await checked.statuses.get()).state != "checking":
        pass
    editor.replace(uri, "i += 0", "i += blockDim.x")
    assert (await checked.save()).state == "right"
    assert checked.diagnostics == []
    assert checked.statuses.empty()


@pytest.mark.long
async def test_of_a_kernel_that_was_edited_nothing_is_said_to_be_so_now(tmp_path):
    path = tmp_path / "sum.cu"
    path.write_text(SUM)
    async with session(tmp_path, {**ON, "check": "saving", "commandLinks": True}) as editor:
        uri = editor.open(path)
        checked = Checked(editor, uri)
        assert (await checked.ended()).state == "right"

        async def kernels():
            answer = await editor.command("klineage.kernels", {"uri": uri, "line": 0, "character": 0})
            return [(one["state"], one["outdated"]) for one in answer]

        editor.replace(uri, "__syncthreads();\n    for", "for")
        assert (await checked.statuses.get()).message == "edited since the last check: block_sum"
        assert await kernels() == [("unknown", True), ("right", False)]
        editor.replace(uri, "for (int s", "__syncthreads();\n    for (int s")  # taken back
        assert (await checked.statuses.get()).state == "right"
        assert await kernels() == [("right", False), ("right", False)]

        editor.replace(uri, "__syncthreads();\n    for", "for")
        assert (await checked.save()).state == "wrong"
        (shown,) = checked.diagnostics
        editor.replace(uri, "for (int s", "__syncthreads();\n    for (int s")  # repaired
        while (await checked.statuses.get()).state != "edited":
            pass
        (outdated,) = checked.diagnostics
        assert (outdated.severity, outdated.message) == (
            types.DiagnosticSeverity.Warning,
            f"{shown.message}\nThis was before the last edit; the kernel as it stands is not checked yet.",
        )
        assert outdated.range.start.line == shown.range.start.line + 1
        assert (await checked.save()).state == "right"
        assert checked.diagnostics == []


async def quick_fixes(editor, uri, place, shown=()):
    """Those that the editor lists at a place with these diagnostics."""
    context = types.CodeActionContext(diagnostics=list(shown), only=["quickfix"])
    params = types.CodeActionParams(types.TextDocumentIdentifier(uri), place, context)
    return await editor.client.text_document_code_action_async(params)


@pytest.mark.long
async def test_the_other_side_of_a_race_has_the_same_quick_fix(repository, editor):
    repository.write_text(RACE)
    uri = editor.open(repository)
    checked = Checked(editor, uri)
    status = await checked.save()
    assert status.state == "wrong", status.message
    (diagnostic,) = checked.diagnostics
    (other,) = diagnostic.related_information
    (there,) = await quick_fixes(editor, uri, diagnostic.range, [diagnostic])
    (here,) = await quick_fixes(editor, uri, other.location.range)
    assert here == there
    start = types.Position(diagnostic.range.start.line, 0)
    assert await quick_fixes(editor, uri, types.Range(start, start)) == (there,), (
        "before the code of its line"
    )
    assert not await quick_fixes(editor, uri, types.Range(types.Position(1, 4), types.Position(1, 4)))


async def test_what_is_typed_and_taken_back_while_a_check_runs_is_judged_as_it_stands(repository, editor):
    uri = editor.open(repository)
    checked = Checked(editor, uri)
    editor.replace(uri, RIGHT, WRONG)
    editor.save(uri)
    while (await checked.statuses.get()).state != "checking":
        pass
    editor.replace(uri, WRONG, RIGHT)
    editor.replace(uri, RIGHT, WRONG)  # taken back
    assert (await checked.ended()).state == "wrong"
    (diagnostic,) = checked.diagnostics
    assert diagnostic.range.start.line == editor.position(uri, WRONG).line


@pytest.mark.long
async def test_a_race_has_a_quick_fix_that_is_checked_before_it_is_made(tmp_path, editor):
    path = tmp_path / "sum.cu"
    path.write_text(SUM)
    uri = editor.open(path, SUM.replace("    __syncthreads();\n    for", "    for"))
    checked = Checked(editor, uri)
    assert (await checked.ended()).state == "wrong"
    (diagnostic,) = checked.diagnostics
    (action,) = await quick_fixes(editor, uri, diagnostic.range, [diagnostic])
    assert action.title == "Repair block_sum: put the barrier back, and check it"
    assert action.edit is None
    answer = await editor.command(action.command.command, *action.command.arguments)
    assert answer["outcome"] == "accepted"
    assert "block_sum is right with a barrier at line 5" in answer["summary"]
    assert editor.edits == []
    made = await editor.command("klineage.applyAccepted", {"job": answer["job"]})
    assert made["applied"]
    ((change,),) = [c.edits for c in editor.edits[0].edit.document_changes]
    assert change.new_text == "__syncthreads();\n    "


@pytest.mark.long
async def test_a_repair_is_made_to_the_text_that_it_was_checked_for_alone(tmp_path, editor):
    path = tmp_path / "sum.cu"
    path.write_text(SUM)
    uri = editor.open(path, SUM.replace("    __syncthreads();\n    for", "    for"))
    checked = Checked(editor, uri)
    assert (await checked.ended()).state == "wrong"
    (diagnostic,) = checked.diagnostics
    (action,) = await quick_fixes(editor, uri, diagnostic.range, [diagnostic])
    stages = editor.client.progress_reports["repair"] = []
    asked = editor.command(action.command.command, *action.command.arguments, token="repair")
    repair = asyncio.ensure_future(asked)
    while not stages:
        await asyncio.sleep(0.01)
    editor.replace(uri, "__global__", "// Typed while it was checked.\n__global__")
    answer = await repair
    assert answer["outcome"] == "accepted"
    made = await editor.command("klineage.applyAccepted", {"job": answer["job"]})
    assert not made["applied"]
    assert "was edited after the gate had read it" in made["reason"]
    editor.replace(uri, "// Typed while it was checked.\n", "")  # taken back
    made = await editor.command("klineage.applyAccepted", {"job": answer["job"]})
    assert made["applied"], made["reason"]


async def test_a_workload_that_changes_on_the_disk_is_run_at_once(repository, editor):
    checked = Checked(editor, editor.open(repository))
    assert (await checked.ended()).state == "right"
    oracle = repository.parent / ".klineage" / "workloads" / "scale.toml"
    oracle.write_text(oracle.read_text().replace("oracle.py:scale", "oracle.py:missing"))
    change = types.FileEvent(oracle.as_uri(), types.FileChangeType.Changed)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
    status = await checked.ended()
    assert status.state == "unclear"
    assert "missing" in status.message


@pytest.mark.long
async def test_the_document_that_was_touched_last_goes_first_and_the_other_goes_on(tmp_path, editor):
    many, one = tmp_path / "many.cu", tmp_path / "one.cu"
    many.write_text(SUM)
    one.write_text("// Another file.\n" + SUM)
    first = editor.open(many)
    checked = Checked(editor, first, one.as_uri())
    while (await checked.statuses.get()).state != "checking":
        pass
    second = editor.open(one)
    ended = [await checked.ended(), await checked.ended()]
    assert [status.uri for status in ended] == [second, first]
    assert {status.state for status in ended} == {"right"}


async def test_what_is_wrong_in_cuda_in_a_python_string_is_shown_at_its_line(tmp_path, editor):
    path = tmp_path / "module.py"
    path.write_text(INLINE)
    uri = editor.open(path)
    checked = Checked(editor, uri)
    assert (await checked.ended()).state == "right"
    editor.replace(uri, "at < size", "at <= size")
    while (await checked.ended()).state != "wrong":
        pass
    diagnostic = checked.diagnostics[0]
    assert diagnostic.range.start.line == editor.position(uri, "at <= size").line
    assert diagnostic.code == "out-of-bounds"
