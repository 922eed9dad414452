"""How long mining takes, as a multiple of what git alone needs for the same history, and how much memory.

    python -m tests.benchmarks mining --repo PATH [--pydriller PYTHON] [--synthetic 30000]

`PATH` is cloned first and never written to. All times of one table come from one run. `PYTHON` is an interpreter that
has PyDriller; it is no dependency of ours.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

SUMMARY = "mining against git alone, PyDriller and naive GitPython; memory on many changes"
_SPECS = ("*.cu", "*.cuh", "*.py", "*.h", "*.hpp", "*.inl")
_RESULTS = Path(__file__).parent / "results"
_NAIVE = """
import sys
from git import Repo
ends = ('.cu', '.cuh', '.py', '.h', '.hpp', '.inl')
repo, total = Repo(sys.argv[1]), 0
for commit in repo.iter_commits(no_merges=True):
    parent = commit.parents[0] if commit.parents else None
    for change in (parent.diff(commit) if parent else ()):
        if change.b_blob is not None and change.b_path.endswith(ends):
            total += len(change.b_blob.data_stream.read())
"""
_PYDRILLER = """
import sys
from pydriller import Repository
ends = ['.cu', '.cuh', '.py', '.h', '.hpp', '.inl']
total = 0
for commit in Repository(sys.argv[1], only_no_merge=True, only_modifications_with_file_types=ends).traverse_commits():
    for file in commit.modified_files:
        if file.filename.endswith(tuple(ends)) and file.source_code:
            total += len(file.source_code)
"""


def main(arguments: list[str]) -> None:
    """Runs the benchmark and writes `results/mining.json` and `results/mining.md`."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks mining")
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--pydriller", metavar="PYTHON", help="an interpreter that has PyDriller")
    parser.add_argument(
        "--synthetic", type=int, default=0, metavar="CHANGES", help="also measure memory on so many"
    )
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        result = measure(options.repo, Path(folder), options.pydriller)
        if options.synthetic:
            result["synthetic"] = memory(Path(folder) / "synthetic", options.synthetic)
    result["command"] = f"python -m tests.benchmarks mining {_said(options)}"
    _RESULTS.mkdir(exist_ok=True)
    (_RESULTS / "mining.json").write_text(json.dumps(result, indent=2) + "\n")
    (_RESULTS / "mining.md").write_text(as_table(result))
    print(as_table(result))  # noqa: T201


def measure(origin: Path, folder: Path, pydriller: str | None) -> dict[str, Any]:
    """Seconds of wall-clock and of processor time for each way of reading one history."""
    repository = folder / "repository"
    _run(["git", "clone", "-q", "--no-checkout", str(origin), str(repository)])
    commits = int(_run(["git", "-C", str(repository), "rev-list", "--count", "HEAD"]))
    klineage = [sys.executable, "-c", "from kernel_lineage.cli.main import main; main()", "mine"]
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    rows: dict[str, dict[str, float]] = {}
    floor: list[tuple[float, float]] = []
    cold: list[tuple[float, float]] = []
    for _ in range(3):  # in turns, so that a busy moment hits both
        floor.append(_timed(lambda: _git_alone(repository)))
        for file in (repository / ".klineage").glob("*"):
            file.unlink()
        cold.append(_timed(lambda: _run([*klineage, str(repository), "--json"])))
    startup = min(_timed(lambda: _run([*klineage, "--help"])) for _ in range(3))
    warm = min(_timed(lambda: _run([*klineage, str(repository), "--json"])) for _ in range(3))
    rows["git log --raw and the same blobs"] = _row(min(floor))
    rows["klineage mine, cold"] = _row(min(cold))
    rows["klineage mine, nothing new"] = _row(warm)
    rows["klineage mine, one new commit"] = _row(_after_a_commit(repository, klineage))
    rows["klineage mine --help (start-up)"] = _row(startup)
    rows["naive GitPython, reading only"] = _row(
        _timed(lambda: _run([sys.executable, "-c", _NAIVE, str(repository)]))
    )
    if pydriller:
        rows["PyDriller, reading only"] = _row(
            _timed(lambda: _run([pydriller, "-c", _PYDRILLER, str(repository)]))
        )
    return {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "device": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "load": os.getloadavg()[0],
        "commits": commits,
        "rows": rows,
        "cold_ratio": {k: round(min(cold)[i] / min(floor)[i], 1) for i, k in enumerate(("wall", "cpu"))},
    }


def memory(folder: Path, changes: int) -> dict[str, Any]:
    """Peak memory and time of mining a made-up history of that many changes of kernel files."""
    files = 10
    folder.mkdir()
    _run(["git", "init", "-q", "-b", "main", str(folder)])
    stream = b"".join(_made_up_commit(mark, files) for mark in range(1, changes // files + 1))
    subprocess.run(["git", "-C", str(folder), "fast-import", "--quiet"], input=stream, check=True)
    code = (
        "import resource,sys,json;from pathlib import Path;from kernel_lineage.history.mine import mine\n"
        "mined=mine(Path(sys.argv[1]))\n"
        "print(json.dumps([sum(len(line.versions) for line in mined.lineages),"
        "resource.getrusage(resource.RUSAGE_SELF).ru_maxrss//1024]))"
    )
    started = time.perf_counter()
    versions, own = json.loads(_run([sys.executable, "-c", code, str(folder)]))
    return {
        "file_changes": changes,
        "versions": versions,
        "peak_mb": own,
        "wall_s": round(time.perf_counter() - started, 1),
    }


def as_table(result: dict[str, Any]) -> str:
    """The results as Markdown."""
    lines = [
        f"Mining, {result['commits']} commits; {result['device']}, load {result['load']:.1f}; {result['date']}.",
        f"`{result['command']}`",
        "",
        "| | wall s | CPU s |",
        "|---|---|---|",
        *(f"| {name} | {row['wall']:.2f} | {row['cpu']:.2f} |" for name, row in result["rows"].items()),
        "",
        f"Cold mining is {result['cold_ratio']['wall']}× git alone by the clock ({result['cold_ratio']['cpu']}× CPU).",
    ]
    if synthetic := result.get("synthetic"):
        peak = f"peak {synthetic['peak_mb']} MB"
        counts = f"{synthetic['file_changes']:,} changes of kernel files, {synthetic['versions']:,} versions"
        lines += ["", f"{counts}, {synthetic['wall_s']} s: {peak}."]
    return "\n".join(lines) + "\n"


def _said(options: argparse.Namespace) -> str:
    """The command without the paths of this machine."""
    said = f"--repo {options.repo.name}"
    if options.pydriller:
        said += " --pydriller PYTHON"
    return said + (f" --synthetic {options.synthetic}" if options.synthetic else "")


def _git_alone(repository: Path) -> None:
    git = ["git", "-C", str(repository)]
    log = subprocess.run(
        [
            "git",
            "-C",
            str(repository),
            "log",
            "HEAD",
            "--raw",
            "-c",
            "-z",
            "--no-abbrev",
            "-M",
            "--format=%H",
            "--",
            *_SPECS,
        ],
        capture_output=True,
        check=True,
    ).stdout
    ids = sorted(set(re.findall(rb"\b[0-9a-f]{40}\b(?= [0-9a-f]{40}| [A-Z])", log)) - {b"0" * 40})
    asked = b"\n".join(ids) + b"\n"
    subprocess.run([*git, "cat-file", "--batch"], input=asked, capture_output=True, check=True)


def _after_a_commit(repository: Path, klineage: Sequence[str]) -> tuple[float, float]:
    """Changes one kernel file that the last commits changed, as a commit, and mines again."""
    path = _run(["git", "-C", str(repository), "ls-tree", "-r", "--name-only", "HEAD"]).split("\n")
    kernel = next(p for p in path if p.endswith((".cuh", ".cu")))
    text = _run(["git", "-C", str(repository), "show", f"HEAD:{kernel}"])
    changed = re.sub(r"(__global__[^{]*\{)", r"\1 // measured", text, count=1)
    stream = (
        "commit HEAD\ncommitter A. Nonymous <a@example.org> 1900000000 +0000\ndata 7\nmeasure\nfrom HEAD^0\n"
    )
    data = changed.encode()
    body = stream.encode() + f"M 100644 inline {kernel}\n".encode() + b"data %d\n%s\n" % (len(data), data)
    subprocess.run(["git", "-C", str(repository), "fast-import", "--quiet"], input=body, check=True)
    return _timed(lambda: _run([*klineage, str(repository), "--json"]))


def _made_up_commit(mark: int, files: int) -> bytes:
    head = f"commit refs/heads/main\ncommitter A. Nonymous <a@example.org> {1_600_000_000 + mark} +0000\n"
    out = [head.encode() + b"data 4\nstep\n"]
    for file in range(files):
        body = "\n".join(f"    total += inp[(row * C + {i}) % N] * {mark + i}.0f;" for i in range(30))
        text = (
            f"__global__ void work_{file}(float* out, const float* inp, int N, int C) {{\n"
            "    int row = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "    if (row >= N) return;\n    float total = 0.0f;\n"
            f"{body}\n    out[row] = total;\n}}\n"
        ).encode()
        out.append(f"M 100644 inline file_{file}.cu\n".encode() + b"data %d\n%s\n" % (len(text), text))
    return b"".join(out)


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    work()
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _row(times: tuple[float, float]) -> dict[str, float]:
    return {"wall": round(times[0], 3), "cpu": round(times[1], 3)}


def _run(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip("\n")
