"""Verdicts in words."""

from __future__ import annotations

import pytest

from kernel_gate.reasons import Reason
from kernel_gate.verdict import Outcome, Stage, StageStatus, Verdict
from kernel_lineage.editor.verdict_text import page_of, summary_of
from kernel_lineage.rewrite.document import ApplyDocument, EditDocument

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
    f"Rejected by check: {WRONG}",
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
    ("judged", "says"),
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
def test_a_verdict_in_one_line(judged, says):
    assert summary_of(judged) == says


def test_the_page_has_the_difference_every_stage_and_where_the_candidate_lies():
    before = b"a\nb < 1\n\xff\n"
    changed = INCONCLUSIVE.model_copy(update={"edits": [EditDocument(start=2, end=3, text="c")]})
    page = page_of("Vectorise", changed, before)
    assert "12 cases" in page
    assert "there is no GPU" in page
    assert ".klineage/patches/1.patch" in page
    assert '<span class="del">-b &lt; 1</span><span class="add">+c &lt; 1</span>' in page
    assert page.encode()  # what was no UTF-8 is sent as well


def test_the_page_says_what_was_counted_and_what_has_to_hold():
    counts = {
        "case": "n 4096, seed 7",
        "before": {"total": {"global_requests": 384, "branches": 128, "sectors_per_request": None}},
        "after": {"total": {"global_requests": 96, "branches": 128, "sectors_per_request": None}},
    }
    counted = Stage(name="sanitize", status=StageStatus.PASS, reason="", details={"counts": counts})
    needs = Stage(
        name="prove", status=StageStatus.PASS, reason="", details={"conditions": [{"expr": "C % 4 == 0"}]}
    )
    judged = Verdict(outcome=Outcome.INCONCLUSIVE, reason="", stages=[counted, needs], inputs_hash="0")
    page = page_of("t", document("inconclusive", "x", verdict=judged), b"")
    assert '<th class="soft">global requests</th><td>384</td><td>96</td><td>-75%</td>' in page
    assert "branches" not in page  # as before
    assert '<li class="mono">C % 4 == 0</li>' in page


def test_where_nothing_was_judged_there_is_no_page():
    assert page_of("t", document("refused", "C = 770 fails."), b"") == ""
