"""Functions of several namespaces that share a name, told apart."""

from __future__ import annotations

import pytest

from kernel_lineage.kernels.namesakes import told_apart
from kernel_lineage.kernels.naming import kernel_apart
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language, SourceFile

TWO = """\
namespace near {
__global__ void step(float* x) { x[threadIdx.x] += 1.f; }
void go(float* x) { step<<<1, 32>>>(x); }
}  // step of near
namespace far::off {
struct Walk { float step; void go() {} };
template <int W> __global__ void step(float* x, int by) { x[W * threadIdx.x] += by; }
void go(float* x, Walk& walk) { walk.step = 2; walk.go(); step<2><<<2, 64>>>(x, 3); }
}
"""


def source_of(text: str) -> SourceFile:
    return read(text.encode(), Language.CUDA)


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        ("void all(float* x) { near::go(x); }", "near::near_go(x)"),
        (
            "void all(float* x) { ::far::off::step<4><<<1, 8>>>(x, 1); }",
            "::far::off::far_off_step<4><<<1, 8>>>",
        ),
        ("using namespace near;\nvoid all(float* x) { go(x); }", "{ near_go(x); }"),
        (
            "namespace far { void all(float* x) { off::step<1><<<1, 1>>>(x, 1); } }",
            "off::far_off_step<1><<<1, 1>>>",
        ),
        (
            "namespace near { namespace by { void all(float* x) { step<<<1, 1>>>(x); } } }",
            "{ near_step<<<1, 1>>>",
        ),
        ("void all(float* x) { void (*f)(float*) = &near::step; f<<<1, 1>>>(x); }", "&near::near_step;"),
    ],
)
def test_a_name_means_the_function_that_a_compiler_finds(call: str, meant: str) -> None:
    apart = told_apart(source_of(TWO + call))
    assert meant in apart.data.decode()
    assert [k.name for k in apart.kernels] == ["near_step", "far_off_step"]


def test_members_comments_and_lines_stay() -> None:
    text = told_apart(source_of(TWO)).data.decode()
    assert "// step of near" in text
    assert "walk.step = 2; walk.go(); far_off_step<2><<<2, 64>>>(x, 3);" in text
    assert text.count("\n") == TWO.count("\n")


@pytest.mark.parametrize(
    ("written", "line"),
    [
        ("near::step", 2),
        ("off::step", 7),
        ("far::off::step<2>", 7),
        ("step", 2),
        ("7", 7),
        ("far_off_step", 7),
    ],
)
def test_a_kernel_is_called_as_people_write_it(written: str, line: int) -> None:
    kernel = kernel_apart(source_of(TWO), written)
    assert kernel is not None
    assert kernel.span.first_line == line
    assert len(kernel.launches) == 1


def test_a_file_without_namesakes_and_one_with_overloads_stay_as_they_are() -> None:
    for text in (TWO.replace("step", "hop", 3), TWO.replace("far::off", "near")):
        source = source_of(text)
        assert told_apart(source) is source
