"""A verdict of the gate → facts of what limits its baseline: counts of its addresses, and times where there are any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernel_gate.verdict import Verdict
from kernel_lineage.skills.conditions.facts import Fact, Facts, FactSource, Scalar

_NEAR_PEAK = 0.6
"""From this share of a peak on, that peak is what bounds the kernel."""
_FAR_FROM_PEAK = 0.4


def profile_of(verdict: Verdict) -> dict[str, Scalar]:
    """Fact name → value for the baseline; only what the verdict says. Rounded, so that the same run gives the same."""
    facts: dict[str, Scalar] = {}
    build, sanitize, profile = (verdict.stage(name) for name in ("build", "sanitize", "profile"))
    if build is not None:
        taken = build.details.get("baseline") or {}
        _take(facts, "kernel.registers", taken.get("registers"))
        _take(facts, "kernel.spills", taken.get("spill_bytes"))
    if sanitize is not None:
        total = ((sanitize.details.get("counts") or {}).get("before") or {}).get("total") or {}
        _take(facts, "profile.sectors_per_request", total.get("sectors_per_request"))
        _take(facts, "profile.wavefronts_per_request", total.get("wavefronts_per_request"))
        if total.get("branches"):
            facts["profile.divergent_share"] = round(total["divergent_branches"] / total["branches"], 3)
    shapes = (profile.details.get("shapes") or []) if profile is not None else []
    if shapes:
        facts |= _timed(shapes[-1])
    return facts


def profile_facts(profile: Mapping[str, Any], where: str) -> Facts:
    """The facts of a kept profile; `where` says from which run, for people."""
    return Facts(
        {n: Fact((v,), f"{n} is {v} in {where}", FactSource.PROFILE) for n, v in sorted(profile.items())}
    )


def _timed(shape: Mapping[str, Any]) -> dict[str, Scalar]:
    """What a timed shape says: shares of both peaks, what bounds it, occupancy."""
    facts: dict[str, Scalar] = {}
    bandwidth = (shape.get("bandwidth_share") or {}).get("baseline")
    compute = (shape.get("flop_share") or {}).get("baseline")
    _take(facts, "profile.bandwidth_share", bandwidth)
    _take(facts, "profile.compute_share", compute)
    if bandwidth is not None and bandwidth >= max(_NEAR_PEAK, compute or 0.0):
        facts["profile.bound"] = "bandwidth"
    elif compute is not None and compute >= _NEAR_PEAK:
        facts["profile.bound"] = "compute"
    elif bandwidth is not None and compute is not None and max(bandwidth, compute) < _FAR_FROM_PEAK:
        facts["profile.bound"] = "latency"
    launches = (shape.get("resources") or {}).get("baseline") or []
    if len(launches) == 1:  # of several, none speaks for the kernel
        _take(facts, "profile.occupancy", launches[0].get("occupancy"))
        facts["profile.occupancy_limit"] = str(launches[0].get("occupancy_limited_by", "warps"))
    return facts


def _take(facts: dict[str, Scalar], name: str, value: Any) -> None:
    if isinstance(value, int | float):
        facts[name] = round(value, 3)
