"""A binding gives defaults that the C++ function has not."""

from pathlib import Path

import pytest

from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.following.bindings import read_bindings

NORM = """
#include <torch/extension.h>
__global__ void norm(float* y, const float* x, float eps, float gain, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = gain * x[i] / sqrtf(x[i] * x[i] + eps);
}
torch::Tensor forward(torch::Tensor x, double eps, double gain) {
    auto y = torch::empty_like(x);
    norm<<<(x.numel() + 63) / 64, 64>>>(y.data_ptr<float>(), x.data_ptr<float>(), eps, gain, x.numel());
    return y;
}
"""
PYBIND = """
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "a norm (of rows)", py::arg("x"), py::arg("eps") = 1e-3, py::arg("gain") = 1.25f);
}
"""
LIBRARY = """
TORCH_LIBRARY(ops, m) {
    m.def("norm(Tensor x, *, float eps=0.001, float gain=1.25) -> Tensor");
    m.impl("norm", torch::kCUDA, &forward);
}
"""


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        (PYBIND, {"forward": {1: "1e-3", 2: "1.25f"}}),
        (LIBRARY, {"forward": {1: "0.001", 2: "1.25"}}),
        (
            'PYBIND11_MODULE(a, m) { m.def("f", &lib::f, "x"_a, "causal"_a = False, "n"_a = N); }',
            {"f": {1: "false"}},
        ),
        (
            'TORCH_LIBRARY(a, m) { m.def("f(Tensor x, int[2] s=[1, 1], float e=1e-5) -> Tensor", &f); }',
            {"f": {2: "1e-5"}},
        ),
        ('// m.def("f", &f, py::arg("eps") = 1e-5)\n', {}),
    ],
    ids=["pybind", "schema and implementation", "literals", "lists in a schema", "no binding"],
)
def test_defaults_are_read_by_place(text: str, bound: dict[str, dict[int, str]]):
    assert read_bindings(text)[0] == bound


@pytest.mark.parametrize("binding", [PYBIND, LIBRARY])
@pytest.mark.parametrize("beside", [False, True], ids=["in the file", "in another file"])
def test_a_draft_has_them(tmp_path: Path, binding: str, beside: bool):
    path = tmp_path / "norm.cu"
    path.write_text(NORM if beside else NORM + binding)
    if beside:
        declared = "torch::Tensor forward(torch::Tensor x, double eps, double gain);\n"
        (tmp_path / "bind.cpp").write_text(f"#include <torch/extension.h>\n{declared}{binding}")
    draft = draft_of(target_of(path, "norm"), path, measure=False)
    values = {a.name: a.value for a in draft.arguments}
    assert float(values["eps"]) == 1e-3 and float(values["gain"]) == 1.25


def test_names_in_python_are_those_of_the_binding():
    assert read_bindings(PYBIND)[1] == {"forward": {"forward"}}
    assert read_bindings(LIBRARY)[1] == {"forward": {"norm"}}
