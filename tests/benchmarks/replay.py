"""What becomes of the transitions of some histories when they are replayed and learned from, and why, as one table.

python -m tests.benchmarks replay NAME=PATH_OR_DOCUMENT … [--device cuda] [--jobs N] [--seconds N] [--learn]
    [--together] [--into FOLDER] [--after FOLDER] [--write]

A path is replayed, as `klineage replay PATH` does; what earlier runs found there is used again. A document is what
`klineage replay PATH --json` printed, or what `--into` keeps of each repository: NAME.json, and in NAME.learned.tar.gz
the skills with all that they were learned from. While a run goes on, and when it is cut, that is NAME.jsonl and
NAME.learned.jsonl.gz, with a line for each transition. Documents of one NAME are joined.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TypeVar

from tests.benchmarks.replay_documents import in_folder, joined, of_file
from tests.benchmarks.replay_tables import page

from kernel_gate.fleet.places import gpu_places
from kernel_lineage.cli.gate_since import Where
from kernel_lineage.history.model import Mined
from kernel_lineage.learning.replay.document import ReplayDocument, ReplayedTransition, transition_document
from kernel_lineage.learning.replay.learners import Replayed
from kernel_lineage.learning.replay.repository import Asked, replay_repository
from kernel_lineage.skills.library import REPOSITORY_FOLDER

SUMMARY = "what becomes of the transitions of some histories when they are replayed, and why"
RESULTS = Path(__file__).parent / "results"
_VERDICT_SECONDS = 90.0


def replayed(name: str, path: Path, options: argparse.Namespace) -> ReplayDocument:
    """The document of one repository; what is found on the way is kept in `--into`."""
    into: Path | None = options.into

    def print_progress(done: int, total: int, one: Replayed) -> None:
        sys.stderr.write(
            f"{name}: {done} of {total}: {one.record.status} {one.record.code} {one.item.title}\n"
        )

    earlier = in_folder(options.after, name) if options.after is not None else None
    asked = Asked(
        device=options.device,
        seconds=options.seconds,
        learn=options.learn,
        timeout=_VERDICT_SECONDS,
        leave_out=frozenset(t.id for t in earlier.transitions) if earlier is not None else frozenset(),
    )
    with Where(options.device, options.jobs, None).pool() as pool, kept_lines(into, name) as keep:

        def keep_record(mined: Mined, one: Replayed) -> None:
            keep(transition_document(one, mined, {}, on_gpu=options.device != "emulated"), one)

        document = replay_repository(path, asked, pool, print_progress, on_known=keep_record).document
    if into is not None:
        (into / f"{name}.json").write_text(document.model_dump_json(indent=1))
        learned = into / f"{name}.learned.jsonl.gz"
        with tarfile.open(into / f"{name}.learned.tar.gz", "w:gz") as archive:
            archive.add(learned, arcname=learned.name)
            if (path / REPOSITORY_FOLDER).is_dir():
                archive.add(path / REPOSITORY_FOLDER, arcname="skills")
        learned.unlink()
        (into / f"{name}.jsonl").unlink()
    return document


@contextmanager
def kept_lines(into: Path | None, name: str) -> Iterator[Callable[[ReplayedTransition, Replayed], None]]:
    """Something to keep each transition with as soon as it is known: for the table, and all that it taught."""
    if into is None:
        yield lambda _document, _one: None
        return
    with (
        (into / f"{name}.jsonl").open("w") as short,
        gzip.open(into / f"{name}.learned.jsonl.gz", "wt") as whole,
    ):

        def keep(document: ReplayedTransition, one: Replayed) -> None:
            short.write(document.model_dump_json() + "\n")
            short.flush()
            learned = [lesson.model_dump(mode="json") for lesson in one.learned]
            whole.write(json.dumps({"record": one.record.model_dump(mode="json"), "learned": learned}) + "\n")
            whole.flush()

        yield keep


def together(pairs: Mapping[str, Path], settings: argparse.Namespace) -> None:
    """Each repository in a process of its own, with its share of the GPUs and of the cores."""
    gpus = [] if settings.device == "emulated" else [p.environment[0][1] for p in gpu_places()]
    shares = settings.shares or [1] * len(pairs)
    running = []
    for (name, path), mine, cores in zip(
        pairs.items(), _shared(gpus, shares), _shared(sorted(os.sched_getaffinity(0)), shares), strict=True
    ):
        environment = {**os.environ, **({"CUDA_VISIBLE_DEVICES": ",".join(mine)} if gpus else {})}
        if gpus and not mine:
            sys.exit(f"{len(gpus)} GPUs are too few for {len(pairs)} histories at once; leave --together out")
        command = [sys.executable, "-m", "tests.benchmarks", "replay", f"{name}={path}", *_options(settings)]
        running.append(
            subprocess.Popen(
                command,
                env=environment,
                preexec_fn=lambda: os.sched_setaffinity(0, cores),  # noqa: B023 - called at once
            )
        )
    for process in running:
        process.wait()


_Thing = TypeVar("_Thing")


def _shared(things: Sequence[_Thing], shares: Sequence[int]) -> Iterator[Sequence[_Thing]]:
    """Neighbouring things for each share; where there are fewer things than shares, some get none."""
    ends = [len(things) * sum(shares[: n + 1]) // sum(shares) for n in range(len(shares))]
    yield from (things[begin:end] for begin, end in zip([0, *ends], ends, strict=False))


def _options(settings: argparse.Namespace) -> Sequence[str]:
    options = ["--device", settings.device, "--into", str(settings.into)]
    for name in ("jobs", "seconds", "after"):
        if getattr(settings, name) is not None:
            options += [f"--{name}", str(getattr(settings, name))]
    return [*options, *(["--learn"] if settings.learn else [])]


def main(arguments: list[str]) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repositories", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--device", choices=["auto", "cuda", "emulated"], default="auto")
    parser.add_argument("--jobs", type=int, help="verdicts at once; by default one on each GPU")
    parser.add_argument("--seconds", type=float, help="for each repository; a further run goes on")
    parser.add_argument("--learn", action="store_true", help="split, probe, distil and admit as well")
    parser.add_argument(
        "--together", action="store_true", help="all at once, sharing GPUs and cores; needs --into"
    )
    parser.add_argument(
        "--shares", type=lambda text: [int(n) for n in text.split(",")], help="of each: 2,1,1"
    )
    parser.add_argument("--into", type=Path, help="keep documents and learned skills in this folder")
    parser.add_argument(
        "--after", type=Path, help="leave out what an earlier run has reached that kept its documents there"
    )
    parser.add_argument("--write", action="store_true", help="keep the table in results/")
    options = parser.parse_args(arguments)
    named = [(name, Path(path)) for name, path in (each.split("=", 1) for each in options.repositories)]
    pairs = dict(named)
    if options.into is not None:
        options.into.mkdir(parents=True, exist_ok=True)
    if options.together:
        if options.into is None:
            parser.error("--together needs --into")
        if options.shares is not None and len(options.shares) != len(pairs):
            parser.error("--shares needs a number for each repository")
        together(pairs, options)
        ended = {name: in_folder(options.into, name) for name in pairs}
        documents = {name: document for name, document in ended.items() if document is not None}
    else:
        each = [(n, of_file(p) if p.is_file() else replayed(n, p, options)) for n, p in named]
        documents = {name: joined([d for n, d in each if n == name]) for name in pairs}
    text = page(documents, date.today().isoformat())
    print(text)  # noqa: T201
    if options.write:
        kind = "emulated" if all(d.device == "emulated" for d in documents.values()) else "gpu"
        (RESULTS / f"replay_{kind}.md").write_text(text)
