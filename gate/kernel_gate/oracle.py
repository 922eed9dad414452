"""The oracle: a NumPy float64 function of the workload's author, run in a process of its own."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from kernel_gate.build.compile import child_environment
from kernel_gate.cases import Case
from kernel_gate.dtypes import DTYPES, Array
from kernel_gate.full_disk import MAKE_ROOM
from kernel_gate.inputs import integer_range
from kernel_gate.reasons import Reason
from kernel_gate.sandbox.group import kill_group
from kernel_gate.threads import of_oracles
from kernel_gate.workload import Argument, Workload


class OracleError(Exception):
    """An oracle that gives nothing usable; the message says what it said."""

    def __init__(self, message: str, *, code: Reason = Reason.ORACLE_FAILED) -> None:
        super().__init__(message)
        self.code = code


class OracleProcess:
    """A running oracle. A context manager: the process ends with it."""

    def __init__(self, workload: Workload, *, seconds: float = 120.0) -> None:
        if workload.oracle is None:
            raise OracleError("the workload has no oracle")
        file, _, self._function = workload.oracle.python.partition(":")
        self._path = (workload.folder or Path()) / file
        self._workload = workload
        self._seconds = seconds
        if not self._path.is_file():
            raise OracleError(f"the oracle {self._path} does not exist; put it beside the workload")
        self.source = self._path.read_bytes()

    def __enter__(self) -> OracleProcess:
        self._folder = tempfile.TemporaryDirectory(prefix="kernel-gate-oracle-", ignore_cleanup_errors=True)
        place = Path(self._folder.name)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "kernel_gate.oracle_child", str(self._path.resolve()), self._function],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=place,
            env={**child_environment(place), **of_oracles()},
            start_new_session=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        kill_group(self._process)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()
        self._folder.cleanup()

    def expected(self, case: Case, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Float64 (or exact) outputs in the shapes that the workload says.

        Raises `OracleError`, and `OSError` when there is no room for the inputs.
        """
        place = Path(self._folder.name)
        arguments = {a.name: a for a in self._workload.args}
        wide: dict[str, Any] = {
            name: DTYPES[arguments[name].dtype].wide(array) for name, array in inputs.items()
        }
        np.savez(place / "inputs.npz", **wide)
        outputs = [a for a in self._workload.args if a.kind in {"output", "inout"}]
        scalars = {**case.dims, **case.applied(self._workload).scalars(case.dims)}
        self._ask(
            {
                "inputs": str(place / "inputs.npz"),
                "result": str(place / "result.npz"),
                "outputs": [a.name for a in outputs],
                "scalars": {k: v for k, v in scalars.items() if k not in wide},
            }
        )
        result = {}
        with np.load(place / "result.npz", allow_pickle=False) as stored:
            for argument in outputs:
                shape = self._workload.extents(argument, case.dims)
                values = stored[argument.name]
                if values.size != int(np.prod(shape)):
                    raise OracleError(
                        f"the oracle gave {argument.name} of shape {values.shape}; the workload says {shape}"
                    )
                result[argument.name] = _as_declared(argument, values.reshape(shape))
        return result

    def _ask(self, request: Mapping[str, Any]) -> None:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise OracleError("the oracle's process has no pipes")
        try:
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()
        except BrokenPipeError as error:
            raise OracleError("the oracle's process ended") from error
        ready, _, _ = select.select([stdout], [], [], self._seconds)
        if not ready:
            raise OracleError(f"the oracle took longer than {self._seconds:g} s")
        line = stdout.readline()
        if not line:
            raise OracleError("the oracle's process ended without an answer")
        reply = json.loads(line)
        if reply.get("disk_full"):
            raise OracleError(
                f"the oracle's result does not fit on the disk of {tempfile.gettempdir()}; {MAKE_ROOM}",
                code=Reason.DISK_FULL,
            )
        if not reply["ok"]:
            raise OracleError(
                f"the oracle {self._workload.oracle.python if self._workload.oracle else ''} failed: {reply['error']}"
            )


def _as_declared(argument: Argument, values: Array) -> Array:
    """Float64 for floats; for exact types the oracle's numbers, all of which the type must hold."""
    dtype = DTYPES[argument.dtype]
    if dtype.is_float:
        return values.astype(np.float64)
    least, most = integer_range(dtype)
    outside = (values != np.rint(values)) | (values < least) | (values > most)
    if outside.any():
        first = values[np.unravel_index(int(np.argmax(outside)), values.shape)]
        raise OracleError(
            f"the oracle gave {argument.name} the value {first}, which {dtype.name} does not hold; "
            "round and clip as the kernel must"
        )
    return values.astype(dtype.storage)
