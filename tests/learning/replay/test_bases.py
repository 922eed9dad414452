"""Steps between powers of e and of two: where the factor stands in neither state, the caller has it."""

from __future__ import annotations

import pytest

from kernel_gate.program import Program
from kernel_lineage.learning.replay.bases import base_doubt


@pytest.mark.parametrize(
    ("before", "after", "doubted"),
    [
        ("tl.exp(g - m) * x", "tl.exp2(g - m) * x", True),
        ("exp(g) + tl.exp(m)", "exp2(g) + exp2(m)", True),
        ("tl.exp2(g)", "tl.exp(g)", True),
        ("expf(g)", "exp2f(g)", True),
        ("__expf(g)", "exp2f(g)", True),
        ("tl.exp(g)", "tl.exp2(g * 1.4426950408889634)", False),
        ("tl.exp(g)", "tl.exp2(g * LOG2_E)", False),
        ("tl.exp(g)", "tl.exp2(g * RCP_LN2)", False),
        ("tl.exp(g)", "tl.exp(g) * x", False),
        ("tl.exp2(g)", "tl.exp2(g) * tl.exp2(m)", False),
        ("tl.exp(g) * my_exp2(m)", "my_exp2(g) * tl.exp(m)", False),
        ("expert(g)", "exp2(g)", False),
    ],
)
def test_other_powers_without_the_factor_are_another_task(before: str, after: str, doubted: bool) -> None:
    doubt = base_doubt(Program("triton", before, "first"), Program("triton", after, "second"))
    assert bool(doubt) is doubted, doubt
    assert not doubted or ("first" in doubt and "second" in doubt)
