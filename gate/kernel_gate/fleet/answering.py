"""What `klineage judge` does: it says which gate it is, and answers requests of another machine, a line each."""

from __future__ import annotations

import base64
import binascii
import importlib.metadata
import os
import queue
import sys
import threading
from typing import TextIO

from pydantic import BaseModel, ValidationError

from kernel_gate.devices.base import DeviceError
from kernel_gate.fleet.travelling import ClusterError, gate_fingerprint, judged
from kernel_gate.request import ProgressLine
from kernel_gate.verdict import Verdict
from kernel_gate.worker import Worker


class Hello(BaseModel, extra="forbid", frozen=True):
    """The first line: which gate answers."""

    gate: str
    """`gate_fingerprint`."""
    version: str


class Question(BaseModel, extra="forbid", frozen=True):
    """A line of the machine that asks."""

    request: str
    """A `GateRequest` as JSON; its folder is none of this machine's."""
    files: dict[str, str]
    """What the workload names, in base64."""
    timeout: float


class Reply(BaseModel, extra="forbid", frozen=True):
    """A line of the machine that answers: one of these."""

    progress: ProgressLine | None = None
    verdict: Verdict | None = None
    missing: str | None = None
    """The device that was asked for is not here."""
    refused: str | None = None
    """The request cannot be read."""


def answer(into: TextIO) -> None:
    """Answer the requests of stdin. When the connection ends, what runs for it is ended too."""
    hello = Hello(gate=gate_fingerprint(), version=importlib.metadata.version("kernel-lineage"))
    _write(into, hello)
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    with Worker() as gate:
        threading.Thread(target=_read, args=(lines, gate), daemon=True).start()
        gate.prepare()
        while (line := lines.get()) is not None:
            _write(into, _answered(line, gate, into))


def _read(lines: queue.SimpleQueue[bytes | None], gate: Worker) -> None:
    """Hand on what is asked; the end of the connection ends this process, and what it judges."""
    for line in sys.stdin.buffer:
        lines.put(line)
    gate.close()
    os._exit(0)


def _answered(line: bytes, gate: Worker, into: TextIO) -> Reply:
    def progress(stage: str, what: str, share: float) -> None:
        _write(into, Reply(progress=ProgressLine(stage=stage, what=what, share=share)))

    try:
        question = Question.model_validate_json(line)
        files = {name: base64.b64decode(data, validate=True) for name, data in question.files.items()}
        return Reply(verdict=judged(gate, question.request, files, question.timeout, progress))
    except DeviceError as error:
        return Reply(missing=str(error))
    except (ValidationError, binascii.Error, ClusterError) as error:
        return Reply(refused=str(error))


def _write(into: TextIO, line: BaseModel) -> None:
    into.write(line.model_dump_json(exclude_none=True) + "\n")
    into.flush()
