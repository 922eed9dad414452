"""Pointers that walk are written as places that the loop's counter tells, where that is the same."""

from __future__ import annotations

import pytest

from kernel_lineage.kernels.edits import edited
from kernel_lineage.rewrite.assists.pointer_walks import indexed_walks
from kernel_lineage.rewrite.optimise.proposals import proposals
from kernel_lineage.skills.conditions.facts import Fact, Facts, FactSource, Scalar
from kernel_lineage.skills.library import library
from kernel_texts import kernel_in_text

_KERNEL = """\
__global__ void walk(float* out, const float* x, int rows, int cols) {{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    {code}
    out[row] = sum;
}}
void run(float* out, const float* x, int rows, int cols) {{ walk<<<(rows + 127) / 128, 128>>>(out, x, rows, cols); }}
"""


def _indexed(code: str) -> str:
    data = _KERNEL.format(code=code).encode()
    kernel = kernel_in_text(data, "walk")
    lines = (
        edited(data, tuple(sorted(indexed_walks(kernel), key=lambda e: e.span.start))).decode().splitlines()
    )
    return " ".join(line.strip() for line in lines[4:-3])


@pytest.mark.parametrize(
    ("code", "becomes"),
    [
        (
            "const float* p = x + row * cols; for (int i = 0; i < cols; i++) sum += *p++;",
            "const float* p = x + row * cols; for (int i = 0; i < cols; i++) sum += p[i];",
        ),
        (
            "const float* p = x + row; for (int y = 0; y < rows; y++, p += cols) sum += *p;",
            "const float* p = x + row; for (int y = 0; y < rows; y++) sum += p[(long long)y * cols];",
        ),
        (
            "const float* p = x; const float* e = p + cols; while (p < e) { sum += *p++; }",
            "const float* p = x; const float* e = p + cols; for (int i = 0; i < cols; i++) { sum += p[i]; }",
        ),
    ],
)
def test_a_walk_along_a_row_is_counted(code: str, becomes: str) -> None:
    assert _indexed(code) == becomes


@pytest.mark.parametrize(
    "code",
    [
        # It is read on some ways only, so that it moves on less often than the counter.
        "const float* p = x; for (int i = 0; i < cols; i++) { if (i % 2) sum += *p++; }",
        "const float* p = x; for (int i = 0; i < cols; i++) { if (i == 3) continue; sum += *p++; }",
        "const float* p = x; for (int i = 0; i < cols; i++) { i += 1; sum += *p++; }",
        # It goes on where an earlier loop has left it, or is used behind the loop.
        "const float* p = x; for (int k = 0; k < 2; k++) for (int i = 0; i < cols; i++) sum += *p++;",
        "const float* p = x; for (int i = 0; i < cols; i++) sum += *p++; sum += *p;",
        "const float* p = x; for (int i = 1; i < cols; i++) sum += *p++;",
        "const float* p = x; for (int i = 0; i < cols; i += 2) sum += *p++;",
        "const float* p = x; for (int i = 0; i < cols; i++) sum += *++p;",
        # The step changes on the way.
        "const float* p = x; int s = 1; for (int i = 0; i < cols; i++, p += s) { sum += *p; s++; }",
        # Where the end lies is changed, or is not that many elements behind.
        "const float* p = x; const float* e = x + cols; while (p < e) { sum += *p++; }",
        "const float* p = x; const float* e = p + cols; e -= 1; while (p < e) { sum += *p++; }",
    ],
)
def test_what_moves_on_in_another_way_stays_as_it_is(code: str) -> None:
    assert _indexed(code) == code


def test_rows_that_pointers_walk_along_are_shared_out() -> None:
    code = "const float* p = x + row * cols; for (int i = 0; i < cols; i++) sum += *p++;"
    kernel = kernel_in_text(_KERNEL.format(code=code), "walk")
    stated: dict[str, Scalar] = {
        f"launch.block.{axis}": extent for axis, extent in zip("xyz", (128, 1, 1), strict=True)
    }
    stated["toolchain.cuda"] = (12, 0)
    facts = Facts({n: Fact((v,), "", FactSource.STATED) for n, v in stated.items()})
    made = [p for p in proposals(kernel, library(), facts).made if p.skill == "warp-per-row"]
    assert made
    assert b"sum += p[i];" in made[0].text
    assert b"i += 32" in made[0].text
