"""What was tried is remembered: a failure is not repeated on the same parent, and limits veto before anything runs."""

from __future__ import annotations

from pathlib import Path

from kernel_gate.verdict import Outcome, Stage, StageStatus, Verdict
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.materialise import Lane
from kernel_lineage.rewrite.memory import remembered_facts
from kernel_lineage.rewrite.profile_facts import profile_of
from kernel_lineage.skills.conditions.stated import stated_facts
from kernel_lineage.skills.ranking.outcomes import outcomes_in
from rewrite.conftest import SCALE, Judges, verdict
from rewrite.test_apply import ALIGNED, ask

REJECTED = verdict(Outcome.REJECTED, "out[5] = 0, expected 1.5")
COUNTED = Verdict(
    outcome=Outcome.INCONCLUSIVE,
    reason="not timed",
    stages=[
        Stage(
            name="build", status=StageStatus.PASS, details={"baseline": {"registers": 40, "spill_bytes": 16}}
        ),
        Stage(
            name="sanitize",
            status=StageStatus.PASS,
            details={
                "counts": {
                    "before": {
                        "total": {
                            "sectors_per_request": 32.0,
                            "wavefronts_per_request": None,
                            "branches": 8,
                            "divergent_branches": 2,
                        }
                    }
                }
            },
        ),
        Stage(
            name="profile",
            status=StageStatus.PASS,
            details={
                "shapes": [
                    {
                        "bandwidth_share": {"baseline": 0.91, "candidate": 0.92},
                        "resources": {"baseline": [{"occupancy": 0.5, "occupancy_limited_by": "registers"}]},
                    }
                ]
            },
        ),
    ],
    inputs_hash="0",
)


def test_what_was_rejected_on_a_kernel_is_not_gated_on_it_again(repository: Path) -> None:
    judge = Judges(REJECTED)
    assert ask(repository, judge, stated=ALIGNED).outcome == "rejected"
    again = ask(repository, judge, stated=ALIGNED)
    assert again.outcome == "refused"
    assert "tried on this very kernel" in again.reason
    assert "out[5] = 0" in again.reason
    assert len(judge.seen) == 1


def test_a_person_can_have_it_tried_anyway(repository: Path) -> None:
    judge = Judges(REJECTED)
    ask(repository, judge, stated=ALIGNED)
    assert ask(repository, judge, stated=ALIGNED, anyway=True).outcome == "rejected"
    assert len(judge.seen) == 2


def test_another_parent_another_way_to_run_it_or_another_lane_is_another_try(repository: Path) -> None:
    judge = Judges(REJECTED)
    ask(repository, judge, stated=ALIGNED)
    workload = repository / ".klineage" / "workloads" / "scale.toml"
    workload.write_text(workload.read_text().replace("[64, 4096]", "[64, 8192]"))
    assert ask(repository, judge, stated=ALIGNED).outcome == "rejected"
    source = repository / "src" / "scale.cu"
    source.write_text(SCALE.replace("a * x[i]", "x[i] * a"))
    assert ask(repository, judge, stated=ALIGNED).outcome == "rejected"


def test_a_dry_run_leaves_no_trace(repository: Path) -> None:
    ask(repository, Judges(REJECTED), stated=ALIGNED, dry_run=True)
    assert outcomes_in(repository) == ((), ())


def test_limits_veto_before_anything_runs_in_every_lane(repository: Path) -> None:
    full = stated_facts('profile.bound = "bandwidth", profile.bandwidth_share = 0.95', "measured")
    judge = Judges(verdict(Outcome.ACCEPTED))
    for lane in (Lane("assist"), Lane("handoff")):
        document = ask(repository, judge, stated=ALIGNED.merged(full), lane=lane)
        assert document.outcome == "refused"
        assert "Not now: memory already moves at its peak rate" in document.reason
    assert judge.seen == []
    assert not (kept_in(repository) / "handoff").exists()


def test_a_verdict_tells_what_limits_the_baseline() -> None:
    assert profile_of(COUNTED) == {
        "kernel.registers": 40,
        "kernel.spills": 16,
        "profile.sectors_per_request": 32.0,
        "profile.divergent_share": 0.25,
        "profile.bandwidth_share": 0.91,
        "profile.bound": "bandwidth",
        "profile.occupancy": 0.5,
        "profile.occupancy_limit": "registers",
    }


def test_what_a_run_showed_of_a_kernel_is_known_of_it_later(repository: Path) -> None:
    ask(repository, Judges(COUNTED), stated=ALIGNED)
    kernel = read(SCALE.encode(), Language.CUDA).kernels[0]
    facts = remembered_facts(repository, kernel)
    fact = facts.get("profile.bound")
    assert fact is not None
    assert fact.values == ("bandwidth",)
    changed = read(SCALE.replace("a * x[i]", "x[i] * a").encode(), Language.CUDA).kernels[0]
    assert list(remembered_facts(repository, changed)) == []
