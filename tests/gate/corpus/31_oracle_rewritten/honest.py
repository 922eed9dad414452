from pathlib import Path

import triton
import triton.language as tl

Path("notes.txt").write_text("a file of its own")


@triton.jit
def affine(y, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 1.0 * 2.0 * tl.load(x + at, mask=at < n) + 1.0, mask=at < n)
