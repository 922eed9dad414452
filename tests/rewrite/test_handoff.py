"""Handoff: a request is written, an answer is dropped back, a finding leads to the next request."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.verdict import Outcome
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.rewrite.apply import ApplyRequest, apply
from kernel_lineage.rewrite.document import ApplyDocument
from kernel_lineage.rewrite.handoff import HandoffError
from kernel_lineage.rewrite.materialise import Lane
from kernel_lineage.skills.library import library
from rewrite.conftest import SCALE, Judges, verdict
from rewrite.model.test_lane import ALIGNED, FOUR, NO_TAIL, answer


def ask(repository: Path, judge: Judges) -> ApplyDocument:
    skill = library().get("vectorised-row-access")
    assert skill is not None
    path = repository / "src" / "scale.cu"
    return apply(
        ApplyRequest(skill, path, "scale", Lane("handoff"), device="emulated", stated=ALIGNED), judge
    )


def folder_of(repository: Path) -> Path:
    (folder,) = (kept_in(repository) / "handoff").iterdir()
    return folder


def text_of(repository: Path) -> str:
    return (repository / "src" / "scale.cu").read_text()


def test_a_request_is_written_and_its_answer_applied(repository: Path) -> None:
    judge = Judges(verdict(Outcome.ACCEPTED))
    first = ask(repository, judge)
    assert first.outcome == "refused"
    folder = folder_of(repository)
    assert str(folder / "answer.json") in first.reason
    assert "out[i] = a * x[i];" in (folder / "request.md").read_text()
    (folder / "answer.json").write_text(answer())
    second = ask(repository, judge)
    assert (second.outcome, second.by, second.applied) == ("accepted", "handoff", True)
    assert FOUR in text_of(repository)


def test_a_rejected_answer_is_put_aside_and_the_finding_asked_again(repository: Path) -> None:
    judge = Judges(verdict(Outcome.REJECTED, "out[769] = NaN (not written)"), verdict(Outcome.ACCEPTED))
    ask(repository, judge)
    folder = folder_of(repository)
    (folder / "answer.json").write_text(answer(NO_TAIL))
    rejected = ask(repository, judge)
    assert rejected.outcome == "rejected"
    assert (folder / "answer-1.json").exists()
    assert not (folder / "answer.json").exists()
    assert "out[769] = NaN" in (folder / "request.md").read_text()
    (folder / "answer.json").write_text(answer())
    assert ask(repository, judge).applied
    assert folder_of(repository) == folder


def test_an_answer_for_an_older_text_is_not_taken(repository: Path) -> None:
    judge = Judges(verdict(Outcome.ACCEPTED))
    ask(repository, judge)
    (folder_of(repository) / "answer.json").write_text(answer())
    path = repository / "src" / "scale.cu"
    path.write_text(SCALE.replace("a * x[i]", "a * x[i] + 1.0f"))
    document = ask(repository, judge)
    assert document.outcome == "refused"
    assert judge.seen == []
    assert len(list((kept_in(repository) / "handoff").iterdir())) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"\xff\xfe", "not UTF-8"), (b" " * 300_000, "larger than")],
)
def test_an_answer_that_cannot_be_read_is_said(repository: Path, content: bytes, message: str) -> None:
    ask(repository, Judges(verdict(Outcome.ACCEPTED)))
    (folder_of(repository) / "answer.json").write_bytes(content)
    with pytest.raises(HandoffError, match=message):
        ask(repository, Judges(verdict(Outcome.ACCEPTED)))


def test_a_broken_request_file_is_said(repository: Path) -> None:
    ask(repository, Judges(verdict(Outcome.ACCEPTED)))
    (folder_of(repository) / "request.json").write_text("{")
    with pytest.raises(HandoffError, match="start again"):
        ask(repository, Judges(verdict(Outcome.ACCEPTED)))


def test_an_answer_that_reaches_further_is_refused(repository: Path) -> None:
    judge = Judges(verdict(Outcome.ACCEPTED))
    ask(repository, judge)
    (folder_of(repository) / "answer.json").write_text(answer("#include <cstdlib>\n" + FOUR))
    document = ask(repository, judge)
    assert document.outcome == "refused"
    assert "preprocessor line" in document.reason
    assert judge.seen == []
    assert text_of(repository) == SCALE
