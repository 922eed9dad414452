"""Warps and stages of Triton launches: which are tried, in which order, and that what they compute stays the same."""

from __future__ import annotations

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.verdict import StageStatus
from kernel_lineage.kernels.anchors.registry import anchors_of
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.registry import assist_of
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.workloads.programs import with_launch
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


def made_of(code: str, name: str) -> Candidate | Refusal:
    assist = assist_of("set_triton_launch_options")
    kernel = read(code.encode(), Language.TRITON).kernel(name)
    assert assist is not None
    assert kernel is not None
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
    pairs = [
        (o["num_warps"], o["num_stages"]) for o in launches(made_of(GRAM.replace("OPTIONS", ""), "gram"))
    ]
    assert pairs == [("8", "3"), ("4", "4"), ("8", "4"), ("4", "2")]


@pytest.mark.parametrize("option", ["num_warps", "num_stages"])
def test_what_a_launch_says_is_left_to_it(option: str) -> None:
    made = made_of(GRAM.replace("OPTIONS", f", {option}=2"), "gram")
    assert isinstance(made, Refusal)
    assert f"says {option} already" in made.reason


def test_products_are_the_same_with_other_warps_and_stages() -> None:
    code = GRAM.replace("OPTIONS", "")
    load = workload(
        "gram", "N = [33]\nK = [40]", 'grid = ["ceil_div(N, 16)", "ceil_div(N, 16)"]\n'
        "constexpr = { SIDE = 16, STEP = 16 }",
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
