"""Sizes, warps and stages of Triton launches: which are tried, in which order, and that what they compute stays the
same.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchSpec
from kernel_gate.verdict import StageStatus
from kernel_gate.workload import Workload
from kernel_lineage.kernels.anchors.registry import anchors_of
from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.registry import all_assists
from kernel_lineage.rewrite.assists.triton_block_choices import block_choices
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.rewrite.optimise.proposals import proposals
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.skills.library import library
from kernel_lineage.workloads.programs import with_launch
from kernel_lineage.workloads.triton.launch_site import followed_launch
from kernel_texts import kernel_in_text
from rewrite.assists.test_gate import program
from rewrite.assists.workloads import workload

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
SQUARES = (
    HEAD
    + """\
def squares(total, values, count, WIDTH: tl.constexpr):
    at = tl.arange(0, WIDTH)
    v = tl.load(values + tl.program_id(0) * count + at, mask=at < count, other=0.0)
    tl.store(total + tl.program_id(0), tl.sum(v * v, axis=0))


def run(total, values, WIDE):
    squares[(values.shape[0],)](total, values, values.shape[1], WIDTH=SIZE)
"""
)
GRAM = (
    HEAD
    + """\
def gram(g, a, n, depth, SIDE: tl.constexpr, STEP: tl.constexpr):
    i = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    j = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    sums = tl.zeros((SIDE, SIDE), dtype=tl.float32)
    for first in range(0, depth, STEP):
        k = first + tl.arange(0, STEP)
        x = tl.load(a + i[:, None] * depth + k[None, :], mask=(i[:, None] < n) & (k[None, :] < depth), other=0.0)
        y = tl.load(a + j[None, :] * depth + k[:, None], mask=(j[None, :] < n) & (k[:, None] < depth), other=0.0)
        sums = tl.dot(x, y, sums)
    tl.store(g + i[:, None] * n + j[None, :], sums, mask=(i[:, None] < n) & (j[None, :] < n))


def run(g, a):
    n, depth = a.shape
    gram[(triton.cdiv(n, 16), triton.cdiv(n, 16))](g, a, n, depth, SIDE=16, STEP=16OPTIONS)
"""
)
ONE_SIZE = (
    GRAM.replace("SIDE=16, STEP=16OPTIONS", "SIDE=16")
    .replace(", STEP: tl.constexpr", "")
    .replace("STEP", "SIDE")
)

SCALE = (
    HEAD
    + """\
def scale(y, x, factor, n, WIDTH: tl.constexpr):
    at = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    tl.store(y + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)


def run(y, x, factor):
    n = x.numel()
    scale[GRID](y, x, factor, n, WIDTH=64)
"""
)
COLUMN_SUMS = (
    HEAD
    + """\
def column_sums(sums, x, rows, columns, DOWN: tl.constexpr, ACROSS: tl.constexpr):
    j = tl.program_id(0) * ACROSS + tl.arange(0, ACROSS)
    total = tl.zeros((ACROSS,), dtype=tl.float32)
    for first in range(0, rows, DOWN):
        i = first + tl.arange(0, DOWN)
        inside = (i[:, None] < rows) & (j[None, :] < columns)
        total += tl.sum(tl.load(x + i[:, None] * columns + j[None, :], mask=inside, other=0.0), axis=0)
    tl.store(sums + j, total, mask=j < columns)


def run(sums, x):
    rows, columns = x.shape
    column_sums[(triton.cdiv(columns, 16),)](sums, x, rows, columns, DOWN=4, ACROSS=16)
"""
)

ADDED_UP = (
    HEAD
    + """\
def added_up(sums, x, rows, columns, DOWN: tl.constexpr, ACROSS: tl.constexpr):
    i = tl.program_id(0) * DOWN + tl.arange(0, DOWN)
    j = tl.program_id(1) * ACROSS + tl.arange(0, ACROSS)
    inside = (i[:, None] < rows) & (j[None, :] < columns)
    v = tl.load(x + i[:, None] * columns + j[None, :], mask=inside, other=0.0)
    tl.atomic_add(sums + j, tl.sum(v, axis=0), mask=j < columns)


def run(sums, x):
    rows, columns = x.shape
    added_up[(triton.cdiv(rows, 4), triton.cdiv(columns, 16))](sums, x, rows, columns, DOWN=4, ACROSS=16)
"""
)
NUMBERED = (
    HEAD
    + """\
def squared(y, x, rows, columns, HIGH: tl.constexpr, WIDE: tl.constexpr):
    high = tl.cdiv(rows, HIGH)
    i = tl.program_id(0) % high * HIGH + tl.arange(0, HIGH)
    j = tl.program_id(0) // high * WIDE + tl.arange(0, WIDE)
    inside = (i[:, None] < rows) & (j[None, :] < columns)
    v = tl.load(x + (i % rows)[:, None] * columns + j[None, :], mask=j[None, :] < columns)
    tl.store(y + i[:, None] * columns + j[None, :], v * v, mask=inside)


def run(y, x):
    rows, columns = x.shape
    squared[(GRID,)](y, x, rows, columns, HIGH=16, WIDE=8)
"""
)


def made_of(code: str, name: str) -> Candidate | Refusal:
    assist = all_assists()["set_triton_launch_options"]
    kernel = kernel_in_text(code, name, Language.TRITON)
    return assist.rewrite(kernel, next(a for a in anchors_of(kernel) if a.pattern == assist.pattern))


def launches(made: Candidate | Refusal) -> list[dict[str, str]]:
    assert isinstance(made, Candidate), made.reason
    return [dict(one.launch) for one in (made, *made.alternatives)]


@pytest.mark.parametrize(
    ("size", "warps"),
    [
        ("64", ["1"]),
        ("1024", ["2", "1"]),
        ("2048", ["8", "2"]),
        ("4096", ["8", "16"]),
        ("32768", ["16"]),
    ],
)
def test_warps_by_elements_then_twice_and_half_as_many_but_never_the_default(
    size: str, warps: list[str]
) -> None:
    assert launches(made_of(SQUARES.replace("SIZE", size), "squares")) == [{"num_warps": w} for w in warps]


def test_a_block_that_only_the_launcher_knows_is_counted_there() -> None:
    made = made_of(SQUARES.replace("SIZE", "WIDE"), "squares")
    assert isinstance(made, Candidate)
    texts = [c.apply(SQUARES.replace("SIZE", "WIDE").encode()).decode() for c in (made, *made.alternatives)]
    assert [
        t.count(f"max(4, min(16, WIDE // {n}))") for t, n in zip(texts, (512, 256, 1024), strict=True)
    ] == [1] * 3


def test_products_in_a_loop_get_warps_and_stages_together() -> None:
    options = launches(made_of(GRAM.replace("OPTIONS", ", num_warps=4"), "gram"))
    pairs = [(o["num_warps"], o["num_stages"]) for o in options if "SIDE" not in o]
    assert pairs == [("8", "3"), ("4", "4"), ("8", "4"), ("4", "2")]
    tried = launches(made_of(GRAM.replace("OPTIONS", ""), "gram"))
    assert tried == [o for o in options if "SIDE" in o]
    sizes = [(o["SIDE"], o["STEP"], o["num_warps"]) for o in tried]
    assert sizes == [("128", "64", "8"), ("128", "64", "4"), ("64", "64", "4"), ("64", "32", "4")]


def test_elements_are_tried_in_tiles_of_other_sizes_with_the_grid_that_they_make() -> None:
    code = SCALE.replace("GRID", "(triton.cdiv(n, 64),)")
    made = made_of(code, "scale")
    assert isinstance(made, Candidate), made.reason
    after = made.apply(code.encode()).decode()
    assert "scale[(triton.cdiv(n, 1024),)](y, x, factor, n, WIDTH=1024, num_warps=4)" in after
    assert made.launch == {"WIDTH": "1024", "num_warps": "4", "grid": "[ceil_div(grid.x * 64, 1024)]"}
    sizes = [one.launch.get("WIDTH", "64") for one in (made, *made.alternatives)]
    assert sizes == ["1024", "2048", "4096", "512", "64"]


SPANS = (
    HEAD
    + """\
def spans(y, x, count, SPAN: tl.constexpr):
    row = tl.program_id(0) * SPAN + tl.arange(0, SPAN)[:, None]
    at = row * LANES + tl.arange(0, LANES)[None, :]
    tl.store(y + at, tl.load(x + at, mask=row < count) * 2.0, mask=row < count)


def run(y, x, count):
    spans[(triton.cdiv(count, 2),)](y, x, count, SPAN=2)
"""
)
SIDED = (
    HEAD
    + """\
def sided(y, x, WIDTH: tl.constexpr):
    at = tl.arange(0, WIDTH)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    tl.store(y + at, tl.load(x + at) * 2.0)


def run(y, x, WIDE):
    sided[(1,)](y, x, WIDTH=SIZE)
"""
)


@pytest.mark.parametrize(
    ("lanes", "tried"),
    [
        ("128", [("8", "4"), ("16", "8"), ("32", "8"), ("4", "4")]),
        ("1024", [("1", "4"), ("2", "8"), ("4", "8")]),
        ("16384", [("1", "4"), ("1", "8")]),
        ("32768", [("1", "8")]),
    ],
)
def test_a_tiles_elements_are_shared_with_the_blocks_other_axes(
    lanes: str, tried: list[tuple[str, str]]
) -> None:
    made = launches(made_of(SPANS.replace("LANES", lanes), "spans"))
    assert [(one["SPAN"], one["num_warps"]) for one in made if "SPAN" in one] == tried


def test_no_size_is_tried_with_which_registers_do_not_hold_a_block() -> None:
    kernel = kernel_in_text(SPANS.replace("LANES", "65536"), "spans", Language.TRITON)
    with pytest.raises(Refusal, match="registers do not hold a block of spans"):
        block_choices(kernel)


@pytest.mark.parametrize(("size", "warps"), [("32", ["2", "1"]), ("64", ["8", "16"]), ("128", ["16"])])
def test_warps_count_the_elements_of_both_axes(size: str, warps: list[str]) -> None:
    assert [o["num_warps"] for o in launches(made_of(SIDED.replace("SIZE", size), "sided"))] == warps
    made = made_of(SIDED.replace("SIZE", "WIDE"), "sided")
    assert isinstance(made, Candidate), made.reason
    code = made.apply(SIDED.replace("SIZE", "WIDE").encode()).decode()
    assert "num_warps=max(4, min(16, WIDE * WIDE // 512))" in code


def test_a_grid_that_is_asked_for_the_sizes_is_left_to_that() -> None:
    grid = 'lambda meta: (triton.cdiv(n, meta["WIDTH"]),)'
    code = SCALE.replace("GRID", grid)
    made = made_of(code, "scale")
    assert isinstance(made, Candidate), made.reason
    assert f"scale[{grid}](y, x, factor, n, WIDTH=1024, num_warps=4)" in made.apply(code.encode()).decode()


@pytest.mark.parametrize("grid", ["((n + 63) // 64,)", "((n - 1 + 64) // 64,)"])
def test_a_grid_that_rounds_up_by_itself_counts_tiles_too(grid: str) -> None:
    code = SCALE.replace("GRID", grid)
    made = made_of(code, "scale")
    assert isinstance(made, Candidate), made.reason
    assert "scale[((n + 1023) // 1024,)](" in made.apply(code.encode()).decode()


def test_a_size_that_is_given_by_its_place_is_changed_there() -> None:
    code = SCALE.replace("GRID", "(triton.cdiv(n, 64),)").replace("WIDTH=64", "64")
    made = made_of(code, "scale")
    assert isinstance(made, Candidate), made.reason
    assert (
        "scale[(triton.cdiv(n, 1024),)](y, x, factor, n, 1024, num_warps=4)"
        in made.apply(code.encode()).decode()
    )


def test_a_grid_function_is_left_to_ask_for_the_size() -> None:
    function = "    def tiles(meta):\n        return (triton.cdiv(n, meta['WIDTH']),)\n\n    scale[tiles]"
    code = SCALE.replace("    scale[GRID]", function)
    made = made_of(code, "scale")
    assert isinstance(made, Candidate), made.reason
    assert "scale[tiles](y, x, factor, n, WIDTH=1024, num_warps=4)" in made.apply(code.encode()).decode()


def test_a_tile_of_one_size_along_both_axes_stays_small() -> None:
    code = NUMBERED.replace("GRID", "triton.cdiv(columns, 16) * triton.cdiv(rows, 16)")
    code = code.replace("HIGH=16, WIDE=8", "T=16").replace(
        "HIGH: tl.constexpr, WIDE: tl.constexpr", "T: tl.constexpr"
    )
    made = launches(made_of(code.replace("HIGH", "T").replace("WIDE", "T"), "squared"))
    assert {one["T"] for one in made if "T" in one} == {"32", "64", "128"}


@pytest.mark.parametrize(
    "grid",
    [
        "((n + 64) // 64,)",
        "((n + 63) // 32,)",
        "(triton.cdiv(n - 7, 64),)",
        "(triton.cdiv(n, 32),)",
        "(tiles(n),)",
        "(n // 64,)",
        "(triton.cdiv(x.shape[0], 64),)",
    ],
)
def test_sizes_stay_where_the_grid_is_not_known_to_be_their_tiles(grid: str) -> None:
    made = made_of(SCALE.replace("GRID", grid), "scale")
    assert [set(one) for one in launches(made)] == [{"num_warps"}]


def test_tiles_that_are_numbered_along_one_axis_are_counted_along_both() -> None:
    code = NUMBERED.replace("GRID", "triton.cdiv(columns, 8) * triton.cdiv(rows, 16)")
    made = made_of(code, "squared")
    assert isinstance(made, Candidate), made.reason
    after = made.apply(code.encode()).decode()
    assert "squared[(triton.cdiv(columns, 64) * triton.cdiv(rows, 64),)]" in after
    assert "HIGH=64, WIDE=64, num_warps=8)" in after


@pytest.mark.parametrize(
    "grid",
    [
        "triton.cdiv(rows, 16)",
        "triton.cdiv(rows, 16) * triton.cdiv(rows, 16)",
        "triton.cdiv(rows, 16) * triton.cdiv(columns, 8) * 2",
        "triton.cdiv(rows, 16) + triton.cdiv(columns, 8)",
        "triton.cdiv(columns, 16) * triton.cdiv(rows, 8)",
    ],
)
def test_sizes_stay_where_a_grid_of_one_axis_does_not_count_the_tiles_of_both(grid: str) -> None:
    made = made_of(NUMBERED.replace("GRID", grid), "squared")
    assert isinstance(made, Refusal)
    assert "one constexpr parameter" in made.reason


SHAPE = 'grid = ["ceil_div(N, 64)"]\nconstexpr = { WIDTH = 64 }'
SCALED = workload(
    "scale", "N = [1, 770, 5000]", SHAPE, "y: output float32 [N]", "x: input float32 [N]", "factor: float32 = 1.5",
    "n: int32 = N", language="triton",
)  # fmt: skip
SUMMED = workload(
    "column_sums", "R = [1, 37]\nC = [5, 70]", 'grid = ["ceil_div(C, 16)"]\nconstexpr = { DOWN = 4, ACROSS = 16 }',
    "sums: output float32 [C]", "x: input float32 [R, C]", "rows: int32 = R", "columns: int32 = C", language="triton",
)  # fmt: skip

ATOMIC = workload(
    "added_up", "R = [1, 37]\nC = [5, 70]",
    'grid = ["ceil_div(R, 4)", "ceil_div(C, 16)"]\nconstexpr = { DOWN = 4, ACROSS = 16 }',
    "sums: inout float32 [C]", "x: input float32 [R, C]", "rows: int32 = R", "columns: int32 = C", language="triton",
)  # fmt: skip
SQUARED = workload(
    "squared", "R = [1, 37]\nC = [5, 70]",
    'grid = ["ceil_div(R, 16) * ceil_div(C, 8)"]\nconstexpr = { HIGH = 16, WIDE = 8 }',
    "y: output float32 [R, C]", "x: input float32 [R, C]", "rows: int32 = R", "columns: int32 = C", language="triton",
)  # fmt: skip


@pytest.mark.parametrize(
    ("code", "load"),
    [
        (SCALE.replace("GRID", "(triton.cdiv(n, 64),)"), SCALED),
        (COLUMN_SUMS, SUMMED),
        (ADDED_UP, ATOMIC),
        (NUMBERED.replace("GRID", "triton.cdiv(rows, 16) * triton.cdiv(columns, 8)"), SQUARED),
    ],
    ids=["elements", "columns", "atomic", "numbered"],
)
@pytest.mark.long
def test_what_is_computed_is_the_same_with_tiles_of_any_size_that_is_tried(code: str, load: Workload) -> None:
    made = made_of(code, load.kernel)
    assert isinstance(made, Candidate), made.reason
    options = GateOptions(check_seconds=3600.0, hidden=False, seed=5)
    for one in (made, *made.alternatives):
        text = one.apply(code.encode()).decode()
        # How many tiles of each axis there were is not told by their product: that grid is read where it stands.
        launch = _read(text, load) if load is SQUARED else with_launch(None, load, one.launch)
        after = program(Language.TRITON, text, load.kernel, launch)
        before = program(Language.TRITON, code, load.kernel)
        stage = judge(before, after, load, device="emulated", options=options).stage("check")
        assert stage is not None
        assert stage.status is StageStatus.PASS, (one.launch, stage.reason)


def _read(text: str, load: Workload) -> LaunchSpec | None:
    kernel = kernel_in_text(text, load.kernel, Language.TRITON)
    site = followed_launch(kernel, Path("module.py"), load, [a.name for a in load.args], Path())
    return site.launch if site is not None else None


@pytest.mark.parametrize("option", ["num_warps", "num_stages"])
def test_what_a_launch_works_out_is_left_to_it(option: str) -> None:
    made = made_of(GRAM.replace("OPTIONS", f", {option}=n // 64"), "gram")
    assert isinstance(made, Refusal)
    assert f"says {option} as `n // 64`" in made.reason


def test_a_launch_that_says_its_warps_is_searched() -> None:
    kernel = kernel_in_text(GRAM.replace("OPTIONS", ", num_warps=4"), "gram", Language.TRITON)
    offered = proposals(kernel, library(), Facts())
    assert [p for p in offered.made if p.skill == "triton-launch-options"]


def test_a_size_that_all_axes_of_a_product_share_is_told_apart() -> None:
    made = made_of(ONE_SIZE, "gram")
    assert isinstance(made, Candidate), made.reason
    after = made.apply(ONE_SIZE.encode()).decode()
    assert "i = tl.program_id(0) * SIDE_0 + tl.arange(0, SIDE_0)" in after
    assert "sums = tl.zeros((SIDE_0, SIDE_1), dtype=tl.float32)" in after
    assert "for first in range(0, depth, SIDE):" in after
    assert "gram[(triton.cdiv(n, 128), triton.cdiv(n, 256))](" in after
    assert {"SIDE": "64", "SIDE_0": "128", "SIDE_1": "256"}.items() <= made.launch.items()
    assert [one["SIDE"] for one in launches(made) if "SIDE_0" not in one] == ["128"]


def test_what_is_launched_already_is_not_tried_again() -> None:
    code = GRAM.replace("SIDE=16, STEP=16OPTIONS", "SIDE=64, STEP=64, num_warps=4, num_stages=4")
    code = code.replace("cdiv(n, 16)", "cdiv(n, 64)")
    made = made_of(code, "gram")
    assert isinstance(made, Candidate), made.reason
    texts = [c.apply(code.encode()).decode() for c in (made, *made.alternatives)]
    assert code not in texts
    first = made_of(texts[0], "gram")
    assert isinstance(first, Refusal)
    assert "is launched with what would be tried first" in first.reason


@pytest.mark.parametrize(
    ("code", "sizes"),
    [(GRAM.replace("OPTIONS", ""), "SIDE = 16, STEP = 16"), (ONE_SIZE, "SIDE = 16")],
    ids=["two", "one"],
)
@pytest.mark.long
def test_products_are_the_same_with_other_sizes_warps_and_stages(code: str, sizes: str) -> None:
    load = workload(
        "gram", "N = [33]\nK = [40]", 'grid = ["ceil_div(N, 16)", "ceil_div(N, 16)"]\n'
        f"constexpr = {{ {sizes} }}",
        "g: output float32 [N, N]", "a: input float16 [N, K]", "n: int32 = N", "depth: int32 = K", language="triton",
    )  # fmt: skip
    made = made_of(code, "gram")
    assert isinstance(made, Candidate)
    after = program(
        Language.TRITON, made.apply(code.encode()).decode(), "gram", with_launch(None, load, made.launch)
    )
    options = GateOptions(check_seconds=3600.0, hidden=False, seed=5)
    verdict = judge(program(Language.TRITON, code, "gram"), after, load, device="emulated", options=options)
    stage = verdict.stage("check")
    assert stage is not None
    assert stage.status is StageStatus.PASS, stage.reason
