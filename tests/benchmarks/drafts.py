"""For how many kernels of some repositories a workload is drafted, and what the rest lack.

python -m tests.benchmarks drafts NAME=REPOSITORY:FOLDER[,FOLDER] … [--check] [--seconds 20] [--no-runs]
    [--record] [--half first|second] [--draw 12 [--skip 12]] [--rows FILE] [--write]
python -m tests.benchmarks drafts --from FILE … [--write]
python -m tests.benchmarks drafts NAME=REPOSITORY: … --from FILE --sample 40 --rows FILE

Every kernel of the folders is drafted from its repository as it stands on disk. With `--check`, each complete draft is
given to the gate with the kernel as its own candidate, on the emulated device. With `--no-runs`, no kernel is run to
see its shapes: what is complete then is told by source alone. One process at a time. `--half` takes the files of one
half, drawn by the hash of their paths, so that one half can be looked at and the other kept for the score. `--from`
makes the table of rows that earlier runs have written; with `--sample`, so many of their complete drafts, drawn by the
hash of path and kernel, are given to the gate, which is quicker than `--check` for all.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path

from kernel_gate.deadline import ends_within
from kernel_gate.workload import WorkloadError
from kernel_lineage.kernels.reading import language_of
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.completing import tried_draft
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.of_state import NoDraft, State, draft_for
from kernel_lineage.workloads.programs import ProgramError
from kernel_lineage.workloads.recording.recorder import Recorder

SUMMARY = "how many kernels of some repositories get a complete workload draft, and how many pass with it"
RESULTS = Path(__file__).parent / "results" / "drafts.md"
_ROWS_MOST = 14
_DRAFT_SECONDS = 300.0
"""What one draft may take, as with `klineage workload init`."""
_SUFFIXES = frozenset({".cu", ".cuh", ".py"})


@dataclass(frozen=True)
class Row:
    """One kernel."""

    repository: str
    path: str
    kernel: str
    seconds: float
    """What the draft took."""
    missing: tuple[str, ...]
    checked: str | None = None
    """What the gate says of the kernel against itself: "" that it passes; None where it was not asked."""
    check_seconds: float | None = None
    """What the check took; after `--no-runs`, drafting again with runs as well."""
    unrecorded: str = ""
    """Why nothing was recorded that would answer what is missing."""


def rows(
    name: str,
    location: str,
    check: bool,
    seconds: float,
    only: str,
    measure: bool = True,
    language: Language | None = None,
    half: str = "",
    record: bool = False,
    most: int = 0,
    skip: int = 0,
) -> Iterator[Row]:
    """The kernels of one repository, or of one half of its files, in the order of the files.

    With `most`, so many of them after the first `skip`, in the order of the hash of path and kernel.
    """
    root, _, folders = location.partition(":")
    state = State(Path(root).resolve())
    recorder = Recorder(state.root) if record else None
    drawn: list[tuple[str, str]] = []
    for file in files_of(Path(root), folders.split(",") if folders else [""]):
        path = str(file.relative_to(root))
        if half not in ("", _half(path)):
            continue
        written_in = language_of(path, file.read_bytes())
        wanted = written_in is not None and language in (None, written_in)
        kernels = state.source(path).kernels if wanted else ()
        drawn += [(path, kernel.name) for kernel in kernels if only in kernel.name]
    for path, kernel in sorted(drawn, key=lambda one: _drawn(*one))[skip : skip + most] if most else drawn:
        started = time.monotonic()
        with ends_within(_DRAFT_SECONDS):
            draft = draft_for(state, path, kernel, measure=measure, recorder=recorder)
        took = time.monotonic() - started
        missing = draft.reasons if isinstance(draft, NoDraft) else ()
        partial = draft.draft if isinstance(draft, NoDraft) else None
        why = partial.unrecorded if partial is not None else ""
        row = Row(name, path, kernel, round(took, 3), missing, unrecorded=why)
        made = draft if measure and isinstance(draft, Draft) else None
        yield _checked(row, state, seconds, recorder, made) if check and not missing else row


def _drawn(path: str, kernel: str) -> bytes:
    return hashlib.sha256(f"{path}:{kernel}".encode()).digest()


def _half(path: str) -> str:
    return ("first", "second")[hashlib.sha256(path.encode()).digest()[0] & 1]


def files_of(root: Path, folders: list[str]) -> list[Path]:
    paths = [f for folder in folders for f in (root / folder).rglob("*") if f.suffix in _SUFFIXES]
    return sorted(f for f in paths if not {".git", "tests", "test"} & set(f.relative_to(root).parts))


def _checked(row: Row, state: State, seconds: float, recorder: Recorder | None, draft: Draft | None) -> Row:
    kernel = state.kernel(row.path, row.kernel)
    started = time.monotonic()

    def row_of(checked: str) -> Row:
        return replace(row, checked=checked, check_seconds=round(time.monotonic() - started, 1))

    try:
        _, proof = tried_draft(
            kernel,
            state.root / row.path,
            root=state.root,
            kinds=(),
            seconds=seconds,
            jobs=1,
            recorder=recorder,
            draft=draft,
        )
    except (ProgramError, WorkloadError) as error:
        return row_of(str(error))
    return row_of(proof.baseline if proof is not None else "not complete")


def sample(drafted: list[Row], count: int, seconds: float, states: Mapping[str, State]) -> Iterator[Row]:
    """Some of the complete drafts of these repositories, checked."""
    complete = [r for r in drafted if not r.missing and r.repository in states]
    complete.sort(key=lambda r: _drawn(r.path, r.kernel))
    for row in complete[:count]:
        yield _checked(row, states[row.repository], seconds, None, None)


def reason(text: str) -> str:
    """A reason with the names of one kernel taken out, so that equal ones can be counted."""
    text = text.splitlines()[0].split("; ")[0] if text else text
    text = re.sub(r" \(the kernel cannot be run to see it: ", ", and it does not run: ", text)
    text = re.sub(
        r"(it does not run: ).*(out of bounds|identifier|no sum of products|is not followed).*", r"\1\2", text
    )
    text = re.sub(r"`[^`]*`", "`…`", text)
    text = re.sub(r"nothing tells .*", "nothing tells …", text)
    text = re.sub(r"\b(of|not|constexpr|of the values of) [A-Za-z_]\w*\b(?=[:,]|$)", r"\1 …", text)
    text = re.sub(r"^\S+ is not launched in \S+", "… is not launched in its file", text)
    return re.sub(r"\d+", "#", text)[:110]


def page(drafted: list[Row], before: list[Row]) -> str:
    """The figures of every repository, beside those of an earlier state, then the reasons of each."""
    lines = [
        "# Drafted workloads",
        "",
        f"`python -m tests.benchmarks drafts`, {date.today().isoformat()}.",
        "*Complete*: no question is left open. *Passes*: the kernel passes the check of the emulated device against",
        "itself, of those that were run; the seconds of drafting include runs that show shapes.",
        "",
        "| repository | kernels | complete before | complete | passes before | passes | seconds for all drafts |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    names = list(dict.fromkeys(r.repository for r in drafted))
    for name in names:
        own = [r for r in drafted if r.repository == name]
        earlier = [r for r in before if r.repository == name]
        figures = [figure for rows in zip(_figures(earlier), _figures(own), strict=True) for figure in rows]
        lines.append(f"| {name} | {len(own)} | {' | '.join(figures)} | {sum(r.seconds for r in own):.0f} |")
    for name in names:
        own = [r for r in drafted if r.repository == name]
        lines += _table(f"{name}: what incomplete drafts lack", [set(map(reason, r.missing)) for r in own])
        unrecorded = [{reason(r.unrecorded)} for r in own if r.unrecorded]
        lines += _table(f"{name}: why nothing was recorded for them", unrecorded)
        failed = [{reason(r.checked)} for r in own if r.checked]
        lines += _table(f"{name}: why complete ones do not pass", failed)
    return "\n".join(lines) + "\n"


def _figures(drafted: list[Row]) -> tuple[str, str]:
    """How many drafts are complete, and of how many that were run the kernel passes."""
    if not drafted:
        return "–", "–"
    complete = [r for r in drafted if not r.missing]
    run = [r for r in complete if r.checked is not None]
    return str(len(complete)), f"{sum(not r.checked for r in run)} of {len(run)}" if run else "not run"


def _table(title: str, reasons_of_all: list[set[str]]) -> list[str]:
    counts = Counter(r for reasons in reasons_of_all for r in reasons)
    if not counts:
        return []
    lines = ["", f"## {title}", "", "| kernels | reason |", "|---:|---|"]
    lines += [f"| {n} | {what.replace('|', '¦')} |" for what, n in counts.most_common(_ROWS_MOST)]
    rest = counts.most_common()[_ROWS_MOST:]
    return [*lines, f"| {sum(n for _, n in rest)} | {len(rest)} other reasons |"] if rest else lines


def _read(files: list[Path]) -> list[Row]:
    return [Row(**json.loads(line)) for file in files for line in file.read_text().splitlines()]


def _rows(name: str, location: str, options: argparse.Namespace) -> Iterator[Row]:
    return rows(
        name,
        location,
        options.check,
        options.seconds,
        options.kernel,
        not options.no_runs,
        options.language,
        options.half,
        options.record,
        options.draw,
        options.skip,
    )


def main(arguments: list[str]) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repositories", nargs="*", metavar="NAME=REPOSITORY:FOLDER[,FOLDER]")
    parser.add_argument("--check", action="store_true", help="run complete drafts on the emulated device")
    parser.add_argument("--no-runs", action="store_true", help="run no kernel to see its shapes")
    parser.add_argument(
        "--record", action="store_true", help="run host code where reading leaves something open"
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="of checking, for each kernel")
    parser.add_argument("--language", type=Language, choices=list(Language), help="only kernels in this one")
    parser.add_argument("--half", default="", choices=["first", "second"], help="only one half of the files")
    parser.add_argument(
        "--draw", type=int, default=0, help="so many kernels, drawn by the hash of their names"
    )
    parser.add_argument("--skip", type=int, default=0, help="leave out the first so many of a draw")
    parser.add_argument("--kernel", default="", help="only kernels with this in their name")
    parser.add_argument("--write", action="store_true", help="keep the table in results/")
    parser.add_argument(
        "--rows", type=Path, help="where each kernel's row is written as it comes, as JSON lines"
    )
    parser.add_argument("--from", dest="earlier", type=Path, nargs="+", default=[], help="files of --rows")
    parser.add_argument("--sample", type=int, default=0, help="so many complete drafts of --from are checked")
    parser.add_argument("--before", type=Path, nargs="+", default=[], help="rows of an earlier state, beside")
    options = parser.parse_args(arguments)
    drafted = _read(options.earlier)
    named = dict(item.split("=", 1) for item in options.repositories)
    if options.sample:
        states = {name: State(Path(location.partition(":")[0]).resolve()) for name, location in named.items()}
        new = sample(drafted, options.sample, options.seconds, states)
    else:
        new = (row for name, location in named.items() for row in _rows(name, location, options))
    for row in new:
        drafted.append(row)
        if options.rows:
            with options.rows.open("a", encoding="utf-8") as out:
                out.write(json.dumps(asdict(row)) + "\n")
    # Of a kernel that was measured twice, the later row counts.
    drafted = list({(r.repository, r.path, r.kernel): r for r in drafted}.values())
    before = _read(options.before)
    text = page(drafted, before)
    if options.write:
        RESULTS.write_text(text, "utf-8")
        kept = [
            {
                "repository": r.repository,
                "path": r.path,
                "kernel": r.kernel,
                "missing": sorted(set(map(reason, r.missing))),
                "checked": r.checked and reason(r.checked),
            }
            for r in drafted
        ]
        RESULTS.with_suffix(".json").write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    print(text)  # noqa: T201
