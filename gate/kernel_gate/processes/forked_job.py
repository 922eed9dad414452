"""A job in a process that was forked for it: nothing of the server is left, and a module runs as `python -m` does."""

from __future__ import annotations

import atexit
import json
import os
import runpy
import sys
import tempfile
import traceback
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import NoReturn

_MODES = {"stdin": "r", "stdout": "w", "stderr": "w"}


@dataclass(frozen=True, slots=True)
class Job:
    """What a process is forked for."""

    module: str
    arguments: list[str]
    environment: dict[str, str]
    """All its variables."""
    folder: str

    def to_json(self) -> bytes:
        """For the process."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Job:
        """What `to_json` gave."""
        return cls(**json.loads(text))


def _begin_afresh(job: Job) -> None:
    """Variables, folder and streams of this process alone."""
    os.environ.clear()
    os.environ.update(job.environment)
    os.chdir(job.folder)
    sys.dont_write_bytecode = True
    tempfile.tempdir = None
    for handle, (name, mode) in enumerate(_MODES.items()):
        # As Python's UTF-8 mode opens them.
        errors = "backslashreplace" if name == "stderr" else "surrogateescape"
        stream = os.fdopen(handle, mode, encoding="utf-8", errors=errors, closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _status(error: SystemExit) -> int:
    """The exit status that an interpreter makes of it."""
    if error.code is None or isinstance(error.code, int):
        return int(error.code or 0) & 0xFF
    sys.stderr.write(f"{error.code}\n")
    return 1


def run_job(job: Job) -> NoReturn:
    """Run the job's module as the main one, and end this process as an interpreter would."""
    status = 0
    try:
        _begin_afresh(job)
        sys.argv[:] = ["-m", *job.arguments]
        runpy.run_module(job.module, run_name="__main__", alter_sys=True)
    except SystemExit as error:
        status = _status(error)
    except BaseException:  # noqa: BLE001 - as at the end of any program
        traceback.print_exc()
        status = 1
    # An orderly end would take apart, page by page, what the server has imported.
    with suppress(Exception):
        atexit._run_exitfuncs()  # noqa: SLF001 - what an orderly end begins with
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # nobody reads it any more
            stream.flush()
    os._exit(status)
