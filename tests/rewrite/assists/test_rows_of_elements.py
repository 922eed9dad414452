"""Kernels whose threads have an element each, and which of them may have a thread for each row instead."""

from __future__ import annotations

import pytest

from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.rows_of_elements import with_rows_of_elements
from kernel_texts import kernel_in_text

SUM = "for (int k = 0; k < C; k++) { sum += x[r * C + k]; }"


def kernel(
    body: str, *, before: str = "", parameters: str = "int rows, int C", bound: str = "rows * C"
) -> Kernel:
    """A kernel whose element `i` is one of row `r`; `before` stands in front of the check of its place."""
    return kernel_in_text(
        f"""
__global__ void around(float* out, const float* x, {parameters}) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {before}
    if (i >= {bound}) {{ return; }}
    int r = i / C;
    float sum = 0.0f;
    {body}
}}
void run(float* out, const float* x, {parameters}) {{
    around<<<({bound} + 127) / 128, 128>>>(out, x, {", ".join(p.split()[-1] for p in parameters.split(","))});
}}
""",
        "around",
    )


def test_what_the_elements_of_a_row_have_in_common_is_done_once() -> None:
    form = with_rows_of_elements(kernel(f"const int c = i - r * C; {SUM} out[i] = x[i] / sum + c;"))
    assert isinstance(form, Kernel)
    assert "if (row >= rows) { return; }" in form.text
    assert form.text.index("sum += x[r * C + k]") < form.text.index("for (int c = 0; c < C; c++)")
    assert [launch.grid for launch in form.launches] == [("(rows + 127) / 128",)]


@pytest.mark.parametrize(
    ("of", "reason"),
    [
        # Each element adds to what its own thread has.
        (kernel(f"{SUM} kept += x[i]; out[i] = kept / sum;", before="float kept = 1;"), "different for the next"),
        # Each element sums what stands before it.
        (kernel("for (int k = 0; k < i - r * C; k++) { sum += x[r * C + k]; } out[i] = sum;"), "no loop works out"),
        # What is summed has an element that this thread has written.
        (kernel("out[i] = x[i]; for (int k = 0; k < C; k++) { sum += out[r * C + k]; } out[i] = sum;"), "comes before"),
        (kernel(f"{SUM} if (x[i] < 0.0f) {{ return; }} out[i] = x[i] / sum;"), "not for the others"),
        (kernel(f"{SUM} for (int n = 0; n < 3; n++) {{ out[i] = x[i] / sum; }}"), "not for the others"),
        (kernel(f"{SUM} out[i] = threadIdx.x == 0 ? sum : x[i];"), "more of a thread than its element"),
        # The elements need not be those of whole rows.
        (kernel(f"{SUM} out[i] = x[i] / sum;", parameters="int n, int C", bound="n"), "no elements of rows"),
        # The row is divided in 64 bits, and the index has 32.
        (kernel(f"{SUM} out[i] = x[i] / sum;", parameters="int rows, size_t C"), "fewer values"),
        (kernel(f"C = C / 2; {SUM} out[i] = x[i] / sum;"), "no elements of rows"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_elements_that_need_a_thread_of_their_own_keep_it(of: Kernel, reason: str) -> None:
    refusal = with_rows_of_elements(of)
    assert isinstance(refusal, Refusal)
    assert reason in refusal.reason
