"""Overflow through index data: a loaded integer is any that its type, the guards and the workload allow."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.proofs.obligations.obligation import Obligation
from kernel_lineage.proofs.obligations.overflow import no_overflow
from longer import first_now
from proofs.cases import Case

_ANY = {"ids": "integers"}
_SMALL = ["C <= 4096"]
_CALLERS = ["N <= 4096", "V <= 50000", "C <= 1024"]
_TRITON = """import triton
import triton.language as tl


@triton.jit
def k(out, table, ids, N, C, V, BLOCK: tl.constexpr):
"""


def _case(head: str, body: str, **more: object) -> Case:
    buffers = {"table": ["V", "C"], "ids": ["N"]} | more.pop("inputs", {})  # type: ignore[operator]
    sizes: dict[str, object] = {
        "dims": {"N": 5, "C": 7, "V": 9},
        "outputs": {"out": ["N", "C"]},
        "inputs": buffers,
    }
    return Case(head + body, grid=["N"], **{"block": [128], "integers": _ANY, **sizes, **more})  # type: ignore[arg-type]


def _cuda(taken: str, index: str, ids: str = "int", **more: object) -> Case:
    others = "".join(f"const int* {name}, " for name in more.get("inputs", {}))  # type: ignore[union-attr]
    head = f"__global__ void k(float* out, const float* table, const {ids}* ids, {others}int N, int C, int V) {{\n"
    rows = "for (int c = threadIdx.x; c < C; c += 128) out[(size_t)row * C + c] = "
    return _case(head, f"int row = blockIdx.x;\n{taken}\n{rows}table[{index}];\n}}\n", **more)


def _triton(taken: str, **more: object) -> Case:
    body = f"""    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    at = {taken}
    tl.store(out + row * C + c, tl.load(table + at, mask=c < C), mask=c < C)
"""
    constants = {"BLOCK": "next_power_of_2(C)"}
    return _case(_TRITON, body, block=[1], language="triton", constexpr=constants, **more)


_ID = "int id = ids[row];"
_GATHER = "id * C + c"
_GUARDED = f"{_ID} if (id < 0 || id >= V) return;"
_CLAMPED = f"{_ID} id = id < 0 ? 0 : (id < V ? id : V - 1);"
_TWO = {"inputs": {"more": ["V"]}}
REFUTED = {
    "an index of which nothing is stated": (_cuda(_ID, _GATHER), "`id * C + c` (line 4) does not fit int32"),
    "within limits": (_cuda(_ID, _GATHER, integers={"ids": "integers(0, V)"}), "does not fit int32"),
    "guarded": (_cuda(_GUARDED, _GATHER), "does not fit int32"),
    "nested guards": (
        _cuda(f"{_ID} float a = 0.f; if (id >= 0) {{ if (id < V) a = table[id * C]; }}", "(size_t)row % V"),
        "`id * C` (line 3) does not fit int32",
    ),
    "clamped": (_cuda(_CLAMPED, _GATHER), "does not fit int32"),
    "unsigned": (_cuda("unsigned id = ids[row];", _GATHER, "unsigned", dtypes={"ids": "uint32"}), "not fit uint32"),
    "narrowed": (_cuda(_ID, "(size_t)id + c", "long long", dtypes={"ids": "int64"}), "`id = ids[row]` (line 3)"),
    "an index of an index": (
        _cuda("int id = more[ids[row]];", _GATHER, **_TWO, integers={"more": "integers(0, V)", **_ANY}),
        "`id * C + c` (line 4) does not fit int32",
    ),
    "two of one row": (
        _cuda("int id = ids[row], c0 = more[row % V];", "id * C + c0", **_TWO, integers={"more": "integers", **_ANY}),
        "does not fit int32",
    ),
    "one of four": (
        _cuda("int4 four = reinterpret_cast<const int4*>(ids)[row / 4];", "four.y * C + c", promises=["N % 4 == 0"]),
        "`four.y * C + c` (line 4) does not fit int32",
    ),
    "guarded by data": (_cuda("if (ids[row] < 0) return;", "row % V * C + c"), "does not fit int32"),
    "a block of Triton": (_triton("tl.load(ids + row) * C + c"), "`tl.load(ids + row) * C + c` (line 9) does not fit"),
    "a masked block of Triton": (_triton("tl.load(ids + row + c * 0, mask=c < C) * C + c"), "does not fit int32"),
}  # fmt: skip
PROVED = {
    "at the callers' sizes": _cuda(_ID, _GATHER, promises=_CALLERS),
    "guarded at the callers' sizes": _cuda(_GUARDED, _GATHER, promises=_CALLERS),
    "clamped at the callers' sizes": _cuda(_CLAMPED, _GATHER, promises=_CALLERS),
    "guarded by a number": _cuda(f"{_ID} if (id < 0 || id > 63) return;", _GATHER, promises=_SMALL),
    "guarded where it is read again": _cuda(
        "if (ids[row] < 0) return; if (ids[row] > 63) return;", "ids[row] * C + c", promises=_SMALL
    ),
    "of a type with few values": _cuda(_ID, _GATHER, "unsigned char", dtypes={"ids": "uint8"}, promises=_SMALL),
    "listed": _cuda(_ID, _GATHER, integers={"ids": "listed(3, 0, 60)"}, promises=_SMALL),
    "listed by the sizes": _cuda(_ID, _GATHER, integers={"ids": "listed(0, V - 1)"}, promises=_CALLERS),
    "beside a place in 64 bits that it must lie in": _cuda(
        f"{_ID} float a = table[(size_t)id * C];", "(id * 64) % 32", promises=_CALLERS
    ),
    "as far as a length that is read": _cuda(
        "float a = 0.f; for (int k = threadIdx.x; k < ids[row]; k += 128) a += table[row % V * C + k];", "0",
        promises=_CALLERS,
    ),
    "from one place that is read to another": _cuda(
        "float a = 0.f; for (int k = ids[row]; k < ids[row + 1]; k++) a += table[k * C + threadIdx.x];", "0",
        promises=_CALLERS,
    ),
    "in 64 bits": _cuda(_ID, "(size_t)id * C + c"),
    "a long": _cuda("long long id = ids[row];", _GATHER),
    "a pointer that moves in 64 bits": _cuda(f"{_ID} const float* from = table + (int64_t)id * C;", "0] + from[c"),
    "64 bits of Triton": _triton("tl.load(ids + row).to(tl.int64) * C + c"),
    "Triton at the callers' sizes": _triton("tl.load(ids + row) * C + c", promises=_CALLERS),
}  # fmt: skip
UNDECIDED = {
    "what other threads have left": _cuda(
        "__shared__ int held[128]; held[threadIdx.x] = row; __syncthreads(); int id = held[0];", _GATHER
    ),
    "what an address is chosen by": _cuda(f"{_ID} if (table[row % V] > 0.f) return;", _GATHER),
    "an atomic's": _cuda("__shared__ int held; int id = atomicAdd(&held, 1);", _GATHER),
    "two that may cancel each other": _cuda(
        "int id = ids[row], c0 = more[row % V];", "id * C + c0", **_TWO, integers={"more": "integers", **_ANY},
        promises=_CALLERS,
    ),
    "a hash": _cuda(_ID, "(unsigned)id * 2654435761u % V", promises=_CALLERS),
}  # fmt: skip


def _of_table(case: Case, folder: Path) -> list[Obligation]:
    obligations = [o for o in case.of_kinds(folder, [no_overflow]) if o.root == "table"]
    assert obligations or "size_t" in case.source or "long" in case.source or "int64" in case.source
    return obligations


@pytest.mark.parametrize("name", first_now(REFUTED))
def test_a_product_with_a_loaded_index_overflows_from_some_sizes_on(name: str, tmp_path: Path) -> None:
    case, reason = REFUTED[name]
    (refuted,) = [o for o in _of_table(case, tmp_path) if o.status == "refuted"]
    assert reason in refuted.reason
    assert refuted.confirmed == "arithmetic"
    example = refuted.counterexample
    assert example is not None
    assert example.dims["V"] * example.dims["C"] > 2**31 - 1, "the table has an element of that number"
    assert example.dims["V"] * example.dims["C"] * 4 <= 2**39


@pytest.mark.parametrize("name", first_now(PROVED, 3))
def test_what_guards_types_and_the_workload_state_of_an_index_bounds_its_products(
    name: str, tmp_path: Path
) -> None:
    assert {o.status.value for o in _of_table(PROVED[name], tmp_path)} <= {"proved"}


@pytest.mark.parametrize("name", first_now(UNDECIDED, 1))
def test_what_the_kernel_itself_has_made_of_data_is_not_free(name: str, tmp_path: Path) -> None:
    (undecided,) = [o for o in _of_table(UNDECIDED[name], tmp_path) if o.status == "undecided"]
    assert undecided.reason.startswith("not known: ")


@pytest.mark.long
def test_the_counterexample_says_which_index_it_is(tmp_path: Path) -> None:
    (refuted,) = _of_table(_cuda(_ID, _GATHER), tmp_path)
    example = refuted.counterexample
    assert example is not None
    value, loaded = example.note.removeprefix("`id * C + c` is ").split(" where `ids[row]` is ")
    assert int(value) > 2**31 - 1
    assert int(loaded) < example.dims["V"]
