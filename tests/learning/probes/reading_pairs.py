"""The pairs in `pairs/`: steps of our own, right on their workload, each with what it silently takes for granted."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernel_gate.workload import Workload
from kernel_lineage.learning.steps import Step
from kernel_lineage.workloads.programs import program_from_file

FOLDER = Path(__file__).parent / "pairs"


@dataclass(frozen=True, slots=True)
class Pair:
    """One file."""

    step: Step
    about: str
    expects: tuple[str, ...]
    """What a reader of the code says must hold; a bound on values is roughly where the formula leaves its type."""


@cache
def pairs() -> dict[str, Pair]:
    """Every pair by its file's name, in the order of names."""
    return {path.stem: read_pair(path) for path in sorted(FOLDER.glob("*.toml"))}


def read_pair(path: Path) -> Pair:
    """The pair of one file."""
    document = tomllib.loads(path.read_text("utf-8"))
    workload = Workload.model_validate(document["workload"])
    suffix = "cu" if workload.language == "cuda" else "py"
    before, after = (
        program_from_file(
            Path(f"{side}.{suffix}"),
            workload.kernel,
            workload,
            data=document[side].encode(),
            launch=document.get(f"{side}_launch"),
            template_arguments=document.get("template_arguments", ()),
        )
        for side in ("before", "after")
    )
    step = Step(path.stem, before, after, workload, tuple(document.get("mechanisms", ())))
    return Pair(step, document["about"], tuple(document.get("expects", ())))
