"""What tests of several files of this folder share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from benchmarks.strangers_table import Judge


@pytest.fixture(scope="module")
def judge_here() -> Iterator[Judge]:
    """The gate in this process, with what it keeps of a baseline."""
    from kernel_gate.gate import judge
    from kernel_gate.kept import Kept

    with Kept() as kept:
        yield lambda r: judge(
            r.baseline, r.candidate, r.workload, device=r.device, options=r.options, kept=kept
        )
