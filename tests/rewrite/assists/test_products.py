"""Matrix products in many spellings: tiled ones agree with them on the emulated device, near-misses are refused."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.verdict import StageStatus, Verdict
from kernel_gate.workload import Workload
from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.anchors.registry import anchors_of
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.registry import all_assists
from kernel_lineage.rewrite.candidate import Candidate
from kernel_texts import kernel_in_text
from rewrite.assists.product_spellings import REFUSED, SPELLINGS
from rewrite.assists.test_gate import program
from rewrite.assists.workloads import workload

_DTYPES = {
    "half": "float16",
    "__nv_bfloat16": "bfloat16",
    "signed char": "int8",
    "unsigned char": "uint8",
    "int": "int32",
    "double": "float64",
}


NAMED_SHAPES = GateOptions(check_seconds=3600.0, hidden=False, seed=11)
"""For the many spellings; each choice of a tile is checked on hidden shapes as well."""
HIDDEN_SHAPES = NAMED_SHAPES.model_copy(update={"hidden": True})
EDGES = "M = [33]\nN = [70]\nK = [19]"
ALIGNED = "M = [72]\nN = [40]\nK = [80]"
WHOLE = "M = [128]\nN = [128]\nK = [192]"
"""Tiles that lie inside of the operands, and more of them than are held at a time."""


def assist(identity: str) -> Assist:
    return all_assists()[identity]


def kernel_of(code: str) -> Kernel:
    return kernel_in_text(code, "prod")


def made_of(one: Assist, code: str) -> list[Candidate]:
    kernel = kernel_of(code)
    (anchor,) = [a for a in anchors_of(kernel) if a.pattern == one.pattern]
    made = one.rewrite(kernel, anchor)
    assert isinstance(made, Candidate), made.reason
    return [made, *made.alternatives]


def load_of(code: str, tile: tuple[int, int], threads: int, sizes: str) -> tuple[Workload, Workload]:
    """How a spelling is run as it was, and in tiles of so many places along x and y; of values that may be varied."""
    types = re.search(r"const ([\w ]+)\* A, const ([\w ]+)\* B, ([\w ]+)\* C", code)
    assert types is not None
    a, b, c = (_DTYPES.get(t, "float32") for t in types.groups())
    block, swapped = ((8, 32), True) if "threads(8, 32)" in code else ((16, 16), False)
    shapes = ("[K, M]" if "A[k * M" in code else "[M, K]", "[N, K]" if "col * K" in code else "[K, N]")

    def launched(by: tuple[int, int], threads: str) -> Workload:
        extents = ("M", "N") if swapped else ("N", "M")
        grid = ", ".join(f'"ceil_div({e}, {n})"' for e, n in zip(extents, by, strict=True))
        return workload(
            "prod", sizes, f"grid = [{grid}]\nblock = [{threads}]",
            f"A: input {a} {shapes[0]}", f"B: input {b} {shapes[1]}", f"C: inout {c} [M, N]",
            "M: int32 = M", "N: int32 = N", "K: int32 = K",
        )  # fmt: skip

    before = launched(block, f"{block[0]}, {block[1]}")
    if "<<<(M * N" in code:
        flat = {"grid": ("ceil_div(M * N, 256)",), "block": ("256",)}
        before = before.model_copy(update={"launch": before.launch.model_copy(update=flat)})
    return before, launched(tile, str(threads))


def between_one_and_minus_one(load: Workload) -> Workload:
    """The workload with values that are not varied: one case of a shape instead of 25."""
    args = (a.model_copy(update={"values": "uniform(-1, 1)"}) if a.is_pointer else a for a in load.args)
    return load.model_copy(update={"args": tuple(args)})


def checked(
    code: str, candidate: Candidate, sizes: str, options: GateOptions, *, varied: bool = True
) -> Verdict:
    """The verdict on a candidate on the emulated device."""
    after = candidate.apply(code.encode()).decode()
    rows, columns = (int(n) for n in re.findall(r"computes (\d+) x (\d+) outputs", after)[0])
    threads = int(re.findall(r"__launch_bounds__\((\d+)", after)[0])
    dynamic = int((re.findall(r"SharedMemorySize, (\d+)\)", after) or "0")[0])
    before, tiled = load_of(
        code, (rows, columns) if "threads(8, 32)" in code else (columns, rows), threads, sizes
    )
    return judge(
        program(Language.CUDA, code, "prod", before.launch.spec()),
        program(Language.CUDA, after, "prod", replace(tiled.launch.spec(), shared_bytes=str(dynamic))),
        before if varied or "int8" in str(before.args) else between_one_and_minus_one(before),
        device="emulated",
        options=options,
    )


def agrees(
    code: str, candidate: Candidate, sizes: str, options: GateOptions = NAMED_SHAPES, *, varied: bool = False
) -> None:
    """The gate finds no fault in a candidate."""
    verdict = checked(code, candidate, sizes, options, varied=varied)
    for name in ("build", "check", "sanitize"):
        stage = verdict.stage(name)
        assert stage is not None
        assert stage.status is StageStatus.PASS, stage.reason


HALVES = [n for n in SPELLINGS if n.startswith(("half", "bf16"))]
BYTES = [n for n in SPELLINGS if n.startswith("int8")]


@pytest.mark.sets
@pytest.mark.parametrize("name", [n for n in SPELLINGS if n not in (*HALVES, *BYTES)])
def test_a_product_in_tiles_is_the_product(name: str) -> None:
    agrees(SPELLINGS[name], made_of(assist("multiply_in_tiles"), SPELLINGS[name])[-1], EDGES)


@pytest.mark.sets
@pytest.mark.parametrize("sizes", [ALIGNED, EDGES], ids=["aligned", "edges"])
@pytest.mark.parametrize("identity", ["multiply_on_tensor_cores", "multiply_by_warpgroups"])
@pytest.mark.parametrize("name", HALVES)
def test_a_product_on_tensor_cores_is_the_product(name: str, identity: str, sizes: str) -> None:
    agrees(SPELLINGS[name], made_of(assist(identity), SPELLINGS[name])[-1], sizes)


@pytest.mark.sets
@pytest.mark.parametrize("sizes", [ALIGNED, EDGES], ids=["aligned", "edges"])
@pytest.mark.parametrize("name", BYTES)
def test_a_product_of_bytes_on_tensor_cores_is_the_product(name: str, sizes: str) -> None:
    agrees(SPELLINGS[name], made_of(assist("multiply_on_tensor_cores"), SPELLINGS[name])[-1], sizes)


@pytest.mark.sets
@pytest.mark.parametrize(
    "name",
    ["half, added up in float", "half, both factors by rows", "half, the first factor by columns"],
)
def test_warpgroups_multiply_whole_tiles_of_each_layout(name: str) -> None:
    agrees(SPELLINGS[name], made_of(assist("multiply_by_warpgroups"), SPELLINGS[name])[-1], WHOLE)


@pytest.mark.long
def test_what_is_made_for_warpgroups_is_right_on_devices_that_have_none() -> None:
    for name in ("half, both factors by rows", "half, the first factor by columns"):
        options = NAMED_SHAPES.model_copy(update={"emulated_arch": "sm_80"})
        agrees(
            SPELLINGS[name], made_of(assist("multiply_by_warpgroups"), SPELLINGS[name])[-1], ALIGNED, options
        )


CHOICES = [
    (name, identity, number)
    for name, identity, count in (
        ("half, added up in float", "multiply_on_tensor_cores", 3),
        ("half, added up in float", "multiply_by_warpgroups", 2),
        ("int8 into int32", "multiply_on_tensor_cores", 3),
        ("short names everywhere", "multiply_in_tiles", 3),
    )
    for number in range(count)
]


@pytest.mark.sets
@pytest.mark.parametrize(("name", "identity"), sorted({(n, i) for n, i, _ in CHOICES}))
def test_special_values_go_where_they_went(name: str, identity: str) -> None:
    agrees(SPELLINGS[name], made_of(assist(identity), SPELLINGS[name])[-1], EDGES, varied=True)


@pytest.mark.sets
@pytest.mark.parametrize(("name", "identity", "number"), CHOICES)
def test_each_choice_of_a_tile_is_right(name: str, identity: str, number: int) -> None:
    code = SPELLINGS[name]
    agrees(code, made_of(assist(identity), code)[number], EDGES, HIDDEN_SHAPES)


def test_a_product_whose_terms_cancel_is_the_same_sum() -> None:
    """A partial sum between 2²³ and 2²⁴, and 19588 as a sum of terms of 10⁹, of which float32 keeps 128 at a time."""
    options = NAMED_SHAPES.model_copy(
        update={
            "case": {"M": 33, "N": 70, "K": 19},
            "seed": 4592,
            "inputs": "around 32767 32512 31744 768 8 4",
        }
    )
    code = SPELLINGS["half, added up in float"]
    stage = checked(code, made_of(assist("multiply_by_warpgroups"), code)[0], EDGES, options).stage("check")
    assert stage is not None
    assert "agrees in every element" in stage.reason


@pytest.mark.parametrize("name", ["half, added up in float", "int8 into int32"])
def test_what_tensor_cores_multiply_is_left_to_them(name: str) -> None:
    kernel = kernel_of(SPELLINGS[name])
    made = assist("multiply_in_tiles").rewrite(kernel, anchors_of(kernel)[0])
    assert isinstance(made, Refusal)
    assert "tensor cores multiply them" in made.reason


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("both factors by rows", "not both of 16 bits"),
        ("double", "not both of 16 bits"),
    ],
)
def test_tensor_cores_take_16_bits_only(name: str, reason: str) -> None:
    kernel = kernel_of(SPELLINGS[name])
    made = assist("multiply_on_tensor_cores").rewrite(kernel, anchors_of(kernel)[0])
    assert isinstance(made, Refusal)
    assert reason in made.reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(int)A[row * K + k]", "((int)A[row * K + k] - M)"),
        ("(int)A[row", "(unsigned char)A[row"),
        ("int acc = 0", "long long acc = 0"),
    ],
)
def test_bytes_of_which_something_is_made_are_left_to_tiles(old: str, new: str) -> None:
    kernel = kernel_of(SPELLINGS["int8 into int32"].replace(old, new))
    made = assist("multiply_on_tensor_cores").rewrite(kernel, anchors_of(kernel)[0])
    assert isinstance(made, Refusal)
    assert isinstance(assist("multiply_in_tiles").rewrite(kernel, anchors_of(kernel)[0]), Candidate)


@pytest.mark.parametrize(("code", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_only_looks_like_one_is_left_alone(code: str, reason: str) -> None:
    kernel = kernel_of(code)
    made = assist("multiply_in_tiles").rewrite(
        kernel, Anchor(kernel.span, "the whole kernel", pattern="naive_matmul")
    )
    assert isinstance(made, Refusal)
    assert reason in made.reason


def test_the_launch_has_a_block_for_each_tile() -> None:
    code = SPELLINGS["rows along x"]
    text = made_of(assist("multiply_in_tiles"), code)[0].apply(code.encode()).decode()
    assert "dim3((M + 127) / 128, (N + 127) / 128), 256>>>" in text
