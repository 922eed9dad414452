"""Invariants that the cases of built-in skills state: they can be read, and they hold when the case runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gate.invariants.asserting import floats, watch
from kernel_gate.invariants.comments import states_any
from kernel_gate.invariants.reading import read_statements
from kernel_lineage.skills.library import builtin_folder

ROWS, COLUMNS = np.int32(40), np.int32(50)
RUNS: dict[str, Callable[[], dict[str, Any]]] = {
    "shared-tile-padding": lambda: {
        "entry": "turn_tile",
        "arguments": {
            "out": np.zeros((COLUMNS, ROWS), np.float32),
            "x": floats(ROWS, COLUMNS),
            "rows": ROWS,
            "columns": COLUMNS,
        },
        "grid": (2, 2),
        "block": (32, 32),
    }
}
"""How to run the cases of a skill that state something."""
STATED = [
    path for path in sorted(builtin_folder().glob("*/cases/applies/*")) if states_any(path.read_text("utf-8"))
]


def test_some_case_states_something() -> None:
    assert STATED


@pytest.mark.parametrize("path", STATED, ids=lambda p: f"{p.parents[2].name}/{p.name}")
def test_what_a_case_states_holds(path: Path) -> None:
    assertions = watch(path.read_text("utf-8"), **RUNS[path.parents[2].name]()).asserted
    assert assertions
    for assertion in assertions:
        assert assertion.compared
        assert (assertion.untagged, assertion.violated) == (0, 0)


def test_an_index_that_forgot_the_new_rows_of_a_tile_is_seen() -> None:
    after = (builtin_folder() / "shared-tile-padding/cases/applies/01.after.cu").read_text("utf-8")
    wrong = after.replace(
        "= tile[threadIdx.x][threadIdx.y]", "= (&tile[0][0])[threadIdx.x * 32 + threadIdx.y]"
    )
    assert wrong != after
    (assertion,) = watch(wrong, **RUNS["shared-tile-padding"](), quiet=False).asserted
    assert assertion.violated
    assert assertion.violation is not None and "stored.row is 1, from x[1, 31]" in assertion.violation.message


@pytest.mark.parametrize("path", STATED, ids=lambda p: f"{p.parents[2].name}/{p.name}")
def test_before_and_after_state_the_same(path: Path) -> None:
    other = path.with_name(path.name.replace(".before.", ".after."))
    first, second = (read_statements(p.read_text("utf-8"), "cuda")[0] for p in (path, other))
    assert [a.text for a in first.assertions] == [a.text for a in second.assertions]
