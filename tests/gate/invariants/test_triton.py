"""Invariants of Triton kernels: products and stores of a line, and tags of tensors, element by element."""

import numpy as np
import pytest

from gate.emulated.cuda_source import launch
from kernel_gate.build.compile import compile_program
from kernel_gate.build.unit import Unit
from kernel_gate.devices.base import Asserted
from kernel_gate.emulated.launch import Checks
from kernel_gate.invariants.bound import on_shape
from kernel_gate.invariants.marking import marked
from kernel_gate.invariants.reading import read_statements
from kernel_gate.program import Program

MATMUL = """
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # klineage: tag a[i][k]
    # klineage: tag b[k][j]
    # klineage: tag c[i][j]
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + i[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * BN + j[None, :])
        total = tl.dot(x, y, total)  # klineage: assert product(k)
    tl.store(
        c + i[:, None] * BN + j[None, :],
        total,
    )  # klineage: assert stored.i == at.i and stored.j == at.j
"""
ROWS = """
import triton
import triton.language as tl


@triton.jit
def kernel(x, w, y, C, BLOCK: tl.constexpr):
    # klineage: tag x[row][col]
    # klineage: tag w[col]
    # klineage: tag y[row][col]
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * C + at, mask=at < C, other=0.0)  # klineage: assert tag(v).col == at
    g = tl.load(w + at, mask=at < C, other=0.0)
    # klineage: assert same(tag(v).col, tag(g).col)
    scale = (tl.sum(v, 0) / C).to(tl.float16)
    # klineage: assert tag(scale).row == row
    tl.store(y + row * C + at, v * g * scale, mask=at < C)  # klineage: assert stored.row == at.row
"""


def watch(source: str, types: dict[str, str], arrays: dict[str, np.ndarray], grid: int, **constants: int):
    statements, places = read_statements(source, "triton", ["kernel"])
    assert statements.mistakes == ()
    unit = Unit(
        tuple(constants.items()), num_stages=2, arguments=tuple(types.items()), divisible=tuple(types)
    )
    program = marked(Program("triton", source, "kernel"), statements, places)
    image = compile_program(program, "sm_80", [unit])[unit]
    shapes = {n: (a.shape, a.itemsize) for n, a in arrays.items() if isinstance(a, np.ndarray)}
    checks = Checks(invariants=on_shape(statements, shapes, {}))
    result = launch(image, arrays, grid, image.block_threads, checks=checks).result
    assert (result.faults, result.tags_lost) == ((), ())
    return result.asserted


def matmul(old: str = "", new: str = "") -> tuple[Asserted, ...]:
    arrays = {
        "a": np.ones((32, 64), np.float16),
        "b": np.ones((64, 32), np.float16),
        "c": np.zeros((32, 32), np.float32),
        "K": np.int32(64),
    }
    types = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "K": "i32"}
    assert old in MATMUL
    return watch(MATMUL.replace(old, new), types, arrays, 1, BM=32, BN=32, BK=32)


def test_a_dot_of_staged_tiles_multiplies_data_of_one_k():
    products, stores = matmul()
    assert products.compared and not products.violated
    assert (stores.compared, stores.violated) == (32 * 32, 0)


def test_a_wrong_slice_of_k_is_found_in_a_dot():
    products, stores = matmul("b + (start + k)[:, None]", "b + ((start + 32) % K + k)[:, None]")
    assert (products.compared, stores.violated) == (products.violated, 0)
    assert "left factor.k is 0, from a[0, 0], which line 16 loaded" in products.violation.message
    assert "right factor.k is 32, from b[32, " in products.violation.message
    assert products.violation.line == 18


def rows(old: str = "", new: str = "") -> tuple[Asserted, ...]:
    x = np.ones((5, 100), np.float32)
    arrays = {"x": x, "w": x[0], "y": np.zeros((3, 100), np.float32), "C": np.int32(100)}
    assert old in ROWS
    types = {"x": "*fp32", "w": "*fp32", "y": "*fp32", "C": "i32"}
    return watch(ROWS.replace(old, new), types, arrays, 3, BLOCK=128)


NEXT_ROW = ("row * C + at, mask=at < C, other", "(row + at // 64) * C + at, mask=at < C, other")


@pytest.mark.parametrize(
    ("change", "violated"),
    [(("", ""), [False, False, False, False]), (NEXT_ROW, [False, False, True, True])],
    ids=["right", "half of the next row"],
)
def test_the_elements_of_tensors_are_asserted(change, violated):
    assertions = rows(*change)
    assert all(a.compared for a in assertions)
    assert [a.violated > 0 for a in assertions] == violated
