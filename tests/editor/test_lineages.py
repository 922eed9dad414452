"""Lineages in hovers: mined in the background, renewed when history moves, missing without harm."""

from __future__ import annotations

import pytest
from git import Actor, Repo

from editor.conftest import SCALE
from editor.session import QUIET, session
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.history.mine import mine
from kernel_lineage.learning.replay.record import Label, Record
from kernel_lineage.learning.replay.store import replay_store

AUTHOR = Actor("Test", "test@test.invalid")


def commit(repository, path, text, message):
    path.write_text(text, "utf-8")
    repository.index.add([path.name])
    repository.index.commit(message, author=AUTHOR, committer=AUTHOR, skip_hooks=True)


@pytest.mark.long
async def test_a_lineage_is_shown_and_follows_a_new_commit(scale):
    with Repo.init(scale.parent) as repository:
        commit(repository, scale, SCALE, "Add scale")
        async with session(scale.parent, QUIET) as editor:
            uri = editor.open(scale)
            card = await editor.card_with(uri, "scale(", "1 version, 0 transitions")
            faster = SCALE.replace("    for (", "    #pragma unroll 4\n    for (")
            commit(repository, scale, faster, "scale: unroll")
            editor.replace(uri, "    for (", "    #pragma unroll 4\n    for (")
            editor.save(uri)
            card = await editor.card_with(uri, "scale(", "2 versions, 1 transition")
            assert repository.head.commit.hexsha[:7] in card
            page = await editor.command("klineage.lineage", {"uri": uri, "line": 1, "character": 20})
            assert page["title"] == "Lineage of scale"
            assert "> scale: unroll" in page["markdown"]
            drawn = await editor.command("klineage.timeline", {"uri": uri, "line": 1, "character": 20})
            assert drawn["html"].count('<g class="row">') == 1
            assert "scale: unroll" in drawn["html"]
            assert "<script" not in drawn["html"]


@pytest.mark.long
async def test_a_kernel_in_a_string_of_a_python_file_has_its_lineage(scale):
    inside = scale.rename(scale.with_name("scale.py"))
    with Repo.init(inside.parent) as repository:
        commit(repository, inside, f'SOURCE = r"""\n{SCALE}"""\n', "Add the source")
        commit(repository, inside, f'import torch\n\nSOURCE = r"""\n{SCALE}"""\n', "Import torch")
        async with session(inside.parent, QUIET) as editor:
            uri = editor.open(inside)
            await editor.card_with(uri, "scale(", "**Lineage** 1 version, 0 transitions")
            drawn = await editor.command("klineage.timeline", {"uri": uri, "line": 5, "character": 20})
            assert "scale: 1 version" in drawn["html"]


@pytest.mark.long
@pytest.mark.asyncio(loop_scope="session")
async def test_a_place_that_is_in_no_kernel_has_no_lineage(editor, scale):
    uri = editor.open(scale)
    assert await editor.command("klineage.lineage", {"uri": uri, "line": 0, "character": 0}) is None


@pytest.mark.long
async def test_outside_of_a_repository_there_is_none_and_it_is_said(scale):
    async with session(scale.parent, QUIET) as editor:
        uri = editor.open(scale)
        await editor.card_with(uri, "scale(", "**Lineage** not in a git repository")


@pytest.mark.asyncio(loop_scope="session")
async def test_a_card_that_never_comes_is_not_waited_for_without_end(editor, scale, monkeypatch):
    monkeypatch.setattr("editor.session.CARD_SECONDS", 0.1)
    uri = editor.open(scale)
    with pytest.raises(AssertionError, match=r"no 'words that no card has' in .*the card: \*\*scale\*\*"):
        await editor.card_with(uri, "scale(", "words that no card has")


async def test_mining_that_fails_is_told_and_does_no_harm(scale):
    (scale.parent / ".git").mkdir()
    (scale.parent / ".git" / "HEAD").write_text("nonsense")
    async with session(scale.parent, QUIET) as editor:
        uri = editor.open(scale)
        card = await editor.card(uri, "scale(")
        assert card.startswith("**scale**")
        assert "**Lineage** " in card


async def test_in_a_workspace_that_is_not_trusted_no_git_is_run(scale):
    with Repo.init(scale.parent) as repository:
        commit(repository, scale, SCALE, "Add scale")
    async with session(scale.parent, {"trusted": False}) as editor:
        uri = editor.open(scale)
        assert "**Lineage** not mined: this workspace is not trusted" in await editor.card(uri, "scale(")
        drawn = await editor.command("klineage.timeline", {"uri": uri, "line": 1, "character": 20})
        assert drawn["html"] is None
        assert "not mined: this workspace is not trusted" in drawn["reason"]
        assert editor.statuses == []
        assert not kept_in(scale.parent).exists()


@pytest.mark.long
async def test_what_replaying_found_of_a_step_is_in_the_card_and_on_the_page(scale, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Repo.init(scale.parent) as repository:
        commit(repository, scale, SCALE, "Add scale")
        unrolled = SCALE.replace("    for (", "    #pragma unroll 4\n    for (")
        commit(repository, scale, unrolled, "scale: unroll")
        (lineage,) = mine(scale.parent, jobs=1).lineages
        record = Record(
            transition=lineage.transitions[0].id,
            claim="faster",
            status="reproduced",
            code="agrees",
            reason="23 cases agree",
            label=Label.REPRODUCED,
            device="emulated",
            made="2026-01-31T10:00:00+00:00",
            seconds=1.0,
        )
        with replay_store(kept_in(scale.parent), pytest.fail) as store:
            store.keep(record, "emulated", "question")
        async with session(scale.parent, QUIET) as editor:
            uri = editor.open(scale)
            await editor.card_with(uri, "scale(", "2 versions, 1 transition")
            assert "· reproduced on emulated" in await editor.card(uri, "scale(")
            page = await editor.command("klineage.lineage", {"uri": uri, "line": 1, "character": 20})
            assert "- reproduced on emulated, 2026-01-31: 23 cases agree" in page["markdown"]
