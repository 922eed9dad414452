"""A folder of kernels → what compiles, what the emulated device knows, and why the rest does not."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernel_gate.sandbox.containment import Containment
from kernel_lineage.cli.main import main
from kernel_lineage.coverage.document import CoverageDocument, KernelCovered, document, table
from kernel_lineage.coverage.images import reason_in
from kernel_lineage.coverage.survey import Survey, survey

CUDA = """
#include "shape.cuh"
typedef unsigned long long word;

template<int WIDTH>
__global__ void scaled(float* x, float by) { x[blockIdx.x * WIDTH + threadIdx.x] *= by * SHAPE; }

template<int WIDTH>
void launcher(float* x) { scaled<WIDTH><<<1, WIDTH>>>(x, 2.0f); }
void all(float* x) { launcher<32>(x); launcher<64>(x); }

#ifdef WITH_HALF
__global__ void left_out(float* x) { x[threadIdx.x] = 0.0f; }
#endif

__global__ void textured(float* x, cudaTextureObject_t t) { x[threadIdx.x] = tex2D<float>(t, 0.0f, 0.0f); }

__global__ void broken(float* x) { x[threadIdx.x] = nobody_knows; }
"""
OPS = """
import torch
import triton
import triton.language as tl

from .numbers import twice, unrelated

@triton.autotune(configs=[triton.Config({"BLOCK": 128}, num_warps=2)], key=["n"])
@triton.jit
def doubled(x_ptr, out_ptr, n, scale, FLAG: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = twice(tl.load(x_ptr + i, mask=i < n))
    if FLAG:
        value *= scale
    tl.store(out_ptr + i, value, mask=i < n)

def run(x, out, flag):
    doubled[(1,)](x, out, x.numel(), 2.0, FLAG=flag is not None)
"""
NUMBERS = """
import absent_package
import triton
import triton.language
from absent_package import anything

from functools import cache

@cache
def factor():
    return 2

FACTOR = factor()
TWO: "triton.language.constexpr" = triton.language.constexpr(FACTOR)

@anything.decorated
def unrelated():
    return absent_package.thing

import triton

@triton.jit
def twice(x):
    return x * TWO
"""


@pytest.fixture(scope="module")
def covered(tmp_path_factory: pytest.TempPathFactory) -> CoverageDocument:
    root = tmp_path_factory.mktemp("kernels")
    for name, text in {
        "src/kernels.cu": CUDA, "src/shape.cuh": "#define SHAPE 3\n", "ops/__init__.py": "", "ops/doubled.py": OPS,
        "ops/numbers.py": NUMBERS, "notes.md": "__global__ void none() {}", ".git/x.cu": "__global__ void git() {}",
    }.items():  # fmt: skip
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return survey(root)


def row(covered: CoverageDocument, kernel: str) -> KernelCovered:
    return next(r for r in covered.details if r.kernel == kernel)


def test_every_kernel_of_the_folder_has_a_row(covered):
    assert {(r.file, r.kernel) for r in covered.details} == {
        *(("src/kernels.cu", name) for name in ("scaled", "left_out", "textured", "broken")),
        ("ops/doubled.py", "doubled"),
    }
    assert (covered.files, covered.kernels, covered.compiled, covered.decoded) == (2, 5, 4, 3)


def test_a_template_is_instantiated_as_its_launcher_is_called(covered):
    scaled = row(covered, "scaled")
    assert (scaled.compiled, scaled.decoded, scaled.instances) == (True, True, 2)


def test_a_kernel_that_the_preprocessor_leaves_out_is_tried_with_its_macro(covered):
    assert row(covered, "left_out").decoded


def test_what_the_device_does_not_know_is_named(covered):
    textured = row(covered, "textured")
    assert textured.compiled and not textured.decoded
    assert all(opcode.startswith("tex.") for opcode in textured.unsupported)
    assert covered.unsupported == dict.fromkeys(textured.unsupported, 1)


def test_why_a_kernel_does_not_compile_is_said_without_its_place(covered):
    assert row(covered, "broken").reason == 'identifier "nobody_knows" is undefined'
    assert covered.not_compiled == {'identifier "nobody_knows" is undefined': 1}


def test_a_triton_kernel_needs_neither_torch_nor_what_it_does_not_reach(covered):
    assert (row(covered, "doubled").compiled, row(covered, "doubled").decoded) == (True, True)


CURIOUS = """
import pathlib
import triton
import triton.language as tl

SECRET: tl.constexpr = tl.constexpr(len(pathlib.Path("{secret}").read_text()))

@triton.jit
def curious(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), tl.zeros([BLOCK], tl.float32) + SECRET)
"""


@pytest.fixture
def curious(tmp_path: Path) -> Path:
    """A folder with a kernel whose module reads a file outside."""
    (tmp_path / "secret").write_text("mine")
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "curious.py").write_text(CURIOUS.format(secret=tmp_path / "secret"))
    return tmp_path / "ops"


def test_a_triton_module_cannot_read_files_outside_the_folder(curious):
    coverage = survey(curious)
    assert coverage.compiled == 0
    assert coverage.details[0].reason.startswith(("PermissionError", "FileNotFoundError"))


def test_nothing_is_compiled_where_it_cannot_be_contained(curious, monkeypatch):
    monkeypatch.setattr("kernel_gate.build.compile.offered", lambda: Containment(0, seccomp=False))
    refused = survey(curious)
    assert "has no sandbox" in refused.details[0].reason
    assert "--allow-uncontained" in refused.details[0].reason
    assert survey(curious, Survey(allow_uncontained=True)).decoded == 1


def test_the_table_ranks_what_is_missing(covered):
    text = table(covered)
    assert "2 files, 5 kernels, compiled for sm_90" in text
    assert " 75.0 % of those that compile" in text
    assert '1  identifier "nobody_knows" is undefined' in text


def test_opcodes_are_counted_by_the_kernels_that_hold_them():
    one = KernelCovered(file="a", kernel="k", line=1, language="cuda", compiled=True, decoded=False,
                        unsupported={"a.b": 7, "c": 1})  # fmt: skip
    other = one.model_copy(update={"kernel": "l", "unsupported": {"a.b": 2}})
    assert document("sm_80", 1, [one, other], ()).unsupported == {"a.b": 2, "c": 1}


def test_a_folder_without_kernels_is_wrong_use(tmp_path: Path):
    (tmp_path / "readme.txt").write_text("nothing")
    done = CliRunner().invoke(main, ["coverage", str(tmp_path)])
    assert done.exit_code == 2
    assert "holds no CUDA or Triton kernels" in done.output


def test_the_command_prints_the_published_fields(tmp_path: Path):
    (tmp_path / "one.cu").write_text("__global__ void one(int* x) { x[threadIdx.x] = 1; }")
    done = CliRunner().invoke(main, ["coverage", str(tmp_path), "--json"])
    coverage = json.loads(done.output)
    assert {k: coverage[k] for k in ("version", "files", "kernels", "compiled", "decoded", "unsupported")} == {
        "version": 1, "files": 1, "kernels": 1, "compiled": 1, "decoded": 1, "unsupported": {},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ('a.cu:12: identifier "x" is undefined', 'identifier "x" is undefined'),
        (
            "k.py:3: ImportError: cannot import name 'a' from 'b' (/home/b.py)",
            "ImportError: cannot import name 'a' from 'b'",
        ),
        ("at 3:15:\n    tl.store(x)\n    ^\nthe mask has another shape", "the mask has another shape"),
        ("", "ValueError"),
    ],
)
def test_reasons_are_counted_without_places(message, wanted):
    assert reason_in(ValueError(message)) == wanted
