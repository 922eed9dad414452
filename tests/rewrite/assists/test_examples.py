"""Every assist keeps the promise of its own examples: what it makes of a file, and where it must leave one alone."""

from __future__ import annotations

import pytest

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.anchors.registry import anchors_of
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.registry import all_assists
from kernel_lineage.rewrite.candidate import Candidate
from kernel_texts import kernel_in_text
from rewrite.assists.examples_read import APPLICATIONS, REFUSALS, Application, Refused

APPLIES = [pytest.param(e, id=f"{e.assist.id}-{e.kernel}") for e in APPLICATIONS]
REFUSES = [pytest.param(e, id=f"{e.assist.id}-{e.reason}") for e in REFUSALS]


def kernel_data(kernel: Kernel) -> bytes:
    assert kernel.source is not None
    return kernel.source.data


def results(assist: Assist, kernel: Kernel) -> list[Candidate | Refusal]:
    """At the anchors of the assist's pattern, and at an anchor of an older text, which may name any place."""
    stale = Anchor(kernel.span, "the whole kernel", pattern=assist.pattern)
    return [assist.rewrite(kernel, a) for a in (*anchors_of(kernel), stale) if a.pattern == assist.pattern]


@pytest.mark.parametrize("example", APPLIES)
def test_it_makes_of_a_file_what_the_example_says(example: Application) -> None:
    outcomes = results(example.assist, kernel_in_text(example.before, example.kernel, example.language))
    made = [o.apply(example.before.encode()).decode() for o in outcomes if isinstance(o, Candidate)]
    assert example.after in made, [getattr(o, "reason", "") for o in outcomes] + made


@pytest.mark.parametrize("example", APPLIES)
def test_its_pattern_leads_to_it(example: Application) -> None:
    kernel = kernel_in_text(example.before, example.kernel, example.language)
    assist = example.assist
    made = [assist.rewrite(kernel, a) for a in anchors_of(kernel) if a.pattern == assist.pattern]
    assert any(
        isinstance(m, Candidate) and m.apply(kernel_data(kernel)).decode() == example.after for m in made
    )


@pytest.mark.parametrize("example", REFUSES)
def test_it_leaves_a_file_alone_and_says_why(example: Refused) -> None:
    kernel = kernel_in_text(example.code, example.kernel, example.language)
    outcomes = results(example.assist, kernel)
    reasons = [o.reason for o in outcomes if isinstance(o, Refusal)]
    assert len(reasons) == len(outcomes)
    assert any(example.reason in r for r in reasons), reasons


@pytest.mark.parametrize("example", APPLIES)
def test_it_does_not_apply_to_its_own_result(example: Application) -> None:
    outcomes = results(example.assist, kernel_in_text(example.after, example.becomes, example.language))
    again = [o.apply(example.after.encode()).decode() for o in outcomes if isinstance(o, Candidate)]
    assert all(text == example.after for text in again)


@pytest.mark.parametrize("assist", all_assists().values(), ids=lambda a: a.id)
def test_it_has_examples_of_both_kinds(assist: Assist) -> None:
    assert assist in {example.assist for example in APPLICATIONS}
    assert assist in {example.assist for example in REFUSALS}


def test_all_passes_over_a_row_lead_to_one_candidate() -> None:
    code = """
__global__ void scaled(float* __restrict__ y, const float* __restrict__ x, const float* __restrict__ w, int C) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < C; i += blockDim.x) { sum += x[i]; }
    for (int i = threadIdx.x; i < C; i += blockDim.x) { y[i] = sum * w[i]; }
}
"""
    wide = all_assists()["vectorise_row_access"]
    kernel = kernel_in_text(code, "scaled")
    made = [m for a in anchors_of(kernel) if isinstance(m := wide.rewrite(kernel, a), Candidate)]
    places = {a.span for a in anchors_of(kernel) if a.pattern == wide.pattern}
    assert len(places) > 1
    assert len({m.apply(code.encode()) for m in made}) == 1
