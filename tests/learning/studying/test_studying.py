"""From a replayed history to a skill in the repository: what is split, probed, distilled and written.

A row is scaled by 16-byte loads; its sizes in the repository are multiples of four, and nothing says that they must be.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kernel_gate.fleet.places import emulated_places
from kernel_gate.fleet.pool import LocalPool
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.learning.replay.document import ReplayDocument
from kernel_lineage.learning.replay.learners import Learned
from kernel_lineage.learning.replay.repository import Asked, ReplayedRepository, replay_repository
from kernel_lineage.learning.studying import learner
from kernel_lineage.learning.studying.lessons import Origin as RepositoryOrigin
from kernel_lineage.learning.studying.lessons import lessons_of
from kernel_lineage.skills.card import Category, Condition, ConditionKind, Origin
from kernel_lineage.skills.skill_file import read_skill
from learning.distillation.lessons import BEFORE
from learning.studying.studied import make_studied
from workload_texts import workload_text

SOMEWHERE = RepositoryOrigin("https://example.org/kernels", "MIT", "klineage replay")
AFTER = """\
__global__ void gain(float* __restrict__ dst, const float* __restrict__ src, float factor, int OC) {
    const float4* row = reinterpret_cast<const float4*>(src + blockIdx.x * OC);
    float4* to = reinterpret_cast<float4*>(dst + blockIdx.x * OC);
    for (int i = threadIdx.x; i < OC / 4; i += blockDim.x) {
        float4 v = row[i];
        to[i] = make_float4(factor * v.x, factor * v.y, factor * v.z, factor * v.w);
    }
}
"""
WORKLOAD = workload_text(
    "gain",
    "N = [2]\nOC = [32, 64]",
    'grid = ["N"]\nblock = [32]',
    "dst: output float32 [N, OC]",
    "src: input float32 [N, OC]",
    "factor: float32 = 3",
    "OC: int32 = OC",
    source="gain.cu",
)

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    states = (("Scale rows", BEFORE), ("Speed up: 16-byte loads, twice as fast", AFTER))
    return make_studied(tmp_path_factory.mktemp("studied"), "gain", "gain.cu", WORKLOAD, states)


@pytest.fixture(scope="module")
def whole(top: Path) -> ReplayedRepository:
    with LocalPool(emulated_places(1)) as pool:
        # A loaded machine must not decide what is found: runs are the limit, not seconds.
        asked = Asked(device="emulated", probe_seconds=600.0, study_seconds=1800.0)
        return replay_repository(top, asked, pool, lambda _done, _total, _one: None)


@pytest.fixture(scope="module")
def document(whole: ReplayedRepository) -> ReplayDocument:
    return whole.document


def test_a_step_that_fails_only_at_other_sizes_is_split_and_probed(document):
    (step,) = document.transitions
    assert (step.status, step.compound) == ("narrower", "")
    assert [part.mechanisms for part in step.parts] == [("restrict_read_only",), ("vectorised_access",)]
    assert step.parts[0].conditions == []
    assert "OC % 4 == 0" in step.parts[1].conditions
    (learned,) = [c for c in step.conditions if c.expr == "OC % 4 == 0"]
    assert (learned.origin, learned.truth) == ("probe", "holds")


def test_its_condition_becomes_the_skills_with_counterexample_and_case(top, document):
    assert document.skills.admitted == []
    folder = top / ".klineage/skills/vectorised-row-access"
    skill, problems = read_skill(folder, builtin=False)
    assert problems == ()
    assert skill is not None
    learned = next(c for c in skill.conditions if c.expr == "C % 4 == 0")
    assert learned.origin is Origin.PROBE
    assert learned.evidence is not None and "seed" in learned.evidence
    assert any(
        "because: C % 4 == 0" in (folder / path).read_text() and "OC = " in (folder / path).read_text()
        for path in skill.refuses
    )
    assert skill.lineage is not None
    assert (skill.lineage.licence, skill.lineage.authors) == ("MIT", ("A. Author",))
    # Nothing was timed, so nothing is admitted, and that is the reason that is told.
    (reason,) = [r for r in document.skills.refused if r.startswith("vectorised-row-access: ")]
    assert "not profiled" in reason


def test_what_one_part_was_found_to_need_is_not_told_of_another(whole):
    (one,) = whole.replayed
    (studied,) = [lesson.studied for lesson in one.learned if lesson.studied is not None]
    alone = Condition(
        kind=ConditionKind.VALIDITY,
        category=Category.STORAGE,
        expr="noalias(dst, src)",
        reason="",
        origin=Origin.PROBE,
    )
    first = studied.parts[0].model_copy(update={"conditions": (alone,)})
    studied = studied.model_copy(update={"parts": (first, *studied.parts[1:])})
    learned = Learned(conditions=(alone, *studied.parts[1].conditions), studied=studied)
    taught = lessons_of(replace(one, learned=(learned,)), studied, whole.mined, SOMEWHERE)
    restrict, vectorised = (t.lesson for t in taught)
    assert restrict.conditions == (alone,)
    assert vectorised.conditions == studied.parts[1].conditions


def test_a_second_run_distils_what_the_first_one_learned_and_studies_nothing(
    top, document, tmp_path, monkeypatch
):
    again = tmp_path / "again"
    shutil.copytree(top, again)
    shutil.copytree(kept_in(top), kept_in(again), dirs_exist_ok=True)
    shutil.rmtree(again / ".klineage/skills")

    def studied_again(*_arguments: object, **_options: object) -> None:
        raise AssertionError("studied again")

    monkeypatch.setattr(learner, "study", studied_again)
    with LocalPool(emulated_places(1)) as pool:
        # Also where no time is left for anything but distilling.
        asked = Asked(device="emulated", seconds=0.0)
        second = replay_repository(again, asked, pool, lambda _done, _total, _one: None).document
    assert second.unstudied == 0 and [t.reused for t in second.transitions] == [True]
    assert second.skills == document.skills
    written = {f.relative_to(top) for f in (top / ".klineage/skills").rglob("*")}
    assert {f.relative_to(again) for f in (again / ".klineage/skills").rglob("*")} == written
