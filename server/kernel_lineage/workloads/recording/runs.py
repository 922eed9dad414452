"""Runs of a program that records, at several sizes, in one sandbox; and its launches as they were."""

from __future__ import annotations

import json
import re
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel_gate.build.compile import Limits
from kernel_gate.build.contained_run import run_contained
from kernel_gate.files.reading import read_file
from kernel_gate.sandbox.containment import ContainmentError
from kernel_lineage.workloads.recording.build import Built, RecordingError

_MOST_RECORD = 64 << 20
_ADDRESSES = 1 << 46
"""Address space of a run: buffers of any size are mapped, and few of their pages are touched."""
_FOLDER_BYTES = 256 << 20
_PROCESSES = 24
_MOST_SAID = 2_000_000
"""Bytes of what a run prints."""
_SPARE_SECONDS = 5.0
_TIME_IS_UP = 124


@dataclass(frozen=True, slots=True)
class Held:
    """What a pointer of an argument points into."""

    at: int
    """Bytes from the argument's start to the pointer."""
    buffer: int | None
    """The allocation's number; None for a null pointer, and for one into no allocation."""
    is_null: bool = False
    offset: int = 0
    size: int = 0
    """Bytes of the allocation."""
    how: str = ""
    """Who wrote there last: "unset", "cleared", "data" (the host), "kernel"."""
    name: str = ""
    dtype: str = ""
    shape: tuple[int, ...] = ()
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """One argument of a launch."""

    type: str
    """As g++ spells it: `const float*`."""
    data: bytes
    alignment: int
    pointers: tuple[Held, ...]


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch."""

    kernel: str
    """Demangled, with template arguments and parameter types."""
    call: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    shared_bytes: int
    cooperative: bool
    arguments: tuple[Recorded, ...]
    row: str
    """The line that it was read from."""

    @property
    def name(self) -> str:
        """The kernel's name with namespaces, without template arguments and parameters."""
        return _without_brackets(self.kernel)

    @property
    def template(self) -> tuple[str, ...]:
        """The template's arguments as C++."""
        return template_arguments(self.kernel)


@dataclass(frozen=True, slots=True)
class Run:
    """What to run."""

    sizes: Mapping[str, int]
    """Of those that the code writes out, by their names."""
    arguments: tuple[str, ...] = ()
    last: int = 0
    """Launches after which it may end; 0 for all."""
    seconds: float = 2.0
    calls: str = ""
    """Lines that the program reads from its input."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What a run gave."""

    launches: tuple[Launch, ...]
    why: str
    """How it ended, in words; "" for status 0."""
    output: str


def run(built: Built, runs: Sequence[Run], folder: Path, root: Path, cwd: Path) -> list[Ended]:
    """Each run's launches. The program reads below `root`, writes in `folder` and starts in `cwd`.

    Raises `RecordingError` where nothing can be contained.
    """
    folder = Path(tempfile.mkdtemp(prefix="runs-", dir=folder))
    lines = []
    for number, one in enumerate(runs):
        record, said, calls = (folder / f"{kind}{number}" for kind in ("record", "said", "calls"))
        calls.write_text(one.calls, "utf-8")
        variables = {f"KLINEAGE_SIZE_{name}": str(size) for name, size in one.sizes.items()}
        variables |= {"KLINEAGE_RECORD": str(record), "KLINEAGE_LAST": str(one.last), "OMP_NUM_THREADS": "1"}
        given = " ".join(shlex.quote(f"{n}={v}") for n, v in variables.items())
        program = " ".join(shlex.quote(word) for word in (str(built.program), *one.arguments))
        limited = f"timeout --foreground -s KILL {one.seconds:g} {program}"
        status = shlex.quote(str(folder / f"status{number}"))
        lines.append(
            f"env {given} {limited} <{shlex.quote(str(calls))} 2>&1 | head -c {_MOST_SAID} >{shlex.quote(str(said))}"
            f"; echo ${{PIPESTATUS[0]}} >{status}"
        )
    script = folder / "runs.sh"
    script.write_text("ulimit -c 0\n" + "\n".join(lines) + "\n", "utf-8")
    seconds = sum(one.seconds for one in runs) + _SPARE_SECONDS
    limits = Limits(seconds, _ADDRESSES, folder_bytes=_FOLDER_BYTES, files=2000, processes=_PROCESSES)
    try:
        done = run_contained(
            ["/bin/bash", str(script)], folder, readable=[root, built.program], cwd=cwd, limits=limits
        )
    except ContainmentError as error:
        raise RecordingError(f"host code is not run where it cannot be contained: {error}") from error
    except OSError as error:
        raise RecordingError(f"the recorded program cannot be started: {error.strerror or error}") from error
    return [_ended(folder, number, done.excess) for number in range(len(runs))]


def _ended(folder: Path, number: int, excess: str) -> Ended:
    launches: list[Launch] = []
    for line in _lines(folder / f"record{number}"):
        with suppress(ValueError, KeyError, TypeError):  # the program may have written there itself
            launches.append(launch_of(line))
    said = "\n".join(_lines(folder / f"said{number}"))
    status = "".join(_lines(folder / f"status{number}"))
    return Ended(tuple(launches), _ending(status, excess), said)


def _ending(status: str, excess: str) -> str:
    if not status:
        return f"it {excess}" if excess else "it was not run"
    if not status.isdigit() or int(status) == 0:
        return ""
    number = int(status)
    if number in (_TIME_IS_UP, 137):
        return "its time was up"
    return f"it ended with signal {number - 128}" if number > 128 else f"it ended with status {number}"


def _lines(path: Path) -> list[str]:
    try:
        return read_file(path, most=_MOST_RECORD).decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def launch_of(line: str) -> Launch:
    """The launch that a line tells of. Raises `ValueError`, `KeyError`, `TypeError` for one that tells of none."""
    row = json.loads(line)

    def extents(key: str) -> tuple[int, int, int]:
        x, y, z = (int(n) for n in row[key])
        return x, y, z

    return Launch(
        str(row["kernel"]),
        str(row["call"]),
        extents("grid"),
        extents("block"),
        extents("cluster"),
        int(row["shared"]),
        bool(row["cooperative"]),
        tuple(_argument(a) for a in row["arguments"]),
        line,
    )


def _argument(row: Mapping[str, Any]) -> Recorded:
    return Recorded(
        str(row["type"]),
        bytes.fromhex(row["bytes"]),
        int(row["alignment"]),
        tuple(_held(int(at), p) for at, p in row["pointers"]),
    )


def _held(at: int, row: Mapping[str, Any]) -> Held:
    if "buffer" not in row:
        return Held(at, None, is_null="null" in row)
    return Held(
        at,
        int(row["buffer"]),
        offset=int(row["offset"]),
        size=int(row["bytes"]),
        how=str(row["how"]),
        name=str(row["name"]),
        dtype=str(row["dtype"]),
        shape=tuple(int(n) for n in row["shape"]),
        low=row.get("low"),
        high=row.get("high"),
    )


def _head(kernel: str) -> str:
    """`void ns::k<float, 4>(float*)` without its parameters."""
    depth = 0
    for place, character in enumerate(kernel):
        depth += (character == "<") - (character == ">" and kernel[place - 1] != "-")
        if character == "(" and depth == 0 and not kernel.startswith("(anonymous namespace)", place):
            return kernel[:place]
    return kernel


def _without_brackets(kernel: str) -> str:
    head, before = _head(kernel), ""
    while head != before:
        head, before = re.sub(r"<[^<>]*>", "", head), head
    return head.split()[-1] if "(anonymous namespace)" not in head else head[head.index("(") :]


def template_arguments(kernel: str) -> tuple[str, ...]:
    """The arguments of the kernel's own template, as C++ reads them."""
    head = _head(kernel)
    if not head.endswith(">"):
        return ()
    depth = 0
    for place in range(len(head) - 1, -1, -1):
        depth += (head[place] == ">") - (head[place] == "<")
        if depth == 0:
            return tuple(_as_source(part) for part in _parts(head[place + 1 : -1]))
    return ()


def _parts(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for place, character in enumerate(text):
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [part.strip() for part in (*parts, text[start:]) if part.strip()]


def _as_source(text: str) -> str:
    """`(bool)1` as `true`, `(int)4` and `4u` as numbers, and types without what only a demangler writes."""
    text = re.sub(r"\(bool\)([01])", lambda m: "true" if m[1] == "1" else "false", text)
    text = re.sub(r"\((?:unsigned )?(?:int|long|char|short)\)(?=-?\d)", "", text)
    text = re.sub(r"\b(\d+)(?:u|l|ul)\b", r"\1", text)
    return text.replace("(anonymous namespace)::", "")
