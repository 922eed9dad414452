"""What a transition claims of the device that it is replayed on."""

from __future__ import annotations

import pytest

from kernel_lineage.history.model import Intent, Transition, TransitionKind
from kernel_lineage.learning.replay.claims import Claim, claim_of

STEP = Transition("1", "a", "b", TransitionKind.EDIT, Intent.OPTIMISATION, (), (), None, False, "")


@pytest.mark.parametrize(
    ("path", "claim"),
    [
        ("ops/rows.py", Claim.FASTER),
        ("ops/backends/_ascend/rows.py", Claim.SAME),
        ("csrc/rocm/rows.cu", Claim.SAME),
        ("csrc/rows_gfx942.cu", Claim.SAME),
        ("csrc/ramp/chip.cu", Claim.FASTER),
    ],
)
def test_an_optimisation_for_another_makers_device_claims_no_gain_here(path: str, claim: Claim) -> None:
    assert claim_of(STEP, path) is claim
