"""Kernels are named as people write them, and what no code tells is answered on the command line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernel_gate.workload import WorkloadError
from kernel_lineage.kernels.naming import MisnamedError, kernel_as_written, parted, qualified_name
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.answers import answers_of, with_answers
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.model import UNRANGED, Draft, DraftArgument
from kernel_lineage.workloads.programs import program_from_file
from kernel_lineage.workloads.saved import Workloads, place_of
from kernel_lineage.workloads.state import State

TEXT = b"""\
namespace a { namespace detail {
__global__ void copy(float* o, const float* x) { o[0] = x[0]; }
}}
template <typename T, int V> __global__ void norm(T* o) {
  o[0] = V;
}
"""


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("copy", "copy"),
        ("detail::copy", "copy"),
        ("::a::detail::copy", "copy"),
        ("norm<float, 4>", "norm"),
        ("5", "norm"),
        ("b::copy", None),
        ("99", None),
    ],
)
def test_a_kernel_is_named_as_people_write_it(written: str, name: str | None) -> None:
    resolved = kernel_as_written(read(TEXT, Language.CUDA), written)
    assert (resolved.name if resolved is not None else None) == name


def test_a_name_with_namespaces_is_not_split_at_them() -> None:
    assert parted("src/k.cu:a::detail::copy") == ("src/k.cu", "a::detail::copy")
    kernel = read(TEXT, Language.CUDA).kernel("copy")
    assert kernel is not None and qualified_name(kernel) == "a::detail::copy"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("src/k.cu::copy", "write one: src/k.cu:copy"),
        ("k.cu:::a::copy", "write one: k.cu:a::copy"),
        ("k.cu", "names no kernel"),
        ("k.cu:", "names no kernel"),
    ],
)
def test_a_target_that_is_written_otherwise_is_told_how_it_is_written(target: str, message: str) -> None:
    with pytest.raises(MisnamedError, match=message):
        parted(target)


def test_answers_fill_what_is_missing() -> None:
    index = DraftArgument("targets", "input", "int32", ("N",))
    missing = (f"{UNRANGED}targets",)
    draft = Draft("k", Language.CUDA, "k.cu", {"N": 0}, {"N": 0}, (index,), chosen=("N",), missing=missing)
    answered = with_answers(draft, answers_of(["targets=0..V", "N=64"]))
    assert answered.missing == () and answered.chosen == ()
    assert answered.arguments[0].values == "integers(0, V)"
    assert answered.dims == {"N": 64}
    unshaped = replace(
        draft, missing=("the shape of targets: nobody allocates it", "the launch's grid: what?")
    )
    answered = with_answers(unshaped, answers_of(["targets=[N, max(N, 2)]", "grid=[ceil_div(N, 64), 2]"]))
    assert answered.missing == ()
    assert answered.arguments[0].shape == ("N", "max(N, 2)")
    assert answered.grid == ("ceil_div(N, 64)", "2")
    with pytest.raises(WorkloadError, match="sizes of the draft: N"):
        with_answers(draft, {"targets": "[N, M]"})
    with pytest.raises(WorkloadError, match="is not an expression"):
        with_answers(draft, {"targets": "[N, 2 +]"})
    with pytest.raises(WorkloadError, match="the names are N, targets"):
        with_answers(draft, {"other": "3"})
    with pytest.raises(WorkloadError, match="NAME=VALUE"):
        answers_of(["targets"])


def test_two_kernels_of_one_name_have_two_files(tmp_path: Path) -> None:
    place = place_of(tmp_path, "copy", Path("one.cu"))
    place.parent.mkdir(parents=True)
    argument = (
        'name = "o"\nkind = "output"\ndtype = "float32"\nshape = [4]\n[launch]\ngrid = [1]\nblock = [4]\n'
    )
    place.write_text(f'kernel = "copy"\nlanguage = "cuda"\nsource = "one.cu"\n[[args]]\n{argument}')
    assert place_of(tmp_path, "copy", Path("one.cu")) == place
    assert place_of(tmp_path, "copy", Path("two.cu")).name == "copy@two.toml"


def test_a_broken_file_is_a_problem_of_its_own_kernel() -> None:
    workloads = Workloads(
        (),
        ("/r/.klineage/workloads/copy.toml is not valid TOML", "/r/.klineage/workloads/copy_rows.toml: args"),
    )
    assert len(workloads.about("copy")) == 1
    assert len(workloads.about("copy_rows")) == 1
    assert workloads.about("rows") == ()


NAMESAKES = """\
namespace plain {
__global__ void blend(float* out, const float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a * x[i];
}
void run(float* out, const float* x, float a, int n) { blend<<<(n + 127) / 128, 128>>>(out, x, a, n); }
}
namespace biased {
__global__ void blend(float* out, const float* x, const float* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] + b[i];
}
void run(float* out, const float* x, const float* b, int n) { blend<<<(n + 63) / 64, 64>>>(out, x, b, n); }
}
int main() {
  const int n = 65536;
  float *to, *x, *b;
  cudaMalloc(&to, n * sizeof(float)); cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&b, n * sizeof(float));
  plain::run(to, x, 0.5f, n);
  biased::run(to, x, b, n);
}
"""


def test_two_kernels_of_one_name_in_two_namespaces_have_a_draft_and_a_program_each(tmp_path: Path) -> None:
    path = tmp_path / "blend.cu"
    path.write_text(NAMESAKES)
    for name, block, arguments in (
        ("plain::blend", "128", "out x a n"),
        ("biased::blend", "64", "out x b n"),
    ):
        draft = draft_of(kernel_of(path, name), path, State(tmp_path))
        assert (draft.block, [a.name for a in draft.arguments], draft.missing) == (
            (block,),
            arguments.split(),
            (),
        )
        program = program_from_file(path, name, draft.workload())
        assert program.entry == f"{name.split('::')[0]}::{name.replace('::', '_')}"
        assert program_from_file(path, draft.kernel, draft.workload()).entry == program.entry


@pytest.mark.parametrize(
    ("name", "block", "arguments"), [("3", "128", "out x a n"), ("9", "64", "out x b n")]
)
def test_overloads_have_a_draft_and_a_program_each(
    tmp_path: Path, name: str, block: str, arguments: str
) -> None:
    path = tmp_path / "blend.cu"
    path.write_text(NAMESAKES.replace("namespace biased", "namespace plain").replace("biased::", "plain::"))
    draft = draft_of(kernel_of(path, name), path, State(tmp_path))
    assert draft.missing == ()
    assert (draft.block, [a.name for a in draft.arguments]) == ((block,), arguments.split())
    program = program_from_file(path, draft.kernel, draft.workload())
    assert program.entry == f"plain::{draft.kernel}"
