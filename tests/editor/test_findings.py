"""What a finding says."""

from __future__ import annotations

import pytest

from kernel_lineage.editor.findings import without_seed


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("race on buf[128]; n 768, seed 2227; sum.cu:13", "race on buf[128]; n 768; sum.cu:13"),
        (
            "seen under another order (the first warp first, seed 91)",
            "seen under another order (the first warp first)",
        ),
        ("y[3] = NaN; N 4, seed 7, inputs highest", "y[3] = NaN; N 4, inputs highest"),
        ("y[3] = NaN; seed 7, inputs highest; y.cu:3", "y[3] = NaN; inputs highest; y.cu:3"),
        ("y[3] = NaN; seed 7; y.cu:3", "y[3] = NaN; y.cu:3"),
        ("block_seed 7 is no seed of ours", "block_seed 7 is no seed of ours"),
    ],
)
def test_the_number_that_no_command_takes_is_left_out(words, shown):
    assert without_seed(words) == shown
