"""What applies to a kernel is found out once for all questions that an editor asks at the same time."""

from __future__ import annotations

import asyncio

import pytest

from kernel_lineage.editor import applicability
from kernel_lineage.editor.applicability import Applicability
from kernel_lineage.editor.documents import Snapshot, Text
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language


@pytest.fixture
def snapshot(scale):
    data = scale.read_bytes()
    return Snapshot(scale.as_uri(), scale, 1, Text(data), read(data, Language.CUDA))


@pytest.fixture
def judged(monkeypatch):
    """Each judgement that is made, by its kernel's name."""
    names = []
    judge = applicability.applicable

    def counted(kernel, *others):
        names.append(kernel.name)
        return judge(kernel, *others)

    monkeypatch.setattr(applicability, "applicable", counted)
    return names


async def test_questions_at_the_same_time_are_answered_by_one_judgement(snapshot, judged):
    (kernel,), here = snapshot.source.kernels, Applicability(None)
    answers = await asyncio.gather(here.at(snapshot, kernel), here.at(snapshot, kernel))
    sites = await here.mechanisms(snapshot, kernel)
    assert judged == ["scale"]
    assert answers[0] and answers[0] == answers[1]
    assert "coalesced_access" in {site.mechanism for site in sites if site.certain}


async def test_a_question_that_is_cancelled_leaves_the_answer_to_the_others(snapshot, judged):
    (kernel,), here = snapshot.source.kernels, Applicability(None)
    first, second = (asyncio.ensure_future(here.at(snapshot, kernel)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second
    assert judged == ["scale"]


async def test_a_judgement_that_failed_is_made_again(snapshot, monkeypatch):
    (kernel,), here = snapshot.source.kernels, Applicability(None)
    with monkeypatch.context() as broken:
        broken.setattr(applicability, "mechanisms_of", None)
        with pytest.raises(TypeError):
            await here.at(snapshot, kernel)
    assert await here.at(snapshot, kernel)
