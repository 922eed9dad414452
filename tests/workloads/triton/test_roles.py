"""What a kernel does with its buffers, as far as addresses tell."""

from pathlib import Path

import pytest

from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.triton.roles import roles_of, touches_of

HEAD = """\
import triton
import triton.language as tl


@triton.jit
def add_one(p, shift):
    tl.store(p, tl.load(p, boundary_check=(0,)) + shift, boundary_check=(0,))


@triton.jit
def scaled(q, o, s, scale, T, REVERSE: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0)
"""
BLOCKS = """\
    p_q = tl.make_block_ptr(q + i * T, (T,), (1,), (0,), (B,), (0,))
    p_o = tl.make_block_ptr(base=o + i * T, shape=(T,), strides=(1,), offsets=(0,), block_shape=(B,), order=(0,))
    tl.store(p_o, tl.load(p_q, boundary_check=(0,)) * scale, boundary_check=(0,))
"""
MOVED = """\
    at = tl.make_block_ptr(q, (T,), (1,), (0,), (B,), (0,))
    p_q = at if REVERSE else tl.advance(at, (B,))
    p_o = tl.make_block_ptr(o, (T,), (1,), (0,), (B,), (0,))
    for _ in range(0, T, B):
        tl.store(p_o, tl.load(p_q) * scale)
        p_q = tl.advance(p_q, (B,))
        p_o = tl.advance(p_o, (B,))
"""
HANDED = """\
    p_s = tl.make_block_ptr(s, (T,), (1,), (0,), (B,), (0,))
    add_one(p_s, scale)
    cols = tl.arange(0, B)
    tl.store(o + cols, tl.load(q + cols))
"""


@pytest.mark.parametrize(
    ("body", "roles"),
    [
        (BLOCKS, {"q": "input", "o": "output"}),
        (MOVED, {"q": "input", "o": "output"}),
        (HANDED, {"s": "inout", "q": "input", "o": "output"}),
    ],
    ids=["block pointers", "moved ones", "one that is handed on"],
)
def test_buffers_that_are_reached_through_block_pointers(tmp_path: Path, body, roles):
    (tmp_path / "k.py").write_text(HEAD + body)
    assert roles_of(touches_of(kernel_of(tmp_path / "k.py", "scaled"))) == roles


def test_an_address_through_a_block_pointer_says_nothing_of_shapes(tmp_path: Path):
    (tmp_path / "k.py").write_text(HEAD + BLOCKS)
    assert not any(t.own for t in touches_of(kernel_of(tmp_path / "k.py", "scaled")))
