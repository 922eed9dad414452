"""Calls of structures' functions become the expressions that these return, where that is the same."""

from __future__ import annotations

import pytest

from kernel_lineage.kernels.edits import edited
from kernel_lineage.rewrite.assists.written_out_methods import written_out_methods
from kernel_texts import kernel_in_text

_MATRIX = """\
#define HD __host__ __device__ __forceinline__
struct Shape {
    int rows, cols;
    static constexpr int kPad = 4;
    HD size_t count() const { return (size_t)rows * cols; }
    HD int last() const noexcept { return count() - 1; }
    HD bool has(int i, int j) const { return i >= 0 && i < rows && this->cols > j; }
    HD int padded() const { return cols + kPad; }
};
template <typename T>
struct Matrix {
    using index = long long;
    T* p;
    Shape shape;
    int strides[2];
    HD T& operator()(int i, int j) { return p[(index)i * shape.cols + j]; }
    HD T operator()(int i, int j) const { return p[(index)i * shape.cols + j]; }
    HD T& operator[](size_t i) { return p[i]; }
    HD T at(int i, int j) const { return p[i * strides[0] + j * strides[1]]; }
    HD T* row(int i) const { return p + (index)i * shape.cols; }
    HD auto size() const { return shape.count(); }
    HD float half(int i) const { return p[i] / 2; }
    HD T next() { return *p++; }
    HD T sum(int n) const { T s = 0; for (int k = 0; k < n; k++) s += p[k]; return s; }
};
class Closed {
    int n_;
  public:
    HD int n() const { return n_; }
    int open;
    HD int twice() const { return 2 * open; }
};
namespace other {
constexpr int unit = 2;
struct Scaled { int n; HD int size() const { return n * unit; } HD int plain() const { return n; } };
}
"""
_KERNEL = """\
template <typename T>
__global__ void work(Matrix<float> a, const Matrix<double> b, Shape s, const Shape* q, Closed c, other::Scaled o,
                     Matrix<T> t, size_t n, float* f) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = 0;
    {code}
}}
"""


def _written(code: str) -> str:
    """What stands in the kernel behind `j`, in one line."""
    data = (_MATRIX + _KERNEL.format(code=code)).encode()
    for _ in range(8):
        kernel = kernel_in_text(data, "work")
        edits = written_out_methods(kernel)
        if not edits:
            break
        data = edited(data, edits)
    assert kernel is not None
    return " ".join(line.strip() for line in kernel.text.splitlines()[4:-1])


@pytest.mark.parametrize(
    ("code", "becomes"),
    [
        ("if (i >= s.count()) return;", "if (i >= (size_t)s.rows * s.cols) return;"),
        ("if (i < s.count() / 2) f[i] = 0;", "if (i < ((size_t)s.rows * s.cols) / 2) f[i] = 0;"),
        ("if (i < q->count()) f[i] = 0;", "if (i < (size_t)q->rows * q->cols) f[i] = 0;"),
        # What is returned is converted, and so is what is handed over.
        ("int l = s.last();", "int l = (int)(((size_t)s.rows * s.cols) - 1);"),
        ("f[a.half(3)] = b.half(n);", "f[a.p[3] / 2] = (float)(b.p[(int)n] / 2);"),
        ("if (!s.has(i, j - 1)) return;", "if (!(i >= 0 && i < s.rows && s.cols > j - 1)) return;"),
        ("f[s.padded()] = 1;", "f[s.cols + Shape::kPad] = 1;"),
        # A place may be written, and is one of two functions that differ in `const`.
        (
            "a(i, j) = 2 * a(j, i);",
            "a.p[(long long)i * a.shape.cols + j] = 2 * a.p[(long long)j * a.shape.cols + i];",
        ),
        (
            "a(i, j) += b(i, 0);",
            "a.p[(long long)i * a.shape.cols + j] += b.p[(long long)i * b.shape.cols + 0];",
        ),
        ("a[n] = t[n + 1];", "a.p[n] = t.p[n + 1];"),
        ("f[i] = a.at(i, 1);", "f[i] = a.p[i * a.strides[0] + 1 * a.strides[1]];"),
        ("f[i] = t.at(i, 1);", "f[i] = t.p[i * t.strides[0] + 1 * t.strides[1]];"),
        (
            "const float* r = a.row(i); f[i] = r[j];",
            "const float* r = a.p + (long long)i * a.shape.cols; f[i] = r[j];",
        ),
        ("f[i] = a.row(i)[j];", "f[i] = (a.p + (long long)i * a.shape.cols)[j];"),
        ("if (i < a.size()) f[i] = 0;", "if (i < (size_t)a.shape.rows * a.shape.cols) f[i] = 0;"),
        # Arguments of calls are written out first; those that are counted are not.
        ("f[i] = a[s.count() - 1];", "f[i] = a.p[((size_t)s.rows * s.cols) - 1];"),
        ("f[i] = a[i++];", "f[i] = a[i++];"),
        ("f[i] = a.next();", "f[i] = a.next();"),
        ("f[i] = a.sum(i);", "f[i] = a.sum(i);"),
        ("f[i] = c.n() + c.twice();", "f[i] = c.n() + (2 * c.open);"),
        ("f[i] = o.size() + o.plain();", "f[i] = o.size() + o.n;"),
        ("int kPad = 3; f[i] = s.padded() + kPad;", "int kPad = 3; f[i] = (s.cols + Shape::kPad) + kPad;"),
        ("{ Shape s = *q; f[i] = s.count(); }", "{ Shape s = *q; f[i] = (size_t)s.rows * s.cols; }"),
        ("{ Closed s; f[i] = s.count(); }", "{ Closed s; f[i] = s.count(); }"),
        ("Shape own = *q; f[i] = own.count();", "Shape own = *q; f[i] = (size_t)own.rows * own.cols;"),
    ],
)
def test_a_function_of_one_expression_is_written_where_it_is_called(code: str, becomes: str) -> None:
    assert _written(code) == becomes
