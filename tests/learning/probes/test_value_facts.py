"""What the values of a case are, in the names of the condition language."""

import numpy as np
import pytest

from kernel_gate.workload import parse_workload
from kernel_lineage.learning.probes.examples import rows_workload
from kernel_lineage.learning.probes.value_facts import facts_of_values

WORKLOAD = parse_workload(rows_workload("k", dims="N = [2]\nC = [3]\n"))
NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("rows", "facts"),
    [
        (
            [[1, 5, 2], [0, 0, 0]],
            {
                "finite": True,
                "row_has_finite": True,
                "range": (0, 5),
                "row_spread": (0, 4),
                "row_lead": (0, 3),
            },
        ),
        ([[1, NAN, 2], [0, 0, 0]], {"finite": False, "row_has_finite": True}),
        ([[1, -INF, 2], [-INF, -INF, -INF]], {"finite": False, "row_has_finite": False}),
    ],
)
def test_facts_of_floats(rows, facts):
    found = facts_of_values({"x": np.array(rows, np.float32)}, WORKLOAD)
    assert dict(found) == {f"{name}(x)": value for name, value in facts.items()}
