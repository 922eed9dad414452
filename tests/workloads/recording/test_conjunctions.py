"""Checks whose conditions are told one by one."""

from __future__ import annotations

import pytest

from kernel_lineage.workloads.recording.conjunctions import with_parts


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        (
            'TORCH_CHECK(x.dim() == 2 && f(a && b) == 3 && !c, "a && b");',
            'TORCH_CHECK(KLINEAGE_PART(x.dim() == 2) && KLINEAGE_PART(f(a && b) == 3) && KLINEAGE_PART(!c), "a && b");',
        ),
        (
            "if (a && b) TORCH_INTERNAL_ASSERT(x\n  && y);",
            "if (a && b) TORCH_INTERNAL_ASSERT(KLINEAGE_PART(x)\n  && KLINEAGE_PART(y));",
        ),
        (
            "#define BOTH(x) TORCH_CHECK(x.a() && x.b(), #x)",
            "#define BOTH(x) TORCH_CHECK(KLINEAGE_PART(x.a()) && KLINEAGE_PART(x.b()), #x)",
        ),
    ],
    ids=["three", "two lines", "in a macro"],
)
def test_each_condition_is_a_part(written, parts):
    assert with_parts(written) == parts


@pytest.mark.parametrize(
    "text",
    [
        "TORCH_CHECK(a || b && c);",
        "TORCH_CHECK(a ? b && c : d);",
        'TORCH_CHECK(a == 1, "x && y");',
        "TORCH_CHECK((a && b));",
        "TORCH_CHECK(a  // and && so on\n  && b);",
        "TORCH_CHECK(a && b",
        "check(a && b);",
        "TORCH_CHECK([&] { return a && b; }());",
        'auto s = "TORCH_CHECK(";',
    ],
)
def test_what_is_no_conjunction_stays(text):
    assert with_parts(text) == text
