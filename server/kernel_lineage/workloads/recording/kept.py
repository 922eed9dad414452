"""What was recorded, kept by the text that it was recorded from: the second time costs no run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from kernel_gate.files.reading import read_file
from kernel_gate.files.writing import write_atomically
from kernel_lineage.cache_folder import everything_kept, make_private
from kernel_lineage.workloads.recording.launches import launch_of
from kernel_lineage.workloads.recording.mains import Program
from kernel_lineage.workloads.recording.series import Series

_MOST_BYTES = 64 << 20
_FOLDER = "recordings"


def key_of(texts: Iterable[bytes]) -> str:
    """The name of a recording: by all that it is made from, this package among it."""
    package = Path(__file__).parent
    own = (p.read_bytes() for p in sorted(package.rglob("*")) if p.suffix in (".py", ".h", ".cpp"))
    digest = hashlib.sha256()
    for text in (*own, *texts):
        digest.update(len(text).to_bytes(8, "little"))
        digest.update(text)
    return digest.hexdigest()


def kept(key: str) -> Program | None:
    """The recording of that name; None where nothing is kept or it cannot be read."""
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        row = json.loads(read_file(_place(key), most=_MOST_BYTES))
        series = tuple(_series(one) for one in row["series"])
        return Program(series, str(row["why"]), is_finished=bool(row["is_finished"]))
    return None


def keep(key: str, program: Program) -> None:
    """Keep a recording. Where there is no room, it is made again."""
    series = [_row(one) for one in program.series]
    row = {"series": series, "why": program.why, "is_finished": program.is_finished}
    with suppress(OSError):
        make_private(_place(key).parent)
        write_atomically(_place(key), json.dumps(row).encode())


def _place(key: str) -> Path:
    return everything_kept() / _FOLDER / f"{key}.json"


def _row(series: Series) -> dict[str, Any]:
    return {
        "sizes": dict(series.sizes),
        "samples": [[dict(sizes), launch.row] for sizes, launch in series.samples],
        "way": series.way,
        "given": series.given,
        "shaped": sorted(series.shaped),
        "said": list(series.said),
        "promises": list(series.promises),
        "beside": [launch.row for launch in series.beside],
    }


def _series(row: dict[str, Any]) -> Series:
    def sizes(values: dict[str, Any]) -> dict[str, int]:
        return {str(n): int(v) for n, v in values.items()}

    return Series(
        sizes(row["sizes"]),
        tuple((sizes(values), launch_of(line)) for values, line in row["samples"]),
        str(row["way"]),
        bool(row["given"]),
        frozenset(str(s) for s in row["shaped"]),
        tuple(str(s) for s in row["said"]),
        tuple(str(p) for p in row["promises"]),
        tuple(launch_of(line) for line in row["beside"]),
    )
