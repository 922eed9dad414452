"""Contained processes share a fork server: nothing of one reaches the next, and none outlives the gate."""

import errno
import os
import platform
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import pytest

from attacks.interruptions import descendants
from gate.build.test_compile import SOFTMAX, UNIT, build_error, triton
from kernel_gate.build.compile import compile_program
from kernel_gate.build.errors import BuildError, CompilerMissing
from kernel_gate.processes import forking, namespaces
from kernel_gate.sandbox.containment import offered

pytestmark = pytest.mark.skipif(
    not (offered().holds and forking.available()), reason="this machine has no sandbox or no pidfd"
)


def printed(text: str) -> str:
    """The message of a contained module that raises `RuntimeError(answer)`."""
    return str(build_error(triton(f"{text}\nraise RuntimeError(answer)\n{SOFTMAX}")))


def server() -> int:
    """The fork server of this process's contained jobs."""
    return forking._SERVERS[forking._key()]._process.pid


@cache
def has_process_namespaces() -> bool:
    """Tried as the server does, in a process of its own: it would count for this one's children, too."""
    code = f"from {namespaces.__name__} import *; make(PROCESSES)"
    return subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def children(parent: int) -> set[int]:
    pids = set()
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(entry.read_text().rpartition(")")[2].split()[1]) == parent:
                pids.add(int(entry.parent.name))
    return pids


def within(seconds: float, happens: Callable[[], object]) -> object:
    until = time.monotonic() + seconds
    while not (result := happens()) and time.monotonic() < until:
        time.sleep(0.02)
    return result


@contextmanager
def held(text: str = "") -> Iterator[tuple[int, list[str]]]:
    """A contained module that waits until it is ended: its process, and, at the end, what was said of it."""
    compile_program(triton(SOFTMAX), "sm_80", (UNIT,))
    before, errors = children(server()), []
    module = triton(f"{text}\nimport time; time.sleep(60)\n{SOFTMAX}")

    def compiled() -> None:
        try:
            compile_program(module, "sm_80", (UNIT,))
        except (BuildError, CompilerMissing) as error:
            errors.append(str(error))

    thread = threading.Thread(target=compiled)
    thread.start()
    started = within(30, lambda: children(server()) - before)
    assert isinstance(started, set)
    (pid,) = started
    time.sleep(0.5)  # until it has contained itself and waits
    try:
        yield pid, errors
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        thread.join()


MARKS = """\
import builtins, os, sys, random, triton, kernel_gate.build.allowed as allowed, kernel_gate.sandbox.seccomp as seccomp
builtins.marked = triton.marked = sys.modules["json"].marked = True
os.environ["MARKED"] = "yes"
allowed.check_ptx = seccomp.restrict = lambda *_, **__: None
sys.path.insert(0, os.getcwd())
sys.modules["marked"] = sys
open("marked.py", "w").write("x = 1")
os.chdir("/")
os.umask(0)
answer = repr(random.random())
"""
LOOKS = """\
import builtins, os, sys, json, random, tempfile, triton
import kernel_gate.build.allowed as allowed, kernel_gate.sandbox.seccomp as seccomp
seen = [hasattr(builtins, "marked"), hasattr(triton, "marked"), hasattr(json, "marked"), "MARKED" in os.environ,
        allowed.check_ptx.__name__ != "check_ptx", seccomp.restrict.__name__ != "restrict", "marked" in sys.modules,
        os.path.exists("marked.py"), os.getcwd() != os.environ["HOME"], os.umask(0o22) == 0]
answer = repr(seen)
"""


def test_nothing_of_one_contained_process_is_in_the_next():
    drawn = {printed(MARKS) for _ in range(2)}
    assert repr([False] * 10) in printed(LOOKS)
    assert len(drawn) == 2  # random numbers are its own, too


def test_a_contained_process_has_its_streams_and_no_other_handle():
    text = "import os\nanswer = repr(sorted(os.listdir('/proc/self/fd'), key=int)[:-1])"
    with held():  # with another job's handles in the server
        assert repr(["0", "1", "2"]) in printed(text)


def test_it_shows_none_of_the_gates_variables_in_proc(monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "a-secret")
    monkeypatch.setenv("MY_OWN", "a-secret")
    text = "answer = repr(['HOME' in (e := open('/proc/self/environ').read()), 'a-secret' in e, 'MY_' in e])"
    assert repr([True, False, False]) in printed(text)


def test_one_contained_process_cannot_see_another_or_the_server():
    """By each way in which a process of the same user is looked into, stopped or joined, and by each number that it
    can have: that of the machine, and of those who were forked before in its own namespace."""
    text = """\
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
word = ctypes.create_string_buffer(8)
vector = (ctypes.c_void_p * 2)(ctypes.addressof(word), 8)
def vm(pid):
    if libc.process_vm_readv(pid, vector, 1, vector, 1, 0) < 0: raise OSError(ctypes.get_errno(), "")
def ptrace(pid):
    if libc.ptrace(16, pid, 0, 0) < 0: raise OSError(ctypes.get_errno(), "")
ways = {
    "memory": lambda pid: open(f"/proc/{pid}/mem", "rb"),
    "maps": lambda pid: open(f"/proc/{pid}/maps").read(1),
    "handles": lambda pid: os.listdir(f"/proc/{pid}/fd"),
    "variables": lambda pid: open(f"/proc/{pid}/environ").read(1),
    "folder": lambda pid: os.listdir(f"/proc/{pid}/cwd"),
    "vm": vm, "ptrace": ptrace,
    "pidfd": lambda pid: os.pidfd_open(pid),
    "signal": lambda pid: os.kill(pid, signal.SIGSTOP),
    "group": lambda pid: os.setpgid(0, pid),
    "session": lambda pid: os.setsid(),
    "priority": lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 5),
}
worked = []
own = {os.getpid(), int(os.readlink("/proc/self"))}  # in its namespace, and where /proc was mounted
for pid in {*PIDS, *range(1, max(own))} - own:
    for name, way in ways.items():
        try:
            way(pid)
            worked.append(f"{name} of {pid}")
        except OSError:
            pass
answer = repr(worked)
"""
    with held() as (other, _):
        answer = printed(text.replace("PIDS", repr([other, server(), os.getpid()])))
        state = Path(f"/proc/{other}/stat").read_text().rpartition(")")[2].split()[0]
    assert "RuntimeError: []" in answer
    assert state == "S"


@pytest.mark.long
def test_a_killed_server_takes_its_processes_along_and_the_next_program_is_compiled():
    with held("import subprocess; subprocess.Popen(['sleep', '77.125'])") as (pid, errors):
        started, first = within(10, lambda: children(pid)), server()
        assert isinstance(started, set)
        os.kill(first, signal.SIGKILL)
        assert within(10, lambda: not any(Path(f"/proc/{p}").exists() for p in (pid, *started)))
    assert "something else ended the compiler" in errors[0]
    assert compile_program(triton(SOFTMAX), "sm_80", (UNIT,))[UNIT].entry == "row_softmax"
    assert server() != first


GATE = """\
import os, sys, threading, time
from pathlib import Path
from kernel_gate.build.contained_run import run_contained
def run():
    run_contained(["/bin/sh", "-c", "sleep 78.625 & sleep 79.375"], Path(sys.argv[1]), allow_uncontained=True)
one = threading.Thread(target=run)
one.start()
if len(sys.argv) > 2:
    time.sleep(3)
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(30)
        os._exit(0)
one.join()
"""


def sleepers() -> list[int]:
    pids = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if entry.read_bytes().startswith((b"sleep\x0078.625", b"sleep\x0079.375")):
                pids.append(int(entry.parent.name))
    return pids


def own_processes(gate: int) -> list[int]:
    """The gate, its server and all below it, except what a contained program has started and left asleep."""
    return [pid for pid in (gate, *descendants(gate)) if pid not in sleepers()]


@pytest.mark.parametrize("survivor", ["nothing", "the gate", "the server"])
def test_what_is_left_asleep_ends_when_all_of_ours_are_killed_at_one_moment(tmp_path, survivor):
    """All are stopped before the first is killed: none can do anything about the others, and one may be spared."""
    if not has_process_namespaces():
        pytest.skip("this machine gives no namespaces of processes")
    gate = subprocess.Popen([sys.executable, "-c", GATE, str(tmp_path)])
    spared: set[int] = set()
    try:
        assert within(30, lambda: len(sleepers()) == 2)
        every = own_processes(gate.pid)
        spared = {"nothing": set(), "the gate": {gate.pid}, "the server": children(gate.pid)}[survivor]
        for pid in every:
            os.kill(pid, signal.SIGSTOP)
        for pid in {*every} - spared:
            os.kill(pid, signal.SIGKILL)
        assert within(1, lambda: not sleepers())
    finally:
        for pid in (*sleepers(), *spared, gate.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        gate.wait()


@pytest.mark.parametrize("has_a_copy", [False, True], ids=["", "a forked copy of the gate lives on"])
def test_what_a_contained_program_left_asleep_ends_with_a_killed_gate(tmp_path, has_a_copy):
    command = [sys.executable, "-c", GATE, str(tmp_path), *(["copy"] if has_a_copy else [])]
    gate = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert gate.stdout is not None
    copy = 0
    try:
        assert within(30, lambda: len(sleepers()) == 2)
        copy = int(gate.stdout.readline()) if has_a_copy else 0
    finally:
        gate.kill()
        gate.wait()
    try:
        assert within(10, lambda: not sleepers())
        assert not copy or Path(f"/proc/{copy}").exists()
    finally:
        if copy:
            os.kill(copy, signal.SIGKILL)
        gate.stdout.close()


MULTIPLIES = """
import os, signal, sys, time
from kernel_gate.processes import namespaces
namespaces.make(namespaces.PROCESSES)
if (first := os.fork()) == 0:
    namespaces.limit_processes(400)
    made = 0
    try:
        while made < 1000:
            if os.fork() == 0:
                time.sleep(60)
            made += 1
    except OSError as error:
        print(made, error.errno, flush=True)
    os._exit(0)
os.waitpid(first, 0)
"""


LINUX = tuple(map(int, re.findall(r"\d+", platform.release())[:2]))


@pytest.mark.skipif(
    not has_process_namespaces() or LINUX < (6, 14), reason="each namespace has a bound from Linux 6.14 on"
)
def test_what_multiplies_itself_is_bounded_and_the_machine_is_not():
    most = Path("/proc/sys/kernel/pid_max")
    before = most.read_text()
    done = subprocess.run([sys.executable, "-c", MULTIPLIES], capture_output=True, text=True, check=True)
    made, why = map(int, done.stdout.split())
    assert 0 < made < 400 and why == errno.EAGAIN
    assert most.read_text() == before
