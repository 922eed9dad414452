"""The short form of `make attack`'s kills and full disks: every kind of them, a few times."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are counted by Linux's means")
@pytest.mark.long
def test_kills_and_full_disks_lose_and_leave_nothing():
    jobs = ["mine", "write"]
    command = [sys.executable, "-m", "attacks.interruptions", "--kills", "3", "--full-disks", "2"]
    done = subprocess.run([*command, "--jobs", *jobs], cwd=TESTS, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith("| 0 | 0 | 0 | 0 |"), done.stdout
