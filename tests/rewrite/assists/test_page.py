"""The assists' page says of every assist what it does, on what, and when not."""

from __future__ import annotations

from assists_page import render
from kernel_lineage.rewrite.assists.registry import all_assists
from rewrite.assists.examples_read import REFUSALS


def test_every_assist_is_on_the_page_with_its_change_and_its_refusals() -> None:
    page = render()
    for assist in all_assists().values():
        assert f"## {assist.title}\n" in page
        assert f"`{assist.id}` · skill `{assist.skill}`" in page
        assert all(refused.reason in page for refused in REFUSALS if refused.assist is assist)
    assert "+__global__ void add_bias(float* __restrict__ out" in page


def test_the_page_is_the_same_each_time() -> None:
    assert render() == render()
