"""The steps whose conditions are tried: our examples and pairs, the sample repository, and repositories by path."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.learning.probes.reading_pairs import pairs

from kernel_gate.fleet.pool import LocalPool
from kernel_lineage.demo.sample import build_sample_repository
from kernel_lineage.learning.probes.registry import axes
from kernel_lineage.learning.replay.repository import Asked, replay_repository
from kernel_lineage.learning.steps import Step
from kernel_lineage.learning.studying.common_ground import common_ground
from kernel_lineage.skills.card import ConditionKind, Origin


@dataclass(frozen=True, slots=True)
class Known:
    """A step, with what studying it gave where that was done."""

    source: str
    name: str
    step: Step
    conditions: tuple[str, ...] = ()
    studied: bool = False


def own_steps() -> Iterator[Known]:
    """The examples of the axes, and the pairs."""
    for axis in axes().values():
        for number, example in enumerate(axis.examples):
            name = f"{axis.id}-{number}"
            yield Known("example of an axis", name, replace(example.step(), transition=name))
    for name, pair in pairs().items():
        yield Known("own pair", name, pair.step)


def sample_steps(pool: LocalPool) -> Iterator[Known]:
    """Of the repository that the demo builds."""
    with tempfile.TemporaryDirectory() as folder:
        sample = Path(folder) / "sample"
        build_sample_repository(sample)
        yield from _replayed(sample, "sample repository", pool, None)


def repository_steps(paths: Sequence[Path], pool: LocalPool, seconds: float) -> Iterator[Known]:
    """Parts of the studied steps of repositories, with the conditions that replay found by probing."""
    for path in paths:
        yield from _replayed(path, path.name, pool, seconds)


def _replayed(path: Path, source: str, pool: LocalPool, seconds: float | None) -> Iterator[Known]:
    asked = Asked(device="emulated", seconds=seconds)
    for one in replay_repository(path, asked, pool, lambda *_: None).replayed:
        whole = one.step
        for studied in (given.studied for given in one.learned if given.studied is not None):
            for number, part in enumerate(studied.parts, 1):
                probed = [
                    c
                    for c in part.conditions
                    if c.origin is Origin.PROBE and c.kind is ConditionKind.VALIDITY
                ]
                if whole is None or not probed:
                    continue
                name = f"{one.item.lineage.kernel} {one.item.transition.id[:12]} part {number}"
                step = Step(name, part.before.program(), part.after.program(), whole.workload, part.added)
                ground = common_ground(step, pool.judge)
                if ground is not None:
                    yield Known(source, name, ground, tuple(c.expr for c in probed), studied=True)
