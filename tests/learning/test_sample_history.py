"""What the sample repository teaches: the condition that a later commit had to add."""

from kernel_lineage.history.model import Intent, TransitionKind
from kernel_lineage.learning.later_guards import conditions_from_guards
from kernel_lineage.learning.version_sources import VersionSources
from kernel_lineage.skills.card import Origin


def _lineage(mined, kernel):
    return next(item for item in mined.lineages if any(v.symbol == kernel for v in item.versions))


def test_the_guard_of_rmsnorm_is_the_condition_of_its_vectorised_loads(sample, mined):
    lineage = _lineage(mined, "rmsnorm_forward")
    sources = VersionSources(sample, lineage.versions)
    (learned,) = conditions_from_guards(lineage, mined.commits, sources.launch_names)
    conditioned = next(t for t in lineage.transitions if t.id == learned.transition)
    assert "vectorised_access" in conditioned.added
    assert learned.condition.expr == "C % 4 == 0"
    assert learned.condition.origin is Origin.LATER_FIX
    assert "last columns were never written" in learned.condition.reason


def test_a_version_s_text_is_its_kernel_at_that_commit(sample, mined):
    lineage = _lineage(mined, "transpose")
    sources = VersionSources(sample, lineage.versions)
    texts = [sources.text(v) for v in lineage.versions]
    assert "tile" not in texts[0]
    assert "tile[32][32]" in texts[1]
    assert "tile[32][33]" in texts[-1]


def test_a_commit_that_adds_the_missing_guard_is_a_fix_of_the_step_that_lacked_it(mined):
    for kernel, fixed in (("rmsnorm_forward", "16-byte loads"), ("row_softmax", "load the whole row once")):
        lineage = _lineage(mined, kernel)
        fix = next(t for t in lineage.transitions if t.intent is Intent.FIX)
        answered = next(t for t in lineage.transitions if t.id == fix.answers)
        assert fixed in mined.commits[answered.commit].subject
        assert any(risk.transition == fix.id for risk in answered.risk)


def test_files_numbered_in_the_middle_of_their_names_are_steps_of_one_lineage(mined):
    lineage = _lineage(mined, "sgemm_naive")
    assert [v.symbol for v in lineage.versions] == ["sgemm_naive", "sgemm_tiled", "sgemm_register_tile"]
    assert all(t.kind is TransitionKind.VARIANT for t in lineage.transitions)


def test_the_attempt_that_was_reverted_carries_the_reason_as_a_risk(mined):
    lineage = _lineage(mined, "transpose")
    revert = next(t for t in lineage.transitions if t.kind is TransitionKind.REVERT)
    attempt = next(t for t in lineage.transitions if t.id == revert.answers)
    assert {risk.kind for risk in attempt.risk} >= {"revert", "slower"}
