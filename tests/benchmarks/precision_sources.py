"""The steps whose conditions are tried: our examples and pairs, those of histories, and what replays have kept."""

from __future__ import annotations

import gzip
import json
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.benchmarks.back_test import PAIRS, RESULTS
from tests.benchmarks.back_test_pairs import step_of
from tests.learning.probes.axis_examples import EXAMPLES
from tests.learning.probes.reading_pairs import pairs

from kernel_gate.fleet.pool import LocalPool
from kernel_lineage.demo.sample import build_sample_repository
from kernel_lineage.learning.replay.record import Record
from kernel_lineage.learning.replay.repository import Asked, replay_repository
from kernel_lineage.learning.steps import Step
from kernel_lineage.learning.studying.common_ground import common_ground
from kernel_lineage.learning.studying.parts import Studied
from kernel_lineage.skills.card import ConditionKind, Origin

_KEPT = ".learned.jsonl.gz"


@dataclass(frozen=True, slots=True)
class StudiedStep:
    """A step, with what studying it gave where that was done."""

    source: str
    name: str
    step: Step
    conditions: Mapping[str, str] = field(default_factory=dict)
    """What was learned, each with its evidence."""
    studied: bool = False


def own_steps() -> Iterator[StudiedStep]:
    """The examples of the axes, and the pairs."""
    for axis, examples in EXAMPLES.items():
        for number, example in enumerate(examples):
            name = f"{axis}-{number}"
            yield StudiedStep("example of an axis", name, replace(example.step(), transition=name))
    for name, pair in pairs().items():
        yield StudiedStep("own pair", name, pair.step)


def sample_steps(pool: LocalPool) -> Iterator[StudiedStep]:
    """The steps of the repository that the demo builds."""
    with tempfile.TemporaryDirectory() as folder:
        sample = Path(folder) / "sample"
        build_sample_repository(sample)
        yield from _replayed(sample, "sample repository", pool, None)


def back_test_steps(clones: Sequence[Path]) -> Iterator[StudiedStep]:
    """The pairs of the back-test of which probing has learned a condition, as its results say."""
    named = {path.name: path for path in clones}
    for row in json.loads((RESULTS / "back_test.json").read_text()) if clones else ():
        probed = {
            c["expr"]: c["evidence"]
            for c in row["conditions"]
            if c["origin"] == Origin.PROBE and c.get("kind") != ConditionKind.PROFIT
        }
        clone = named.get(row["repository"].rsplit("/", 1)[-1])
        if probed and clone is not None:
            pair = tomllib.loads((PAIRS / f"{row['pair']}.toml").read_text("utf-8"))
            yield StudiedStep("back-test", row["pair"], step_of(pair, clone), probed, studied=True)


def learned_steps(files: Sequence[Path], pool: LocalPool, *, anew: bool) -> Iterator[StudiedStep]:
    """Parts of steps that a replay kept all of: the lines of `NAME.learned.jsonl.gz`.

    With the conditions that it learned, or, `anew`, to be probed again, those that it learned nothing of as well.
    """
    for file in files:
        with gzip.open(file, "rt") as lines:
            for kept in map(json.loads, lines):
                record = Record.model_validate(kept["record"])
                if record.step is None:
                    continue
                whole = record.step.step(record.transition)
                for document in (g["studied"] for g in kept["learned"] if g["studied"] is not None):
                    studied = Studied.model_validate(document)
                    yield from _parts(file.name.removesuffix(_KEPT), whole, studied, pool, anew=anew)


def repository_steps(paths: Sequence[Path], pool: LocalPool, seconds: float) -> Iterator[StudiedStep]:
    """Parts of the studied steps of repositories, with the conditions that replay found by probing."""
    for path in paths:
        yield from _replayed(path, path.name, pool, seconds)


def _replayed(path: Path, source: str, pool: LocalPool, seconds: float | None) -> Iterator[StudiedStep]:
    asked = Asked(device="emulated", seconds=seconds)
    for one in replay_repository(path, asked, pool, lambda *_: None).replayed:
        for studied in (lesson.studied for lesson in one.learned if lesson.studied is not None):
            if one.step is not None:
                yield from _parts(source, one.step, studied, pool)


def _parts(
    source: str, whole: Step, studied: Studied, pool: LocalPool, *, anew: bool = False
) -> Iterator[StudiedStep]:
    for number, part in enumerate(studied.parts, 1):
        probed = {
            c.expr: c.evidence or ""
            for c in part.conditions
            if c.origin is Origin.PROBE and c.kind is ConditionKind.VALIDITY
        }
        wanted = bool(part.added and not part.compound if anew else probed)
        after = part.after
        step = Step(
            f"{after.entry} {whole.transition} part {number}",
            part.before,
            after,
            whole.workload,
            part.added,
        )
        ground = common_ground(step, pool.judge) if wanted else None
        if ground is not None:
            yield StudiedStep(source, step.transition, ground, {} if anew else probed, studied=not anew)
