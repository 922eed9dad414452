"""A cache that is damaged, locked, planted or full: a sentence, the same answer, and a cache that works afterwards."""

import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from history.repositories import NAIVE, Step, make_repository
from kernel_gate.files.writing import write_atomically
from kernel_lineage.cache_file import CACHE, open_cache_file
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.cli.main import main
from kernel_lineage.history.cache import open_cache
from kernel_lineage.history.mine import mine
from kernel_lineage.rewrite.verdict_cache import open_verdict_cache

TIMES = int(os.environ.get("KLINEAGE_ATTACK", "1"))
STEPS = [
    Step(f"step {number}", {f"kernel{number % 4}.cu": NAIVE.replace("factor;", f"factor + {number};")})
    for number in range(12)
]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KLINEAGE_KEEP_IN", str(tmp_path / "kept"))
    make_repository(tmp_path / "repository", STEPS)
    return tmp_path / "repository"


def damage(cache: Path, seed: int, bytes_: int = 400) -> None:
    for name in ("-wal", "-shm"):
        cache.with_name(cache.name + name).unlink(missing_ok=True)
    data = bytearray(cache.read_bytes())
    chance = random.Random(seed)
    for _ in range(bytes_):
        data[chance.randrange(len(data))] = chance.randrange(256)
    cache.write_bytes(data)


def run(*arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kernel_lineage", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **more},
        timeout=60,
    )


@pytest.mark.parametrize("seed", range(12 * TIMES))
@pytest.mark.parametrize("bytes_", [1, 400])
def test_random_bytes_in_the_cache_change_no_answer(repository: Path, seed: int, bytes_: int):
    expected = mine(repository, jobs=1).lineages
    cache = kept_in(repository) / CACHE
    damage(cache, seed, bytes_)
    assert mine(repository, jobs=1).lineages == expected
    again = mine(repository, jobs=1)
    assert again.lineages == expected and again.messages == ()


def test_a_damaged_cache_is_named_by_mine(repository: Path):
    for more in ([], ["--counts"]):
        assert CliRunner().invoke(main, ["mine", str(repository), *more]).exit_code == 0
        damage(kept_in(repository) / CACHE, 7, 4000)
        ran = CliRunner().invoke(main, ["mine", str(repository), *more])
        assert ran.exit_code == 0, ran.output
        assert "set aside" in ran.output, ran.output


def test_the_cache_is_this_users_alone_and_reached_through_no_link(repository: Path, tmp_path: Path):
    mine(repository, jobs=1)
    folder = kept_in(repository)
    assert folder.stat().st_mode & 0o077 == 0
    assert (folder / CACHE).stat().st_mode & 0o077 == 0
    for file in folder.iterdir():
        file.unlink()
    victim = tmp_path / "victim.sqlite"
    sqlite3.connect(victim).execute("CREATE TABLE files(x)").connection.close()
    before = victim.read_bytes()
    (folder / CACHE).symlink_to(victim)
    mined = mine(repository, jobs=1)
    assert len(mined.lineages) > 0 and "cannot be used" in mined.messages[0]
    assert victim.read_bytes() == before


def test_damage_that_shows_in_the_middle_of_a_run_ends_it_with_no_traceback(tmp_path: Path):
    with open_verdict_cache(tmp_path, tmp_path / "key") as cache:
        path = tmp_path / CACHE
        cache._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cache._db.execute("PRAGMA journal_mode = DELETE")
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * (path.stat().st_size - 4096))
        assert cache.verdict("k") is None
        assert "set aside" in (cache.problem or "")
    with open_verdict_cache(tmp_path, tmp_path / "key") as cache:
        assert cache.verdict("k") is None and cache.problem is None


def test_another_version_that_takes_the_cache_over_ends_no_run(tmp_path: Path):
    with open_cache(tmp_path, "old") as old, open_cache(tmp_path, "new") as new:
        with pytest.raises(sqlite3.Error, match="another version"):
            old.put_walk("key", 1)
        new.put_walk("key", 2)
        assert new.walk("key") == 2


def test_two_processes_that_find_the_damage_set_one_file_aside(tmp_path: Path):
    messages: list[str] = []
    (tmp_path / CACHE).write_bytes(b"not a database" * 500)
    open_cache_file(tmp_path, lambda _db: None, messages.append).close()
    fresh = (tmp_path / CACHE).stat().st_ino
    open_cache_file(tmp_path, lambda _db: None, messages.append).close()
    assert len(messages) == 1 and (tmp_path / CACHE).stat().st_ino == fresh


@pytest.mark.long
def test_two_processes_on_one_repository_give_the_same(repository: Path):
    expected = mine(repository, use_cache=False, jobs=1)
    command = [sys.executable, "-m", "kernel_lineage", "mine", str(repository), "--json", "--jobs", "1"]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in "ab"
    ]
    outputs = [process.communicate(timeout=60) for process in both]
    assert [p.returncode for p in both] == [0, 0], outputs
    assert outputs[0] == outputs[1]
    after = mine(repository, jobs=1)
    assert after.lineages == expected.lineages and after.messages == ()


LIMITED = """\
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
from kernel_lineage.cli.main import main
main(sys.argv[2:], prog_name="klineage")
"""


@pytest.mark.long
@pytest.mark.parametrize("room", [0, 20_000, 60_000])
def test_a_disk_without_room_ends_mining_with_its_answer(repository: Path, room: int):
    """A limit on the size of files is what stops writing also for root and on every file system."""
    expected = mine(repository, use_cache=False, jobs=1)
    command = [
        sys.executable,
        "-B",
        "-c",
        LIMITED,
        str(room),
        "mine",
        str(repository),
        "--json",
        "--jobs",
        "1",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert f'"commits":{expected.commits_read}' in done.stdout
    assert "cannot be used" in done.stdout + done.stderr or room > 0
    assert mine(repository, jobs=1).lineages == expected.lineages


@pytest.mark.long
@pytest.mark.parametrize("command", ["report", "workload"])
def test_a_disk_without_room_is_said_and_leaves_nothing(repository: Path, tmp_path: Path, command: str):
    out = tmp_path / "out"
    asked = {
        "report": ["report", str(repository), "-o", str(out)],
        "workload": ["workload", "init", f"{repository}/kernel0.cu:scale_kernel1", "--out", str(out)],
    }[command]
    done = subprocess.run(
        [sys.executable, "-B", "-c", LIMITED, "100", *asked], capture_output=True, text=True, timeout=60
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == 4 and f"{out} cannot be written" in done.stderr, done.stderr
    assert list(tmp_path.glob("*out*")) == []


def test_a_folder_that_is_read_only_is_said(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """By a file in the folder's place: permissions do not stop root."""
    (tmp_path / "no folder").write_text("")
    out = tmp_path / "no folder" / "page.html"
    ran = CliRunner().invoke(main, ["report", str(repository), "-o", str(out)])
    assert ran.exit_code == 4 and "cannot be written" in ran.output, ran.output


def test_a_write_that_fails_leaves_the_last_good_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "state"
    write_atomically(path, b"good")

    def fail(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="state"):
        write_atomically(path, b"better")
    assert path.read_bytes() == b"good" and list(tmp_path.iterdir()) == [path]


@pytest.mark.long
def test_what_is_kept_can_lie_elsewhere(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    place = tmp_path / "elsewhere"
    done = run("--keep-in", place, "mine", repository)
    assert done.returncode == 0, done.stderr
    assert len(list(place.rglob(CACHE))) == 1
    assert not (repository / ".klineage").exists()
