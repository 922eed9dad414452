"""What becomes of the transitions of some histories when they are replayed, and why, as one table.

python -m tests.benchmarks replay NAME=PATH_OR_DOCUMENT … [--device cuda] [--seconds N] [--write]

A path is replayed, as `klineage replay PATH` does; what earlier runs found there is used again. A document is what
`klineage replay PATH --json` printed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Literal

from kernel_gate.fleet.places import places
from kernel_gate.fleet.pool import LocalPool
from kernel_lineage.learning.replay.document import ReplayDocument, ReplayedTransition
from kernel_lineage.learning.replay.repository import Asked, replay_repository

SUMMARY = "what becomes of the transitions of some histories when they are replayed, and why"
RESULTS = Path(__file__).parent / "results"
_STATUSES = ("reproduced", "failed", "unbuildable", "undecided")


def page(found: Mapping[str, ReplayDocument]) -> str:
    """The figures of every repository, then how often each reason is given."""
    devices = ", ".join(sorted({d.device for d in found.values()}))
    lines = [
        "# Replayed histories",
        "",
        f"`klineage replay REPO` on {devices}, {date.today().isoformat()}; no repository has a workload of its own.",
        "",
        "| repository | device | found | replayed | "
        + " | ".join(_STATUSES)
        + " | measured | seconds each |",
        "|---|---|" + "---:|" * (len(_STATUSES) + 4),
    ]
    for name, d in found.items():
        each = sum(t.seconds for t in d.transitions) / max(1, len(d.transitions))
        measured = sum(t.effect is not None for t in d.transitions)
        counted = " | ".join(str(d.statuses.get(status, 0)) for status in _STATUSES)
        lines.append(
            f"| {name} | {d.device} | {d.found} | {len(d.transitions)} | {counted} | {measured} | {each:.1f} |"
        )
    for name, d in found.items():
        lines += ["", f"## {name}", "", "| status | code | optimisations | fixes | reverts | all |"]
        lines += ["|---|---|---:|---:|---:|---:|", *_rows(d.transitions)]
    return "\n".join(lines) + "\n"


def _rows(transitions: list[ReplayedTransition]) -> list[str]:
    """How often each code is given, for each intent."""
    often = Counter((t.status, t.code) for t in transitions)
    by_intent = Counter((t.status, t.code, t.intent) for t in transitions)
    rows = []
    for (status, code), number in sorted(often.items(), key=lambda r: (_STATUSES.index(r[0][0]), -r[1])):
        counted = " | ".join(str(by_intent[status, code, i]) for i in ("optimisation", "fix", "revert"))
        rows.append(f"| {status} | `{code}` | {counted} | {number} |")
    return rows


def _document(
    path: Path, device: Literal["auto", "cuda", "emulated"], seconds: float | None
) -> ReplayDocument:
    if path.is_file():
        return ReplayDocument.model_validate_json(path.read_text())

    def told(done: int, total: int, _one: object) -> None:
        sys.stderr.write(f"\r{path.name}: {done} of {total} ")

    with LocalPool(places(device)) as pool:
        return replay_repository(
            path, Asked(device=device, seconds=seconds, learn=False), pool, told
        ).document


def main(arguments: list[str]) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repositories", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--device", choices=["auto", "cuda", "emulated"], default="auto")
    parser.add_argument("--seconds", type=float, help="for each repository; a further run goes on")
    parser.add_argument("--write", action="store_true", help="keep the table in results/")
    given = parser.parse_args(arguments)
    pairs = (named.split("=", 1) for named in given.repositories)
    found = {name: _document(Path(path), given.device, given.seconds) for name, path in pairs}
    text = page(found)
    print(text)  # noqa: T201
    if given.write:
        kind = "emulated" if all(d.device == "emulated" for d in found.values()) else "gpu"
        (RESULTS / f"replay_{kind}.md").write_text(text)
