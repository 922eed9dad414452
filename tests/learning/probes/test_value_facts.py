"""What the values of a case are, in the names of the condition language."""

import numpy as np
import pytest

from kernel_gate.workload import parse_workload
from kernel_lineage.learning.probes.value_facts import facts_of_values
from learning.probes.axis_examples import rows_workload

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
                "row_log_sum_exp": (1.09861, 5.06588),
            },
        ),
        ([[1, NAN, 2], [0, 0, 0]], {"finite": False, "row_has_finite": True}),
        ([[1, -INF, 2], [-INF, -INF, -INF]], {"finite": False, "row_has_finite": False}),
    ],
)
def test_facts_of_floats(rows, facts):
    values = facts_of_values({"x": np.array(rows, np.float32)}, WORKLOAD)
    assert dict(values) == {f"{name}(x)": value for name, value in facts.items()}


def test_how_far_what_an_index_picks_leads_its_row():
    picking = parse_workload(
        rows_workload("k", dims="N = [2]\nC = [3]\n").replace(
            '[[args]]\nname = "C"',
            '[[args]]\nname = "y"\nkind = "input"\ndtype = "int64"\nshape = ["N"]\nvalues = "integers(0, C)"\n'
            '[[args]]\nname = "C"',
        )
    )
    x = np.array([[1, 5, 2], [0, 4, 1]], np.float32)
    values = dict(facts_of_values({"x": x, "y": np.array([1, 0])}, picking))
    assert values["row_lead_at(x, y)"] == (-4, 3)
    assert "row_lead_at(x, y)" not in dict(facts_of_values({"x": x, "y": np.array([1, 3])}, picking))
