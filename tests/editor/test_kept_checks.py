"""A file that is closed and opened again: what was said of it is said at once, and only of the same in the same."""

from __future__ import annotations

import os
import subprocess
import time

import pytest
from lsprotocol import types

from editor.test_check import Checked
from kernel_lineage.editor.check_targets import targets
from kernel_lineage.editor.checking import drafts
from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.editor.judged import Judged
from kernel_lineage.editor.kept_checks import KeptChecks
from kernel_lineage.editor.surroundings import surroundings
from kernel_lineage.editor.text import Text
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.check_document import CheckedDocument
from kernel_lineage.learning.version_checks import Reference, VersionState

TWICE = """\
#include "factor.h"
__global__ void twice(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = FACTOR * x[i];
}
void launch(float* out, const float* x, int n) { twice<<<(n + 255) / 256, 256>>>(out, x, n); }
"""


@pytest.fixture
def twice(tmp_path):
    (tmp_path / ".klineage").mkdir()
    (tmp_path / "factor.h").write_text("#define FACTOR 2\n")
    path = tmp_path / "twice.cu"
    path.write_text(TWICE)
    return path


def snapshot_of(path, text=TWICE):
    data = text.encode()
    return Snapshot(path.as_uri(), path, 1, Text(data), read(data, Language.CUDA))


def judged_of(snapshot, around, **update):
    (target,) = targets(snapshot)
    document = CheckedDocument(
        kernel="twice", line=2, state=VersionState.RIGHT, reason="3 cases agree", workload="drafted"
    )
    return Judged(document.model_copy(update=update), target.digest, time.time() - 120, around=around)


def kept(path, judged, around="a"):
    """What another session is told, after one has kept this."""
    snapshot = snapshot_of(path)
    KeptChecks().keep(snapshot, targets(snapshot), {"twice": judged}, around)
    return KeptChecks().recalled(snapshot, targets(snapshot), around)


def test_another_session_knows_what_was_said_and_when(twice):
    judged = judged_of(snapshot_of(twice), "a")
    assert kept(twice, judged) == {"twice": judged}


def test_another_text_or_surroundings_have_no_answer(twice):
    snapshot, checks = snapshot_of(twice), KeptChecks()
    checks.keep(snapshot, targets(snapshot), {"twice": judged_of(snapshot, "a")}, "a")
    longer = snapshot_of(twice, "// One line more.\n" + TWICE)
    assert not checks.recalled(longer, targets(longer), "a")
    assert not checks.recalled(snapshot, targets(snapshot), "b")
    assert checks.recalled(snapshot, targets(snapshot), "a")


def test_what_was_checked_in_other_surroundings_or_is_not_decided_is_not_kept(twice):
    snapshot = snapshot_of(twice)
    assert not kept(twice, judged_of(snapshot, "b"))
    assert not kept(twice, judged_of(snapshot, "a", state=VersionState.UNKNOWN))


def test_what_is_wrong_beside_a_text_of_this_session_is_for_this_session(twice):
    beside = {"state": VersionState.WRONG, "beside": str(Reference.PASSED)}
    judged, snapshot, checks = judged_of(snapshot_of(twice), "a", **beside), snapshot_of(twice), KeptChecks()
    assert not kept(twice, judged)
    checks.keep(snapshot, targets(snapshot), {"twice": judged}, "a")
    assert checks.recalled(snapshot, targets(snapshot), "a")


def test_surroundings_are_other_ones_after_a_change_that_a_check_may_read(twice):
    def commit(message):
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        command = ["git", *identity, "commit", "-q", "--allow-empty", "-m", message]
        subprocess.run(command, cwd=twice.parent, check=True)

    subprocess.run(["git", "init", "-q"], cwd=twice.parent, check=True)
    commit("one")
    header, workload = twice.parent / "factor.h", twice.parent / ".klineage" / "twice.toml"
    seen = [surroundings(twice)]
    for change in (
        lambda: header.write_text("#define FACTOR 3\n"),
        lambda: workload.write_text("# not read yet\n"),
        lambda: commit("two"),
        lambda: (twice.parent / "new.cu").write_text(""),
    ):
        change()
        seen.append(surroundings(twice))
    assert None not in seen
    assert len(set(seen)) == len(seen)
    os.utime(twice)
    assert surroundings(twice) == seen[-1]


def test_a_file_that_keeps_its_size_and_its_time_is_another_one_all_the_same(twice):
    header, before = twice.parent / "factor.h", surroundings(twice)
    times = header.stat()
    header.write_text("#define FACTOR 3\n")
    os.utime(header, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert surroundings(twice) != before


def test_a_header_of_the_repository_above_the_workloads_folder_is_beside_a_kernel(twice):
    inner = twice.parent / "part"
    (inner / ".klineage").mkdir(parents=True)
    (twice.parent / ".git").mkdir()
    (twice.parent / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    path = inner / "twice.cu"
    path.write_text(TWICE.replace("factor.h", "../factor.h"))
    before = surroundings(path)
    (twice.parent / "factor.h").write_text("#define FACTOR 3\n")
    assert before is not None
    assert surroundings(path) != before


def test_a_module_of_a_package_that_a_kernel_lies_in_is_beside_it(tmp_path):
    inner = tmp_path / "package" / "inner"
    inner.mkdir(parents=True)
    (inner.parent / "__init__.py").touch()
    (inner / "__init__.py").touch()
    path = inner / "rows.py"
    path.touch()
    before = surroundings(path)
    (inner.parent / "shared.py").write_text("BLOCK = 64\n")
    assert before is not None
    assert surroundings(path) != before


def test_a_draft_is_made_again_when_something_beside_its_kernel_is_another(twice):
    def launched_with(threads, around):
        text = TWICE.partition("void launch")
        (twice.parent / "launch.cu").write_text("".join(text[1:]).replace("256", threads))
        spot = drafts(around).workload_of(twice, text[0].encode(), "twice")
        return str(spot.workload.launch.block[0])

    assert [launched_with("128", "a"), launched_with("64", "b"), launched_with("64", "a")] == [
        "128",
        "64",
        "128",
    ]


@pytest.mark.asyncio(loop_scope="session")
async def test_a_file_that_is_opened_again_is_checked_again_only_where_a_header_changed(
    twice, checking_editor
):
    editor = checking_editor
    uri = editor.open(twice)
    checked = Checked(editor, uri)
    assert (await checked.ended()).state == "right"
    editor.close(uri)
    while not checked.statuses.empty():
        checked.statuses.get_nowait()
    editor.open(twice)
    assert (await checked.statuses.get()).state == "right"
    place = {"uri": uri, "line": 0, "character": 0}
    (kernel,) = await editor.command("klineage.kernels", place)
    assert kernel["state"] == "right"
    header = twice.parent / "factor.h"
    header.write_text("#define FACTOR x[i + 1] +\n")
    editor.save(header.as_uri())
    assert (await checked.ended()).state == "wrong", "what includes a file that is saved is checked"
    header.write_text("#define FACTOR 2\n")
    change = types.FileEvent(header.as_uri(), types.FileChangeType.Changed)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
    while (await checked.ended()).state == "wrong":
        pass  # what was said before may be said again, until what includes a file that changes on the disk is checked
    editor.close(uri)
    while not checked.statuses.empty():
        checked.statuses.get_nowait()
    header.write_text("#define FACTOR missing\n")
    editor.open(twice)
    assert (await checked.statuses.get()).state == "checking"
    assert (await checked.ended()).state == "wrong"
