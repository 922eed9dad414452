"""Ways out of the sandbox, as root and as an ordinary user, with and without Landlock and a private root."""

import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import kernel_gate
from attacks import attempts
from attacks.system_calls import REFUSED, table
from kernel_gate.build.contained_run import run_contained
from kernel_gate.sandbox import calls, seccomp
from kernel_gate.sandbox.containment import Containment, ContainmentError, offered

on_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="the attempts are numbers of x86-64")
needs_containment = pytest.mark.skipif(not offered().holds, reason="this machine has no sandbox")

HERE = Path(__file__).parent
NOBODY = 65534
FORMS = {
    "all": {},
    "without a private root": {"private_root": False},
    "without Landlock": {"landlock": 0},
    "Landlock 1 alone": {"private_root": False, "landlock": 1},
}
USERS = ("this user", "nobody")


@dataclass
class Tried:
    """What the attempts of one run said, and what they had changed outside."""

    ways: dict[str, dict[str, str]]
    """For a forked process, where the system has one, and for a started one: what each attempt came to."""
    changed: list[str]
    form: str = ""
    """The containment that this user was given here."""

    def lines_of(self, name: str) -> list[str]:
        """What came of one attempt in each way; "" where it worked."""
        return [answers[name] for answers in self.ways.values()]


def _as_nobody() -> list[str]:
    """A command that starts Python as nobody, with the gate's packages; skips where root or such a Python is not."""
    python = shutil.which("python3", path="/usr/bin")
    if os.getuid() != 0 or not python or not shutil.which("setpriv"):
        pytest.skip("becoming nobody takes root, setpriv and a Python that everybody may run")
    packages = [
        str(Path(kernel_gate.__file__).parents[1]),
        *(p for p in sys.path if p.endswith("site-packages")),
    ]
    switch = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    command = [*switch, "env", f"PYTHONPATH={os.pathsep.join(packages)}", python]
    if subprocess.run(
        [*command, "-c", "import kernel_gate.build.contained_run"], check=False, capture_output=True
    ).returncode:
        pytest.skip("nobody's Python cannot import the gate")
    return command


@contextmanager
def _outside(user: str) -> Iterator[dict]:
    """A folder, files, a listening socket and a process of that user."""
    as_user = _as_nobody()[:4] if user == "nobody" else []
    place = Path(tempfile.mkdtemp(prefix="gate-outside-"))
    readable, folder = place / "readable", place / "home"
    for made in (readable, folder, folder / "empty"):
        made.mkdir()
    file = folder / "file"
    file.write_text("theirs", "utf-8")
    for script in ("attempts.py", "run_attempts.py"):
        shutil.copy(HERE / script, readable / script)
    every = [place, *place.rglob("*")]
    for made in every:
        made.chmod(0o755)
        if as_user:
            os.chown(made, NOBODY, NOBODY)
    victim = subprocess.Popen([*as_user, "sleep", "120"])
    server = socket.create_server(("127.0.0.1", 0))
    try:
        yield {
            "file": str(file),
            "folder": str(folder),
            "readable": str(readable / "attempts.py"),
            "victim": victim.pid,
            "port": server.getsockname()[1],
        }
    finally:
        victim.kill()
        victim.wait()
        server.close()
        shutil.rmtree(place)


def _state(outside: dict) -> dict[str, object]:
    """All that an attempt could have changed."""
    stat = Path(f"/proc/{outside['victim']}/stat").read_text("ascii").rpartition(")")[2].split()
    state = {
        "victim": (stat[0] in "SDR", stat[2:4], stat[16]),
        "limits": Path(f"/proc/{outside['victim']}/limits").read_text("ascii"),
        "processors": os.sched_getaffinity(outside["victim"]),
    }
    for path in sorted(Path(outside["folder"]).parent.rglob("*")):
        info = path.lstat()
        about = (info.st_mode, info.st_uid, info.st_mtime_ns, info.st_ctime_ns, info.st_size)
        state[str(path)] = (about, os.listxattr(path))
    return state


_DONE: dict[tuple[str, str], Tried] = {}


def tried(user: str, form: str) -> Tried:
    """The outcome of all attempts in one form of containment: they run once, together."""
    if (user, form) not in _DONE:
        python = _as_nobody() if user == "nobody" else [sys.executable]
        with _outside(user) as outside:
            before = _state(outside)
            script = str(Path(outside["readable"]).with_name("run_attempts.py"))
            spec = json.dumps({**outside, "without": FORMS[form]})
            done = subprocess.run(
                [*python, script, spec], capture_output=True, text=True, cwd="/", check=False, timeout=120
            )
            results = re.search(r"^RESULTS(.*)$", done.stdout, re.MULTILINE)
            _DONE[user, form] = Tried(
                {"failed": {"": done.stdout + done.stderr}}, ["the attempts did not end"]
            )
            assert results, done.stdout + done.stderr
            after = _state(outside)
            changed = [k for k in {*before, *after} if before.get(k) != after.get(k)]
            _DONE[user, form] = Tried(json.loads(results[1]), changed, done.stdout)
    result = _DONE[user, form]
    if not result.ways:
        pytest.skip("this machine does not offer this form")
    return result


@on_x86
@needs_containment
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("user", USERS)
class TestAttempts:
    """All of `attempts.py`; those that end otherwise are named."""

    def test_nothing_outside_has_changed(self, user, form):
        assert tried(user, form).changed == []

    def test_what_honest_programs_do_works(self, user, form):
        run = tried(user, form)
        assert [name for name in attempts.HONEST if any(run.lines_of(name))] == []

    def test_attempts_are_refused(self, user, form):
        run = tried(user, form)
        assert [name for name in attempts.ATTEMPTS if not all(run.lines_of(name))] == []

    def test_landlock_hides_what_proc_shows_to_everybody(self, user, form):
        run = tried(user, form)
        shown = [name for name in attempts.COMMANDS if not all(run.lines_of(name))]
        assert shown == [] or "Containment(landlock=0" in run.form

    def test_a_private_root_hides_names(self, user, form):
        run = tried(user, form)
        shown = [name for name in attempts.NAMES_ONLY if not all(run.lines_of(name))]
        assert shown == [] or "private_root=False" in run.form


HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


def _decided() -> list[str]:
    named = [c.name for groups in (calls.ALLOWED, calls.MISSING) for c in calls.calls(groups)]
    return [*named, *" ".join(REFUSED.values()).split()]


def test_every_system_call_is_decided_once():
    decided = _decided()
    assert len(decided) == len(set(decided))
    header = HEADERS["x86_64"]
    if header.exists():
        assert set(re.findall(r"#define __NR_(\w+) \d+", header.read_text("ascii"))) <= set(decided)
    assert set(calls.CONDITIONS) | calls.SCOPED <= {c.name for c in calls.calls(calls.ALLOWED)}


@pytest.mark.parametrize(("machine", "column"), [("x86_64", 0), ("aarch64", 1)])
def test_numbers_are_those_of_the_kernels_headers(machine, column):
    if not HEADERS[machine].exists():
        pytest.skip("no headers of the kernel here")
    numbers = dict(re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)", HEADERS[machine].read_text("ascii")))
    numbers.setdefault("newfstatat", numbers.get("fstatat"))
    for call in [*calls.calls(calls.ALLOWED), *calls.calls(calls.MISSING)]:
        own = call.numbers[column]
        assert own is None or str(own) == numbers[call.name], call.name


def _answer(program, architecture, number, arguments):
    """What a filter says to one call: the classic BPF machine."""
    data = {0: number, 4: architecture, **{16 + 8 * i: a & 0xFFFFFFFF for i, a in enumerate(arguments)}}
    place = accumulator = 0
    while True:
        code, if_true, if_false, value = program[place]
        place += 1
        if code == 0x20:
            accumulator = data[value]
        elif code == 0x54:
            accumulator &= value
        elif code == 0x06:
            return value
        else:
            holds = {0x15: accumulator == value, 0x25: accumulator > value, 0x35: accumulator >= value}[code]
            place += if_true if holds else if_false


@pytest.mark.parametrize("machine", calls.ARCHITECTURES)
def test_the_filter_says_what_the_table_says_to_every_number(machine):
    column = calls.ARCHITECTURES.index(machine)
    program = seccomp.program(machine, signals_stay_inside=True)
    architecture = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}[machine]
    allowed = {c.numbers[column] for c in calls.calls(calls.ALLOWED)} - {None}
    missing = {c.numbers[column] for c in calls.calls(calls.MISSING)}
    conditions = {
        c.numbers[column]: calls.CONDITIONS[c.name]
        for c in calls.calls(calls.ALLOWED)
        if c.name in calls.CONDITIONS
    }
    for number in range(1024):
        arguments = [0] * 6
        if condition := conditions.get(number):
            arguments[condition.argument] = condition.allowed[-1]
        expected = 0x7FFF0000 if number in allowed else 0x50026 if number in missing else 0x50001
        assert _answer(program, architecture, number, arguments) == expected, number
        if condition:
            arguments[condition.argument] = 0x7FFFFFFF
            assert _answer(program, architecture, number, arguments) == 0x50001, number
    assert _answer(program, architecture, 0x40000000, [0] * 6) == 0x50001
    assert _answer(program, 0x40000003, 4, [0] * 6) == 0x80000000


def test_signals_are_refused_where_nothing_keeps_them_inside():
    program = seccomp.program("x86_64", signals_stay_inside=False)
    assert _answer(program, 0xC000003E, 62, [1] * 6) == 0x50001
    assert _answer(program, 0xC000003E, 234, [1] * 6) == 0x50001


def test_the_committed_table_is_that_of_the_filter():
    assert table() in (HERE / "README.md").read_text("utf-8")


NOTHING = Containment(landlock=0, seccomp=False)


def test_without_a_sandbox_nothing_runs_unless_it_is_trusted(tmp_path):
    with pytest.raises(ContainmentError, match="allow-uncontained"):
        run_contained(["true"], tmp_path, containment=NOTHING)
    ran = run_contained(["true"], tmp_path, containment=NOTHING, allow_uncontained=True)
    assert (ran.status, ran.contained) == (0, False)


@needs_containment
def test_a_host_program_is_compiled_and_run(tmp_path):
    (tmp_path / "a.cpp").write_text(
        "#include <cstdio>\n#include <thread>\n"
        'int main() { std::thread t([] { puts("made"); }); t.join(); return 3; }\n'
    )
    assert run_contained(["g++", "a.cpp", "-o", "a.out"], tmp_path).status == 0
    ran = run_contained([str(tmp_path / "a.out")], tmp_path)
    assert (ran.status, ran.output) == (3, "made\n")


@needs_containment
def test_no_secret_of_the_environment_reaches_a_contained_program(tmp_path, monkeypatch):
    for name in ("OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "MY_OWN"):
        monkeypatch.setenv(name, "a-secret")
    ran = run_contained(["/usr/bin/env"], tmp_path)
    assert ran.status == 0
    assert "a-secret" not in ran.output
    assert "HOME=" + str(tmp_path) in ran.output


@needs_containment
def test_a_contained_program_has_no_capability_that_changes_anything_and_gains_none(tmp_path):
    status_text = run_contained(["/bin/cat", "/proc/self/status"], tmp_path).output
    status = dict(line.split(":\t") for line in status_text.splitlines() if ":\t" in line)
    kept = 1 << 2 if os.getuid() == 0 else 0  # to look into folders of others
    for which in ("CapEff", "CapPrm", "CapBnd", "CapAmb"):
        assert int(status[which], 16) & ~kept == 0, which
    assert (status["NoNewPrivs"].strip(), status["Seccomp"].strip()) == ("1", "2")


@needs_containment
def test_a_program_that_is_a_link_is_not_made_executable(tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("#!/bin/sh\n")
    outside.chmod(0o600)
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.out").symlink_to(outside)
    run_contained([str(folder / "a.out")], folder)
    assert outside.stat().st_mode & 0o777 == 0o600
