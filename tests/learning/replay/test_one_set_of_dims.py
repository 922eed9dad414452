"""Two drafts that call their sizes otherwise: what one's are in terms of the other's, by the arguments of both."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.replay.one_set_of_dims import DimsDifferError, over_dims_of
from kernel_lineage.workloads.model import Draft, DraftArgument


def buffer(name: str, *shape: str, kind: str = "input") -> DraftArgument:
    return DraftArgument(name, kind, "float32", shape)


def number(name: str, value: str) -> DraftArgument:
    return DraftArgument(name, "scalar", "int32", value=value)


def draft(sizes: dict[str, int], *arguments: DraftArgument, grid: str = "1", **constexpr: str) -> Draft:
    return Draft("scale", Language.TRITON, "a.py", sizes, sizes, arguments, (grid,), (), constexpr=constexpr)


BASE = draft({"rows": 6, "cols": 64}, buffer("x", "rows", "cols"), buffer("w", "cols"))


@pytest.mark.parametrize(
    ("state", "grid"),
    [
        (draft({"rows": 2, "cols": 8}, buffer("x", "rows", "cols"), grid="rows"), "rows"),
        (draft({"n": 2, "h": 8}, buffer("x", "n", "h"), grid="n * cdiv(h, 32)"), "rows * cdiv(cols, 32)"),
        (draft({"cols": 2, "rows": 8}, buffer("x", "cols", "rows"), grid="cols"), "rows"),
        (draft({"h": 8}, buffer("w", "h"), grid="cdiv(h, 8)"), "cdiv(cols, 8)"),
        (
            draft({"n": 2, "h": 8}, buffer("x", "n + 1", "h"), grid="n"),
            "(rows - (1))",
        ),
        (
            draft({"n": 2, "h": 8}, buffer("x", "n", "h // 4"), grid="h"),
            "(cols * (4))",
        ),
        (
            draft({"b": 2, "t": 3, "h": 8}, buffer("x", "b", "t", "h"), number("t", "t"), grid="b * t"),
            "1 * rows",
        ),
    ],
    ids=["same names", "other names", "names swapped", "by another buffer", "sum", "quotient", "product"],
)
def test_a_launch_is_written_over_the_sizes_of_the_other_state(state, grid):
    rewritten = over_dims_of(BASE, state)
    assert rewritten.draft.grid == (grid,)
    assert not rewritten.draft.dims


def test_a_state_of_which_little_is_known_fills_the_device_all_the_same():
    unknown = DraftArgument("y", "output", "float32")
    state = draft(
        {"multiProcessorCount": 132, "n": 8}, unknown, buffer("x", "n"), grid="2 * multiProcessorCount"
    )
    base = draft({"cols": 64}, buffer("x", "cols"))
    rewritten = over_dims_of(base, state).draft
    assert (rewritten.grid, dict(rewritten.dims)) == (
        ("2 * multiProcessorCount",),
        {"multiProcessorCount": 132},
    )
    assert not over_dims_of(base, replace(state, dims={"m": 132, "n": 8}, grid=("2 * m",))).draft.dims


def test_dims_that_a_number_of_both_tells():
    base = draft({"B": 2, "T": 3}, buffer("x", "B * T"), number("seq", "T"))
    state = draft({"b": 4, "t": 5}, buffer("x", "b * t"), number("seq", "t"), grid="b")
    rewritten = over_dims_of(base, state)
    assert rewritten.draft.grid == ("((B * T) // (T))",)
    assert not rewritten.doubt


def test_a_product_that_can_be_split_in_many_ways_is_doubted_only_where_the_parts_count():
    whole = draft({"b": 2, "t": 3, "h": 8}, buffer("x", "b * t", "h"), grid="b * t", BLOCK="h", MODE="'sum'")
    assert not over_dims_of(BASE, whole).doubt
    parts = replace(whole, grid=("t",))
    assert over_dims_of(BASE, parts).doubt == "how rows is made up of b and t is chosen"


def test_what_only_the_callers_device_tells_becomes_a_dim():
    """The number of blocks says nothing of the task."""
    state = draft(
        {"n": 2, "h": 8, "sms": 132},
        buffer("x", "n", "h"),
        grid="sms",
        PER_BLOCK="cdiv(n, sms)",
        TYPE="tl.float32",
    )
    rewritten = over_dims_of(BASE, state).draft
    assert rewritten.dims == {"sms": 132}
    assert rewritten.grid == ("sms",)
    assert rewritten.constexpr == {"PER_BLOCK": "cdiv(rows, sms)", "TYPE": "tl.float32"}


def test_a_size_that_nothing_tells_is_no_choice_where_a_shape_is_not_known():
    state = draft({"n": 2, "h": 8}, buffer("w", "h"), DraftArgument("x", "input", "float32"), grid="n")
    rewritten = over_dims_of(BASE, state).draft
    assert not rewritten.dims
    assert rewritten.grid == ("n",)


@pytest.mark.parametrize(
    ("mine", "other"),
    [
        (buffer("dw", "sms", "cols", kind="output"), buffer("dw", "cols", kind="inout")),
        (buffer("dw", "cols", kind="output"), buffer("dw", "rows", "cols", kind="output")),
        (buffer("w", "2 * cols"), buffer("w", "cols")),
    ],
    ids=["a sum for each block", "rows that are summed", "reads further"],
)
def test_a_buffer_of_another_size_is_another_contract(mine, other):
    sizes = {"rows": 6, "cols": 64}
    base = draft(sizes, buffer("x", "rows", "cols"), other)
    state = draft({**sizes, "sms": 132}, buffer("x", "rows", "cols"), mine)
    with pytest.raises(DimsDifferError, match=f"{mine.name} has the shape"):
        over_dims_of(base, state)


def test_reading_less_of_an_input_is_no_other_contract():
    state = draft({"h": 8}, buffer("x", "h"), grid="h")
    base = draft({"rows": 6, "cols": 64}, buffer("x", "rows", "cols"))
    over_dims_of(base, replace(state, arguments=(buffer("x", "8"),)))
