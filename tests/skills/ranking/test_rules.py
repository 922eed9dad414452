"""Rules on what limits a kernel: data with reasons; the same facts give the same answer; unknown fires nothing."""

import pytest

from kernel_lineage.skills.conditions.stated import stated_facts
from kernel_lineage.skills.ranking.rules import FAVOURED, Rule, limits_of, rules


@pytest.mark.parametrize("rule", rules(), ids=lambda r: r.id)
def test_each_rule_says_why_and_from_where(rule: Rule):
    assert rule.reason
    assert rule.source
    assert rule.favours or rule.forbids
    assert not set(rule.favours) & set(rule.forbids)


@pytest.mark.parametrize(
    ("facts", "forbidden", "allowed"),
    [
        ('profile.bound = "bandwidth"', "fast_math", "vectorised_access"),
        (
            'profile.bound = "bandwidth", profile.bandwidth_share = 0.92',
            "vectorised_access",
            "online_single_pass",
        ),
        ('profile.bound = "compute"', "cache_hints", "tensor_core"),
        ('profile.bound = "launch"', "coalesced_access", "kernel_fusion"),
        ("kernel.spills = 64", "register_tile", "shared_memory_tile"),
        ('profile.occupancy_limit = "registers", profile.occupancy = 0.25', "loop_unroll", "launch_bounds"),
        ("profile.wavefronts_per_request = 1.0", "bank_conflict_padding", "warp_shuffle"),
        ("profile.sectors_per_request = 4.0", "coalesced_access", "vectorised_access"),
        ("profile.divergent_share = 0.5", "loop_unroll", "warp_per_row"),
    ],
)
def test_what_limits_a_kernel_forbids_what_cannot_pay(facts: str, forbidden: str, allowed: str):
    limits = limits_of(stated_facts(facts, "measured"))
    assert limits.not_now(forbidden).startswith("not now: ")
    assert "measured" in limits.not_now(forbidden)
    assert limits.not_now(allowed) == ""


def test_what_would_help_is_favoured_unless_another_rule_forbids_it():
    conflicts = limits_of(stated_facts("profile.wavefronts_per_request = 4", "counted"))
    assert conflicts.factor("bank_conflict_padding") == FAVOURED
    assert "several passes" in conflicts.because("bank_conflict_padding")
    full = 'profile.wavefronts_per_request = 4, profile.occupancy_limit = "shared memory", profile.occupancy = 0.25'
    assert limits_of(stated_facts(full, "counted")).factor("bank_conflict_padding") == 1.0


def test_nothing_is_forbidden_where_nothing_is_known():
    assert limits_of(stated_facts("C = 768", "stated")).fired == ()


def test_a_rule_that_names_what_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="faster_math"):
        Rule(id="x", when="kernel.spills > 0", forbids=("faster_math",), reason="r", source="s")
