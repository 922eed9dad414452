"""The sample repository: a real history, the same on every machine, and nobody's files are overwritten."""

import pytest

from kernel_lineage.demo.sample import SampleExistsError, build_sample_repository


def test_the_history_is_real_and_the_same_every_time(tmp_path):
    first = build_sample_repository(tmp_path / "a")
    second = build_sample_repository(tmp_path / "b")
    assert first.head.commit.hexsha == second.head.commit.hexsha
    assert len(list(first.iter_commits())) == 19
    assert not first.is_dirty(untracked_files=True)


def test_the_revert_names_the_commit_that_it_takes_back(tmp_path):
    repo = build_sample_repository(tmp_path / "a")
    by_subject = {c.summary: c for c in repo.iter_commits()}
    revert = by_subject['Revert "transpose: drop the tile, the cache should do"']
    taken_back = by_subject["transpose: drop the tile, the cache should do"]
    assert f"This reverts commit {taken_back.hexsha}." in revert.message
    assert revert.tree == taken_back.parents[0].tree


def test_an_earlier_sample_is_made_anew(tmp_path):
    folder = tmp_path / "a"
    build_sample_repository(folder)
    (folder / "report.html").write_text("from an earlier run")
    build_sample_repository(folder)
    assert not (folder / "report.html").exists()


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "mine.cu").write_text("// precious")
    with pytest.raises(SampleExistsError, match="not empty"):
        build_sample_repository(tmp_path)
    assert (tmp_path / "mine.cu").read_text() == "// precious"


def test_a_sample_with_somebody_s_commits_is_left_alone(tmp_path):
    folder = tmp_path / "a"
    repo = build_sample_repository(folder)
    (folder / "notes.md").write_text("mine")
    repo.index.add(["notes.md"])
    with repo.config_writer() as config:
        config.set_value("user", "name", "A User").set_value("user", "email", "user@example.invalid")
    repo.index.commit("My own work")
    with pytest.raises(SampleExistsError):
        build_sample_repository(folder)
