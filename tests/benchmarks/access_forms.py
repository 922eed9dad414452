"""How far neighbouring lanes reach apart: the reader's forms beside the addresses of the emulated device.

    python -m tests.benchmarks access_forms NAME=FOLDER … [--show wrong|unknown|absent] [--json FILE]

Every kernel of a folder whose slice compiles is launched once on drawn arguments and one block is recorded. A row is
what one line does to one memory space, loads or stores. The truth is the set of distances in bytes between the
addresses of neighbouring lanes; the reader's row is right when it names all of them, wrong when it names another one,
unknown when it says that it does not know, absent when it says nothing of memory on that line.
"""

from __future__ import annotations

import argparse
import json
import posixpath
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tests.benchmarks.lane_strides import lane_stride

from kernel_gate.build.errors import BuildError
from kernel_gate.build.nvrtc import compile_nvrtc
from kernel_gate.devices.base import DeviceError
from kernel_gate.devices.emulated import EmulatedDevice, Recording
from kernel_gate.emulated.launch import Checks, Limits
from kernel_gate.program import Program
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.kernels.cuda import parse
from kernel_lineage.kernels.slicing import device_slice
from kernel_lineage.kernels.source import Kernel, SourceFile

SUMMARY = "how far neighbouring lanes reach apart: the reader's forms beside the emulated device's addresses"
_BYTES = 1 << 24
_MOST_KERNELS = 60
_TYPES = {"typename": "float", "int": "32", "bool": "false", "unsigned": "32", "size_t": "32"}
_INCLUDE = re.compile(rb'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)
Row = tuple[int, str, str]
"""Line, space, and `load` or `store`."""
Truth = dict[Row, set[int | str]]


@dataclass
class Score:
    """Rows of one folder."""

    kernels: int = 0
    not_run: Counter[str] = field(default_factory=Counter)
    rows: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """What is kept."""
        total = sum(self.rows.values()) or 1
        shares = {k: round(100 * self.rows[k] / total, 2) for k in ("right", "wrong", "unknown", "absent")}
        milliseconds = round(1000 * float(np.median(self.seconds)), 2) if self.seconds else 0.0
        counts = {"kernels": self.kernels, "rows": sum(self.rows.values()), "not run": dict(self.not_run)}
        return {**counts, "percent": shares, "median ms to read a kernel": milliseconds}


def headers_of(path: Path, root: Path, seen: dict[Path, bytes]) -> None:
    """The repository's own files that a file includes, those that are included first before the others."""
    data = path.read_bytes()
    for match in _INCLUDE.finditer(data):
        name = match[1].decode("utf-8", "replace")
        for folder in (path.parent, root, root / "include", root / "csrc", root / "Common"):
            target = Path(posixpath.normpath((folder / name).as_posix()))
            if target.is_file() and target not in seen and target != path:
                seen[target] = b""
                headers_of(target, root, seen)
                seen[target] = target.read_bytes()


def truth_of(
    program: Program, kernel: Kernel, line_map: tuple[tuple[str, int] | None, ...], path: str
) -> Truth:
    """What a launch of one block did. Raises `BuildError` and `DeviceError`."""
    image = compile_nvrtc(program)
    device = EmulatedDevice(checks=Checks(races=False), limits=Limits(seconds=6.0))
    loaded = device.load(image)
    drawn = np.random.default_rng(3)
    arguments: list[Any] = []
    sizes = iter((128, 96, 64, 32, 160, 192, 224, 256, 288, 320) * 4)
    for number, (_, nbytes) in enumerate(loaded.kernel.layout.parameters.values()):
        declared = kernel.parameters[number] if number < len(kernel.parameters) else None
        if declared is not None and declared.pointer:
            buffer = device.allocate(_BYTES, declared.name or "unnamed", 4)
            whole = (declared.dtype or "").startswith(("int", "uint"))
            wide = "64" in (declared.dtype or "")
            values = drawn.integers(0, 64, _BYTES // 8, np.int64) if wide else (
                drawn.integers(0, 64, _BYTES // 4, np.int32) if whole
                else np.full(_BYTES // 4, 0.5, np.float32))  # fmt: skip
            buffer.write(values.view(np.uint8))
            arguments.append(buffer)
        elif declared is not None and (declared.dtype or "").startswith("float"):
            arguments.append({2: np.float16, 4: np.float32, 8: np.float64}[nbytes](0.5))
        elif nbytes in (1, 2, 4, 8):
            kind = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[nbytes]
            arguments.append(kind(1 if nbytes == 1 else next(sizes)))
        else:
            raise DeviceError("a struct is an argument")
    flat = "threadIdx.y" not in kernel.text and "thread_index" not in kernel.text
    threads = (128, 1, 1) if flat else (32, 8, 1)
    recording = Recording(0, (1, 0, 0))
    device.record(recording)
    result = loaded.launch((2, 2, 2), threads, 1 << 14, arguments)
    trace, decoded = recording.trace, recording.kernel
    if trace is None or decoded is None:
        raise DeviceError("; ".join(sorted({f.kind for f in result.faults})))
    truth: Truth = defaultdict(set)
    x = np.array([thread[0] for _, thread in trace.places])
    flat_rank = np.array([t[0] + threads[0] * (t[1] + threads[1] * t[2]) for _, t in trace.places])
    for event in trace.events:
        line = decoded.flat.body[event.number].line
        at = line_map[line - 1] if line is not None and 0 < line <= len(line_map) else None
        if line is None or (at is not None and at[0] != path):
            continue
        for touch in event.touches:
            if touch.space not in ("global", "shared"):
                continue
            who = np.asarray(touch.threads)
            same = (np.diff(flat_rank[who]) == 1) & (np.diff(x[who]) == 1) & (flat_rank[who][1:] % 32 != 0)
            steps = np.diff(np.asarray(touch.first, np.int64))[same]
            if not len(steps):
                continue
            kinds = ("load", "store") if touch.purpose == "atomic" else (
                "store" if touch.purpose == "write" else "load",)  # fmt: skip
            for kind in kinds:
                distinct = np.unique(steps)
                truth[line, touch.space, kind].add(int(distinct[0]) if len(distinct) == 1 else "mixed")
    return truth


def reader_of(
    kernel: Kernel, headers: tuple[SourceFile, ...], template: tuple[str, ...]
) -> dict[Row, list[tuple[str, int | None, str]]]:
    """The reader's forms, with the distance in bytes where it says one."""
    model = read_open(kernel, headers, template)
    forms: dict[Row, list[tuple[str, int | None, str]]] = defaultdict(list)
    for access in model.accesses:
        stride = lane_stride(model, access)
        space = "global" if access.space == "constant" else access.space
        for kind in ("load",) * access.reads + ("store",) * access.writes:
            for line in {access.line, *access.calls[:1]}:
                forms[line, space, kind].append((stride.form, stride.nbytes, stride.why))
    for line, why in model.problems:
        for space in ("global", "shared"):
            for kind in ("load", "store"):
                forms[line, space, kind].append(("unknown", None, why))
    return forms


def judged(true: set[int | str], forms: list[tuple[str, int | None, str]]) -> str:
    """`right`, `wrong`, `unknown` or `absent`."""

    def fits(distance: int | str, form: str, nbytes: int | None) -> bool:
        if distance == "mixed" or form in ("mixed", "uniform"):
            return (distance == "mixed" and form == "mixed") or (distance == 0 and form == "uniform")
        return distance != 0 and form in ("unit", "strided") and nbytes in (None, distance)

    if not forms:
        return "absent"
    left = {d for d in true if not any(fits(d, form, nbytes) for form, nbytes, _ in forms)}
    if not left:
        return "right"
    return "unknown" if any(form == "unknown" for form, _, _ in forms) else "wrong"


def template_of(kernel: Kernel) -> tuple[str, ...]:
    """Arguments of a template: those of a launch that are literals, else a usual one of each kind."""
    for launch in kernel.launches:
        arguments = launch.template_arguments
        if len(arguments) == len(kernel.template_parameters) and all(
            re.fullmatch(r"\d+|float|true|false", g) for g in arguments
        ):
            return arguments
    return tuple(_TYPES.get(p.type or "typename", "32") for p in kernel.template_parameters)


def rows(root: Path, score: Score, show: str) -> Iterator[str]:
    """Reads and runs every kernel of a folder; gives the rows that are to be shown."""
    for path in sorted([*root.rglob("*.cu"), *root.rglob("*.cuh")]):
        source = parse(path.read_bytes())
        texts: dict[Path, bytes] = {}
        headers_of(path, root, texts)
        headers = tuple(parse(data) for data in texts.values())

        def resolve(name: str, folder: Path = path.parent) -> bytes | None:
            for start in (folder, root, root / "include", root / "csrc", root / "Common"):
                if (start / name).is_file():
                    return (start / name).read_bytes()
            return None

        for kernel in source.kernels:
            if score.kernels >= _MOST_KERNELS:
                return
            arguments = template_of(kernel)
            sliced = device_slice(source, kernel.name, resolve, path.name, arguments)
            program = Program("cuda", sliced.text, kernel.name, template_arguments=arguments)
            try:
                true = truth_of(program, kernel, (), path.name)
            except (BuildError, DeviceError) as error:
                score.not_run[type(error).__name__ + (f" {error}"[:60] if show == "not-run" else "")] += 1
                continue
            if not true:
                score.not_run["no memory was reached"] += 1
                continue
            started = time.process_time()
            forms = reader_of(kernel, headers, arguments)
            score.seconds.append(time.process_time() - started)
            score.kernels += 1
            inside = range(kernel.span.first_line, kernel.span.last_line + 1)
            for row, distances in sorted(true.items()):
                line, space, kind = row
                if line not in inside:
                    continue
                outcome = judged(distances, forms.get(row, []))
                score.rows[outcome] += 1
                if outcome == show:
                    text = source.data.splitlines()[line - 1].decode("utf-8", "replace").strip()
                    description = f"{space} {kind} {distances} {forms.get(row)}"
                    yield f"{path.relative_to(root)}:{line} {kernel.name} {description} {text}"


def main(arguments: list[str]) -> None:
    """Print the shares of each folder, and the rows of one outcome."""
    parser = argparse.ArgumentParser(prog="access_forms", description=__doc__)
    parser.add_argument("folders", nargs="+", metavar="NAME=FOLDER")
    parser.add_argument("--show", default="")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    document = {}
    for folder in options.folders:
        name, _, where = folder.partition("=")
        score = Score()
        for line in rows(Path(where), score, options.show):
            print(line, flush=True)  # noqa: T201
        document[name] = score.document()
        print(name, json.dumps(document[name]), file=sys.stderr, flush=True)  # noqa: T201
    if options.json:
        options.json.write_text(json.dumps(document, indent=2) + "\n")
