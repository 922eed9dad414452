"""How large the device is that a draft is for: which dims say so, and where the number comes from."""

from __future__ import annotations

import pytest

from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.workloads import device_size
from kernel_lineage.workloads.first_device import described_device


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("multiProcessorCount", True),
        ("multi_processor_count", True),
        ("multiprocessor_count", True),
        ("num_sms", True),
        ("NUM_SM", True),
        ("sm_count", True),
        ("num_vectorcore", True),
        ("num_aicore_", True),
        ("number_of_cores", True),
        ("num_scores", False),
        ("num_items", False),
        ("core", False),
        ("C", False),
    ],
)
def test_a_dim_says_by_its_name_that_it_counts_multiprocessors(name: str, counts: bool) -> None:
    assert device_size.counts_multiprocessors(name) is counts


def test_sizes_are_for_the_gpu_at_hand_and_for_a_usual_one_without(monkeypatch: pytest.MonkeyPatch) -> None:
    there = Facts(described_device("some GPU", (8, 9), 84 * 128))
    for facts, expected in ((there, 84), (Facts(), 132)):
        monkeypatch.setattr(
            "kernel_lineage.workloads.device_size.device_facts", lambda facts=facts: (facts, "")
        )
        assert device_size.multiprocessors() == expected
