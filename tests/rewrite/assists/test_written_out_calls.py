"""Calls of a file's own functions are written out in the kernel, where that is the same."""

from __future__ import annotations

import pytest

from kernel_lineage.kernels.edits import edited
from kernel_lineage.rewrite.assists.readable_forms import readable_form
from kernel_lineage.rewrite.assists.written_out_calls import written_out_calls
from kernel_texts import kernel_in_text

_KERNEL = """\
{functions}
__global__ void work(float* out, const float* x, const float* y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {code}
}}
"""


def _written(functions: str, code: str) -> str:
    """What stands in the kernel behind `int i`, in one line."""
    data = _KERNEL.format(functions=functions, code=code).encode()
    kernel = kernel_in_text(data, "work")
    again = kernel_in_text(edited(data, written_out_calls(kernel)), "work")
    return " ".join(line.strip() for line in again.text.splitlines()[2:-1])


_DISTANCE = """
__device__ float far(const float* p, int n) { float d = 0; for (int k = 0; k < n; k++) d += p[k]; return d; }"""
_SIGN = "__device__ float sign(float v) { if (v < 0.0f) return -v; return 1.0f; }"
_AT = "__device__ float at(const float* p, int k, int n) { if (k < 0 || k >= n) return 0.0f; return p[k]; }"
_ADD = "__device__ void add(float* p, int k, float v) { if (k < 0) return; p[k] += v; }"


@pytest.mark.parametrize(
    ("functions", "code", "becomes"),
    [
        # The variable that is declared is what the function returns.
        (
            _DISTANCE,
            "float best = far(x + i, n); out[i] = best;",
            "const float* p = x + i; float best = 0; for (int k = 0; k < n; k++) best += p[k]; out[i] = best;",
        ),
        # A plain name stands for a parameter of its type; what is returned early becomes a choice.
        (
            _AT,
            "out[i] = at(x, i - 1, n) * y[i];",
            "const int k = i - 1; const float at_ = k < 0 || k >= n ? 0.0f : x[k]; out[i] = at_ * y[i];",
        ),
        # Where the types of what is returned are not told, it becomes a branch.
        (
            _SIGN,
            "out[i] = sign(i);",
            "const float v = i; float sign_; if (v < 0.0f) { sign_ = -v; } else { sign_ = 1.0f; } out[i] = sign_;",
        ),
        # A function without a value; a body of one statement becomes a block.
        (
            _ADD,
            "if (i < n) add(out, i, 2.0f);",
            "if (i < n) { const float v = 2.0f; if (!(i < 0)) { out[i] += v; } }",
        ),
        # Names that the kernel has get new ones.
        (
            "__device__ int next(int n) { int i = n + 1; return i; }",
            "int j = next(i); out[j] = i;",
            "int j = i + 1; out[j] = i;",
        ),
        # What a parameter is changed to stays within the function, and by reference it does not.
        (
            "__device__ float twice(float v) { v *= 2.0f; return v; }",
            "float v = x[i]; out[i] = twice(v);",
            "float v = x[i]; float v_ = v; v_ *= 2.0f; const float twice_ = v_; out[i] = twice_;",
        ),
        # A variable of the whole block may be changed while the function runs.
        (
            "__device__ float kept(float v) { __syncthreads(); return v; }",
            "__shared__ float s; s = x[0]; out[i] = kept(s);",
            "__shared__ float s; s = x[0]; const float v = s; __syncthreads(); const float kept_ = v; out[i] = kept_;",
        ),
        (
            "__device__ void twice(float& v) { v *= 2.0f; }",
            "float a = x[i]; twice(a); out[i] = a;",
            "float a = x[i]; a *= 2.0f; out[i] = a;",
        ),
    ],
)
def test_a_call_is_what_its_function_does(functions: str, code: str, becomes: str) -> None:
    assert _written(functions, code) == becomes


@pytest.mark.parametrize(
    ("functions", "code"),
    [
        # It is called on some ways only.
        (_AT, "out[i] = i < n && at(x, i, n) > 0.0f;"),
        (_AT, "out[i] = i < n ? at(x, i, n) : 0.0f;"),
        # It is called in each round.
        (_AT, "for (int k = 0; at(x, k, n) > 0.0f; k++) out[k] = 0;"),
        # What stands beside it may change what it reads, or read what it changes.
        (_AT, "int k = 0; out[k++] = at(x, 0, n);"),
        (
            "__device__ float put(float* p) { p[0] = 2.0f; return 1.0f; }",
            "out[i] = out[0] + put(out);",
        ),
        # The kernel has another meaning for a name that the function uses.
        ("__device__ float y; __device__ float read() { return y; }", "out[i] = read();"),
        ("#define LAST n\n__device__ float past(int k) { return k < LAST; }", "out[i] = past(i);"),
        # It returns from within a loop, calls itself, is a template, or there are two of its name.
        (
            "__device__ int first(float* p, int n) { for (int k = 0; k < n; k++) if (p[k] > 0) return k; return n; }",
            "out[i] = first(out, n);",
        ),
        ("__device__ int down(int n) { return n > 0 ? down(n - 1) : 0; }", "out[i] = down(n);"),
        ("template <typename T> __device__ T id(T v) { return v; }", "out[i] = id(x[i]);"),
        (
            "__device__ float id(float v) { return v; } __device__ int id(int v) { return v; }",
            "out[i] = id(i);",
        ),
        # It has shared memory of its own, which all its calls share.
        ("__device__ float one(float v) { __shared__ float s; s = v; return s; }", "out[i] = one(x[i]);"),
        # A directive begins a line, and what stands behind a comment is a part of it.
        (
            "__device__ void clear(float* p) {\n#pragma unroll\nfor (int k = 0; k < 4; k++) p[k] = 0; }",
            "{ clear(out); }",
        ),
        ("__device__ float sum(float a, float b) { return a + // and\n b; }", "out[i] = sum(x[i], y[i]);"),
        # Several variables are declared, of which the second one's value is worked out behind the first one's.
        (_DISTANCE, "float a = x[i], b = far(x + (int)a, n); out[i] = b;"),
    ],
)
def test_what_may_be_something_else_stays_a_call(functions: str, code: str) -> None:
    assert _written(functions, code) == code


def test_functions_that_call_others_are_written_out_as_well() -> None:
    functions = f"{_SIGN} __device__ float both(float a, float b) {{ return sign(a) + sign(b); }}"
    code = "float a = x[i], b = y[i]; float c = both(a, b); float d = both(b, a); out[i] = c + d;"
    data = _KERNEL.format(functions=functions, code=code).encode()
    kernel = kernel_in_text(data, "work")
    form = readable_form(kernel)
    assert form is not None
    again = form.kernel
    assert again.source is not None
    assert form.candidate.apply(data) == again.source.data
    assert "sign(" not in again.text
    assert "both(" not in again.text
    names = [
        line.split()[1].strip(";") for line in again.text.splitlines() if line.strip().startswith("float ")
    ]
    assert len(names) == len(set(names))
