"""Variables of a structure are split into its members, where nothing uses a whole one in another way."""

from __future__ import annotations

import pytest

from kernel_lineage.kernels.edits import edited
from kernel_lineage.rewrite.assists.split_structures import split_structures
from kernel_texts import kernel_in_text

_KERNEL = """\
{types}
__device__ void note(Pair p) {{ }}
__global__ void work(float* out, const Pair* pairs, const float* x, int n) {{
    int i = threadIdx.x;
    {code}
}}
"""
_PAIR = "struct Pair { float v; int at; };"


def _split(code: str, types: str = _PAIR) -> str:
    data = _KERNEL.format(types=types, code=code).encode()
    kernel = kernel_in_text(data, "work")
    again = kernel_in_text(edited(data, split_structures(kernel)), "work")
    return " ".join(" ".join(line.strip() for line in again.text.splitlines()[2:-1]).split())


@pytest.mark.parametrize(
    ("code", "becomes"),
    [
        (
            "Pair p; p.v = x[i]; p.at = i; out[p.at] = p.v;",
            "float p_v; int p_at; p_v = x[i]; p_at = i; out[p_at] = p_v;",
        ),
        # Elements of a shared array, and what of global memory is copied into them.
        (
            "__shared__ Pair all[64]; all[i] = pairs[i]; out[i] = all[1].v;",
            (
                "__shared__ float all_v[64]; __shared__ int all_at[64]; all_v[i] = pairs[i].v; "
                "all_at[i] = pairs[i].at; out[i] = all_v[1];"
            ),
        ),
        # A choice is a branch, of which the side that changes nothing is left out.
        (
            "Pair p = {1.0f, 0}; Pair q = pairs[i]; p = q.v > p.v ? q : p; out[i] = p.v;",
            (
                "float p_v = 1.0f; int p_at = 0; float q_v = pairs[i].v; int q_at = pairs[i].at; "
                "if (q_v > p_v) { p_v = q_v; p_at = q_at; } out[i] = p_v;"
            ),
        ),
        (
            "Pair p = pairs[i]; if (i < n) p = pairs[0]; out[i] = p.v;",
            (
                "float p_v = pairs[i].v; int p_at = pairs[i].at; if (i < n) { p_v = pairs[0].v; p_at = pairs[0].at; } "
                "out[i] = p_v;"
            ),
        ),
    ],
)
def test_a_structure_is_its_members(code: str, becomes: str) -> None:
    assert _split(code) == becomes


@pytest.mark.parametrize(
    "code",
    [
        # A whole one is handed over, or its address, or its size is asked for.
        "Pair p = pairs[i]; note(p); out[i] = p.v;",
        "Pair p = pairs[i]; float* f = &p.v; Pair* q = &p; out[i] = q->v;",
        "Pair p = pairs[i]; out[i] = p.v + sizeof(p);",
        # An index would be worked out twice, and changes on the way.
        "Pair p = pairs[i++]; out[i] = p.v;",
        "__shared__ Pair all[64]; Pair p = all[i]; all[p.at] = p; out[i] = p.v;",
        # It is given a value within an expression, or by a pointer.
        "Pair p = pairs[i], q = pairs[0]; out[i] = p.v + q.v;",
        "Pair p; Pair q; q = p = pairs[i]; out[i] = q.v;",
        "Pair& p = const_cast<Pair&>(pairs[i]); p.v = 1.0f;",
    ],
)
def test_what_uses_a_whole_structure_keeps_it(code: str) -> None:
    assert _split(code) == code


@pytest.mark.parametrize(
    "types",
    [
        "struct Pair { float v; int at; bool better(float o) { return v > o; } };",
        "struct Pair { float v; int at[1]; };",
        "struct Pair { float v = 1.0f; int at = 0; };",
        "struct Base { int at; }; struct Pair : Base { float v; };",
    ],
)
def test_a_structure_of_more_than_numbers_stays_whole(types: str) -> None:
    code = "Pair p; p.v = x[i]; out[i] = p.v;"
    assert _split(code, types) == code
