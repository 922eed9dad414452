"""Quantities of launches as expressions over sizes."""

from __future__ import annotations

import pytest

from kernel_gate.expressions import evaluate
from kernel_lineage.workloads.recording.fitting import expression, factors, moving
from kernel_lineage.workloads.recording.launches import Launch
from kernel_lineage.workloads.recording.series import Series, steadied

BASE = {"N": 1024, "B": 3}


def seen(quantity):
    runs = [
        BASE,
        {"N": 512, "B": 3},
        {"N": 549, "B": 3},
        {"N": 517, "B": 3},
        {"N": 1024, "B": 6},
        {"N": 1024, "B": 8},
        {"N": 1061, "B": 56},
    ]
    return [(sizes, quantity(**sizes)) for sizes in runs]


@pytest.mark.parametrize(
    "quantity",
    [
        lambda N, B: 7,
        lambda N, B: N,
        lambda N, B: N * B * 4,
        lambda N, B: -(-N // 256),
        lambda N, B: -(-N * B // 128),
        lambda N, B: B * -(-N // 256),
        lambda N, B: -(-N * B * 3 // 64),
        lambda N, B: N // 4,
        lambda N, B: N + 1,
        lambda N, B: 32 * -(-N // 32),
        lambda N, B: (N - 1) * B,
        lambda N, B: min(-(-N // 32), 20),
        lambda N, B: 3 * N + 2 * B + 5,
        lambda N, B: N * N * B + 1,
        lambda N, B: 1 << (N - 1).bit_length(),
        lambda N, B: -(-(1 << (N - 1).bit_length()) // 256),
    ],
)
def test_the_expression_gives_sizes_that_were_not_seen(quantity):
    text = expression(seen(quantity), [256, 128, 64, 32])

    assert text is not None
    for sizes in ({"N": 2048, "B": 3}, {"N": 777, "B": 11}):
        assert evaluate(text, sizes) == quantity(**sizes)


def test_one_or_two_blocks_are_shared_out_among_threads() -> None:
    sizes = [{"n": n} for n in (192, 384, 197, 210)]
    seen_blocks = [(d, -(-d["n"] // 256)) for d in sizes]
    assert expression(seen_blocks, [256]) == "ceil_div(n, 256)"
    assert expression([(d, 1 << (d["n"] - 1).bit_length()) for d in sizes], [256]) == "next_power_of_2(n)"


def test_what_is_no_usual_expression_is_none():
    assert expression(seen(lambda N, B: (N * 2654435761) % 1009)) is None


def test_the_sizes_that_move_a_quantity_are_told():
    assert moving(seen(lambda N, B: N // 2)) == ("N",)
    assert moving(seen(lambda N, B: 5)) == ()


def test_a_product_is_one_extent_for_each_factor():
    assert factors("N * B * 4") == ("N", "B", "4")
    assert factors("ceil_div(N * B, 4) * 2") == ("ceil_div(N * B, 4)", "2")
    assert factors("N + 1") == ("N + 1",)
    assert factors("1") == ("1",)


def launch(grid: int, block: int) -> Launch:
    return Launch("k(int)", "", (grid, 1, 1), (block, 1, 1), (1, 1, 1), 0, False, (), "")


def test_the_size_of_a_block_stays_where_the_grid_is_shared_out_by_it() -> None:
    sizes = [
        {"n": 640, "BLOCK": 16},
        {"n": 645, "BLOCK": 16},
        {"n": 320, "BLOCK": 16},
        {"n": 640, "BLOCK": 32},
    ]
    samples = tuple((d, launch(-(-d["n"] // d["BLOCK"]), d["BLOCK"])) for d in sizes)
    fit = steadied(Series(sizes[0], samples, "main"), [lambda run: run.grid[0], lambda run: run.block[0]])

    assert fit.steady == {"BLOCK"}
    assert fit.tried(lambda run: run.grid[0]) == "ceil_div(n, 16)"


def test_one_size_stays_where_that_is_enough() -> None:
    sizes = [
        {"n": 20000, "each": 128},
        {"n": 10000, "each": 128},
        {"n": 10037, "each": 128},
        {"n": 20000, "each": 256},
        {"n": 20000, "each": 133},
    ]
    samples = tuple((d, launch(-(-d["n"] // d["each"]), 128)) for d in sizes)
    fit = steadied(Series(sizes[0], samples, "main"), [lambda run: run.grid[0]])

    assert fit.steady == {"each"}
    assert fit.tried(lambda run: run.grid[0]) == "ceil_div(n, 128)"
