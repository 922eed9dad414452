"""The cache file as the gate's memory: whole, signed, bounded, and never in the way of a verdict."""

import sqlite3
from pathlib import Path

from kernel_gate.reasons import Reason
from kernel_gate.verdict import Outcome, Stage, StageStatus, Verdict
from kernel_lineage.rewrite import verdict_cache
from kernel_lineage.rewrite.verdict_cache import VerdictCache, open_verdict_cache

STAGE = Stage(name="check", status=StageStatus.PASS, reason="22 cases", details={"cases": 22})
VERDICT = Verdict(
    outcome=Outcome.REJECTED, code=Reason.NOT_FASTER, reason="not faster", stages=[STAGE], inputs_hash="ab"
)


def opened(folder: Path, user: str = "mine") -> VerdictCache:
    return open_verdict_cache(folder / "kept", folder / user / "key")


def test_what_is_kept_is_found_again(tmp_path):
    with opened(tmp_path) as cache:
        assert cache.verdict("k") is None and list(cache.stages("k")) == []
        cache.keep_verdict("k", VERDICT)
        cache.keep_stage("k", STAGE.model_copy(update={"name": "build"}))
        cache.keep_stage("k", STAGE)
    with opened(tmp_path) as cache:
        assert cache.verdict("k") == VERDICT and cache.verdict("other") is None
        assert [s.name for s in cache.stages("k")] == ["build", "check"]
        cache.forget_stages("k")
        assert list(cache.stages("k")) == []
    assert (tmp_path / "mine" / "key").stat().st_mode & 0o077 == 0


def test_a_verdict_that_another_user_wrote_is_none(tmp_path):
    with opened(tmp_path) as cache:
        cache.keep_verdict("k", VERDICT)
        cache.keep_stage("k", STAGE)
    with opened(tmp_path, user="other") as cache:
        assert cache.verdict("k") is None and list(cache.stages("k")) == []


def test_a_row_that_was_moved_or_changed_is_none(tmp_path):
    with opened(tmp_path) as cache:
        cache.keep_verdict("k", VERDICT)
    with sqlite3.connect(tmp_path / "kept" / "cache.sqlite") as db:
        db.execute("UPDATE gate_verdicts SET key = 'another'")
    with opened(tmp_path) as cache:
        assert cache.verdict("another") is None


def test_the_oldest_go_when_there_are_too_many(tmp_path, monkeypatch):
    monkeypatch.setattr(verdict_cache, "_KEPT_VERDICTS", 2)
    with opened(tmp_path) as cache:
        for key in "abc":
            cache.keep_verdict(key, VERDICT)
        assert [cache.verdict(key) is not None for key in "abc"] == [False, True, True]


def test_a_file_that_is_no_database_is_set_aside_and_said(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "cache.sqlite").write_text("not a database at all, but long enough to be one" * 50)
    messages: list[str] = []
    with open_verdict_cache(tmp_path / "kept", tmp_path / "key", messages.append) as cache:
        cache.keep_verdict("k", VERDICT)
        assert cache.verdict("k") == VERDICT
    assert "set aside" in messages[0] and (tmp_path / "kept" / "cache.sqlite.broken").is_file()


def test_what_cannot_be_written_costs_no_verdict(tmp_path):
    with opened(tmp_path) as cache:
        cache._db.execute("DROP TABLE gate_verdicts")
        cache.keep_verdict("k", VERDICT)
        assert cache.problem is not None and "set aside" in cache.problem
        assert cache.verdict("k") is None


def test_mining_and_the_gate_share_the_file(tmp_path):
    from kernel_lineage.history.cache import open_cache

    with opened(tmp_path) as cache:
        cache.keep_verdict("k", VERDICT)
    with open_cache(tmp_path / "kept", "a fingerprint") as mining:
        assert mining.messages == []
    with opened(tmp_path) as cache:
        assert cache.verdict("k") == VERDICT


def test_a_table_of_an_older_form_is_made_anew(tmp_path):
    (tmp_path / "kept").mkdir()
    with sqlite3.connect(tmp_path / "kept" / "cache.sqlite") as db:
        db.execute("CREATE TABLE gate_verdicts(key TEXT PRIMARY KEY, document BLOB NOT NULL)")
    with opened(tmp_path) as cache:
        cache.keep_verdict("k", VERDICT)
        assert cache.verdict("k") == VERDICT


def test_apply_and_the_editor_read_no_kept_verdict():
    """`klineage gate`, a replay and `klineage optimise` do, by their names."""
    server = Path(__file__).parents[2] / "server" / "kernel_lineage"
    reading = {p for p in server.rglob("*.py") if "verdict_cache import" in p.read_text("utf-8")}
    assert {str(p.relative_to(server)) for p in reading} == {
        "cli/gate_run.py",
        "learning/replay/repository.py",
        "rewrite/optimise/session.py",
    }
