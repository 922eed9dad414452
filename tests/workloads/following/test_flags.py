"""Which parameters of C++ code choose what it does, and between which numbers."""

from __future__ import annotations

import pytest

from kernel_lineage.workloads.following.flags import numbers_told_apart
from kernel_lineage.workloads.following.unit import unit_of

REST = """
enum class Kind { Sum, Mean = 4, Max };
__global__ void scaled(float* x, int mode) { if (mode == 2) x[0] = 1; }
__global__ void counted(float* x, int n) { if (n == 2) x[n] = 1; }
"""


@pytest.mark.parametrize(
    ("body", "numbers"),
    [
        ("int r = (m) ? 4 : 2;", (1, 0)),
        ("if (!m) g(x);", (1, 0)),
        ("if (m == 1) f(x); else if (static_cast<int>(m) == 2) g(x);", (1, 2, 0)),
        ("switch (m) { case Kind::Mean: f(x); break; case Kind::Max: g(x); }", (4, 5, 0)),
        ("const int own = (int)m; scaled<<<1, 1>>>(x, own);", (2, 0)),
        ("TORCH_CHECK(m == 0 || m == 1); if (m == 1) g(x);", (1, 0)),
        ("if (m == 0) return; counted<<<1, 1>>>(x, m);", ()),
        ("if (m == 0) return; int blocks = (m + 7) / 8;", ()),
        ("other(m); if (m == 1) g(x);", ()),
        ("g(x);", ()),
    ],
)
def test_numbers_that_are_told_apart(body: str, numbers: tuple[int, ...]) -> None:
    unit = unit_of(f"{REST}void launch(float* x, int m) {{ {body} }}")
    assert numbers_told_apart("m", unit.hosts("launch"), unit) == numbers


def test_a_draft_takes_a_number_that_leads_to_the_launch() -> None:
    from kernel_lineage.workloads.following.ways import follow_way

    unit = unit_of(
        REST + "void launch(float* x, int m) { if (m == 7) return; if (m == 3) scaled<<<1, 1>>>(x, 2); }"
    )
    ((leading, entry),) = unit.ways_to("scaled")
    way = follow_way(unit, "scaled", leading, entry)
    assert way is not None
    assert way[1].chosen_by == {"m": 3}
