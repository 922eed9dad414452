"""A submission to a leaderboard's task, as a module and its reference: `custom_kernel` beside `ref_kernel`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel_gate.files.reading import read_text
from kernel_lineage.workloads.published_tasks import FOLDERS_ABOVE, cases_of

ENTRY = "custom_kernel"
_ASKED = ("ref_kernel", "generate_input")
_MOST_CASES = 6
_MODEL = """


class {model}(__import__("torch").nn.Module):
    def forward(self, data):
        return {function}(data)
"""
_INPUTS = """

def get_inputs():
    return [generate_input({arguments})]
"""


@dataclass(frozen=True, slots=True)
class Task:
    """What a submission is judged by."""

    module: str
    """The submission with a `ModelNew` around its entry."""
    reference: str
    """The task's reference with a `Model` around its own."""
    cases: tuple[str, ...]
    """For each of the task's tests what is written below the reference: `get_inputs`."""


def task_of(path: Path, text: str, root: Path) -> Task | None:
    """The task of a submission below `root`; None where no folder above has one. Raises `OSError`."""
    for folder in path.parents[: FOLDERS_ABOVE + 1]:
        reference = folder / "reference.py"
        if reference.is_file() and reference != path:
            asked = read_text(reference, within=root, errors="replace")
            cases = tuple(map(_inputs, cases_of(folder, "tests")[:_MOST_CASES]))
            if cases and all(f"def {name}" in asked for name in _ASKED):
                whole = "\n".join(_with_own_modules(asked, folder, root))
                return Task(
                    text + _MODEL.format(model="ModelNew", function=ENTRY),
                    whole + _MODEL.format(model="Model", function=_ASKED[0]),
                    cases,
                )
        if folder == root:
            break
    return None


def _with_own_modules(text: str, folder: Path, root: Path) -> Iterator[str]:
    """A reference with the text of the modules beside it, or above, in place of what imports their names."""
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            beside = (
                f / f"{statement.module}.py" for f in (folder, folder.parent) if root in (f, *f.parents)
            )
            own = next((p for p in beside if p.is_file()), None)
            if own is not None:
                yield read_text(own, within=root, errors="replace")
                continue
        yield ast.unparse(statement)


def _inputs(case: Mapping[str, Any]) -> str:
    """The function that makes a case's inputs; its seed is no size, which would be made smaller."""
    written = (f'{n}=int("{v}")' if n == "seed" else f"{n}={v!r}" for n, v in case.items())
    return _INPUTS.format(arguments=", ".join(written))
