"""Programs that tests write and run."""

import subprocess
from pathlib import Path


def write_executable(path: Path, text: str) -> None:
    """
    Write the program in a process of its own.

    Linux starts no program that some process has open for writing ("Text file busy"), and a process that another
    thread of the tests starts meanwhile would inherit the open file.
    """
    subprocess.run(["install", "-m", "755", "/dev/stdin", path], input=text.encode(), check=True)
