"""The oracle's process ends with the gate's: also when the oracle hangs and the gate is killed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

PARENT = """\
import subprocess, sys
child = subprocess.Popen(
    [sys.executable, "-m", "kernel_gate.oracle_child", sys.argv[1], "slow"],
    stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True,
)
child.stdin.write(b"{}\\n")
child.stdin.flush()
print(child.pid, flush=True)
sys.stdin.read()
"""
GIVEN_UP = 30.0


def test_an_oracle_that_hangs_does_not_outlive_a_killed_gate(tmp_path: Path) -> None:
    oracle = tmp_path / "oracle.py"
    oracle.write_text(
        f"import pathlib, time\npathlib.Path({str(tmp_path / 'begun')!r}).touch()\ntime.sleep(600)\n"
    )
    gate = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(oracle)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert gate.stdout is not None and gate.stdin is not None
    child = Path("/proc", gate.stdout.readline().strip())
    assert _within(GIVEN_UP, (tmp_path / "begun").exists)
    gate.kill()
    gate.communicate()
    assert _within(
        GIVEN_UP, lambda: not child.exists() or "Z" in (child / "stat").read_text().rpartition(")")[2]
    )


def _within(seconds: float, happened) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if happened():
            return True
        time.sleep(0.05)
    return False
