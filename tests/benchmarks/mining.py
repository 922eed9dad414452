"""How long mining takes, as a multiple of what git alone needs for the same history, and how much memory.

    python -m tests.benchmarks mining --repo PATH [--repo PATH …] [--synthetic 30000]

Each `PATH` is cloned first and never written to; what mining keeps goes to a folder of the benchmark's own.
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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

SUMMARY = "mining against git alone, per repository; memory on many changes"
_SPECS = ("*.cu", "*.cuh", "*.py", "*.h", "*.hpp", "*.inl")
_RESULTS = Path(__file__).parent / "results"
_KLINEAGE = [sys.executable, "-c", "from kernel_lineage.cli.main import main; main()", "mine"]


def main(arguments: list[str]) -> None:
    """Runs the benchmark and writes `results/mining.json` and `results/mining.md`."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks mining")
    parser.add_argument("--repo", type=Path, action="append", required=True)
    parser.add_argument(
        "--synthetic", type=int, default=0, metavar="CHANGES", help="also measure memory on so many"
    )
    options = parser.parse_args(arguments)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    result: dict[str, Any] = {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "device": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "load": os.getloadavg()[0],
        "command": f"python -m tests.benchmarks mining {_options_text(options)}",
        "repositories": {},
    }
    with tempfile.TemporaryDirectory() as folder:
        for origin in options.repo:
            result["repositories"][origin.name] = measure(origin, Path(folder) / origin.name)
        if options.synthetic:
            result["synthetic"] = memory(Path(folder) / "synthetic", options.synthetic)
    _RESULTS.mkdir(exist_ok=True)
    (_RESULTS / "mining.json").write_text(json.dumps(result, indent=2) + "\n")
    (_RESULTS / "mining.md").write_text(as_table(result))
    print(as_table(result))  # noqa: T201


def measure(origin: Path, folder: Path) -> dict[str, Any]:
    """Seconds by the clock and of user CPU for each way of reading one history."""
    repository = folder / "repository"
    _run(["git", "clone", "-q", "--no-checkout", str(origin), str(repository)])
    _run(["git", "-C", str(repository), "reset", "-q", "--hard"])
    mine = [*_KLINEAGE, str(repository), "--json"]
    floor, cold = [], []
    for turn in range(2):  # in turns, so that a busy moment hits both
        floor.append(_timed(lambda: _git_alone(repository)))
        os.environ["XDG_CACHE_HOME"] = str(folder / f"cache-{turn}")
        cold.append(_timed(lambda: _run(mine)))
    warm = min(_timed(lambda: _run(mine)) for _ in range(3))
    _commit(repository)
    rows = {
        "git alone": _row(min(floor)),
        "cold": _row(min(cold)),
        "nothing new": _row(warm),
        "one new commit": _row(_timed(lambda: _run(mine))),
    }
    commits = int(_run(["git", "-C", str(repository), "rev-list", "--count", "HEAD"])) - 1
    return {
        "commits": commits,
        "rows": rows,
        "ratio": round(rows["cold"]["user"] / rows["git alone"]["user"], 1),
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


def as_table(result: Mapping[str, Any]) -> str:
    """The results as Markdown."""
    lines = [
        f"Mining: {result['device']}, load {result['load']:.1f}; {result['date']}.",
        f"`{result['command']}`",
        "",
        "User CPU seconds, by the clock in brackets. *git alone* reads the log and the same blobs.",
        "",
        "| | commits | git alone | cold | cold ÷ git | nothing new | one new commit |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, one in result["repositories"].items():
        git, cold, warm, new = (f"{row['user']:.2f} ({row['wall']:.2f})" for row in one["rows"].values())
        lines.append(f"| {name} | {one['commits']} | {git} | {cold} | {one['ratio']}× | {warm} | {new} |")
    if synthetic := result.get("synthetic"):
        peak = f"peak {synthetic['peak_mb']} MB"
        counts = f"{synthetic['file_changes']:,} changes of kernel files, {synthetic['versions']:,} versions"
        lines += ["", f"{counts}, {synthetic['wall_s']} s: {peak}."]
    return "\n".join(lines) + "\n"


def _options_text(options: argparse.Namespace) -> str:
    """The command without the paths of this machine."""
    words = " ".join(f"--repo {origin.name}" for origin in options.repo)
    return words + (f" --synthetic {options.synthetic}" if options.synthetic else "")


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


def _commit(repository: Path) -> None:
    """Commits a change of one kernel."""
    for path in _run(["git", "-C", str(repository), "ls-files", "*.cu", "*.cuh", "*.py"]).split("\n"):
        file = repository / path
        text = file.read_text(errors="surrogateescape")
        changed = re.sub(r"(__global__[^{;]*\{)", r"\1 if (gridDim.x == 77) { return; }", text, count=1)
        if changed == text:
            changed = re.sub(r"(\n( *)\w+ = tl\.load\()", r"\n\2tl.debug_barrier()\1", text, count=1)
        if changed != text:
            file.write_text(changed, errors="surrogateescape")
            break
    me = ["-c", "user.name=A. Nonymous", "-c", "user.email=a@example.org"]
    _run(["git", "-C", str(repository), *me, "commit", "-q", "--no-verify", "-a", "-m", "measure"])


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
    """(user CPU of child processes, wall) in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    started = time.perf_counter()
    work()
    wall = time.perf_counter() - started
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, wall


def _row(times: tuple[float, float]) -> dict[str, float]:
    return {"user": round(times[0], 3), "wall": round(times[1], 3)}


def _run(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip("\n")
