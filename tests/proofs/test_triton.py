"""Triton kernels: what is proved for all sizes, what is refuted and confirmed by a run, what is undecided and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from longer import first_now
from proofs.cases import Case, statuses

_HEAD = """import triton
import triton.language as tl


@triton.jit
def shifted(x, by):
    return x + by


@triton.jit
def k({parameters}):
"""
_FLAT = {"dims": {"N": 1000}, "outputs": {"out": ["N"]}, "inputs": {"x": ["N"]}}
_ROWS = {"dims": {"N": 3, "C": 70}, "outputs": {"out": ["N", "C"]}, "inputs": {"x": ["N", "C"]}}


def _case(body: str, sizes: dict[str, object], constants: dict[str, str | int], **more: object) -> Case:
    buffers = [*sizes["outputs"], *sizes["inputs"]]  # type: ignore[misc]
    parameters = [*buffers, *sizes["dims"], *(f"{c}: tl.constexpr" for c in constants)]  # type: ignore[misc]
    text = "".join(f"    {line}\n" for line in body.splitlines())
    source = _HEAD.format(parameters=", ".join(parameters)) + text
    return Case(source, block=[1], language="triton", constexpr=constants, **sizes, **more)  # type: ignore[arg-type]


def _flat(body: str, **more: object) -> Case:
    return _case(body, _FLAT, {"BLOCK": 256}, **{"grid": ["ceil_div(N, BLOCK)"], **more})


def _rows(body: str, block: str | int = 64, **more: object) -> Case:
    return _case(body, _ROWS, {"BLOCK": block}, **{"grid": ["N"], **more})


_I = "i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
_TILES = {"dims": {"M": 30, "N": 70}, "outputs": {"out": ["N", "M"]}, "inputs": {"x": ["M", "N"]}}
_TILE = """m = tl.program_id(0) * BM + tl.arange(0, BM)
n = tl.program_id(1) * BN + tl.arange(0, BN)
mask = (m[:, None] < M) & (n[None, :] < N)
tile = tl.load(x + m[:, None] * N + n[None, :], mask=mask)
"""
_GRID = {"grid": ["ceil_div(M, BM)", "ceil_div(N, BN)"]}
_SIZES: dict[str, str | int] = {"BM": 32, "BN": 16}
EXACTLY_ONCE = {
    "masked": _flat(_I + "tl.store(out + i, tl.load(x + i, mask=i < N, other=0.0), mask=i < N)"),
    "promised multiple": _flat(_I + "tl.store(out + i, tl.load(x + i))", promises=["N % 256 == 0"]),
    "early return": _flat("if tl.program_id(0) * BLOCK >= N:\n    return\n" + _I +
                          "tl.store(out + i, tl.load(x + i, mask=i < N), mask=i < N)"),
    "function": _flat("i = shifted(tl.arange(0, BLOCK), tl.program_id(0) * BLOCK)\n"
                      "tl.store(out + i, tl.load(x + tl.minimum(i, N - 1)), mask=i < N)"),
    "power of two": _rows("at = tl.program_id(0) * C + tl.arange(0, BLOCK)\nmask = tl.arange(0, BLOCK) < C\n"
                          "tl.store(out + at, tl.load(x + at, mask=mask, other=0.0), mask=mask)",
                          block="next_power_of_2(C)"),
    "loop": _rows("x += tl.program_id(0).to(tl.int64) * C\nout += tl.program_id(0).to(tl.int64) * C\n"
                  "for start in range(0, C, BLOCK):\n    c = start + tl.arange(0, BLOCK)\n"
                  "    tl.store(out + c, tl.load(x + c, mask=c < C), mask=c < C)"),
    "advancing": _rows("left = C\np = x + tl.program_id(0) * C + tl.arange(0, BLOCK)\n"
                       "q = out + tl.program_id(0) * C + tl.arange(0, BLOCK)\n"
                       "for _ in range(tl.cdiv(C, BLOCK)):\n    mask = tl.arange(0, BLOCK) < left\n"
                       "    tl.store(q, tl.load(p, mask=mask), mask=mask)\n    p += BLOCK\n    q += BLOCK\n"
                       "    left -= BLOCK"),
    "transposed": _case(_TILE + "tl.store(out + n[:, None] * M + m[None, :], tile.T, mask=mask.T)", _TILES, _SIZES,
                        **_GRID),
    "block pointer": _case("p = tl.make_block_ptr(x, (M, N), (N, 1), (tl.program_id(0) * BM, tl.program_id(1) * BN), "
                           "(BM, BN), (1, 0))\nq = tl.make_block_ptr(out, (N, M), (M, 1), "
                           "(tl.program_id(1) * BN, tl.program_id(0) * BM), (BN, BM), (1, 0))\n"
                           "tl.store(q, tl.trans(tl.load(p, boundary_check=(0, 1))), boundary_check=(0, 1))",
                           _TILES, _SIZES, **_GRID),
    "descriptor": _case("d = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])\n"
                        "e = tl.make_tensor_descriptor(out, [N, M], [M, 1], [BN, BM])\n"
                        "m = tl.program_id(0) * BM\nn = tl.program_id(1) * BN\ne.store([n, m], d.load([m, n]).T)",
                        _TILES, _SIZES, **_GRID),
}  # fmt: skip
REFUTED = {
    "no mask": (_flat(_I + "tl.store(out + i, tl.load(x + i), mask=i < N)"), "in_bounds", "tl.load(x + i)"),
    "one too many": (_flat(_I + "tl.store(out + i, 0.0, mask=i <= N)"), "in_bounds", "tl.store(out + i)"),
    "unmasked axis": (
        _case(_TILE.replace("mask=mask", "mask=n[None, :] < N")
              + "tl.store(out + n[:, None] * M + m[None, :], tile.T, mask=mask.T)", _TILES, _SIZES, **_GRID),
        "in_bounds", "tl.load(x + m[:, None] * N + n[None, :])",
    ),
    "too few": (_flat(_I + "tl.store(out + i, 0.0, mask=i < N - 1)"), "written", "tl.store(out + i)"),
    "overlapping": (
        _flat("p = tl.program_id(0)\ni = p * (BLOCK - 1) + tl.arange(0, BLOCK)\n"
              "tl.store(out + i, p + 0.0, mask=i < N)"), "written_once", "tl.store(out + i)",
    ),
    "int32 row": (
        _rows("c = tl.arange(0, BLOCK)\ntl.store(out + tl.program_id(0) * C + c, 0.0, mask=c < C)"),
        "overflow", "tl.store(out + tl.program_id(0) * C + c)",
    ),
}  # fmt: skip
_GROUPED = """pid = tl.program_id(0)
across = tl.cdiv(N, BN)
group = G * across
first = pid // group * G
size = min(tl.cdiv(M, BM) - first, G)
row = first + (pid % group) % size
column = (pid % group) // size
m = (row * BM + tl.arange(0, BM)) % M
n = (column * BN + tl.arange(0, BN)) % N
tl.store(out, tl.sum(tl.load(x + m[:, None] * N + n[None, :])))"""
_AT = {"dims": {"N": 5}, "outputs": {"out": ["N"]}, "inputs": {"x": ["N"], "at": ["N"]}}
_GATHER = _I + "to = tl.load(at + i, mask=i < N, other=0)\n"


@pytest.mark.parametrize("name", first_now(EXACTLY_ONCE, 4))
def test_each_element_is_written_by_one_lane_and_nothing_else_is_touched(name: str, tmp_path: Path) -> None:
    obligations = EXACTLY_ONCE[name].obligations(tmp_path, replayed=False)
    for kind in ("in_bounds", "written", "written_once"):
        by_expression = statuses(obligations, kind)
        assert by_expression
        assert set(by_expression.values()) == {"proved"}, [o for o in obligations if o.kind == kind]


@pytest.mark.parametrize("name", first_now(REFUTED, 2))
def test_what_is_wrong_is_refuted_and_seen_in_a_run(name: str, tmp_path: Path) -> None:
    case, kind, expression = REFUTED[name]
    (refuted,) = [o for o in case.obligations(tmp_path) if o.kind == kind and o.status == "refuted"]
    assert refuted.expression == expression
    assert refuted.confirmed == ("arithmetic" if kind == "overflow" else "interpreter")


@pytest.mark.long
def test_programs_in_groups_stay_within_the_matrix(tmp_path: Path) -> None:
    grid = ["ceil_div(M, BM) * ceil_div(N, BN)"]
    case = _case(_GROUPED, {**_TILES, "outputs": {"out": [1]}}, {**_SIZES, "G": 4}, grid=grid)
    by_expression = statuses(case.obligations(tmp_path, replayed=False), "in_bounds")
    assert set(by_expression.values()) == {"proved"}


@pytest.mark.parametrize(("values", "expected"), [("integers(0, N)", "proved"), ("integers", "undecided")])
def test_an_index_that_is_loaded_is_in_bounds_when_its_values_are_promised(
    values: str, expected: str, tmp_path: Path
) -> None:
    body = _GATHER + "tl.store(out + i, tl.load(x + to, mask=i < N), mask=i < N)"
    case = _case(body, _AT, {"BLOCK": 128}, grid=["ceil_div(N, BLOCK)"], integers={"at": values})
    obligation = next(o for o in case.obligations(tmp_path) if o.expression == "tl.load(x + to)")
    assert obligation.status == expected
    assert expected == "proved" or "tl.load(at + i" in obligation.reason


def test_data_decide_which_elements_a_scatter_writes(tmp_path: Path) -> None:
    body = _GATHER + "tl.store(out + to, tl.load(x + i, mask=i < N), mask=i < N)"
    case = _case(body, _AT, {"BLOCK": 128}, grid=["ceil_div(N, BLOCK)"], integers={"at": "integers(0, N)"})
    obligations = case.obligations(tmp_path, replayed=False)
    assert statuses(obligations, "in_bounds")["tl.store(out + to)"] == "proved"
    assert set(statuses(obligations, "written").values()) != {"proved"}


def test_what_is_not_modelled_is_named(tmp_path: Path) -> None:
    case = _flat(_I + "elsewhere(out + i)\ntl.store(out + i, 0.0, mask=i < N)")
    (obligation,) = [o for o in case.obligations(tmp_path, replayed=False) if not o.expression]
    assert obligation.status == "undecided"
    assert "`elsewhere` is given an address" in obligation.reason


@pytest.mark.parametrize("index", ["elsewhere(N)", "(elsewhere(N) + 1)", "tl.minimum(elsewhere(N), N)"])
def test_a_block_that_another_module_makes_may_be_of_any_shape(index: str, tmp_path: Path) -> None:
    case = _flat(f"tl.store(out + {index}, 0.0)", grid=[1])
    obligations = case.obligations(tmp_path, replayed=False)
    assert {o.status.value for o in obligations if o.kind != "overflow"} == {"undecided"}


_HINTED = {
    "the first of each block": (
        "i = tl.max_contiguous(tl.multiple_of(tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), BLOCK), BLOCK)\n",
        {}, {"multiple_of": "proved", "max_contiguous": "proved"},
    ),
    "a start that need not be one": (
        "i = tl.multiple_of(N + tl.arange(0, BLOCK), 16)\n", {}, {"multiple_of": "refuted"},
    ),
    "the same where it is promised": (
        "i = tl.multiple_of(N + tl.arange(0, BLOCK), 16)\n", {"promises": ["N % 16 == 0"]}, {"multiple_of": "proved"},
    ),
    "rows that wrap around in the middle of a block": (
        _I.replace("i = ", "j = ") + "i = tl.max_contiguous(j % N, BLOCK)\n", {}, {"max_contiguous": "refuted"},
    ),
    "rows that wrap around between blocks": (
        _I.replace("i = ", "j = ") + "i = tl.max_contiguous(j % N, BLOCK)\n", {"promises": ["N % 256 == 0"]},
        {"max_contiguous": "proved"},
    ),
    "every other one": (
        _I.replace("i = ", "j = ") + "i = tl.max_contiguous(2 * j, 2)\n", {}, {"max_contiguous": "refuted"},
    ),
    "the same in groups": (
        _I.replace("i = ", "j = ") + "i = tl.max_constancy(j // 8, 8)\nk = tl.max_constancy(j // 8, 16)\n", {},
        {"max_constancy(j // 8, 8)": "proved", "max_constancy(j // 8, 16)": "refuted"},
    ),
    "a number": (
        "tl.multiple_of(N, 8)\n" + _I, {}, {"multiple_of": "refuted"},
    ),
    "an address, by what its caller promises": (
        "p = tl.multiple_of(x, 64)\nq = tl.multiple_of(x + 2, 16)\n" + _I, {},
        {"multiple_of(x, 64)": "proved", "multiple_of(x + 2, 16)": "refuted"},
    ),
    "an address of which nobody promises it": (
        "p = tl.multiple_of(x, 64)\n" + _I, {"align": {"x": 4}}, {"multiple_of": "undecided"},
    ),
    "what the guards say": (
        "if N < 4:\n    return\ntl.assume(N > 3)\ntl.assume(N > 4)\n" + _I, {},
        {"assume(N > 3)": "proved", "assume(N > 4)": "refuted"},
    ),
    "data": ("tl.assume(tl.load(x) > 0)\n" + _I, {}, {"assume": "undecided"}),
    "in a loop, each round": (
        "for start in range(0, N, 64):\n    tl.multiple_of(start, 64)\n    tl.multiple_of(start, 128)\n" + _I, {},
        {"multiple_of(start, 64)": "proved", "multiple_of(start, 128)": "refuted"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _HINTED)
def test_what_the_compiler_is_told_must_be_so(name: str, tmp_path: Path) -> None:
    body, more, expected = _HINTED[name]
    case = _flat(body + "tl.store(out + i, 0.0, mask=i < N)", **more)
    by_expression = statuses(case.obligations(tmp_path, replayed=False), "hint")
    assert len(by_expression) == len(expected), by_expression
    for text, status in expected.items():
        (only,) = [
            actual
            for expression, actual in by_expression.items()
            if text in expression and ("(" in text or expression.startswith(f"tl.{text}("))
        ]
        assert only == status, (text, by_expression)


def test_a_hint_that_does_not_hold_is_shown_with_sizes_and_lanes(tmp_path: Path) -> None:
    body = _I.replace("i = ", "j = ") + "i = tl.max_contiguous(j % N, BLOCK)\ntl.store(out + i, 0.0)"
    (hint,) = [o for o in _flat(body).obligations(tmp_path) if o.kind == "hint"]
    assert (hint.status, hint.confirmed, hint.reason) == ("refuted", "arithmetic", "not contiguous by 256")
    example = hint.counterexample
    assert example is not None
    n, note = example.dims["N"], example.note
    lane = int(note.split("lane.0 = ")[1].split(",")[0])
    assert (lane + 256 * example.block[0]) % n == n - 1  # type: ignore[index]
