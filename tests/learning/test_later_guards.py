"""A guard that a later commit adds is the missing condition of the optimisation before it."""

from dataclasses import replace

import pytest

from kernel_lineage.history.model import (
    Commit,
    GuardSeen,
    Intent,
    Lineage,
    Mined,
    Transition,
    TransitionKind,
    Version,
)
from kernel_lineage.kernels.mechanisms.comparing import Change, How
from kernel_lineage.kernels.mechanisms.model import Occurrence
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.later_guards import conditions_from_code, conditions_from_guards
from kernel_lineage.learning.launch_names import LaunchNames
from kernel_lineage.learning.preconditions import widths
from kernel_lineage.learning.preconditions.changes import CodeChange
from kernel_lineage.report.build import build
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
    return list(conditions_from_guards(lineage, commits, lambda *_: LaunchNames(frozenset({"C", "N"}))))


def test_a_guard_added_by_a_fix_conditions_the_step_that_the_fix_answers():
    (learned,) = _learn(
        _transition(1, Intent.OPTIMISATION, added=("vectorised_access",)),
        _transition(2, Intent.OPTIMISATION, added=("warp_shuffle",)),
        _transition(3, Intent.FIX, guards=(GUARD,), answers="t1"),
    )
    assert learned.transition == "t1"
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
    assert learned.transition == "t1"
    assert learned.condition.origin is Origin.GUARD


def test_a_guard_on_launch_parameters_says_when_it_pays():
    (learned,) = _learn(
        _transition(1, Intent.OPTIMISATION, added=("warps_and_stages",), guards=(GUARD,)),
    )
    assert learned.condition.kind is ConditionKind.PROFIT


NARROW = "__global__ void k(float* y, const float* x, int C) { int r = blockIdx.x; y[r * C] = x[r * C]; }"
WIDE = NARROW.replace("y[r * C]", "y[(size_t)r * C]")


@pytest.mark.parametrize(
    ("intent", "answers", "mends", "transitions"),
    [
        (Intent.FIX, "t1", "v1", ["t1"]),
        (Intent.FIX, None, "v0", [None]),
        (Intent.FIX, None, None, []),
        (Intent.REFACTOR, "t1", "v1", []),
    ],
)
def test_a_fix_that_widens_offsets_bounds_its_arrays_for_what_it_mends(intent, answers, mends, transitions):
    widened = Change(How.APPEARED, None, Occurrence("wide_index", "", (), (1,)))
    fix = replace(_transition(2, intent, answers=answers), mends=mends, occurrences=(widened,))
    lineage = Lineage(
        "l",
        "k",
        Language.CUDA,
        tuple(map(_version, range(3))),
        (_transition(1, Intent.OPTIMISATION, added=("warp_shuffle",)), fix),
    )
    narrow, wide = (read(text.encode(), Language.CUDA).kernel("k") for text in (NARROW, WIDE))
    change = CodeChange(narrow, wide)
    conditions = [
        (learned.transition, learned.condition.expr, learned.condition.origin)
        for learned in conditions_from_code(lineage, {}, lambda _: change)
    ]
    assert conditions == [(one, "elements(y) <= 2147483648", Origin.LATER_FIX) for one in transitions]


PARTLY = """__global__ void k(float* y, int C, int n) {
    int b = blockIdx.x, t = threadIdx.x;
    y += (size_t)b * n;
    BODY
}"""


@pytest.mark.parametrize(
    ("before", "after", "conditions"),
    [
        ("y[t * C] = 0;", "y[(size_t)t * C] = 0;", ["elements(y) <= 2147483648"]),
        ("y[C] = 0;", "y[C] = 0; y[(size_t)t * C] = 1;", []),  # an address that is new is wide from the start
        ("y[t] = 0;", "y[(size_t)t] = 0;", []),
    ],
)
def test_a_factor_that_is_widened_beside_a_wide_one_says_that_it_was_narrow(before, after, conditions):
    states = (
        read(PARTLY.replace("BODY", body).encode(), Language.CUDA).kernel("k") for body in (before, after)
    )
    assert [needed.expr for needed in widths.read(CodeChange(*states))] == conditions


OF_FIRST_VERSION = (
    _transition(1, Intent.OPTIMISATION, added=("warp_shuffle",)),
    replace(_transition(2, Intent.FIX, guards=(GUARD,)), mends="v0"),
)


def test_a_condition_of_a_first_version_is_shown_at_the_fix_as_of_the_code_before():
    lineage = Lineage("l", "rmsnorm", Language.CUDA, tuple(map(_version, range(3))), OF_FIRST_VERSION)
    learned = _learn(*OF_FIRST_VERSION)
    view = build(Mined("r", "head", {}, 3, (lineage,)), read=lambda _: "", learned=learned)
    shown = [[c.sentence for c in step.conditions] for one in view.lineages for step in one.transitions]
    assert shown == [[], ["before this fix: C is a multiple of 4"]]


def test_a_guard_of_a_fix_conditions_the_first_version_that_it_mends():
    (learned,) = _learn(*OF_FIRST_VERSION)
    assert (learned.transition, learned.teacher, learned.mechanisms) == (None, "t2", ())
    assert learned.condition.origin is Origin.LATER_FIX


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


def test_a_choice_among_instances_of_a_template_requires_nothing():
    guards = tuple(GuardSeen(f"WIDTH == {n}", "dispatch", "launcher", n) for n in (2, 4))
    fix = _transition(2, Intent.FIX, guards=guards, answers="t1")
    lineage = Lineage("l", "k", Language.CUDA, tuple(map(_version, range(3))), (OPTIMISED, fix))
    names = LaunchNames(frozenset({"WIDTH"}), {}, frozenset({"WIDTH"}))
    assert list(conditions_from_guards(lineage, {}, lambda *_: names)) == []


OPTIMISED = _transition(1, Intent.OPTIMISATION, added=("vectorised_access",))


@pytest.mark.parametrize(
    ("guards", "requires"),
    [
        pytest.param([("C % 4 != 0", "early_return", "launcher", 9, True)], ["C % 4 == 0"], id="leaves"),
        pytest.param([("C % 4 != 0", "check", "launcher", 9, True)], ["C % 4 == 0"], id="throws"),
        pytest.param([("N > 65535", "early_return", "kernel", 9)], [], id="leaves a part of the code"),
        pytest.param([("C % 4 == 0", "check", "launcher", 9)], ["C % 4 == 0"], id="check"),
        pytest.param([("N", "assert", "kernel", 9)], ["N"], id="asserted flag"),
        pytest.param([("N", "dispatch", "launcher", 9)], [], id="flag"),
        pytest.param([("C != NULL", "branch", "kernel", 9)], [], id="whether there is an argument"),
        pytest.param([("C >= 32", "branch", "launcher", 9)], [], id="what the launch is given"),
        pytest.param([("C >= 32", "dispatch", "launcher", 9)], ["C >= 32"], id="way to the launch"),
        pytest.param(
            [("C >= 32", "dispatch", "launcher", 9), ("not (C >= 32)", "dispatch", "launcher", 12)],
            [],
            id="both ways",
        ),
    ],
)
def test_what_a_guard_of_a_fix_requires(guards, requires):
    fix = _transition(2, Intent.FIX, guards=tuple(GuardSeen(*g) for g in guards), answers="t1")
    assert [learned.condition.expr for learned in _learn(OPTIMISED, fix)] == requires


@pytest.mark.parametrize(("kind", "requires"), [("branch", []), ("assert", ["C % 4 == 0"])])
def test_a_branch_of_a_new_feature_requires_nothing_of_the_step_before_it(kind, requires):
    feature = _transition(2, Intent.FEATURE, guards=(GuardSeen("C % 4 == 0", kind, "kernel", 23),))
    assert [learned.condition.expr for learned in _learn(OPTIMISED, feature)] == requires
