"""The tree views: what each shows, why it is empty, and what its rows open."""

from __future__ import annotations

import asyncio

import pytest
from git import Repo

from editor.conftest import SCALE
from editor.session import QUIET, session
from editor.test_check import ON, SUM, Checked
from editor.test_lineages import commit
from kernel_lineage.editor.runs import Repeat, Runs, RunState
from kernel_lineage.editor.views.devices import device_nodes
from kernel_lineage.editor.views.lineage import lineage_nodes
from kernel_lineage.editor.views.runs import run_nodes
from kernel_lineage.history.document import mine_document
from kernel_lineage.history.mine import mine
from kernel_lineage.rewrite.doctor_document import DoctorDocument, Finding


def rows(nodes):
    """Every row with the rows below it."""
    for node in nodes:
        yield node
        yield from rows(node["children"] if isinstance(node, dict) else node.children)


async def lineage_of(editor, uri, line=1):
    return await editor.command(
        "klineage.view", {"view": "lineage", "uri": uri, "line": line, "character": 20}
    )


async def test_the_lineage_is_a_row_for_each_version_that_opens_its_difference(scale):
    faster = SCALE.replace("    for (", "    #pragma unroll 4\n    for (")
    with Repo.init(scale.parent) as repository:
        commit(repository, scale, SCALE, "Add scale")
        commit(repository, scale, faster, "scale: unroll")
        heads = [c.hexsha for c in repository.iter_commits()]
    async with session(scale.parent, QUIET) as editor:
        uri = editor.open(scale)
        while (tree := await lineage_of(editor, uri))["state"] == "mining":
            await editor.status_changed.wait()
            editor.status_changed.clear()
        assert (tree["state"], tree["about"]) == ("ready", "scale")
        newest, first = tree["nodes"]
        assert (newest["label"][:5], newest["description"]) == ("adds ", heads[0][:7])
        assert (first["label"], first["description"]) == ("the first version", heads[1][:7])
        assert newest["spoken"].startswith(f"optimisation: {newest['label']}: {heads[0][:7]}, ")
        assert "scale: unroll" in [row["label"] for row in newest["children"]]
        assert newest["open"]["command"] == "klineage.compareVersions"
        asked = newest["open"]["arguments"][0]
        assert asked["before"] == first["data"]["version"]
        shown = {}
        for version in ("version", "before"):
            about = {"uri": asked["uri"], "kernel": asked["kernel"], "version": asked[version]}
            shown[version] = await editor.command("klineage.version", about)
        assert (shown["before"]["text"], shown["version"]["text"]) == (SCALE, faster)
        assert shown["version"]["line"] == 2
        about = {"uri": asked["uri"], "kernel": "scale", "version": asked["version"]}
        page = await editor.command("klineage.commit", about)
        assert page["title"] == heads[0][:7]
        assert "+    #pragma unroll 4" in page["text"]
        strange = await editor.command("klineage.version", {**about, "version": "HEAD:scale.cu"})
        assert strange["reason"] == "scale has no such version any more"
        choices = await editor.command("klineage.lineages", {"uri": uri})
        assert [(c["kernel"], c["path"], c["versions"]) for c in choices] == [("scale", "scale.cu", 2)]
        chosen = {"view": "lineage", "uri": choices[0]["uri"], "kernel": "scale"}
        assert (await editor.command("klineage.view", chosen))["nodes"] == tree["nodes"]


def test_steps_of_the_launcher_alone_are_folded(scale):
    with Repo.init(scale.parent) as repository:
        commit(repository, scale, SCALE, "Add scale")
        for threads in (256, 512):
            commit(repository, scale, SCALE.replace("128", str(threads)), f"{threads} threads")
    (lineage,) = mine_document(mine(scale.parent, jobs=1)).lineages
    fold, first = lineage_nodes(lineage, {}, {"uri": scale.as_uri(), "kernel": "scale"})
    assert fold.label == "2 steps of the launcher only"
    assert [row.children[0].label for row in fold.children] == ["512 threads", "256 threads"]
    assert first.open is not None
    assert first.open.command == "klineage.openVersion"
    names = [row.id for row in rows([fold, first])]
    assert len(names) == len(set(names))


async def test_a_view_says_why_it_is_empty(scale):
    async with session(scale.parent, QUIET) as editor:
        uri = editor.open(scale)
        assert (await lineage_of(editor, None))["state"] == "no-kernel"
        while (tree := await lineage_of(editor, uri))["state"] == "mining":
            await asyncio.sleep(0.05)
        assert (tree["state"], tree["reason"]) == ("no-repository", "not in a git repository")
        assert await editor.command("klineage.lineages", {"uri": uri}) == []
    with Repo.init(scale.parent) as repository:
        commit(repository, scale, SCALE, "Add scale")
    async with session(scale.parent, {"trusted": False}) as editor:
        uri = editor.open(scale)
        assert (await lineage_of(editor, uri))["state"] == "untrusted"
        devices = await editor.command("klineage.view", {"view": "devices"})
        assert (devices["state"], devices["nodes"]) == ("untrusted", [])
        assert "not trusted" in devices["reason"]
        assert editor.statuses == []


async def test_skills_are_those_at_hand_and_each_opens_its_card(scale):
    own = scale.parent / ".klineage" / "skills" / "broken"
    own.mkdir(parents=True)
    (own / "SKILL.md").write_text("no card")
    async with session(scale.parent, {"trusted": False}) as editor:
        tree = await editor.command("klineage.view", {"view": "skills", "uri": editor.open(scale)})
        groups = {node["label"]: node for node in tree["nodes"]}
        assert any("broken" in label for label in groups)
        skills = [row for row in rows(tree["nodes"]) if row["kind"] == "skill"]
        assert len(skills) == int(tree["about"])
        card = await editor.command("klineage.card", skills[0]["open"]["arguments"][0])
        assert card["title"] == skills[0]["label"]
        assert "**Where:**" in card["markdown"]
        assert await editor.command("klineage.card", {"skill": "none-such"}) is None


@pytest.mark.long
async def test_a_check_is_a_run_with_a_page_and_can_be_cancelled(tmp_path):
    path = tmp_path / "sum.cu"
    path.write_text(SUM)
    async with session(tmp_path, {**ON, "check": "off"}) as editor:
        changed = asyncio.Event()
        editor.client.feature("klineage/changed")(lambda params: "runs" in params.views and changed.set())
        uri = editor.open(path)
        place = {"uri": uri, "line": 0, "character": 0}
        checked = Checked(editor, uri)
        checking = asyncio.ensure_future(editor.command("klineage.check", place))
        await checked.statuses.get()
        await changed.wait()
        (run,) = (await editor.command("klineage.view", {"view": "runs"}))["nodes"]
        assert run["kind"].split() == ["run", "stop"]
        assert await editor.command("klineage.stopRun", {"run": run["id"]})
        assert (await checking)["message"] == "the check was cancelled"
        await editor.command("klineage.check", place)
        done, cancelled = (await editor.command("klineage.view", {"view": "runs"}))["nodes"]
        assert cancelled["description"] == "cancelled"
        assert (done["label"], done["spoken"][:14]) == ("sum.cu", "sum.cu: right,")
        assert done["description"].startswith("block_sum is right on the emulated device")
        assert done["data"]["command"] == "klineage.checkKernel"
        page = await editor.command("klineage.run", {"run": done["id"]})
        assert "## block_sum: right" in page["markdown"]
        await editor.command("klineage.clearRuns")
        assert (await editor.command("klineage.view", {"view": "runs"}))["nodes"] == []


def test_runs_end_as_their_block_does_and_those_that_run_come_first():
    calls = []
    runs = Runs(lambda: calls.append(1))
    with runs.run("a.cu", Repeat("klineage.checkKernel", {}), "a.cu") as first:
        first.end(RunState.RIGHT, "a is right", "# page")
    with runs.run("a.cu", None, "a.cu"):
        pass
    try:
        with runs.run("Apply", None):
            raise ValueError("no nvcc")
    except ValueError:
        pass
    with runs.run("Apply", None) as last:
        last.stop = list
        states = [(row.label, row.description, row.kind) for row in run_nodes(runs)]
    assert states == [
        ("Apply", "running · starting", "run stop"),
        ("Apply", "no nvcc", "run"),
        ("a.cu", "cancelled", "run"),
    ]
    assert calls


def test_devices_are_what_the_gate_sees():
    def finding(what, present, finding_text):
        return Finding(what=what, present=present, found=finding_text, needed_for="times, and edits")

    tools = [finding("nvcc", False, "not installed: pip install 'kernel-lineage[cuda]'")]
    gpu, emulated, compilers = device_nodes(
        DoctorDocument(findings=[finding("GPU", True, "NVIDIA H200, 140 GiB, driver 570"), *tools])
    )
    assert (gpu.label, gpu.icon) == ("NVIDIA H200, 140 GiB, driver 570", "chip")
    assert emulated.label == "Emulated device"
    assert compilers.description == "1 missing"
    assert compilers.children[0].spoken.startswith("nvcc: missing: not installed")
    none, *_ = device_nodes(
        DoctorDocument(findings=[finding("GPU", False, "no driver: libcuda.so.1 is not here")])
    )
    assert (none.label, none.description) == ("No GPU", "no driver: libcuda.so.1 is not here")
