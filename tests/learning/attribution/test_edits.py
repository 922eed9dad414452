"""Two programs → pieces → edits: what is one edit, what an edit needs, and the programs in between."""

from __future__ import annotations

import pytest

from kernel_gate.program import LaunchSpec, Program
from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.attribution.edits import Edits, UnsplittableError, edits_between
from kernel_lineage.learning.attribution.pieces import pieces

CUDA = """\
#define HALF(x) \\
    ((x) / 2)
// Adds up a row; "}" in a comment closes nothing.
__global__ void total(float* out, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int c = 0; c < C; c++) {
        sum += x[row * C + c];
    }
    out[row] = sum;
}
"""
TRITON = '''\
import triton
import triton.language as tl


@triton.jit
def total(
    out, x, C,
    BLOCK: tl.constexpr,
):
    """A row each."""
    row = tl.program_id(0)
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, C, BLOCK):
        at = start + tl.arange(0, BLOCK)
        sums += tl.load(x + row * C + at, mask=at < C, other=0.0)
    tl.store(out + row, tl.sum(sums, 0))
'''


def between(before: str, after: str, entry: str = "total", **later: object) -> Edits:
    language = "triton" if "triton" in before else "cuda"
    return edits_between(
        Program(language, before, "total", name="before"),
        Program(language, after, entry, name="after", **later),  # type: ignore[arg-type]
    )


def changed(difference: Edits) -> list[tuple[str, str]]:
    """What went and what came with each edit, without layout."""
    return [
        (" ".join("".join(e.removed).split()), " ".join("".join(e.added).split())) for e in difference.edits
    ]


@pytest.mark.parametrize(
    ("source", "language"),
    [(CUDA, Language.CUDA), (TRITON, Language.TRITON), ("def (:\n  x", Language.TRITON)],
)
def test_the_pieces_of_a_text_are_the_text(source, language):
    assert "".join(piece.text for piece in pieces(source, language)) == source


def test_comments_and_layout_are_no_edit():
    after = CUDA.replace("// Adds up a row", "// Sums a row").replace("    float sum", "\n    float  sum")
    assert between(CUDA, after).edits == ()


def test_each_changed_statement_is_an_edit():
    after = CUDA.replace("const float* x", "const float* __restrict__ x").replace("= sum;", "= 2.0f * sum;")
    signature, store = between(CUDA, after).edits
    assert "__restrict__ x" in signature.added[0]
    assert "__restrict__" not in signature.removed[0]
    assert (store.removed, store.added) == (("\n    out[row] = sum;",), ("\n    out[row] = 2.0f * sum;",))


def test_a_name_and_its_only_use_are_one_edit():
    after = CUDA.replace("    float sum", "    const float* here = x + row * C;\n    float sum").replace(
        "x[row * C + c]", "here[c]"
    )
    assert changed(between(CUDA, after)) == [
        ("sum += x[row * C + c];", "const float* here = x + row * C; sum += here[c];")
    ]


def test_a_name_with_two_uses_is_needed_by_both():
    after = (
        CUDA.replace("    float sum", "    int lane = threadIdx.x % 32;\n    float sum")
        .replace("int c = 0; c < C; c++", "int c = lane; c < C; c += 32")
        .replace("    out[row] = sum;", "    if (lane == 0) { out[row] = sum; }")
    )
    difference = between(CUDA, after)
    declaration = next(e for e in difference.edits if e.added == ("\n    int lane = threadIdx.x % 32;",))
    assert sorted(e.needs for e in difference.edits if e is not declaration) == [{declaration.number}] * 2


def test_a_new_function_is_one_edit_with_its_only_call():
    function = (
        "__device__ float twice(float v) {\n    for (int k = 0; k < 1; k++) {\n        v += v;\n    }\n"
        "    return v;\n}\n"
    )
    after = function + CUDA.replace("= sum;", "= twice(sum);")
    (edit,) = between(CUDA, after).edits
    assert "return v;" in "".join(edit.added)
    assert "twice(sum)" in "".join(edit.added)


def test_a_block_opens_and_closes_in_one_edit():
    after = CUDA.replace("    out[row] = sum;", "    if (sum > 0.0f) {\n        out[row] = sum;\n    }")
    assert changed(between(CUDA, after)) == [("", "if (sum > 0.0f) { }")]


def test_the_launch_is_an_edit():
    difference = between(CUDA, CUDA, launch=LaunchSpec(("N",), ("64",)))
    assert [(e.launch, e.added) for e in difference.edits] == [(True, ())]
    assert difference.program({0}).launch == LaunchSpec(("N",), ("64",))
    assert difference.program(()).launch is None


def test_parameters_change_with_what_is_passed():
    after = CUDA.replace("int N, int C) {", "int C, int N) {")
    difference = between(CUDA, after, arguments=("out", "x", "C", "N"))
    assert [(e.launch, len(e.added)) for e in difference.edits] == [(True, 1)]


@pytest.mark.parametrize(
    ("before", "after"),
    [(CUDA, CUDA.replace("c++", "++c")), (TRITON, TRITON.replace("sums, 0", "sums, axis=0"))],
)
def test_none_is_before_and_all_is_after(before, after):
    difference = between(before, after.replace("total", "total2"), entry="total2")
    assert difference.program(()).source == before
    assert difference.program(difference.all).source == after
    assert difference.program(difference.all).entry == "total"


def test_a_statement_of_triton_is_an_edit_wherever_its_line_ends():
    after = TRITON.replace("    out, x, C,\n", "    out,\n    x,\n    C,\n").replace(
        "tl.sum(sums, 0)", "tl.max(sums, 0)"
    )
    assert changed(between(TRITON, after)) == [
        ("tl.store(out + row, tl.sum(sums, 0))", "tl.store(out + row, tl.max(sums, 0))")
    ]


@pytest.mark.parametrize(
    ("after", "message"),
    [
        (Program("triton", TRITON, "total"), "different languages"),
        (
            Program("cuda", CUDA.replace("total", "total2") + "void total();", "total2"),
            "has a total of its own",
        ),
    ],
)
def test_what_cannot_be_mixed_is_said(after, message):
    with pytest.raises(UnsplittableError, match=message):
        edits_between(Program("cuda", CUDA, "total"), after)
