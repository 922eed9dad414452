"""Compiling in a child: Triton, nvcc, limits and messages."""

import pytest

from kernel_gate.build.compile import Limits, compile_program
from kernel_gate.build.errors import BuildError
from kernel_gate.build.unit import Unit
from kernel_gate.processes.surroundings import bare_environment
from kernel_gate.program import Program
from kernel_gate.reasons import Reason

SOFTMAX = """
import triton
import triton.language as tl


@triton.jit
def row_softmax(y, x, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * stride + cols, e / tl.sum(e, axis=0), mask=cols < n)
"""
ARGUMENTS = (("y", "*fp32"), ("x", "*fp32"), ("stride", "i32"), ("n", "i32"))
UNIT = Unit(constexpr=(("BLOCK", 128),), num_warps=2, arguments=ARGUMENTS)

WHOLE_FILE = """
#include <cstdio>
#include <vector>
template <typename T> __global__ void fill(T *y, T v) { y[threadIdx.x] = v; }
__global__ void scale(float *y) { y[threadIdx.x] *= 2.0f; }
int main() {
    std::vector<float> host(4);
    fill<float><<<1, 4>>>(host.data(), 1.0f);
    fill<int><<<1, 4>>>(nullptr, 1);
    scale<<<1, 4>>>(host.data());
    printf("done");
}
"""


def triton(source: str, entry: str = "row_softmax") -> Program:
    return Program(language="triton", source=source, entry=entry, name="softmax.py")


def cuda(source: str, entry: str, **rest: object) -> Program:
    return Program(language="cuda", source=source, entry=entry, name="a.cu", **rest)  # type: ignore[arg-type]


def build_error(program: Program, *units: Unit, **rest: object) -> BuildError:
    with pytest.raises(BuildError) as caught:
        compile_program(program, "sm_80", units or (Unit(),), **rest)  # type: ignore[arg-type]
    return caught.value


def test_triton_gives_one_image_per_unit_with_the_arguments_that_it_still_takes():
    aligned = Unit(
        **{**{f: getattr(UNIT, f) for f in UNIT.__slots__}, "divisible": ("x",), "ones": ("stride",)}
    )
    images = compile_program(triton(SOFTMAX), "sm_80", (UNIT, aligned))
    assert images[UNIT].entry == "row_softmax"
    assert images[UNIT].block_threads == 64
    assert images[UNIT].parameters == ("y", "x", "stride", "n")
    assert images[aligned].parameters == ("y", "x", "n")
    for image in images.values():
        assert image.ptx.count(".param .") == len(image.parameters or ()) + image.extra_pointers
        assert not image.cubin  # no GPU is to run it
    assert compile_program(triton(SOFTMAX), "sm_80", (UNIT,), want_cubin=True)[UNIT].cubin


def test_triton_arguments_with_other_names_go_by_position():
    renamed = Unit(
        constexpr=UNIT.constexpr,
        arguments=(("out", "*fp32"), ("inp", "*fp32"), ("s", "i32"), ("cols", "i32")),
    )
    image = compile_program(triton(SOFTMAX), "sm_80", (renamed,))[renamed]
    assert image.parameters == ("out", "inp", "s", "cols")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("tl.exp(v", "tl.expp(v", "softmax.py:11"),
        ("tl.max(v, axis=0)", "undefined_name", "softmax.py:11"),
        ("def row_softmax", "def softmax_row", "no @triton.jit function named `row_softmax`"),
        (
            "BLOCK: tl.constexpr",
            "BLOCK: tl.constexpr, WIDTH: tl.constexpr",
            "the constexpr `WIDTH` has no value",
        ),
        ("x, stride, n,", "x, stride, n, m, k,", "takes 6 arguments"),
        ("import triton\n", "import no_such_module\n", "softmax.py:2: ModuleNotFoundError"),
        ("@triton.jit", "@triton.jit(", "softmax.py:6: SyntaxError"),
    ],
)
def test_triton_mistakes_name_the_line(old, new, message):
    assert old in SOFTMAX
    assert message in str(build_error(triton(SOFTMAX.replace(old, new, 1)), UNIT))


def test_a_whole_file_by_nvcc():
    image = compile_program(cuda(WHOLE_FILE, "scale", compiler="nvcc"), "sm_90", want_cubin=True)[Unit()]
    assert image.entry == "_Z5scalePf"
    assert image.cubin and image.registers


def test_nvcc_finds_a_template_by_its_arguments():
    program = cuda(WHOLE_FILE, "fill", compiler="nvcc", template_arguments=("int",))
    assert compile_program(program, "sm_80")[Unit()].entry == "_Z4fillIiEvPT_S0_"
    assert "could be any of" in str(build_error(cuda(WHOLE_FILE, "fill", compiler="nvcc")))
    assert "no __global__ function named `nothing`" in str(
        build_error(cuda(WHOLE_FILE, "nothing", compiler="nvcc"))
    )


def test_nvcc_errors_name_the_line():
    program = cuda("__global__ void k(float *y) {\n  y[0] = zz;\n}", "k", compiler="nvcc", first_line=10)
    assert str(build_error(program)) == 'a.cu:11: identifier "zz" is undefined'


def test_a_compilation_that_takes_too_long_is_ended():
    hang = "import time\ntime.sleep(1000)\n" + SOFTMAX
    error = build_error(triton(hang), UNIT, limits=Limits(seconds=1))
    assert error.code is Reason.COMPILER_LIMIT and "longer than 1 s" in str(error)


def test_a_compilation_that_writes_too_much_is_ended():
    flood = "while True:\n    print('x' * 100000)\n" + SOFTMAX
    limits = Limits(output_bytes=1 << 20)
    assert build_error(triton(flood), UNIT, limits=limits)


def test_a_compilation_that_takes_too_much_memory_is_ended():
    greedy = "hoard = bytearray(1 << 34)\n" + SOFTMAX
    assert "MemoryError" in str(build_error(triton(greedy), UNIT, limits=Limits(address_bytes=8 << 30)))


def test_secrets_of_the_environment_stay_here(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    assert "secret" not in bare_environment(tmp_path).values()
    curious = "import os\nraise RuntimeError(os.environ.get('OPENAI_API_KEY', 'nothing there'))\n"
    assert "nothing there" in str(build_error(triton(curious), UNIT))
