"""The tests that need a GPU, in two passes, with a report: `python tests/gpu.py [--report FOLDER] [pytest's options]`.

Those that judge times, or make a kernel hang, have the GPU to themselves (marker `alone`); the others share it, some
at once. `make test-gpu REPORT=FOLDER` calls this. Files without such tests are not even imported, so that a machine
with a GPU needs no more than they do. FOLDER gets `shared.xml`, `alone.xml` (JUnit) and `report.md`.
"""

from __future__ import annotations

import argparse
import datetime as dt
import importlib.util
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

TESTS = Path(__file__).parent
PASSES = {"shared": "gpu and not alone", "alone": "gpu and alone"}
NOTHING_COLLECTED = 5
_MOST_AT_ONCE = 6
"""A verdict takes some two cores, and five contexts on the GPU."""
_SLOWEST = 10


@dataclass(frozen=True)
class Case:
    """One test of a JUnit file."""

    name: str
    seconds: float
    outcome: str
    """`passed`, `failed` or `skipped`."""
    message: str = ""


def files_with_gpu_tests() -> list[Path]:
    """Those that name the marker."""
    return [p for p in sorted(TESTS.rglob("test_*.py")) if "mark.gpu" in p.read_text("utf-8")]


def at_once(cores: int) -> int:
    """How many of the tests that share the GPU run at once."""
    return max(1, min(_MOST_AT_ONCE, cores // 2))


def cases_of(junit: Path) -> list[Case]:
    """The tests of a JUnit file; none when pytest did not get so far as to write it."""
    if not junit.is_file():
        return []
    cases = []
    for case in ET.parse(junit).getroot().iter("testcase"):
        bad = next((case.find(kind) for kind in ("failure", "error") if case.find(kind) is not None), None)
        skipped = case.find("skipped")
        outcome = "failed" if bad is not None else "skipped" if skipped is not None else "passed"
        element = bad if bad is not None else skipped
        message = " ".join((element.get("message") or "").split()) if element is not None else ""
        cases.append(
            Case(
                f"{case.get('classname')}::{case.get('name')}", float(case.get("time") or 0), outcome, message
            )
        )
    return cases


def report(command: str, about: Sequence[str], passes: dict[str, tuple[float, int, list[Case]]]) -> str:
    """The report in Markdown."""
    cases = [case for _, _, of_pass in passes.values() for case in of_pass]
    counts = {o: sum(c.outcome == o for c in cases) for o in ("passed", "failed", "skipped")}
    whole = all(status in {0, NOTHING_COLLECTED} for _, status, _ in passes.values())
    right = bool(cases) and whole and not counts["failed"]
    lines = ["# Tests on a GPU", "", *(f"- {line}" for line in about), f"- `{command}`", ""]
    counts_text = ", ".join(f"{n} {o}" for o, n in counts.items())
    lines += [f"**{'Passed' if right else 'FAILED'}**: {counts_text}.", ""]
    lines += ["| pass | tests | seconds | exit status |", "|---|---|---|---|"]
    lines += [f"| {n} | {len(of_pass)} | {s:.0f} | {status} |" for n, (s, status, of_pass) in passes.items()]
    for outcome in ("failed", "skipped"):
        if counts[outcome]:
            lines += ["", f"## {outcome.capitalize()}", ""]
            lines += [f"- `{c.name}`: {c.message[:300]}" for c in cases if c.outcome == outcome]
    lines += ["", "## Slowest", "", "| test | seconds |", "|---|---|"]
    slowest = sorted(cases, key=lambda c: -c.seconds)[:_SLOWEST]
    lines += [f"| `{c.name}` | {c.seconds:.1f} |" for c in slowest]
    return "\n".join(lines) + "\n"


def device_lines() -> list[str]:
    """GPU, driver, toolkit and Python, as far as the machine tells."""
    asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        output = subprocess.run(asked, capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        output = ""
    device = "; ".join(output.split("\n")).strip("; ") or "no device: nvidia-smi says nothing"
    today = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    return [device, f"Python {sys.version.split()[0]}, {os.cpu_count()} cores", today]


def run_pass(marker: str, junit: Path, shards: int, more: Sequence[str]) -> tuple[float, int, list[Case]]:
    """Seconds, exit status and tests of one pass."""
    spread = ["-n", str(shards), "--dist", "load"] if shards > 1 and importlib.util.find_spec("xdist") else []
    files = [str(path) for path in files_with_gpu_tests()]
    command = [sys.executable, "-m", "pytest", "-m", marker, *spread, f"--junit-xml={junit}", *files, *more]
    started = time.monotonic()
    status = subprocess.run(command, cwd=TESTS.parent, check=False).returncode
    return time.monotonic() - started, status, cases_of(junit)


def main(arguments: Sequence[str]) -> int:
    """Run both passes; 0 when every test that ran has passed, and one did run."""
    parser = argparse.ArgumentParser(prog="tests/gpu.py", description=__doc__)
    parser.add_argument("--report", type=Path, help="where the JUnit files and report.md go")
    options, more = parser.parse_known_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        folder: Path = (options.report or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        shards = {"shared": at_once(os.cpu_count() or 1), "alone": 1}
        about = device_lines()
        passes = {
            name: run_pass(marker, folder / f"{name}.xml", shards[name], more)
            for name, marker in PASSES.items()
        }
        command = shlex.join(["python", "tests/gpu.py", *arguments])
        text = report(command, about, passes)
        (folder / "report.md").write_text(text, "utf-8")
    sys.stdout.write(text)
    return 0 if "**Passed**" in text else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
