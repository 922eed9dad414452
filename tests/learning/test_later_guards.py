"""A guard that a later commit adds is the missing condition of the optimisation before it."""

from kernel_lineage.history.model import (
    Commit,
    GuardSeen,
    Intent,
    Lineage,
    Transition,
    TransitionKind,
    Version,
)
from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.later_guards import conditions_from_guards
from kernel_lineage.skills.card import ConditionKind, Origin

GUARD = GuardSeen("C % 4 == 0", "branch", "kernel", 23)


def _version(number):
    return Version(
        f"v{number}", "rmsnorm.cu", "rmsnorm", f"c{number}", 1, 30, Language.CUDA, "b", frozenset()
    )


def _transition(number, intent, added=(), guards=(), answers=None):
    return Transition(
        id=f"t{number}",
        before=f"v{number - 1}",
        after=f"v{number}",
        kind=TransitionKind.EDIT,
        intent=intent,
        added=added,
        removed=(),
        commit=f"c{number}",
        compound=False,
        because="",
        answers=answers,
        guards_added=guards,
    )


def _learn(*transitions):
    lineage = Lineage(
        "l",
        "rmsnorm",
        Language.CUDA,
        tuple(_version(n) for n in range(len(transitions) + 1)),
        transitions,
    )
    commits = {
        f"c{n}": Commit(f"c{n}abcdef", (), "A", "2025-03-20", f"subject {n}", f"body {n}") for n in range(9)
    }
    return list(conditions_from_guards(lineage, commits, lambda _: {"C", "N"}))


def test_a_guard_added_by_a_fix_conditions_the_step_that_the_fix_answers():
    (learned,) = _learn(
        _transition(1, Intent.OPTIMISATION, added=("vectorised_access",)),
        _transition(2, Intent.OPTIMISATION, added=("warp_shuffle",)),
        _transition(3, Intent.FIX, guards=(GUARD,), answers="t1"),
    )
    assert (learned.transition, learned.taught_by) == ("t1", "t3")
    assert learned.mechanisms == ("vectorised_access",)
    assert learned.condition.expr == "C % 4 == 0"
    assert learned.condition.origin is Origin.LATER_FIX
    assert learned.condition.kind is ConditionKind.VALIDITY
    assert learned.condition.reason == "body 3"
    assert "rmsnorm.cu:23" in learned.condition.evidence


def test_without_an_answer_it_is_the_last_optimisation():
    (learned,) = _learn(
        _transition(1, Intent.OPTIMISATION, added=("vectorised_access",)),
        _transition(2, Intent.REFACTOR),
        _transition(3, Intent.FIX, guards=(GUARD,)),
    )
    assert learned.transition == "t1"


def test_a_guard_that_comes_with_an_optimisation_is_its_own():
    (learned,) = _learn(
        _transition(1, Intent.OPTIMISATION, added=("vectorised_access",), guards=(GUARD,)),
    )
    assert (learned.transition, learned.taught_by) == ("t1", "t1")
    assert learned.condition.origin is Origin.GUARD


def test_a_guard_on_launch_parameters_says_when_it_pays():
    (learned,) = _learn(
        _transition(1, Intent.OPTIMISATION, added=("warps_and_stages",), guards=(GUARD,)),
    )
    assert learned.condition.kind is ConditionKind.PROFIT


def test_a_guard_before_any_optimisation_conditions_nothing():
    assert _learn(_transition(1, Intent.FIX, guards=(GUARD,))) == []


def test_a_guard_on_a_thread_conditions_nothing():
    mask = GuardSeen("row < N", "mask", "kernel", 3)
    assert (
        _learn(
            _transition(1, Intent.OPTIMISATION, added=("block_per_row",)),
            _transition(2, Intent.FIX, guards=(mask,), answers="t1"),
        )
        == []
    )
