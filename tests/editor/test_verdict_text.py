"""Verdicts in words."""

from __future__ import annotations

import re

import pytest

from kernel_gate.reasons import Reason
from kernel_gate.verdict import Outcome, ShapeSpeed, SpeedState, Speedup, Stage, StageStatus, Verdict
from kernel_lineage.editor.verdict_text import details_of, summary_of
from kernel_lineage.rewrite.document import ApplyDocument

WRONG = "y[3, 769] = NaN (not written), expected 0.4127; N 4, C 770, seed 91; rmsnorm.cu:31"


def document(outcome, reason, **more):
    return ApplyDocument(
        skill="s", path="rmsnorm.cu", kernel="rmsnorm", by="assist", outcome=outcome, reason=reason,
        source_sha256="0" * 64, **more,
    )  # fmt: skip


def verdict(outcome, **stages):
    named = [Stage(name=name, status=status, reason=reason) for name, (status, reason) in stages.items()]
    return Verdict(outcome=outcome, reason="", stages=named, inputs_hash="0")


REJECTED = document(
    "rejected",
    f"check: {WRONG}",
    verdict=verdict(Outcome.REJECTED, build=(StageStatus.PASS, ""), check=(StageStatus.FAIL, WRONG)),
)
INCONCLUSIVE = document(
    "inconclusive",
    "not profiled: there is no GPU",
    patch=".klineage/patches/1.patch",
    verdict=verdict(
        Outcome.INCONCLUSIVE,
        build=(StageStatus.PASS, ""),
        check=(StageStatus.PASS, "12 cases"),
        profile=(StageStatus.UNAVAILABLE, "there is no GPU"),
    ).model_copy(update={"code": Reason.NOT_PROFILED}),
)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (REJECTED, f"Rejected by check: {WRONG}. Nothing was changed."),
        (
            INCONCLUSIVE,
            "Right, speed not shown (build, check passed): not profiled: there is no GPU. Nothing was changed.",
        ),
        (document("refused", "C = 770 fails."), "Refused: C = 770 fails. Nothing was changed."),
        (document("accepted", "1.28× (1.26 … 1.30) on H200"), "Accepted: 1.28× (1.26 … 1.30) on H200."),
    ],
    ids=["rejected", "inconclusive", "refused", "accepted"],
)
def test_a_verdict_in_one_line(found, says):
    assert summary_of(found) == says


def test_the_details_have_every_stage_and_where_the_candidate_lies():
    page = details_of("Vectorise", INCONCLUSIVE)
    assert "| check | ✓ pass | 12 cases |" in page
    assert "| profile | ? unavailable | there is no GPU |" in page
    assert "`.klineage/patches/1.patch`" in page


def test_a_reason_cannot_break_the_table():
    found = document("rejected", "x", verdict=verdict(Outcome.REJECTED, build=(StageStatus.FAIL, "a | b\nc")))
    assert "| build | ✗ fail | a \\| b c |" in details_of("t", found)


def test_a_code_leads_to_where_it_is_explained():
    judged = verdict(Outcome.REJECTED).model_copy(update={"code": Reason.WRONG_VALUE})
    page = details_of("t", document("rejected", "x", verdict=judged))
    assert re.search(r"\*\*\[wrong-value\]\(file:///\S+/verdicts\.md#L\d+\)\*\*: An element", page)


def test_the_speed_is_told_by_shape():
    shape = ShapeSpeed(
        dims={"N": 8, "C": 4096}, baseline_us=12.0, candidate_us=8.0, median=1.5, low=1.4, high=1.6, noise=0.01,
        state=SpeedState.FAST,
    )  # fmt: skip
    speed = Speedup(median=1.5, low=1.4, high=1.6, state=SpeedState.FAST, by_shape=[shape])
    judged = verdict(Outcome.ACCEPTED).model_copy(update={"speedup": speed})
    page = details_of("t", document("accepted", "faster", verdict=judged))
    assert "| N 8, C 4096 | 12.0 µs | 8.0 µs | 1.50× (1.40 … 1.60), fast |" in page
