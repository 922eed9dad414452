"""From a replayed history of a Triton kernel to a skill in the repository: the step finds the card of its mechanism.

Rows are brought to unit length by programs that walk over them, then with `rsqrt`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.fleet.places import emulated_places
from kernel_gate.fleet.pool import LocalPool
from kernel_lineage.learning.replay.document import ReplayDocument
from kernel_lineage.learning.replay.repository import Asked, replay_repository
from kernel_lineage.skills.skill_file import read_skill
from learning.studying.studied import make_studied
from workload_texts import workload_text

pytestmark = pytest.mark.long

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
WALKING = """\
@triton.jit
def unit_rows(out, x, n_rows, n_cols, eps, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    for row in range(tl.program_id(0), n_rows, tl.num_programs(0)):
        v = tl.load(x + row * n_cols + cols, mask=mask, other=0.0)
        length = 1.0 / tl.sqrt(tl.sum(v * v, axis=0) + eps)
        tl.store(out + row * n_cols + cols, v * length, mask=mask)


def unit(x):
    out = torch.empty_like(x)
    n_rows, n_cols = x.shape
    unit_rows[(min(n_rows, 4),)](out, x, n_rows, n_cols, 0.001, BLOCK=64)
    return out
"""
WORKLOAD = workload_text(
    "unit_rows",
    "N = [5]\nC = [40]",
    'grid = ["N"]\nconstexpr = { BLOCK = "64" }',
    "out: output float32 [N, C]",
    "x: input float32 [N, C]",
    "n_rows: int32 = N",
    "n_cols: int32 = C",
    "eps: float32 = 0.001",
    language="triton",
    source="unit.py",
)
STATES = (
    ("Bring rows to unit length", WALKING),
    ("Speed up: rsqrt saves a division", WALKING.replace("1.0 / tl.sqrt", "tl.rsqrt")),
)


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    states = ((message, HEAD + text) for message, text in STATES)
    return make_studied(tmp_path_factory.mktemp("studied_triton"), "unit_rows", "unit.py", WORKLOAD, states)


@pytest.fixture(scope="module")
def document(top: Path) -> ReplayDocument:
    with LocalPool(emulated_places(1)) as pool:
        # What probing finds has its own tests; here a step must only be split and find its card.
        asked = Asked(device="emulated", probe_runs=1, study_seconds=1800.0)
        return replay_repository(top, asked, pool, lambda _done, _total, _one: None).document


def test_the_step_is_right_and_adds_its_mechanism(document: ReplayDocument) -> None:
    assert [step.status for step in document.transitions] == ["reproduced"]
    added = [m for step in document.transitions for part in step.parts for m in part.mechanisms]
    assert added == ["fast_math"]


def test_its_lesson_finds_the_card_of_its_mechanism(document: ReplayDocument) -> None:
    assert document.skills.proposed == ["triton-fast-math"]
    assert not any("no skill adds" in reason for reason in document.skills.refused)


def test_the_card_is_carried_over_to_the_kernel_and_gated(document: ReplayDocument) -> None:
    # Nothing was timed, so nothing is admitted, and that is all that is missing.
    assert document.skills.admitted == []
    assert all(": not profiled" in reason for reason in document.skills.refused)


def test_its_skill_is_written_with_its_source(top: Path, document: ReplayDocument) -> None:
    assert document.skills.proposed
    skill, problems = read_skill(top / ".klineage/skills/triton-fast-math", builtin=False)
    assert problems == ()
    assert skill is not None and skill.lineage is not None
    assert (skill.lineage.licence, skill.lineage.authors) == ("MIT", ("A. Author",))
    assert len(skill.applies) == 2
