"""In bounds: what is proved for all sizes, and counterexamples that the emulated device confirms."""

from __future__ import annotations

from pathlib import Path

import pytest

from longer import first_now
from proofs.cases import Case, statuses

_ONE = {"dims": {"N": 1000}, "outputs": {"out": ["N"]}, "inputs": {"x": ["N"]}}
_ROWS = {"dims": {"N": 3, "C": 70}, "outputs": {"out": ["N", "C"]}, "inputs": {"x": ["N", "C"]}}


def _one(body: str, **more: object) -> Case:
    source = f"__global__ void k(float* out, const float* x, int N) {{\n{body}\n}}\n"
    return Case(source, **{"grid": ["ceil_div(N, 256)"], "block": [256], **_ONE, **more})  # type: ignore[arg-type]


def _rows(body: str, **more: object) -> Case:
    source = f"__global__ void k(float* out, const float* x, int N, int C) {{\n{body}\n}}\n"
    return Case(source, **{"grid": ["N"], "block": [128], **_ROWS, **more})  # type: ignore[arg-type]


_INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
PROVED = {
    "guarded": _one(_INDEX + "if (i < N) out[i] = x[i];"),
    "early return": _one(_INDEX + "if (i >= N) return;\nout[i] = x[i];"),
    "promised multiple": _one(_INDEX + "out[i] = x[i];", promises=["N % 256 == 0"]),
    "ternary": _one(_INDEX + "float v = i < N ? x[i] : 0.f;\nif (i < N) out[i] = v;"),
    "and": _one(_INDEX + "if (i < N && x[i] > 0.f) out[i] = x[i];"),
    "grid stride": _one("for (int i = blockIdx.x * 256 + threadIdx.x; i < N; i += gridDim.x * 256) out[i] = x[i];"),
    "optional output": _one(_INDEX + "if (i < N && out != nullptr) out[i] = x[i];"),
    "clamped": _one(_INDEX + "i = min(i, N - 1);\nout[i] = x[i];"),
    "pointer": _one("const float* p = x + blockIdx.x * 256;\nfloat* q = out + blockIdx.x * 256;\n"
                    "if (blockIdx.x * 256 + threadIdx.x < N) q[threadIdx.x] = *(p + threadIdx.x);"),
    "row wise": _rows("int row = blockIdx.x;\nfor (int c = threadIdx.x; c < C; c += blockDim.x)\n"
                      "out[row * C + c] = x[row * C + c];"),
    "row pointer": _rows("const float* r = x + blockIdx.x * C;\nfloat* o = out + blockIdx.x * C;\n"
                         "for (int c = threadIdx.x; c < C; c += blockDim.x) o[c] = r[c];"),
    "split index": _rows("int i = blockIdx.x * 128 + threadIdx.x;\nif (i < N * C) { int r = i / C; int c = i % C;\n"
                         "out[r * C + c] = x[r * C + c]; }", grid=["ceil_div(N * C, 128)"]),
    "two axes": _rows("int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;\n"
                      "if (r < N && c < C) out[r * C + c] = x[r * C + c];",
                      grid=["ceil_div(C, 16)", "ceil_div(N, 16)"], block=[16, 16]),
    "tree": _rows("__shared__ float s[128];\ns[threadIdx.x] = 0.f;\n__syncthreads();\n"
                  "for (int h = blockDim.x / 2; h > 0; h >>= 1) { if (threadIdx.x < h)"
                  " s[threadIdx.x] += s[threadIdx.x + h]; __syncthreads(); }"),
    "dynamic shared": _rows("extern __shared__ float s[];\nfor (int c = threadIdx.x; c < C; c += 128) s[c] = 0.f;",
                            shared_bytes="4 * C"),
    "gathered": Case("__global__ void k(float* out, const float* x, const int* at, int N, int C) {\n"
                     "int i = blockIdx.x * 128 + threadIdx.x;\nif (i < N) out[i] = x[at[i]];\n}\n",
                     {"N": 5, "C": 7}, {"out": ["N"]}, {"x": ["C"], "at": ["N"]}, ["ceil_div(N, 128)"], [128],
                     integers={"at": "integers(0, C)"}),
    "macro and function": Case("#define AT(r, c, ld) ((r) * (ld) + (c))\n"
                               "__device__ int row_of(int i, int ld) { return i / ld; }\n"
                               "__global__ void k(float* out, const float* x, int N, int C) {\n"
                               "int i = blockIdx.x * 128 + threadIdx.x;\nif (i >= N * C) return;\n"
                               "int r = row_of(i, C);\nout[AT(r, i % C, C)] = x[AT(r, i % C, C)];\n}\n",
                               {"N": 3, "C": 70}, {"out": ["N", "C"]}, {"x": ["N", "C"]},
                               ["ceil_div(N * C, 128)"], [128]),
}  # fmt: skip

REFUTED = {
    "no guard": (_one(_INDEX + "out[i] = x[i];"), {"out[i]", "x[i]"}, {"N": 1}),
    "one too many": (_one(_INDEX + "if (i <= N) out[i] = x[i];"), {"out[i]", "x[i]"}, {"N": 1}),
    "shifted": (_one(_INDEX + "if (i < N) out[i] = x[i + 1];"), {"x[i + 1]"}, {"N": 1}),
    "before the start": (_one(_INDEX + "if (i < N) out[i] = x[i - 1];"), {"x[i - 1]"}, {"N": 1}),
    "swapped": (
        _rows(
            "if (threadIdx.x < C) out[blockIdx.x * C + threadIdx.x] = x[threadIdx.x * N + blockIdx.x + 1];"
        ),
        {"x[threadIdx.x * N + blockIdx.x + 1]"},
        {"N": 1, "C": 1},
    ),
    "shared": (
        _rows("__shared__ float s[100];\ns[threadIdx.x] = 0.f;\nif (threadIdx.x < 1) out[0] = s[99];"),
        {"s[threadIdx.x]"},
        {"N": 1, "C": 1},
    ),
}


@pytest.mark.parametrize("name", first_now(PROVED, 5))
def test_what_guards_and_promises_keep_in_bounds_is_proved(name: str, tmp_path: Path) -> None:
    by_expression = statuses(PROVED[name].obligations(tmp_path), "in_bounds")
    assert by_expression
    assert set(by_expression.values()) == {"proved"}, by_expression


@pytest.mark.parametrize("name", first_now(REFUTED, 2))
def test_the_smallest_counterexample_is_confirmed_by_a_run(name: str, tmp_path: Path) -> None:
    case, wrong, dims = REFUTED[name]
    obligations = [o for o in case.obligations(tmp_path) if o.kind == "in_bounds"]
    refuted = [o for o in obligations if o.status == "refuted"]
    assert {o.expression for o in refuted} == wrong
    for obligation in refuted:
        assert obligation.confirmed == "interpreter"
        assert obligation.counterexample is not None
        assert dict(obligation.counterexample.dims) == dims
        assert obligation.counterexample.element is not None or obligation.root == "s"
    assert all(o.status == "proved" for o in obligations if o.expression not in wrong)


def test_an_index_from_data_is_undecided_with_its_place(tmp_path: Path) -> None:
    source = "__global__ void k(float* out, const float* x, const int* at, int N) {\n"
    source += "int i = blockIdx.x * 128 + threadIdx.x;\nif (i < N)\nout[i] = x[at[i]];\n}\n"
    case = Case(source, {"N": 5}, {"out": ["N"]}, {"x": ["N"], "at": ["N"]}, ["ceil_div(N, 128)"], [128],
                integers={"at": "integers"})  # fmt: skip
    obligation = next(
        o for o in case.obligations(tmp_path) if o.expression == "x[at[i]]" and o.kind == "in_bounds"
    )
    assert (obligation.status, obligation.line) == ("undecided", 4)
    assert "at[i]" in obligation.reason
    assert "line 4" in obligation.reason


def test_what_is_not_modelled_is_named(tmp_path: Path) -> None:
    case = _one("again: out[threadIdx.x] = x[0]; goto again;")
    proved = case.obligations(tmp_path, replayed=False)  # a run of it would not end
    obligation = next(o for o in proved if o.kind == "in_bounds" and not o.expression)
    assert obligation.status == "undecided"
    assert "labeled statement" in obligation.reason
