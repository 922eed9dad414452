"""The oracle: a NumPy float64 function of the workload's author, run in a process of its own."""

import os
import stat
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from kernel_gate.arguments import Argument
from kernel_gate.build.compile import Limits
from kernel_gate.build.contained_run import decided
from kernel_gate.cases import Case
from kernel_gate.contained_child import ChildError, ContainedChild
from kernel_gate.dtypes import DTYPES, Array
from kernel_gate.files.reading import MOST_TEXT
from kernel_gate.full_disk import MAKE_ROOM
from kernel_gate.inputs import integer_range
from kernel_gate.processes.closing import Closing
from kernel_gate.processes.python import python_command
from kernel_gate.reasons import Reason
from kernel_gate.sandbox.containment import ContainmentError
from kernel_gate.threads import of_oracles
from kernel_gate.workload import Workload, read_companion

_ANSWER_BYTES = 1 << 16
_ELEMENT_BYTES = 32
"""The widest number that NumPy has."""
_HEADER_BYTES = 1 << 16
_CPU_SECONDS = 24 * 3600
"""Over all cases; each has its own limit of time."""
_RESULT_BYTES = 16 << 30
_MOST_BESIDE = 500


class OracleError(Exception):
    """An oracle that gives nothing usable; the message says what it said."""

    def __init__(self, message: str, *, code: Reason = Reason.ORACLE_FAILED) -> None:
        super().__init__(message)
        self.code = code


class OracleProcess(Closing):
    """A running oracle. A context manager: the process ends with it."""

    def __init__(
        self, workload: Workload, *, seconds: float = 120.0, allow_uncontained: bool = False
    ) -> None:
        if workload.oracle is None:
            raise OracleError("the workload has no oracle")
        file, _, self._function = workload.oracle.python.partition(":")
        self._path = (workload.folder or Path()) / file
        self._workload = workload
        self._seconds = seconds
        try:
            self.source = read_companion(workload.folder, file, MOST_TEXT)
        except FileNotFoundError:
            raise OracleError(f"the oracle {self._path} does not exist; put it beside the workload") from None
        except OSError as error:
            raise OracleError(f"the oracle {self._path} cannot be read: {error.strerror}") from None
        self._limits = Limits(
            seconds=_CPU_SECONDS, output_bytes=_RESULT_BYTES, folder_bytes=2 * _RESULT_BYTES
        )
        try:
            self._containment = decided(allow_uncontained=allow_uncontained)
        except ContainmentError as error:
            raise OracleError(f"the oracle {self._path.name} is Python: {error}") from error

    @property
    def contained(self) -> bool:
        """Whether files, networks and other processes are kept from it."""
        return self._containment.holds

    def beside(self) -> tuple[tuple[str, int, int], ...] | None:
        """Path, size and time (ns) of the Python files that it may import; None for more than are looked at."""
        files: list[tuple[str, int, int]] = []
        for looked_at, path in enumerate(self._path.parent.rglob("*")):
            if looked_at > _MOST_BESIDE:
                return None
            if path.suffix == ".py":
                about = path.lstat()
                files.append((str(path), about.st_size, about.st_mtime_ns))
        return tuple(sorted(files))

    @property
    def runs(self) -> bool:
        """Whether its process is there."""
        return self._child.runs

    def __enter__(self) -> Self:
        self._child = ContainedChild(
            "the oracle",
            python_command("kernel_gate.oracle_child", str(self._path.resolve()), self._function),
            readable=[self._path.resolve().parent],
            environment=of_oracles(),
            limits=self._limits,
            containment=self._containment,
            answer_bytes=_ANSWER_BYTES,
        )
        return self

    def close(self) -> None:
        self._child.close()

    def expected(self, case: Case, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Float64 (or exact) outputs in the shapes that the workload says.

        Raises `OracleError`, and `OSError` when there is no room for the inputs.
        """
        place = self._child.folder
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
        shapes = {a.name: self._workload.extents(a, case.dims) for a in outputs}
        elements = sum(int(np.prod(shape)) for shape in shapes.values())
        most = _ELEMENT_BYTES * elements + _HEADER_BYTES * (1 + len(outputs))
        with _opened(place / "result.npz", most) as file, np.load(file, allow_pickle=False) as stored:
            for argument in outputs:
                shape = shapes[argument.name]
                values = stored[argument.name]
                if values.size != int(np.prod(shape)):
                    raise OracleError(
                        f"the oracle gave {argument.name} of shape {values.shape}; the workload says {shape}"
                    )
                result[argument.name] = _as_declared(argument, values.reshape(shape))
        return result

    def _ask(self, request: Mapping[str, Any]) -> None:
        try:
            self._child.say(request)
            reply = self._child.hear(self._seconds)
        except ChildError as error:
            raise OracleError(str(error)) from error
        if reply.get("disk_full"):
            raise OracleError(
                f"the oracle's result does not fit on the disk of {tempfile.gettempdir()}; {MAKE_ROOM}",
                code=Reason.DISK_FULL,
            )
        if reply.get("ok") is not True:
            name = self._workload.oracle.python if self._workload.oracle else ""
            raise OracleError(f"the oracle {name} failed: {reply.get('error')}")


class KeptOracle:
    """The oracle of the last run, which waits for the next run on the same workload and files."""

    def __init__(self) -> None:
        self._key: tuple[object, ...] = ()
        self._process: OracleProcess | None = None

    @contextmanager
    def lent(self, workload: Workload, *, allow_uncontained: bool = False) -> Iterator[OracleProcess]:
        """The oracle's process, for one run. After an exception it is ended. Raises `OracleError`."""
        process = OracleProcess(workload, allow_uncontained=allow_uncontained)
        key = (
            workload.model_dump_json(),
            workload.folder,
            allow_uncontained,
            process.source,
            process.beside(),
        )
        if key != self._key or None in key or self._process is None or not self._process.runs:
            self.close()
            self._process = process.__enter__()
            self._key = key
        try:
            yield self._process
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.close()


def _opened(path: Path, most: int) -> IO[bytes]:
    """A result, when it is a plain file that does not hold more than `most` bytes. Raises `OracleError`."""
    try:
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
    except OSError as error:
        raise OracleError(f"the oracle's result cannot be read: {error.strerror}") from error
    try:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OracleError("the oracle's result is not a file")
        with zipfile.ZipFile(file) as members:
            if sum(member.file_size for member in members.infolist()) > most:
                raise OracleError("the oracle gave more than its outputs hold")
        file.seek(0)
    except (OracleError, zipfile.BadZipFile) as error:
        file.close()
        if isinstance(error, OracleError):
            raise
        raise OracleError("the oracle's result cannot be read") from error
    return file


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
