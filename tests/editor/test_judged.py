"""What is shown of a kernel whose text has changed since its source was asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernel_lineage.editor.judged import Judged, in_words, moved_to, with_earlier_proofs, with_proofs
from kernel_lineage.editor.proving import Proved
from kernel_lineage.learning.check_document import CheckedDocument, FindingDocument
from kernel_lineage.learning.version_checks import VersionState

OVERFLOW = FindingDocument(line=3, message="rows: `row * C` does not fit int32\nmore", severity="error")
HINT = OVERFLOW.model_copy(update={"severity": "hint"})


def judged(digest: bytes, state: VersionState = VersionState.RIGHT) -> Judged:
    document = CheckedDocument(kernel="rows", line=1, state=state, reason="46 cases agree", workload="w.toml")
    return Judged(document, digest, 0.0)


def proved(*findings: FindingDocument, **more) -> Proved:
    return Proved(findings=list(findings), asked=4, proved=4 - len(findings), **more)


def test_a_counterexample_makes_a_kernel_wrong():
    now = with_proofs(judged(b"a"), proved(OVERFLOW))
    assert (now.document.state, now.is_wrong, now.is_sound) == (VersionState.WRONG, True, False)
    assert now.document.findings == [OVERFLOW]


def test_after_an_edit_it_is_shown_as_of_before_and_decides_nothing():
    now = with_earlier_proofs(judged(b"b"), with_proofs(judged(b"a"), proved(OVERFLOW)))
    assert (now.document.state, now.is_wrong, now.is_sound) == (VersionState.UNKNOWN, False, False)
    (shown,) = now.document.findings
    assert shown.severity == "warning"
    assert shown.message.endswith("before the last edit; it is asked again when the typing rests.")
    assert "before the last edit" in in_words(now)


DRAFTED = OVERFLOW.model_copy(update={"severity": "warning"})


@pytest.mark.parametrize(
    ("now", "doubt"),
    [
        (judged(b"a"), ""),
        (judged(b"a", VersionState.WRONG), "is wrong"),
        (with_proofs(judged(b"a"), proved(OVERFLOW)), "is wrong"),
        (with_proofs(judged(b"a"), proved(DRAFTED)), "may be wrong"),
        (with_proofs(judged(b"a"), proved(HINT)), ""),
        (with_earlier_proofs(judged(b"b"), with_proofs(judged(b"a"), proved(DRAFTED))), "may be wrong"),
    ],
)
def test_no_skill_is_offered_where_the_source_shows_an_overflow_at_callers_sizes(now, doubt):
    assert now.doubt == doubt


def test_a_source_that_takes_longer_than_a_check_is_asked_again_when_the_file_is_saved():
    now = with_earlier_proofs(judged(b"b"), with_proofs(judged(b"a"), proved(OVERFLOW, in_time=False)))
    assert "when the file is saved" in now.document.findings[0].message


@pytest.mark.parametrize("findings", [(), (HINT,)])
def test_nothing_stays_of_a_source_that_spoke_against_nothing(findings):
    now = with_earlier_proofs(judged(b"b"), with_proofs(judged(b"a"), proved(*findings)))
    assert now.document == now.checked


def test_the_same_text_need_not_be_asked_twice_unless_there_was_no_time():
    before = with_proofs(judged(b"a"), proved(OVERFLOW))
    assert with_earlier_proofs(judged(b"a"), before).is_wrong
    hasty = with_proofs(judged(b"a"), proved(OVERFLOW, in_time=False))
    assert not with_earlier_proofs(judged(b"a"), hasty).is_proved


def test_a_kernel_whose_cases_are_wrong_shows_these_alone():
    now = with_earlier_proofs(judged(b"b", VersionState.WRONG), with_proofs(judged(b"a"), proved(OVERFLOW)))
    assert now.document.findings == []
    assert now.is_wrong


def test_what_the_source_showed_goes_with_its_line_and_moves_with_the_text():
    now = with_proofs(judged(b"a"), proved(OVERFLOW))
    before = b"a\nb\nint base = row * C;\nc\n"
    moved = moved_to(now, before, b"\n" + before)
    assert moved.document.findings[0].line == 4
    assert moved_to(now, before, before.replace(b"row", b"(long long)row")).document.findings == []


def outdated(one: Judged) -> Judged:
    return replace(one, is_outdated=True)


def test_what_was_right_is_not_decided_after_an_edit_and_has_nothing_against_it():
    now = outdated(with_proofs(judged(b"a"), proved()))
    assert (now.document.state, now.doubt) == (VersionState.UNKNOWN, "")
    assert "not checked yet" in in_words(now)


@pytest.mark.parametrize("findings", [(OVERFLOW,), ()], ids=["at its line", "whose line was edited"])
def test_what_was_wrong_may_be_wrong_after_an_edit(findings):
    one = judged(b"a", VersionState.WRONG)
    now = outdated(replace(one, checked=one.checked.model_copy(update={"findings": list(findings)})))
    assert (now.document.state, now.is_wrong, now.doubt) == (VersionState.UNKNOWN, False, "may be wrong")
    assert [f.severity for f in now.document.findings] == ["warning"] * len(findings)


def test_of_a_kernel_of_which_nothing_was_known_an_edit_leaves_the_reason():
    now = outdated(judged(b"", VersionState.UNKNOWN))
    assert now.document == now.checked


def test_a_text_whose_finding_was_edited_away_is_checked_again_when_the_edit_is_taken_back():
    now = with_proofs(judged(b"a"), proved(OVERFLOW))
    before = b"a\nb\nint base = row * C;\nc\n"
    assert moved_to(now, before, b"\n" + before).digest == b"a"
    assert moved_to(now, before, before.replace(b"row", b"(long long)row")).digest != b"a"


def test_a_missing_solver_is_said_where_a_kernel_is_right():
    now = with_proofs(judged(b"a"), Proved(findings=[], asked=0, proved=0, open="no z3", lacks="no z3"))
    assert in_words(now).endswith("right on the emulated device; nothing beyond its cases is proved: no z3")
    assert now.document.reason.endswith("nothing beyond its cases is proved: no z3")
    assert now.is_sound
