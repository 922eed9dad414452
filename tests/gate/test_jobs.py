"""Commands in groups of their own."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from kernel_gate.processes.jobs import run, run_python

WITH_CHILD = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, file=sys.stderr, flush=True)
child.wait()
"""
DEAF = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + WITH_CHILD


async def test_what_a_command_says_and_how_it_ends(tmp_path):
    script = "import sys; print(sys.stdin.read().upper()); print('one\\ntwo', file=sys.stderr); sys.exit(3)"
    lines = []
    finished = await run([sys.executable, "-c", script], folder=tmp_path, stdin=b"text", on_line=lines.append)
    assert (finished.code, finished.stdout, finished.last_lines) == (3, b"TEXT\n", ("one", "two"))
    assert lines == ["one", "two"]


async def test_a_command_that_reads_nothing_is_no_error(tmp_path):
    finished = await run([sys.executable, "-c", ""], folder=tmp_path, stdin=b"x" * (1 << 22))
    assert finished.code == 0


async def test_a_line_that_is_too_long_is_dropped_and_the_rest_is_read(tmp_path):
    script = "import sys; sys.stderr.write('x' * (3 << 20) + '\\nlast\\n')"
    finished = await run([sys.executable, "-c", script], folder=tmp_path)
    assert finished.last_lines[-1] == "last"


async def test_klineage_runs_whatever_lies_in_the_folder(tmp_path):
    (tmp_path / "click.py").write_text("raise SystemExit('the wrong click')")
    finished = await run_python("kernel_lineage", "--version", folder=tmp_path)
    assert finished.stdout.startswith(b"klineage, version")


@pytest.mark.parametrize(
    "script", [WITH_CHILD, DEAF], ids=["a command that ends when asked", "one that does not"]
)
async def test_cancelling_ends_the_whole_group(tmp_path, script, monkeypatch):
    monkeypatch.setattr("kernel_gate.processes.jobs.GRACE", 0.2)
    child: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    command = [sys.executable, "-c", script]
    job = asyncio.create_task(run(command, folder=tmp_path, on_line=lambda line: child.set_result(int(line))))
    pid = await asyncio.wait_for(child, 20)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    await asyncio.wait_for(_ended(pid), 20)


async def _ended(pid: int) -> None:
    """Until the process is gone, or is only waiting to be collected."""
    while True:
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            return
        if state == "Z":
            return
        await asyncio.sleep(0.01)
