"""Processes that a fork server starts: their ends, their pipes, and what becomes of them when one or the other dies."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kernel_gate.processes import forking
from kernel_gate.processes.fork_server import IMPORTS, threads
from kernel_gate.processes.forked import Forked
from kernel_gate.processes.forking import start_python

pytestmark = pytest.mark.skipif(not forking.available(), reason="this system has no pidfd")


def started(statement: str, **rest) -> Forked:
    """A process that runs one statement."""
    arguments = ("timeit", "-n", "1", "-r", "1", statement)
    process = start_python(*arguments, **{"imports": "", "env": {"PATH": os.defpath}, **rest})
    assert isinstance(process, Forked)
    return process


def that_starts(note: Path, then: str) -> tuple[Forked, int]:
    """A process that starts one which sleeps, and goes on with a statement; the number of that one as we see it."""
    shell = f"read own rest </proc/self/stat; echo $own >{note}.part; mv {note}.part {note}; exec sleep 60"
    process = started(
        f"import subprocess, os, time; p = subprocess.Popen(['/bin/sh', '-c', {shell!r}])\n"
        f"while not os.path.exists({str(note)!r}): time.sleep(0.01)\n{then}"
    )
    while not note.exists():
        time.sleep(0.01)
    return process, int(note.read_text())


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def ends(pid: int) -> bool:
    until = time.monotonic() + 20
    while runs(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not runs(pid)


def the_server() -> int:
    """The process that the next job goes to."""
    return forking._SERVERS[forking._key()]._process.pid


@pytest.mark.parametrize(
    ("statement", "status"),
    [
        ("pass", 0),
        ("1 / 0", 1),
        ("import os; os._exit(7)", 7),
        ("import os; os.kill(os.getpid(), 11)", -11),
    ],
)
def test_its_status_is_that_of_any_process(statement, status):
    process = started(statement)
    assert process.wait(60) == status == process.poll()


def test_what_it_says_goes_where_it_is_told(tmp_path):
    with (tmp_path / "said").open("w+b") as output:
        ran = start_python(
            "json.tool", imports="", env={}, stdin=subprocess.PIPE, stdout=output, stderr=output
        )
        assert ran.stdin is not None
        ran.stdin.write('{"ä": 1}'.encode())
        ran.stdin.close()
        assert ran.wait(60) == 0
    assert (tmp_path / "said").read_text("utf-8") == '{\n    "\\u00e4": 1\n}\n'
    wrong = start_python(
        "json.tool", imports="", env={}, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, folder=tmp_path
    )
    assert wrong.stderr is not None
    with wrong.stderr:
        assert b"Expecting value" in wrong.stderr.read()  # sys.exit with a message
    assert wrong.wait(60) == 1


def test_one_that_goes_on_is_waited_for_as_long_as_asked_and_ended_with_all_that_it_started(tmp_path):
    process, its_own = that_starts(tmp_path / "child", "time.sleep(60)")
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.05)
    assert process.poll() is None and runs(its_own)
    assert process.end_group() == -signal.SIGKILL == process.end_group()
    assert ends(its_own)


def test_what_one_has_started_ends_with_it_in_any_case(tmp_path):
    process, its_own = that_starts(tmp_path / "child", "pass")
    assert process.wait(60) == 0
    assert ends(its_own)


def test_variables_folder_and_handles_are_its_own(tmp_path):
    statement = (
        "import os, tempfile; open('seen', 'w').write(repr([sorted(os.environ), os.environ['A'], "
        "tempfile.gettempdir(), sorted(map(int, os.listdir("
        "'/proc/self/fd')))[:-1], os.getsid(0) == os.getpid() == os.getpgid(0)]))"
    )
    with Path("/dev/null").open("rb") as held:
        os.set_inheritable(held.fileno(), True)
        env = {"A": "b", "TMPDIR": str(tmp_path)}
        assert started(statement, env=env, folder=tmp_path).wait(60) == 0
    assert (tmp_path / "seen").read_text() == repr([["A", "TMPDIR"], "b", str(tmp_path), [0, 1, 2, 3], True])


def test_many_threads_ask_at_once():
    statuses = {}

    def run(number: int) -> None:
        statuses[number] = started(f"import os; os._exit({number})").wait(60)

    every = [threading.Thread(target=run, args=(number,)) for number in range(20)]
    for one in every:
        one.start()
    for one in every:
        one.join()
    assert statuses == {number: number for number in range(20)}


def test_when_the_server_is_killed_its_processes_end_and_the_next_job_is_served(tmp_path):
    process, its_own = that_starts(tmp_path / "child", "time.sleep(60)")
    before = the_server()
    os.kill(before, signal.SIGKILL)
    assert process.wait(60) == -signal.SIGKILL
    assert ends(process.pid) and ends(its_own)
    assert started("import os; os._exit(5)").wait(60) == 5
    assert the_server() != before


def test_servers_that_are_asked_for_no_more_end_with_their_last_process(monkeypatch):
    """Each set of variables has its server, and there are only so many of them."""
    first = started("import time; time.sleep(60)")
    servers = [the_server()]
    for number in range(forking._MOST_SERVERS):
        monkeypatch.setenv("LANG", f"C.{number}")
        assert started("pass").wait(60) == 0
        servers.append(the_server())
    assert len(set(servers)) == len(servers) and len(forking._SERVERS) == forking._MOST_SERVERS
    assert first.poll() is None and runs(servers[0])
    first.end_group()
    assert ends(servers[0]) and runs(servers[-1])


@pytest.mark.long
def test_what_is_imported_before_starts_no_thread():
    code = (
        "from kernel_gate.processes import fork_server as f\n"
        "for what in f.IMPORTS: f._import(what)\n"
        "print('THREADS', f.threads())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "THREADS 1\n" in done.stdout
    assert set(IMPORTS) == {"", "cuda", "triton"} and threads() >= 1


def test_a_server_with_threads_forks_nothing(monkeypatch):
    """It says so by closing what it was handed: the caller is told and nothing runs with half of a lock."""
    from kernel_gate.processes import fork_server

    monkeypatch.setattr(fork_server, "threads", lambda: 2)
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("forked"))
    reading, writing = os.pipe()
    server = fork_server._Server.__new__(fork_server._Server)
    server._imported = {""}
    assert server._fork("", [os.dup(writing) for _ in range(fork_server.HANDLES)]) is False
    os.close(writing)
    assert os.read(reading, 1) == b""
    os.close(reading)


ALONE = """\
import time
from kernel_gate.processes import forking
process = forking.start_python("timeit", "-n", "1", "-r", "1", "import time; time.sleep(60)", imports="", env={})
print(process.pid, forking._SERVERS[forking._key()]._process.pid, flush=True)
time.sleep(60)
"""


def test_one_ends_with_the_server_where_nobody_else_can_end_it():
    with subprocess.Popen([sys.executable, "-c", ALONE], stdout=subprocess.PIPE) as client:
        assert client.stdout is not None
        process, server = map(int, client.stdout.readline().split())
        try:
            os.kill(client.pid, signal.SIGSTOP)
            assert runs(process)
            os.kill(server, signal.SIGKILL)
            assert ends(process)
        finally:
            client.kill()


def test_ending_some_while_others_begin_ends_no_other():
    """Handles of those that have ended are used again at once."""
    wrong = []

    def run(number: int) -> None:
        for turn in range(12):
            if (number + turn) % 2:
                process = started("import time; time.sleep(60)")
                wrong.extend(["ended"] * (process.end_group() != -signal.SIGKILL))
            else:
                wrong.extend(["not"] * (started("import os; os._exit(7)").wait(60) != 7))

    every = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for one in every:
        one.start()
    for one in every:
        one.join()
    assert wrong == []
