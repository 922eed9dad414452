"""A pair of the back-test as a step: both states from a repository's objects, or the earlier one written plainly by us.

The earlier state of a kernel's first fast form is the operator itself: a plain kernel of ours in the pair's file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernel_gate.program import LaunchStep, MemsetStep, Program
from kernel_gate.workload import Workload
from kernel_lineage.history.git import open_repository
from kernel_lineage.history.trees import trees
from kernel_lineage.learning.steps import Step
from kernel_lineage.workloads.programs import program_from_file, with_launch

SIDES = ("before", "after")


def step_of(pair: Mapping[str, Any], clone: Path) -> Step:
    """The pair's step. Raises `RepositoryError` and `ProgramError`."""
    workload = Workload.model_validate(pair["workload"])
    last = pair["after"]["commit"]
    first = pair["before"].get("commit", last)
    with trees(open_repository(clone), f"{first}..{last}") as states:
        before, after = (
            _program(pair, side, tree.root, workload) for side, tree in zip(SIDES, states, strict=True)
        )
    return Step(pair["fix"], before, after, workload, tuple(pair.get("mechanisms", ())))


def _program(pair: Mapping[str, Any], side: str, root: Path, workload: Workload) -> Program:
    at = pair[side]
    ours = at.get("text")
    path = Path(pair["path"])
    program = program_from_file(
        root / path,
        at["kernel"],
        workload,
        data=ours.encode() if ours is not None else None,
        root=root,
        launch=at.get("launch"),
        name=f"{side}: {'written plainly' if ours is not None else path.name}",
        template_arguments=at.get("template_arguments", ()),
        arguments=at.get("arguments"),
    )
    if ours is None:
        program = replace(program, source=_adapted(program.source, pair))
    program = replace(program, defines={**program.defines, **pair.get("defines", {})})
    return _cleared(program, workload, at["zeroed"]) if "zeroed" in at else program


def _adapted(source: str, pair: Mapping[str, Any]) -> str:
    """With stand-ins of ours in the place of imports of the repository's package, and of what a launcher fills in."""
    for old, new in pair.get("instead_of", ()):
        source = source.replace(old, new)
    if not pair.get("stand_ins"):
        return source
    kept = [line for line in source.splitlines() if not line.startswith(pair["without"])]
    at = next(i for i, line in enumerate(kept) if line.startswith("import triton.language")) + 1
    return "\n".join([*kept[:at], pair["stand_ins"], *kept[at:]]) + "\n"


def _cleared(program: Program, workload: Workload, zeroed: list[str]) -> Program:
    """As a sequence: buffers that the launcher clears, then the launch."""
    launch = with_launch(program.launch, workload, {}) or workload.launch.spec()
    arguments = program.arguments or tuple(a.name for a in workload.args)
    step = LaunchStep(program.entry, launch, arguments, program.template_arguments)
    return replace(program, steps=(*(MemsetStep(name) for name in zeroed), step))
