"""Nothing of the folder that one works in is imported or started, whatever the environment says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from git import Actor, Repo

from attacks.hostile import Hostile
from cli.test_gate import KERNEL, WORKLOAD
from editor.session import session

# As the extension starts it; what a shell's own PYTHONPATH makes of the first process is that shell's.
ROOT = Path(__file__).parents[2]
KLINEAGE = [sys.executable, "-I", "-m", "kernel_lineage"]


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    attack = Hostile(tmp_path)
    folder = attack.folder
    (folder / "twice.cu").write_text(KERNEL)
    (folder / "w.toml").write_text(WORKLOAD)
    workloads = folder / ".klineage" / "workloads"
    workloads.mkdir(parents=True)
    (workloads / "twice.toml").write_text(WORKLOAD + '[oracle]\npython = "oracles.py:twice"\n')
    (workloads / "oracles.py").write_text("def twice(x, **_):\n    return x + x\n")
    repo = Repo.init(folder)
    someone = Actor("A", "a@example.org")
    for message, text in (
        ("Twice", KERNEL),
        ("Speed up", KERNEL.replace("float* y", "float* __restrict__ y")),
    ):
        (folder / "twice.cu").write_text(text)
        repo.git.add("-A")
        repo.index.commit(message, author=someone, committer=someone, skip_hooks=True)
    repo.close()
    return attack


def run(command: list[str], attack: Hostile, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command, cwd=attack.folder, env=attack.variables(), input=stdin, capture_output=True, check=False
    )


@pytest.mark.parametrize(
    ("arguments", "answers"),
    [
        (
            ["gate", "twice.cu", "twice.cu", "--workload", "w.toml", "--kernel", "twice", "--json"],
            "inputs_hash",
        ),
        (["apply", "restrict-const-pointers", "twice.cu:twice", "--json"], "outcome"),
        pytest.param(["replay", ".", "--json"], "transitions", marks=pytest.mark.long),
        (["workload", "check", "twice.cu:twice", "--json"], ""),
        (["coverage", ".", "--json"], "kernels"),
        (["mine", ".", "--json"], "lineages"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_command_runs_nothing_of_the_folder_it_is_called_in(hostile, arguments, answers):
    device = ["--device", "emulated"] if arguments[0] in {"gate", "apply", "replay"} else []
    ran = run([*KLINEAGE, *arguments, *device], hostile)
    assert hostile.marks == []
    assert b"3.10x" not in ran.stdout + ran.stderr
    assert b"Traceback" not in ran.stderr
    if answers:
        assert answers in json.loads(ran.stdout)


def test_the_gate_alone_runs_nothing_of_the_folder_it_is_called_in(hostile):
    ran = run([sys.executable, "-I", "-m", "kernel_gate"], hostile, b"{}")
    assert (hostile.marks, ran.returncode, ran.stdout) == ([], 2, b"")


def test_a_command_imports_nothing_that_a_variable_names_once_it_has_started(hostile):
    """The first process obeys PYTHONPATH until a line of ours runs; later modules do not come from there."""
    late = hostile.folder.parent / "late"
    late.mkdir()
    (hostile.folder / "pydantic.py").rename(late / "pydantic.py")
    ran = subprocess.run(
        [sys.executable, "-m", "kernel_lineage", "gate", "--help"],
        cwd="/", env={**hostile.variables(), "PYTHONPATH": str(late)}, capture_output=True, check=False,
    )  # fmt: skip
    assert (hostile.marks, ran.returncode) == ([], 0)


@pytest.mark.long
async def test_the_servers_check_runs_nothing_of_the_kernels_folder(hostile, monkeypatch):
    monkeypatch.chdir(hostile.folder)
    for name, value in hostile.variables().items():
        monkeypatch.setenv(name, value)
    command = [*KLINEAGE, "serve", "--stdio"]
    options = {"trusted": True, "check": "typing", "checkSeconds": 60, "device": "emulated"}
    async with session(hostile.folder, options, command=command) as editor:
        uri = editor.open(hostile.folder / "twice.cu")
        await editor.mined()
        answer = await editor.command("klineage.check", {"uri": uri, "line": 1, "character": 4})
        assert answer["state"] == "right", answer
        at = {"uri": uri, "kernel": "twice", "skill": "restrict-const-pointers", "title": "Restrict"}
        applied = await editor.command("klineage.apply", at)
        assert applied["outcome"] != "accepted"
    assert hostile.marks == []


STARTS = re.compile(
    r"subprocess\.(run|call|check_\w+|Popen\()|create_subprocess|os\.(fork|exec\w+|system|spawn\w*|posix_spawn\w*|popen)\("
    r"|^(import|from) (multiprocessing|pty)|ProcessPool",
    re.MULTILINE,
)
STARTING = {"sandbox/runner.py": "becomes the contained program"}


def test_processes_are_started_in_one_place():
    starting = set()
    for package in (ROOT / "gate" / "kernel_gate", ROOT / "server" / "kernel_lineage"):
        for path in package.rglob("*.py"):
            if path.parent != ROOT / "gate" / "kernel_gate" / "processes" and STARTS.search(
                path.read_text("utf-8")
            ):
                starting.add(str(path.relative_to(package)))
    assert starting == STARTING.keys()


def test_the_extension_starts_python_isolated():
    sources = {p.name: p.read_text("utf-8") for p in (ROOT / "extension" / "src").glob("*.ts")}
    assert "['-I', '-m', 'kernel_lineage']" in sources["python.ts"]
    assert [name for name, text in sources.items() if "kernel_lineage'" in text] == ["python.ts"]
