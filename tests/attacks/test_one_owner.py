"""Files are read and written by their one module each; who does it otherwise is listed here with the reason."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = (ROOT / "gate" / "kernel_gate", ROOT / "server" / "kernel_lineage")
OWNERS = {"files/reading.py", "files/writing.py", "files/temporary.py"}
READS = (".read_text", ".read_bytes", ".fromfile", "np.load", "sqlite3.connect", "os.open")
WRITES = (".write_text", ".write_bytes", ".savez", ".tofile", ".copyfile", ".copytree", "shutil.copy")

OWN = "a file of this package"
PRIVATE = "a temporary folder of this process that nothing contained can write"
CONTAINED = "runs contained, in its own folder"
SYSTEM = "a file of the system"
STATE = "state of this user, in a folder of theirs"
NAMED = "a person names the file, on the command line"
READING = {
    "skills/conditions/names.py": OWN,
    "build/child.py": CONTAINED,
    "build/nvcc.py": CONTAINED,
    "build/prelude.py": OWN,
    "build/contained_run.py": "makes a program executable, by no link",
    "build/package.py": CONTAINED,
    "evidence.py": OWN,
    "fleet/travelling.py": OWN,
    "oracle.py": "looks into an archive before it reads it, by no link and bounded",
    "oracle_child.py": CONTAINED,
    "processor_seconds.py": SYSTEM,
    "processes/forking.py": SYSTEM,
    "processes/group.py": SYSTEM,
    "processes/namespaces.py": SYSTEM,
    "reporting/reason_links.py": OWN,
    "sandbox/landlock.py": "opens for Landlock, not to read",
    "sanitizer/replay.py": PRIVATE,
    "sanitizer/tool.py": PRIVATE,
    "workload_schema.py": OWN,
    "agents/hook/decide.py": STATE,
    "agents/plugin.py": OWN,
    "agents/tools/draft_workload.py": "the draft that a process of ours has just written",
    "agents/trust.py": STATE,
    "auditing/document.py": NAMED,
    "cache_file.py": STATE,
    "demo/sample.py": OWN,
    "demo/tour.py": PRIVATE,
    "editor/features/lineage.py": PRIVATE,
    "history/cache.py": "a database in memory",
    "learning/replay/float_build.py": PRIVATE,
    "learning/replay/kept_drafts.py": PRIVATE,
    "learning/replay/store.py": "a database in memory",
    "rewrite/kept_workloads.py": OWN,
    "rewrite/model/sent.py": STATE,
    "rewrite/optimise/gains.py": OWN,
    "rewrite/signed_rows.py": STATE,
    "skills/ranking/count_files.py": STATE,
    "skills/ranking/rules.py": OWN,
    "workloads/recording/build.py": OWN,
    "workloads/recording/kept.py": OWN,
}
WRITING = {
    "build/child.py": CONTAINED,
    "build/compile.py": PRIVATE,
    "build/nvcc.py": CONTAINED,
    "build/descriptors.py": CONTAINED,
    "build/triton_build.py": CONTAINED,
    "build/package.py": CONTAINED,
    "fleet/travelling.py": PRIVATE,
    "oracle.py": PRIVATE,
    "oracle_child.py": CONTAINED,
    "processes/namespaces.py": SYSTEM,
    "sanitizer/recording.py": PRIVATE,
    "sanitizer/tool.py": PRIVATE,
    "agents/tools/gate_candidate.py": PRIVATE,
    "cli/gate_reports.py": NAMED,
    "demo/sample.py": "the sample repository, in a new folder",
    "history/trees.py": PRIVATE,
    "learning/replay/float_build.py": PRIVATE,
    "learning/replay/tests_of_other.py": PRIVATE,
    "workloads/recording/build.py": PRIVATE,
    "workloads/recording/includes.py": PRIVATE,
    "workloads/recording/runs.py": PRIVATE,
}


LAST_WORDS = {"open", *(call.rpartition(".")[2] for call in (*READS, *WRITES))}
A_CALL = re.compile(rf"\bopen\b|{'|'.join(map(re.escape, (*READS, *WRITES)))}")
"""What stands in every file that calls one of them."""


def _kind(call: ast.Call) -> str:
    """How a call goes to a file by itself: `read`, `write`, or "" for one that does not."""
    match call.func:
        case ast.Name(id=last) | ast.Attribute(attr=last) if last in LAST_WORDS:
            name = ast.unparse(call.func)
        case _:
            return ""
    if last == "open" and (
        name == "open" or any(k.arg in ("encoding", "mode") for k in call.keywords) or _mode(call)
    ):
        return "write" if any(letter in _mode(call) for letter in "wax+") else "read"
    if name.endswith(READS):
        return "read"
    return "write" if name.endswith(WRITES) else ""


def _mode(call: ast.Call) -> str:
    texts = [
        a.value
        for a in (*call.args, *(k.value for k in call.keywords if k.arg == "mode"))
        if isinstance(a, ast.Constant)
    ]
    return next((t for t in texts if isinstance(t, str) and 0 < len(t) < 4 and set(t) <= set("rwaxb+t")), "")


@cache
def _by_themselves() -> dict[str, set[str]]:
    places: dict[str, set[str]] = defaultdict(set)
    for package in PACKAGES:
        for path in package.rglob("*.py"):
            place = path.relative_to(package).as_posix()
            if place in OWNERS or "demo/history/" in place:
                continue
            text = path.read_text("utf-8")
            for node in ast.walk(ast.parse(text)) if A_CALL.search(text) else ():
                if isinstance(node, ast.Call) and (kind := _kind(node)):
                    places[kind].add(place)
    return places


def test_files_are_read_in_one_place():
    assert _by_themselves()["read"] == READING.keys()


def test_files_are_written_in_one_place():
    assert _by_themselves()["write"] == WRITING.keys()


def test_one_module_each():
    """`test_processes_are_started_in_one_place` and `test_nothing_writes_past_the_cleaning` hold the other two."""
    definitions = [
        (function, path.relative_to(ROOT).as_posix())
        for package in PACKAGES
        for path in package.rglob("*.py")
        for function in re.findall(r"\bdef\s+(\w+)", path.read_text("utf-8"))
    ]
    for name, place in (
        ("read_file", "gate/kernel_gate/files/reading.py"),
        ("write_atomically", "gate/kernel_gate/files/writing.py"),
        ("remove_tree", "gate/kernel_gate/files/temporary.py"),
    ):
        assert [where for function, where in definitions if function == name] == [place]
