"""Kills at random points: the last good state stays, the next run gives the same answer, and no folder is left.

`make attack` runs more of them: KLINEAGE_ATTACK says how many times as many.
"""

import importlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from attacks.interruptions import descendants
from attacks.test_cache_damage import STEPS, TIMES
from history.repositories import make_repository
from kernel_gate.files import temporary
from kernel_gate.files.temporary import TemporaryFolder, remove_tree, temporary_root
from kernel_gate.files.writing import write_atomically
from kernel_gate.processes import parent
from kernel_gate.reasons import Reason
from kernel_gate.standing import Standing
from kernel_lineage.history.mine import mine


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setenv("KLINEAGE_KEEP_IN", str(tmp_path / "kept"))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


@pytest.mark.long
def test_mining_that_is_killed_goes_on_where_it_was(scratch: Path):
    top = scratch / "repository"
    make_repository(top, STEPS)
    expected = [lineage.id for lineage in mine(top, use_cache=False, jobs=1).lineages]
    command = [sys.executable, "-m", "kernel_lineage", "mine", str(top), "--json", "--jobs", "1"]
    chance = random.Random(11)
    for _ in range(10 * TIMES):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(chance.uniform(0.05, 0.5))
        process.send_signal(signal.SIGKILL)
        assert "Traceback" not in process.communicate(timeout=60)[1]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [lineage["id"] for lineage in document["lineages"]] == expected
    assert mine(top, jobs=1).messages == ()
    assert not (top / ".klineage").exists()


HOLDER = """\
import sys, time
from pathlib import Path
from kernel_gate.files.temporary import TemporaryFolder
with TemporaryFolder("build") as name:
    (Path(name) / "left").write_text("x")
    print(name, flush=True)
    time.sleep(60)
"""


def test_a_folder_of_a_killed_process_goes_with_the_next_and_a_living_ones_stays(scratch: Path):
    def start() -> tuple[subprocess.Popen[str], Path]:
        process = subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        return process, Path(process.stdout.readline().strip())

    killed, left = start()
    killed.kill()
    killed.communicate()
    assert left.exists()
    living, used = start()
    try:
        assert not left.exists() and used.exists()
        temporary.sweep(temporary_root())
        assert (used / "left").exists()
    finally:
        living.kill()
        living.communicate()
    with TemporaryFolder("own") as own:
        assert Path(own).parent.parent == temporary_root() and not used.exists()
    temporary._OWN.pop().remove()
    assert [p.name for p in temporary_root().iterdir()] == [".lock"]


def test_a_folder_of_a_process_that_ends_is_gone(scratch: Path):
    code = HOLDER.replace("time.sleep(60)", "sys.exit(3)")
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL).returncode == 3
    assert [p.name for p in temporary_root().iterdir()] == [".lock"]


def test_a_link_or_another_users_folder_is_not_used(scratch: Path):
    root = temporary_root()
    for entry in root.iterdir():
        entry.unlink()
    root.rmdir()
    root.symlink_to(scratch)
    with pytest.raises(OSError, match="not a folder of this user"):
        temporary_root()


@pytest.mark.long
def test_folders_nested_thousands_deep_and_unreadable_are_removed(tmp_path: Path):
    top = tmp_path / "deep"
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    (top / "closed").mkdir()
    (top / "closed" / "file").write_text("x")
    (top / "closed").chmod(0)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    (top / "link").symlink_to(outside)
    remove_tree(top)
    assert not top.exists() and (outside / "kept").exists()


@pytest.mark.parametrize("killed", [True, False])
def test_what_a_killed_write_left_goes_with_the_next_and_what_is_being_written_stays(tmp_path: Path, killed):
    writer = subprocess.Popen(
        [sys.executable, "-c", HALF_WRITES, str(tmp_path / "state.json")], stdout=subprocess.PIPE
    )
    with writer:
        assert writer.stdout and writer.stdout.readline() == b"half\n"
        (part,) = tmp_path.glob(".state.json.*.part")
        if killed:
            writer.kill()
            writer.wait()
        write_atomically(tmp_path / "state.json", b"{}")
        stays = [] if killed else [part.name]
        assert sorted(p.name for p in tmp_path.iterdir()) == [*stays, "state.json"]
        writer.kill()


HALF_WRITES = """\
import os, sys, time
from pathlib import Path
from kernel_gate.files.writing import write_atomically
os.fsync = lambda handle: (print("half", flush=True), time.sleep(60))
write_atomically(Path(sys.argv[1]), b"whole")
"""
CONTAINS = """\
import sys
from pathlib import Path
from kernel_gate.build.contained_run import run_contained
run_contained(["/bin/sleep", "61.25"], Path(sys.argv[1]), allow_uncontained=True)
"""


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + seconds
    while not (holds := condition()) and time.monotonic() < until:
        time.sleep(0.02)
    return holds


@pytest.mark.long
def test_a_contained_program_ends_with_a_killed_gate(tmp_path: Path):
    def sleeps() -> bool:
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if entry.read_bytes().startswith(b"/bin/sleep\x0061.25"):
                    return True
        return False

    process = subprocess.Popen([sys.executable, "-c", CONTAINS, str(tmp_path)])
    try:
        assert within(30, sleeps)
    finally:
        process.kill()
        process.wait()
    assert within(5, lambda: not sleeps())


BUSY = """\
import asyncio
from pathlib import Path
from kernel_gate.processes.jobs import run_python
asyncio.run(run_python("timeit", "-n1", "-r1", "while True: pass", folder=Path("/")))
"""


def test_a_busy_process_of_ours_ends_with_the_killed_one_that_started_it():
    process = subprocess.Popen([sys.executable, "-c", BUSY])
    try:
        assert within(30, lambda: any(_is_busy(pid) for pid in descendants(process.pid)))
        (busy,) = filter(_is_busy, descendants(process.pid))
    finally:
        process.kill()
        process.wait()
    assert within(10, lambda: not _is_busy(busy))


def _is_busy(pid: int) -> bool:
    with suppress(OSError):
        return b"timeit" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


@pytest.mark.long
def test_a_busy_server_ends_when_its_editor_has_gone():
    code = "from kernel_gate.processes.parent import end_with_stdin\nend_with_stdin()\nwhile True: pass"
    server = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            server.wait(0.5)
        assert server.stdin is not None
        server.stdin.close()
        assert server.wait(20) == 1
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_both_servers_end_with_their_editor(command: str, monkeypatch: pytest.MonkeyPatch):
    class AskedError(Exception):
        pass

    def asked() -> None:
        raise AskedError

    module = importlib.import_module(f"kernel_lineage.cli.commands.{command}")
    for place in (module, parent):
        monkeypatch.setattr(place, "end_with_stdin", asked, raising=False)
    with pytest.raises(AskedError):
        module.command.main([], standalone_mode=False)


def test_a_use_whose_worker_dies_is_said(monkeypatch: pytest.MonkeyPatch):
    from datetime import date

    from kernel_gate.verdict import Outcome, Verdict
    from kernel_lineage.learning.measured_use import NoVerdictError, evidence_of_verdict

    died = Verdict(
        outcome=Outcome.INCONCLUSIVE,
        code=Reason.WORKER_DIED,
        reason="the gate's process died (status -9)",
        stages=[],
        inputs_hash="ab",
    )
    with pytest.raises(NoVerdictError, match="process died"):
        evidence_of_verdict(died, kernel="k", held_out=True, guarded=False, command="", on=date(2026, 1, 1))


@pytest.mark.parametrize(
    ("status", "excess", "code"),
    [
        (-9, "", Reason.COMPILER_ENDED),
        (-15, "", Reason.COMPILER_ENDED),
        (-11, "", Reason.COMPILER_LIMIT),
        (None, "took long", Reason.COMPILER_LIMIT),
    ],
)
def test_a_compiler_that_was_ended_from_outside_says_nothing_of_the_program(
    monkeypatch: pytest.MonkeyPatch, status: int | None, excess: str, code: Reason
):
    from gate.programs import affine
    from kernel_gate.build import compile as compiling
    from kernel_gate.build.errors import BuildError, CompilerMissing

    monkeypatch.setattr(compiling, "_run_child", lambda *_: (status, excess, ""))
    with pytest.raises((BuildError, CompilerMissing)) as error:
        compiling.compile_program(affine(), "sm_90", allow_uncontained=True)
    assert error.value.code == code
    assert (error.value.code.leads_to == (Standing.LACKING,)) == (code == Reason.COMPILER_ENDED)


@pytest.mark.parametrize(
    "output", ["nvcc error   : 'cicc' died due to signal 9 (Kill signal)", "#error nvcc error : 'cicc' died"]
)
def test_an_nvcc_whose_program_was_ended_says_nothing_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str
):
    from gate.programs import affine
    from kernel_gate.build import nvcc
    from kernel_gate.build.errors import BuildError, CompilerMissing
    from kernel_gate.processes.tools import Ran

    monkeypatch.setattr(nvcc, "run_tool", lambda *_, **__: Ran(1, "", output))
    with pytest.raises(BuildError if output.startswith("#") else CompilerMissing):
        nvcc._run(Path("nvcc"), affine(), "sm_90", tmp_path, "ptx")
