"""The cache: it saves time and nothing depends on it."""

import sqlite3
import zlib
from pathlib import Path

import pytest

from history.repositories import NAIVE, Step, add_commit, git, make_repository
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.history import mine as mining
from kernel_lineage.history.cache import open_cache
from kernel_lineage.history.mine import mine

LATER = NAIVE.replace("factor;", "factor + 1;")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    make_repository(tmp_path, [Step("add", {"a.cu": NAIVE}), Step("more", {"a.cu": LATER})])
    return tmp_path


def test_nothing_new_reads_no_file_again(repository: Path, monkeypatch: pytest.MonkeyPatch):
    first = mine(repository)
    monkeypatch.setattr(mining.Outliner, "outline", None)
    assert mine(repository) == first


def test_a_rewritten_history_is_walked_anew(repository: Path):
    mine(repository)
    git(repository, "reset", "-q", "--hard", "HEAD~1")
    add_commit(repository, "another way", {"a.cu": NAIVE.replace("factor;", "factor + 2;")})
    assert mine(repository) == mine(repository, use_cache=False)


@pytest.mark.parametrize("contents", [b"", b"not a database", b"SQLite format 3\0" + b"\1" * 4000])
def test_a_damaged_cache_is_set_aside_and_built_anew(repository: Path, contents: bytes):
    expected = mine(repository).lineages
    cache = kept_in(repository) / "cache.sqlite"
    for file in cache.parent.glob("cache.sqlite-*"):
        file.unlink()
    cache.write_bytes(contents)
    mined = mine(repository)
    assert mined.lineages == expected
    assert bool(mined.messages) == bool(contents)
    assert (cache.parent / "cache.sqlite.broken").exists() == bool(contents)
    assert mine(repository).messages == ()


def test_a_cache_of_another_analyser_is_emptied(tmp_path: Path):
    with open_cache(tmp_path, "old") as cache:
        cache.put_walk("key", {"some": "state"})
    with open_cache(tmp_path, "new") as cache:
        assert cache.walk("key") is None
        assert cache.messages == []


@pytest.mark.parametrize("state", ["{}", '{"walk": 3}', "[]"])
def test_a_state_that_is_something_else_starts_over(repository: Path, state: str):
    expected = mine(repository).lineages
    data = state.encode()
    with sqlite3.connect(kept_in(repository) / "cache.sqlite") as db:
        ((key,),) = db.execute("SELECT key FROM walks").fetchall()
        sealed = zlib.crc32(data, zlib.crc32(key.encode())).to_bytes(4, "little") + data
        db.execute("UPDATE walks SET state = ?", (sealed,))
    mined = mine(repository)
    assert mined.lineages == expected
    assert "starting over" in mined.messages[0]


def test_an_interrupted_run_keeps_what_it_read(repository: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(mining._Run, "_advance", interrupt)
        with pytest.raises(KeyboardInterrupt):
            mine(repository)
    monkeypatch.setattr(mining.Outliner, "outline", None)
    assert len(mine(repository).lineages[0].versions) == 2


def test_the_same_history_gives_the_same_ids_anywhere(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
):
    copy = tmp_path_factory.mktemp("copy") / "b"
    git(repository, "clone", "-q", str(repository), str(copy))
    assert mine(copy, jobs=1).lineages == mine(repository).lineages
