"""Every element of an output is written, and by one thread only."""

from __future__ import annotations

from pathlib import Path

import pytest

from longer import first_now
from proofs.cases import Case, statuses

_INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;\n"


def _kernel(
    body: str, shape: tuple[str, ...], grid: list[str | int], block: list[int], **more: object
) -> Case:
    dims = {"N": 3, "C": 70} if "C" in shape else {"N": 1000}
    scalars = ", ".join(f"int {d}" for d in dims)
    source = f"__global__ void k(float* out, const float* x, {scalars}) {{\n{body}\n}}\n"
    return Case(source, dims, {"out": shape}, {"x": shape}, grid, block, **more)  # type: ignore[arg-type]


def _one(body: str, **more: object) -> Case:
    return _kernel(body, ("N",), ["ceil_div(N, 256)"], [256], **more)


def _rows(body: str, grid: list[str | int] | None = None, block: list[int] | None = None) -> Case:
    return _kernel(body, ("N", "C"), grid or ["N"], block or [64])


_TILE = """__shared__ float t[32][{pitch}];
int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
if (r < N && c < C) t[threadIdx.y][threadIdx.x] = x[r * C + c];
__syncthreads();
c = blockIdx.x * 32 + threadIdx.y; r = blockIdx.y * 32 + threadIdx.x;
if (r < N && c < C) out[c * N + r] = t[threadIdx.x][threadIdx.y];"""


def _tile(pitch: int) -> str:
    body = _TILE.format(pitch=pitch)
    return f"__global__ void k(float* out, const float* x, int N, int C) {{\n{body}\n}}\n"


_TILES = {"grid": ["ceil_div(C, 32)", "ceil_div(N, 32)"], "block": [32, 32]}

EXACTLY_ONCE = {
    "guarded": _one(_INDEX + "if (i < N) out[i] = x[i];"),
    "grid stride": _kernel("for (int i = blockIdx.x * 256 + threadIdx.x; i < N; i += 1024) out[i] = x[i];",
                           ("N",), [4], [256]),
    "float4": _one(_INDEX + "if (4 * i < N) reinterpret_cast<float4*>(out)[i] = reinterpret_cast<const float4*>(x)[i];",
                   promises=["N % 4 == 0"]),
    "rows": _rows("for (int c = threadIdx.x; c < C; c += 64) out[blockIdx.x * C + c] = x[blockIdx.x * C + c];"),
    "two axes": _rows("int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;\n"
                      "if (r < N && c < C) out[r * C + c] = x[r * C + c];",
                      ["ceil_div(C, 16)", "ceil_div(N, 16)"], [16, 16]),
    "warp per row": _kernel("int row = blockIdx.x * 4 + threadIdx.x / 32;\nif (row < N && threadIdx.x % 32 == 0)\n"
                            "out[row] = x[row];", ("N",), ["ceil_div(N, 4)"], [128]),
    "transpose": Case(_tile(33), {"N": 3, "C": 70}, {"out": ["C", "N"]}, {"x": ["N", "C"]}, **_TILES),
}  # fmt: skip
WRONG = {
    "too few blocks": (_kernel(_INDEX + "if (i < N) out[i] = x[i];", ("N",), ["N // 256"], [256],
                               promises=["N >= 256"]), "written"),
    "one too few": (_one(_INDEX + "if (i < N - 1) out[i] = x[i];"), "written"),
    "float4 without tail": (_one(_INDEX + "if (4 * i + 3 < N) reinterpret_cast<float4*>(out)[i] = "
                                 "reinterpret_cast<const float4*>(x)[i];"), "written"),
    "everybody": (_one(_INDEX + "if (i < N) out[i / 2] = x[i];"), "written_once"),
    "wrong stride": (_rows("for (int c = threadIdx.x; c < C; c += 64)\n"
                           "out[blockIdx.x * (C - 1) + c] = x[blockIdx.x * C + c];"), "written_once"),
}  # fmt: skip


@pytest.mark.parametrize("name", first_now(EXACTLY_ONCE, 3))
def test_each_element_is_written_by_one_thread(name: str, tmp_path: Path) -> None:
    obligations = EXACTLY_ONCE[name].obligations(tmp_path, replayed=False)
    for kind in ("written", "written_once", "in_bounds"):
        assert set(statuses(obligations, kind).values()) == {"proved"}, [
            o for o in obligations if o.kind == kind
        ]


@pytest.mark.parametrize("name", first_now(WRONG, 2))
def test_what_is_not_written_or_written_twice_is_seen_in_a_run(name: str, tmp_path: Path) -> None:
    case, kind = WRONG[name]
    refuted = [o for o in case.obligations(tmp_path) if o.status == "refuted" and o.kind == kind]
    assert refuted
    assert all(o.confirmed == "interpreter" for o in refuted)


@pytest.mark.long
def test_threads_that_write_the_same_value_are_not_refuted(tmp_path: Path) -> None:
    case = _rows("if (threadIdx.x < C) out[blockIdx.x * C] = x[0];")
    (obligation,) = [o for o in case.obligations(tmp_path) if o.kind == "written_once"]
    assert obligation.status == "undecided"
    assert "not confirmed" in obligation.reason


@pytest.mark.parametrize(("pitch", "expected"), [(32, "refuted"), (33, "proved")])
def test_a_padded_tile_has_no_bank_conflicts(pitch: int, expected: str, tmp_path: Path) -> None:
    source = (
        "__global__ void k(float* out, const float* x, int N, int C) {\n"
        + _TILE.format(pitch=pitch)
        + "\n}\n"
    )
    case = Case(source, {"N": 64, "C": 64}, {"out": ["C", "N"]}, {"x": ["N", "C"]}, **_TILES)
    conflicts = [o for o in case.obligations(tmp_path) if o.kind == "bank_conflicts"]
    assert {o.expression: o.status.value for o in conflicts} == {
        "t[threadIdx.y][threadIdx.x]": "proved",
        "t[threadIdx.x][threadIdx.y]": expected,
    }
    assert all(
        "32-way" in o.reason and o.confirmed == "interpreter" for o in conflicts if o.status == "refuted"
    )


@pytest.mark.parametrize(
    ("promises", "align", "expected"),
    first_now([([], 256, "refuted"), (["N % 4 == 0"], 4, "undecided"), (["N % 4 == 0"], 256, "proved")]),
)
def test_rows_of_vectors_are_aligned_when_their_length_is_divisible(
    promises: list[str], align: int, expected: str, tmp_path: Path
) -> None:
    source = (
        "__global__ void k(float* out, const float* x, int N) {\n"
        "const float4* row = reinterpret_cast<const float4*>(x + blockIdx.x * N);\n"
        "for (int i = threadIdx.x; i < N / 4; i += 64)\n"
        "reinterpret_cast<float4*>(out)[blockIdx.x * (N / 4) + i] = row[i];\n}\n"
    )
    case = Case(
        source, {"N": 64}, {"out": [4, "N"]}, {"x": [4, "N"]}, [4], [64], promises, align={"x": align}
    )
    (obligation,) = [o for o in case.obligations(tmp_path) if o.kind == "aligned" and o.root == "x"]
    assert obligation.status == expected, obligation


def test_overflow_begins_at_a_size(tmp_path: Path) -> None:
    case = _one("int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i < N) out[i] = x[4 * i % N];")
    (obligation,) = [o for o in case.obligations(tmp_path) if o.kind == "overflow" and o.root == "x"]
    assert (obligation.status, obligation.confirmed) == ("refuted", "arithmetic")
    assert "from N = 536870913" in obligation.reason


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ("int s = blockIdx.x * 128 - 3 + threadIdx.x;", "proved"),
        ("int s = blockIdx.x * 128 - 3; s = max(0, s + int(threadIdx.x));", "proved"),
        ("unsigned u = blockIdx.x * 128 - 3; int s = u + threadIdx.x;", "proved"),
        ("long long s = blockIdx.x * 128 - 3 + threadIdx.x;", "refuted"),
        ("int s = (blockIdx.x * 128 - 3) / 4 + threadIdx.x;", "refuted"),
    ],
)
def test_unsigned_sums_may_wrap_on_their_way_to_an_int(index: str, expected: str, tmp_path: Path) -> None:
    case = _one(f"{index}\nif (s >= 0 && s < N) out[blockIdx.x * 128 + threadIdx.x] = x[s];")
    overflow = [o for o in case.obligations(tmp_path) if o.kind == "overflow" and o.root == "x"]
    assert {o.status.value for o in overflow} == {expected}


def test_data_decide_which_elements_a_scatter_writes(tmp_path: Path) -> None:
    source = "__global__ void k(float* out, const float* x, const int* at, int N) {\n"
    source += "int i = blockIdx.x * 128 + threadIdx.x;\nif (i < N) out[at[i]] = x[i];\n}\n"
    case = Case(source, {"N": 5}, {"out": ["N"]}, {"x": ["N"], "at": ["N"]}, ["ceil_div(N, 128)"], [128],
                integers={"at": "integers(0, N)"})  # fmt: skip
    obligations = case.obligations(tmp_path, replayed=False)
    assert set(statuses(obligations, "in_bounds").values()) == {"proved"}
    assert set(statuses(obligations, "written").values()) != {"proved"}


def test_rows_of_a_tiled_product_are_apart_although_both_sizes_are_symbols(tmp_path: Path) -> None:
    body = (
        "int r = blockIdx.x * 32 + threadIdx.x / 32, c = blockIdx.y * 32 + threadIdx.x % 32;\n"
        "for (int b = 0; b < 2; b++) {\nint at = b * N * C + r * C + c;\n"
        "if (r < N && c < C) out[at] = x[at];\n}"
    )
    source = f"__global__ void k(float* out, const float* x, int N, int C) {{\n{body}\n}}\n"
    grid = ["ceil_div(N, 32)", "ceil_div(C, 32)"]
    shapes = ({"N": 3, "C": 70}, {"out": [2, "N", "C"]}, {"x": [2, "N", "C"]})
    obligations = Case(source, *shapes, grid, [1024]).obligations(tmp_path, replayed=False)
    assert set(statuses(obligations, "written_once").values()) == {"proved"}
