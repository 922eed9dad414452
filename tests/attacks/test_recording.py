"""Host code of a repository is built and run to see how a kernel is launched: what it reaches, and what it may say."""

import json
import os
import re
import shutil
import socket
import sys
import time
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest

from attacks import attempts
from attacks.fuzz_targets import LAUNCH
from attacks.test_sandbox import needs_containment, on_x86
from kernel_gate.build.contained_run import Ran
from kernel_gate.sandbox.containment import offered
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.following.unit import unit_of
from kernel_lineage.workloads.headers import Headers
from kernel_lineage.workloads.preprocessed import active_text, with_headers
from kernel_lineage.workloads.recording import build, runs
from kernel_lineage.workloads.recording import recorder as recorders
from kernel_lineage.workloads.recording.build import Built, HostBuildError, RecordingError, built, refusal
from kernel_lineage.workloads.recording.call import Call, Parameter
from kernel_lineage.workloads.recording.drafting import recorded_draft
from kernel_lineage.workloads.recording.entries import entries_of
from kernel_lineage.workloads.recording.failed import Failed
from kernel_lineage.workloads.recording.includes import include_folders
from kernel_lineage.workloads.recording.launches import launch_of
from kernel_lineage.workloads.recording.mains import Program
from kernel_lineage.workloads.recording.mending import mended
from kernel_lineage.workloads.recording.runs import Run, run
from kernel_lineage.workloads.recording.series import Series
from kernel_lineage.workloads.recording.sizes_written import with_sizes
from kernel_lineage.workloads.state import State
from longer import first_now
from workloads.recording.test_recorder import LAUNCHES

needs_compilers = pytest.mark.skipif(
    bool(refusal()) or not offered().holds, reason=refusal() or "this machine has no sandbox"
)
SECRET = "-----BEGIN A KEY-----"
HOSTILE = r"""
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <unistd.h>
__global__ void k(float* x) { x[0] = 1; }
int main(int argc, char** argv) {
  if (argc < 2) return 0;
  const std::string what = argv[1];
  const std::string record = getenv("KLINEAGE_RECORD");
  const std::string folder = record.substr(0, record.rfind('/'));
  setvbuf(stdout, nullptr, _IONBF, 0);
  if (what == "become") return chdir(folder.c_str()) || execv(argv[2], argv + 2);
  if (what == "read") for (int i = 2; i < argc; ++i) {
    std::ifstream file(argv[i]);
    std::string line;
    puts(std::getline(file, line) ? line.c_str() : "nothing");
  }
  if (what == "variables") for (char** one = environ; *one; ++one) puts(*one);
  if (what == "fork") for (;;) fork();
  if (what == "flood") for (;;) puts("all work and no play");
  if (what == "fill") { std::ofstream file(record); for (;;) file << std::string(1 << 20, '[') << std::flush; }
  if (what == "stay" && fork() == 0) { setsid(); signal(SIGTERM, SIG_IGN); close(1); close(2); for (;;) pause(); }
  if (what == "stay") { puts("left"); _exit(0); }
  if (what == "take") { size_t n = 0; for (;; n += 1 << 26) memset(malloc(1 << 26), 1, 1 << 26); }
  if (what == "link") for (const char* name : {"/record0", "/said0", "/status0"}) {
    unlink((folder + name).c_str());
    symlink(argv[2], (folder + name).c_str());
  }
}
"""


class HostileProgram:
    """The hostile program, built in a repository beside which a secret lies."""

    def __init__(self, place: Path) -> None:
        self.root, self.folder, self.secret = place / "repository", place / "build", place / "secret"
        for made in (self.root, self.folder, self.root / ".git", self.root / "inner"):
            made.mkdir()
        self.secret.write_text(SECRET)
        self.path = self.root / "inner" / "code.cu"
        for name in (".env", ".git/config", "plain", "inner/.hidden-beside"):
            (self.root / name).write_text(f"in {name}\n")
        for name, target in (("out", place), ("git", self.root / ".git"), ("own", self.root / "inner")):
            (self.root / name).symlink_to(target)
        self.path.write_text(HOSTILE)
        shutil.copy(Path(attempts.__file__), self.root / "attempts.py")
        self.built: Built = built(HOSTILE, self.path, self.root, self.folder)

    def run(self, *arguments: str, seconds: float = 10) -> runs.Ended:
        """What came of one run."""
        asked = [Run({}, arguments, seconds=seconds)]
        (ended,) = run(self.built, asked, self.folder, self.root, self.path.parent)
        return ended


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> HostileProgram:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KLINEAGE_KEEP_IN", str(tmp_path_factory.getbasetemp() / "kept"))
        return HostileProgram(tmp_path_factory.mktemp("hostile"))


@pytest.mark.long
@on_x86
@needs_compilers
@needs_containment
def test_recorded_host_code_gets_out_by_none_of_the_attempts(program, tmp_path):
    """The program becomes `attempts.py`: what no contained program can, recorded host code cannot."""
    folder = tmp_path / "home"
    (folder / "empty").mkdir(parents=True)
    (folder / "file").write_text("theirs")
    with socket.create_server(("127.0.0.1", 0)) as server:
        outside = {
            "file": str(folder / "file"), "folder": str(folder), "readable": str(program.root / "attempts.py"),
            "victim": os.getpid(), "port": server.getsockname()[1],
        }  # fmt: skip
        ran = program.run("become", sys.executable, str(program.root / "attempts.py"), json.dumps(outside))
    results = json.loads(ran.output.rpartition("RESULT")[2])
    refused = {*attempts.ATTEMPTS, *(attempts.NAMES_ONLY if offered().private_root else ())}
    assert [name for name in attempts.HONEST if results[name]] == []
    assert [name for name in refused if not results[name]] == []
    assert sorted(p.name for p in folder.iterdir()) == ["empty", "file"]
    assert (folder / "file").read_text() == "theirs"


@needs_compilers
def test_it_reads_its_repository_without_what_is_hidden_there_and_nothing_else(program):
    named = ["../plain", "../own/code.cu", ".hidden-beside", "../.env", "../.git/config", "../git/config",
             "../out/secret", str(program.secret), "/etc/passwd", f"{Path.home()}/.profile",
             f"/proc/{os.getpid()}/environ"]  # fmt: skip
    lines = program.run("read", *named).output.splitlines()
    assert lines == ["in plain", "", "in inner/.hidden-beside", *["nothing"] * 8]


@needs_compilers
def test_it_sees_no_variable_of_ours(program, monkeypatch):
    for name in ("OPENAI_API_KEY", "GITHUB_TOKEN", "MY_OWN"):
        monkeypatch.setenv(name, SECRET)
    printed = program.run("variables").output
    assert "KLINEAGE_RECORD=" in printed and SECRET not in printed


@needs_compilers
@pytest.mark.parametrize("what", first_now(["fork", "flood", "fill", "take"]))
def test_what_takes_everything_is_ended(program, what):
    began = time.monotonic()
    ended = program.run(what, seconds=4)
    assert ended.launches == () and len(ended.output) <= 2_000_000
    assert time.monotonic() - began < 60
    assert program.run("read", "../plain").output == "in plain"


@needs_compilers
def test_what_it_leaves_behind_ends_with_its_run(program):
    def of_it() -> list[bytes]:
        arguments = []
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if (words := entry.read_bytes()).startswith(os.fsencode(program.built.program) + b"\0"):
                    arguments.append(words)
        return arguments

    assert "left" in program.run("stay", seconds=3).output
    until = time.monotonic() + 5  # what is killed goes when the kernel comes to it
    while of_it() and time.monotonic() < until:
        time.sleep(0.05)
    assert of_it() == []


@needs_compilers
@pytest.mark.parametrize("target", ["the secret", "/dev/zero", "/etc/passwd", "/"])
def test_a_link_in_the_place_of_its_answer_is_not_followed(program, target):
    ended = program.run("link", str(program.secret) if target == "the secret" else target)
    assert (ended.launches, ended.output) == ((), "")


@pytest.mark.long
@needs_compilers
@pytest.mark.parametrize(
    "include",
    first_now(
        [
            '#include "/etc/passwd"',
            'asm(".incbin \\"SECRET\\"");',
            '#include "out/secret"',
            '#include "../out/secret"',
            '#include "../../secret"',
            '#include "../git/config"',
            '#include "/proc/self/environ"',
        ],
        2,
    ),
)
def test_no_file_of_the_machine_is_built_in_or_shown(program, tmp_path, include):
    text = f"{include.replace('SECRET', str(program.secret))}\nint main() {{}}\n"
    try:
        made = built(text, program.path, program.root, tmp_path)
    except HostBuildError as error:
        message = str(error)
    else:  # without what is not to be had
        message = " ".join(made.without)
        assert made.without
        assert SECRET.encode() not in made.program.read_bytes()
    assert not re.search("root:|KEY|in .git|HOME", message), message


def test_host_code_is_not_run_where_its_repository_holds_the_home_folder(tmp_path, monkeypatch):
    home = tmp_path / "home"
    (home / ".klineage").mkdir(parents=True)
    (home / "project").mkdir()
    monkeypatch.setenv("HOME", str(home / "me"))
    monkeypatch.setattr(build, "run_contained", lambda *_, **__: pytest.fail("it was built"))
    with pytest.raises(RecordingError, match=r"holds the home folder.*of its own"):
        built("int main() {}", home / "project" / "code.cu", home, tmp_path)


def test_without_a_sandbox_no_host_code_is_built(tmp_path, monkeypatch):
    from kernel_gate.sandbox.containment import Containment

    monkeypatch.setattr("kernel_gate.build.contained_run.offered", lambda: Containment(0, seccomp=False))
    monkeypatch.setattr(build, "refusal", lambda: "")
    monkeypatch.setattr(build, "find_nvcc", lambda: Path("/usr/bin/nvcc"))
    (tmp_path / "repository").mkdir()
    with pytest.raises(RecordingError, match="not run where it cannot be contained"):
        built("int main() {}", tmp_path / "repository" / "code.cu", tmp_path / "repository", tmp_path)


KILLED = [(-9, ""), (1, "g++: fatal error: Killed signal terminated program cc1plus"),
          (137, "nvcc error : 'cicc' died due to signal 9 (Kill signal)"),
          (1, "collect2: fatal error: ld terminated with signal 9 [Killed]")]  # fmt: skip


@pytest.mark.parametrize(("status", "output"), KILLED)
def test_a_compiler_that_something_else_has_ended_says_nothing_of_the_code(
    tmp_path, monkeypatch, status, output
):
    monkeypatch.setattr(build, "run_contained", lambda *_, **__: Ran(status, "", output, contained=True))
    with pytest.raises(RecordingError, match="ended from outside; try again") as error:
        build._contained(["nvcc"], tmp_path, [])
    assert not isinstance(error.value, HostBuildError)


def test_a_full_disk_says_nothing_of_the_code(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "run_contained", lambda *_, **__: Ran(1, "", "", contained=True))
    monkeypatch.setattr("shutil.disk_usage", lambda _: shutil._ntuple_diskusage(1 << 30, 1 << 30, 4096))
    with pytest.raises(RecordingError, match=r"the disk of .* is full") as error:
        build._contained(["nvcc"], tmp_path, [])
    assert not isinstance(error.value, HostBuildError)


@pytest.mark.parametrize("whole", [True, False])
def test_a_recording_that_was_cut_is_not_kept(tmp_path, monkeypatch, whole):
    monkeypatch.setenv("KLINEAGE_KEEP_IN", str(tmp_path / "kept"))
    path = tmp_path / "code.cu"
    path.write_text(LAUNCHES % ("", ""))
    row = json.dumps({**LAUNCH, "kernel": "k(float*)", "arguments": LAUNCH["arguments"][:1]})
    seen = Series({}, (({}, launch_of(row)),), "main")
    monkeypatch.setattr(recorders, "recorded_program", lambda *_: Program((seen,), "", whole))
    program = recorders.Recorder(tmp_path)._program(path, None, State(tmp_path), "k")
    assert program.series == (seen,)
    assert len(list((tmp_path / "kept").rglob("*.json"))) == whole


GOOD = json.dumps(LAUNCH)
FORGED = {
    "nested": "[" * 100_000,
    "no object": "7",
    "an endless extent": GOOD.replace("[45, 1, 1]", "[1e999, 1, 1]"),
    "a negative extent": GOOD.replace("[45, 1, 1]", "[-45, 1, 1]"),
    "many digits": GOOD.replace("[45, 1, 1]", f"[{'9' * 5000}, 1, 1]"),
    "a block that no device has": GOOD.replace("[64, 1, 1]", "[4096, 1, 1]"),
    "no alignment": GOOD.replace('"alignment": 8', '"alignment": 0'),
    "an alignment of a terabyte": GOOD.replace('"alignment": 8', f'"alignment": {1 << 40}'),
    "an alignment below nothing": GOOD.replace('"alignment": 8', '"alignment": -8'),
    "an odd alignment": GOOD.replace('"alignment": 8', '"alignment": 3'),
    "no name": GOOD.replace("void brighten<float, 2>(float*, Image, int const*, float)", "(x)"),
    "a name of two lines": GOOD.replace("void brighten", "void brighten\\nkernel = 1"),
    "an escape in a name": GOOD.replace("void brighten", "void \\u001b[2Jbrighten"),
    "words as a bound": GOOD.replace('"high": 2879', '"high": "2879"'),
    "no number as a bound": GOOD.replace('"high": 2879', '"high": NaN'),
    "a megabyte of an argument": GOOD.replace("0000c03f", "00" * (1 << 20)),
    "a pointer beyond its argument": GOOD.replace("[[0, {", "[[64, {"),
    "arguments that are words": GOOD.replace('"pointers": []', '"pointers": "all"'),
}


@pytest.mark.parametrize("forged", FORGED)
def test_a_forged_launch_is_none(tmp_path, forged):
    assert FORGED[forged] != GOOD
    with pytest.raises(ValueError):
        launch_of(FORGED[forged])
    (tmp_path / "record0").write_text(f"{FORGED[forged]}\n{GOOD}\n")
    assert [one.row for one in runs._ended(tmp_path, 0, "").launches] == [GOOD]


@pytest.mark.parametrize("status", ["²", "9" * 5000, "-1", "x", ""])
def test_a_forged_status_is_none(tmp_path, status):
    (tmp_path / "status0").write_text(status)
    assert runs._ended(tmp_path, 0, "").why in ("", "it was not run")


@pytest.mark.parametrize(
    "line",
    ["entry\t²\tf\tT", f"entry\t{'9' * 5000}\tf\tT", f"entry\t0\tf\t{'v' * 40}T", f"entry\t0\tf\t{'o' * 9999}T",
     f"entry\t0\tf\t{'T ' * 9999}", "entry\t0", "entry\t0\tf\ti"],
)  # fmt: skip
def test_a_forged_function_is_none(line):
    good = "entry\t3\tf\tT oT vvT i"
    assert [e.number for e in entries_of(f"{line}\n{good}\n", unit_of(""))] == [3]


@pytest.mark.parametrize(
    "fields",
    [["x % 0 == 0", "", "", "", "", "x,size,0"], ["x.size(0) % ² == 0", "", "", "", "", "x,size,0"],
     ["x.sizes()", "1," * 999_999, "==", "1", "", "x,sizes,0"], ["n", "9" * 5000, "==", "2", "n", ""],
     ["many", "999999999", "==", "2", "many", ""], [f"n == {'9' * 5000}", "", "", "", "n", "x,size,0"],
     ["n", "²", "==", "³", "many", ""], ["rank", "1", "==", "2", "", f"x,dim,{'9' * 5000}"]],
)  # fmt: skip
def test_a_forged_check_makes_no_call_that_takes_everything(fields):
    call = Call(
        (Parameter("x", "T"), Parameter("n", "i"), Parameter("many", "vT")), {"x": 2}, {"x": "float32"}
    )
    for option in mended(call, Failed.of(fields)):
        assert len(option.line({})) < 10_000


def test_names_of_headers_that_no_file_can_have_are_missing_and_no_more(tmp_path):
    root, shims = tmp_path / "repository", tmp_path / "shims"
    root.mkdir()
    shims.mkdir()
    names = ["a" * 300 + ".h", "torch/" + "a" * 300, "torch/a", "torch/a/b.h", "torch/../../../out.h", "/etc/passwd",
             "torch/\0.h", "x/" * 3000 + "y.h"]  # fmt: skip
    text = "".join(f'#include "{name}"\n' for name in names)
    assert include_folders(text, root / "code.cu", root, shims) == ([shims / "repository", root], [])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["repository", "shims"]
    assert Headers(root).at(root, names[0]) is None


@pytest.mark.long
def test_headers_and_numbers_nested_beyond_what_a_person_writes_are_read_without_a_crash(tmp_path):
    for number in range(1500):
        (tmp_path / f"h{number}.h").write_text(f'#include "h{number + 1}.h"\nint x{number};\n')
    (tmp_path / "code.cu").write_text('#include "h0.h"\nint last;\n')
    text = with_headers(tmp_path / "code.cu", tmp_path)
    assert "int x100;" in text and "int last;" in text
    for expression in ("1 + " * 5000 + "1", "(" * 3000 + "1" + ")" * 3000, "9" * 6000, "-" * 3000 + "1"):
        with_sizes(f"int main() {{ int n = {expression}; }}")
        active_text(f"#if {expression}\nint x;\n#endif\n")


def test_words_of_a_program_stay_in_their_comment(tmp_path):
    text = LAUNCHES % ("", "")
    path = tmp_path / "code.cu"
    path.write_text(text)
    kernel = kernel_of(path, "k")
    row = {**LAUNCH, "kernel": "k(float*)", "arguments": LAUNCH["arguments"][:1]}
    series = Series({}, (({}, launch_of(json.dumps(row))),), "main\n[launch]", said=("x\n[launch]\r\x1b[2J",))
    draft = recorded_draft(kernel, kernel, "a\nlanguage = 1.cu", unit_of(text), series)
    written = tomllib.loads(draft.text)
    assert (written["language"], written["launch"]["grid"]) == ("cuda", ["45"])
    assert "\x1b" not in draft.text
