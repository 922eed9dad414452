"""Fields of structures that kernels take by value: rewrites read them as parameters, and write them as fields."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.verdict import StageStatus
from kernel_gate.workload import parse_workload
from kernel_lineage.kernels.anchors.registry import anchors_of
from kernel_lineage.kernels.edits import edited
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.assists.layout import data_of, syntax_of
from kernel_lineage.rewrite.assists.loop_changes import promised_apart
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.readable_forms import readable_form
from kernel_lineage.rewrite.assists.registry import all_assists
from kernel_lineage.rewrite.assists.structure_fields import fields_apart
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.rewrite.optimise.proposals import proposals
from kernel_lineage.skills.conditions.facts import Fact, Facts, FactSource, Scalar
from kernel_lineage.skills.library import library
from kernel_lineage.workloads.programs import program_from_file

_BYTES = """
struct Job { int rows, inner; const signed char *a; const signed char *b; const float *row_scale, *scale; float *out; };
__global__ void scaled(Job job, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < job.rows && c < cols) {
        int sum = 0;
        for (int k = 0; k < job.inner; ++k) sum += (int)job.a[r * job.inner + k] * (int)job.b[k * cols + c];
        job.out[r * cols + c] = (float)sum * job.row_scale[r] * job.scale[c];
    }
}
void launch(Job one, int cols) {
    scaled<<<dim3((cols + 15) / 16, (one.rows + 15) / 16), dim3(16, 16)>>>(one, cols);
}
"""
_VIEWS = """
namespace lin {
template <typename T> struct View { T *data; int rows, cols; int pitch = 0; };
struct Problem { View<const float> a, b; View<float> out; float alpha; int dims[2]; };
}
__global__ void product(const lin::Problem args, float beta) {
    const int j = threadIdx.x + blockIdx.x * blockDim.x;
    const int i = threadIdx.y + blockIdx.y * blockDim.y;
    if (i >= args.a.rows || j >= args.b.rows) return;
    float s = 0.f;
    for (int t = 0; t < args.a.cols; t++) s += args.a.data[i * args.a.pitch + t] * args.b.data[j * args.b.pitch + t];
    args.out.data[i * args.out.pitch + j] = args.alpha * s + beta;
}
void launch(lin::Problem *all, int n) {
    for (int q = 0; q < n; q++) {
        dim3 grid((all[q].b.rows + 15) / 16, (all[q].a.rows + 15) / 16);
        product<<<grid, dim3(16, 16)>>>(all[q], 0.5f);
    }
}
"""
_STEPS = """
typedef struct { float rate; float *value; int skip[2]; } step_t;
__global__ void stepped(const float *grad, struct step_t s, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) s.value[i] = s.value[i] - s.rate * grad[i] * s.skip[0];
}
void launch(step_t *s, const float *grad, int n) { stepped<<<(n + 255) / 256, 256>>>(grad, *s, n); }
"""
_CALLED = """
#define BOTH __host__ __device__ __forceinline__
template <typename T> struct View {
    using index = long long;
    T *p; index rows, cols;
    BOTH explicit View(T *p, index rows, index cols) : p(p), rows(rows), cols(cols) {}
    BOTH T &operator()(index i, index j) const { return p[i * cols + j]; }
    template <typename F> BOTH void each(F f) const { for (index i = 0; i < rows; i++) f(i); }
};
__global__ void product(View<const float> a, View<const float> b, View<float> out) {
    const int j = threadIdx.x + blockIdx.x * blockDim.x;
    const int i = threadIdx.y + blockIdx.y * blockDim.y;
    if (i >= out.rows || j >= out.cols) return;
    float s = 0.f;
    for (int t = 0; t < a.cols; t++) s += a(i, t) * b(t, j);
    out(i, j) = s;
}
void launch(View<const float> a, View<const float> b, View<float> out) {
    product<<<dim3((out.cols + 15) / 16, (out.rows + 15) / 16), dim3(16, 16)>>>(a, b, out);
}
"""
_LOAD = """
kernel = "scaled"
language = "cuda"
dims = { M = [1, 33], N = [70], K = [19] }
args = [
    { name = "out", kind = "output", dtype = "float32", shape = ["M", "N"] },
    { name = "a", kind = "input", dtype = "int8", shape = ["M", "K"], values = "integers" },
    { name = "b", kind = "input", dtype = "int8", shape = ["K", "N"], values = "integers" },
    { name = "row_scale", kind = "input", dtype = "float32", shape = ["M"] },
    { name = "scale", kind = "input", dtype = "float32", shape = ["N"] },
    { name = "rows", kind = "scalar", dtype = "int32", value = "M" },
    { name = "inner", kind = "scalar", dtype = "int32", value = "K" },
    { name = "cols", kind = "scalar", dtype = "int32", value = "N" },
]
[[launches]]
kernel = "scaled"
arguments = [
    { fields = ["rows", "inner", "a", "b", "row_scale", "scale", "out"], at = [0, 4, 8, 16, 24, 32, 40], bytes = 48 },
    "cols",
]
grid = ["ceil_div(N, 16)", "ceil_div(M, 16)"]
block = [16, 16]
"""


def _kernel(code: str) -> Kernel:
    (kernel,) = read(code.encode(), Language.CUDA).kernels
    return kernel


def _made(code: str, identity: str) -> Candidate:
    form = readable_form(_kernel(code))
    assert form is not None
    one = all_assists()[identity]
    anchor = next(a for a in anchors_of(form.kernel) if a.pattern == one.pattern)
    made = one.rewrite(form.kernel, anchor)
    assert isinstance(made, Candidate), made.reason
    return form.of_both(made)


_HEADS = {
    _BYTES: "int job_rows, int job_inner, const signed char *job_a, const signed char *job_b, float *job_out, "
    "const float *job_row_scale, const float *job_scale, int cols",
    _VIEWS: "int args_a_rows, int args_b_rows, int args_a_cols, const float *args_a_data, int args_a_pitch, "
    "const float *args_b_data, int args_b_pitch, float *args_out_data, int args_out_pitch, float args_alpha, "
    "float beta",
    _STEPS: "const float *grad, struct step_t s, float *s_value, float s_rate, int n",
}


@pytest.mark.parametrize(("code", "head"), _HEADS.items(), ids=["bytes", "views", "steps"])
def test_fields_are_parameters_and_fields_again(code: str, head: str) -> None:
    kernel = _kernel(code)
    apart = fields_apart(kernel)
    text = edited(data_of(kernel), apart.edits)
    assert f"({head})" in text.decode()
    assert apart.together(text) == code.encode()


def test_a_launch_gives_each_field() -> None:
    kernel = _kernel(_STEPS)
    (launch,) = read(edited(data_of(kernel), fields_apart(kernel).edits), Language.CUDA).kernels[0].launches
    assert launch.arguments == ("grad", "*s", "(*s).value", "(*s).rate", "n")


@pytest.mark.parametrize(
    ("code", "identity"),
    [(_VIEWS, "multiply_in_tiles"), (_CALLED, "multiply_in_tiles"), (_STEPS, "vectorise_row_access")],
)
def test_a_candidate_has_the_structures_of_the_kernel(code: str, identity: str) -> None:
    kernel, after = _kernel(code), _kernel(_made(code, identity).apply(code.encode()).decode())
    assert [(p.name, p.type) for p in after.parameters] == [(p.name, p.type) for p in kernel.parameters]
    assert after.launches[0].arguments == kernel.launches[0].arguments
    assert not re.search(r"\b(?:args|s)_(?:a|b|out|alpha|value|rate)\b", after.text)


@pytest.mark.long
def test_the_rewritten_kernel_computes_the_same(tmp_path: Path) -> None:
    load = parse_workload(_LOAD)
    after = _made(_BYTES, "multiply_on_tensor_cores").apply(_BYTES.encode())
    path = tmp_path / "scaled.cu"
    path.write_text(_BYTES)
    programs = [
        program_from_file(path, load.kernel, load, data=data, changed_from=_BYTES.encode())
        for data in (_BYTES.encode(), after)
    ]
    stage = judge(*programs, load, device="emulated", options=GateOptions(check_seconds=3600.0)).stage(
        "check"
    )
    assert stage is not None
    assert stage.status is StageStatus.PASS, stage.reason


@pytest.mark.parametrize(
    ("use", "why"),
    [
        ("job.rows = 1; int d = job.dims[0]; o[d] = job.rows;", "changed beside other fields"),
        ("Job other = job; o[0] = other.rows;", "used whole"),
        ("o[0] = job.area();", "a method"),
        ("int job = 3; o[0] = job;", "another variable"),
    ],
)
def test_it_is_refused(use: str, why: str) -> None:
    code = (
        "struct Job { int rows, cols; int dims[2]; __device__ int area() { return rows * cols; } };\n"
        f"__global__ void k(Job job, int *o) {{ if (o) {{ {use} }} o[1] = job.cols; }}\n"
    )
    with pytest.raises(Refusal, match="no structure"):
        fields_apart(_kernel(code))


@pytest.mark.parametrize("argument", ["Job{1, 2}", "next_job()"])
def test_an_argument_is_not_worked_out_twice(argument: str) -> None:
    code = (
        "struct Job { int rows, cols; };\n__global__ void k(Job job, int *o) { o[job.rows] = job.cols; }\n"
        f"void launch(int *o) {{ k<<<1, 1>>>({argument}, o); }}\n"
    )
    with pytest.raises(Refusal, match="for each field"):
        fields_apart(_kernel(code))


def test_a_promise_is_made_of_a_field_by_a_pointer_of_the_kernel() -> None:
    form = readable_form(_kernel(_BYTES))
    assert form is not None
    assert form.apart is not None
    text = data_of(form.kernel)
    for name in (b"signed char *job_a", b"signed char *job_b", b"float *job_out"):
        text = text.replace(name, name.replace(b"*", b"*__restrict__ "))
    promised = form.apart.together(text).decode()
    for start in (
        "\n    const signed char *__restrict__ job_a = job.a;",
        "\n    float *__restrict__ job_out = job.out;",
        "{\n    const signed char *__restrict__ job_a",
        "void scaled(Job job, int cols)",
        "sum += (int)job_a[r * job.inner + k] * (int)job_b[",
        "job_out[r * cols + c] = (float)sum * job.row_scale[r] * job.scale[c];",
        ">>>(one, cols);",
    ):
        assert start in promised
    apart = syntax_of(_kernel(promised))
    again = readable_form(_kernel(promised))
    assert again is not None
    assert promised_apart(apart, "job.a", "job.out")
    assert not promised_apart(apart, "job.a", "job.scale")
    assert not promised_apart(apart, "job.a", "job.a")
    assert not promised_apart(syntax_of(_kernel(_BYTES)), "job.a", "job.out")
    used_twice = promised.replace("int sum = 0;", "int sum = job.a[0];")
    assert not promised_apart(syntax_of(_kernel(used_twice)), "job.a", "job.out")


_SCAN = """
struct Plane { int rows, cols; int *p; };
__global__ void offsets(Plane in, Plane out) {
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= in.rows) return;
    int before = 0;
    for (int c = 0; c < in.cols; ++c) {
        out.p[(size_t)r * out.cols + c] = before;
        before += in.p[(size_t)r * in.cols + c];
    }
}
void launch(Plane in, Plane out) { offsets<<<(in.rows + 63) / 64, 64>>>(in, out); }
"""


def test_what_waits_for_a_promise_is_made_of_fields() -> None:
    stated: dict[str, Scalar] = {
        f"launch.block.{axis}": extent for axis, extent in zip("xyz", (64, 1, 1), strict=True)
    }
    stated |= {"toolchain.cuda": (12, 0), "exclusive(in_p)": True, "exclusive(out_p)": True}
    facts = Facts({n: Fact((v,), "", FactSource.STATED) for n, v in stated.items()})
    made = [p for p in proposals(_kernel(_SCAN), library(), facts).made if p.skill == "warp-per-row"]
    assert len(made) == 1
    text = made[0].text.decode()
    assert "void offsets(Plane in, Plane out) {" in text
    assert "__restrict__ in_p = in.p;" in text
    assert "__restrict__ out_p = out.p;" in text
    assert "before_parts[step] = in_p[(size_t)r * in.cols + c];" in text
    assert "offsets<<<((in.rows + 63) / 64) * 32, 64>>>(in, out)" in text


def test_a_field_keeps_its_type() -> None:
    form = readable_form(_kernel(_BYTES))
    assert form is not None
    assert form.apart is not None
    text = data_of(form.kernel).replace(b"const signed char *job_a,", b"const char4 *job_a,")
    with pytest.raises(Refusal, match="not changed"):
        form.apart.together(text)
