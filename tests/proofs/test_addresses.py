"""Launches and kernels that ask where buffers lie: an address is a free number, a multiple of what callers promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.proofs.obligations.alignment import aligned
from kernel_lineage.proofs.obligations.in_bounds import in_bounds
from longer import first_now
from proofs.cases import Case, statuses

_FOUR, _ONE = "reinterpret_cast<const float4*>(x)[i]", "x[i]"
_TO_FOUR = "reinterpret_cast<float4*>(out)[i]"
_INDEX = "int i = blockIdx.x * 128 + threadIdx.x;\n"
_WIDE = f"if (4 * i < N) {_TO_FOUR} = {_FOUR};"
_PLAIN = "if (i < N) out[i] = x[i];"
_UNTOLD = {"align": {"x": 4, "out": 4}}
_WHOLE = ["N % 4 == 0"]
_BOTH = "bit_or(address_of_x, address_of_out) % 16 == 0"


def _launched(test: str, wide: str = _WIDE, plain: str = _PLAIN, **more: object) -> Case:
    """A kernel that is told by a number whether it may go by fours."""
    source = (
        f"__global__ void k(float* out, const float* x, int N, int four) {{\n{_INDEX}if (four) {{ {wide} }}\n"
    )
    return _case(source + f"else {{ {plain} }}\n}}\n", numbers={"four": test}, **more)


def _inside(test: str, wide: str = _WIDE, **more: object) -> Case:
    """A kernel that asks for the addresses itself."""
    source = (
        f"#include <cstdint>\n__global__ void k(float* out, const float* x, int N) {{\n{_INDEX}if ({test})"
    )
    return _case(f"{source} {{ {wide} }}\nelse {{ {_PLAIN} }}\n}}\n", **more)


def _case(source: str, **more: object) -> Case:
    sizes = {"dims": {"N": 1000}, "outputs": {"out": ["N"]}, "inputs": {"x": ["N"]}}
    return Case(source, grid=["ceil_div(N, 128)"], block=[128], **sizes, **more)  # type: ignore[arg-type]


_UINT = "reinterpret_cast<uintptr_t>"
IN_BOUNDS = {
    "both and the size": (_launched(f"N % 4 == 0 and {_BOTH}"), {_FOUR: "proved", _ONE: "proved"}),
    "the addresses alone": (_launched(_BOTH), {_FOUR: "refuted", _ONE: "proved"}),
    "the addresses where the size is promised": (_launched(_BOTH, promises=_WHOLE), {_FOUR: "proved", _ONE: "proved"}),
    "one too many where it goes one by one": (
        _launched(_BOTH, plain=_PLAIN.replace("<", "<="), promises=_WHOLE), {_FOUR: "proved", _ONE: "refuted"},
    ),
    "the same in the kernel": (_inside(f"(({_UINT}(x) | {_UINT}(out)) & 15) == 0"), {_FOUR: "refuted", _ONE: "proved"}),
}  # fmt: skip
ALIGNED = {
    "told by the launch": (_launched(_BOTH, **_UNTOLD), {_FOUR: "proved", _TO_FOUR: "proved"}),
    "both of them alone": (
        _launched("address_of_x % 16 == 0 and address_of_out % 32 == 0", **_UNTOLD),
        {_FOUR: "proved", _TO_FOUR: "proved"},
    ),
    "one of the two": (_launched("address_of_x % 16 == 0", **_UNTOLD), {_FOUR: "proved", _TO_FOUR: "undecided"}),
    "by eight": (_launched(_BOTH.replace("16", "8"), **_UNTOLD), {_FOUR: "undecided", _TO_FOUR: "undecided"}),
    "nobody": (_launched("N % 4 == 0", **_UNTOLD), {_FOUR: "undecided", _TO_FOUR: "undecided"}),
    "asked by the kernel": (
        _inside(f"!((({_UINT}(x) | {_UINT}(out)) | (uintptr_t)N * 4) & 15)", **_UNTOLD),
        {_FOUR: "proved", _TO_FOUR: "proved"},
    ),
    "asked for the other case": (
        _inside("(size_t)x % 16 || (unsigned long long)out % sizeof(float4)", ";} else {" + _WIDE, **_UNTOLD),
        {_FOUR: "proved", _TO_FOUR: "proved"},
    ),
    "where its own part begins": (
        _inside("((uintptr_t)(x + N / 2 + 3) & 15) == 0",
                "float4 a = *reinterpret_cast<const float4*>(x + N / 2 + 4 * i + 3); out[i] = a.x;", **_UNTOLD),
        {"*reinterpret_cast<const float4*>(x + N / 2 + 4 * i + 3)": "proved"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", first_now(IN_BOUNDS, 2))
def test_both_ways_of_a_launch_that_asks_for_addresses_are_looked_at(name: str, tmp_path: Path) -> None:
    case, expected = IN_BOUNDS[name]
    obligations = case.of_kinds(tmp_path, [in_bounds])
    by_expression = statuses(obligations, "in_bounds")
    assert {text: by_expression[text] for text in expected} == expected
    assert all(o.confirmed == "interpreter" for o in obligations if o.status == "refuted")


@pytest.mark.parametrize("name", first_now(ALIGNED, 3))
def test_a_vector_access_is_aligned_where_its_address_was_asked_for(name: str, tmp_path: Path) -> None:
    case, expected = ALIGNED[name]
    assert statuses(case.of_kinds(tmp_path, [aligned]), "aligned") == expected


def test_a_counterexample_says_where_the_buffers_lie(tmp_path: Path) -> None:
    case, _ = IN_BOUNDS["one too many where it goes one by one"]
    refuted = [o for o in case.of_kinds(tmp_path, [in_bounds]) if o.status == "refuted"]
    assert {o.root for o in refuted} == {"x", "out"}
    for obligation in refuted:
        example = obligation.counterexample
        assert example is not None
        assert dict(example.dims) == {"N": 4}
        assert list(example.addresses.values()) == [4], "one of them, as little as floats allow"
        assert "4 bytes past a multiple of 256" in obligation.reason


def test_where_a_buffer_lies_is_said_only_where_it_matters(tmp_path: Path) -> None:
    case, _ = IN_BOUNDS["the addresses alone"]
    refuted = [o for o in case.of_kinds(tmp_path, [in_bounds]) if o.status == "refuted"]
    assert refuted
    assert all(o.counterexample is not None and not o.counterexample.addresses for o in refuted)
