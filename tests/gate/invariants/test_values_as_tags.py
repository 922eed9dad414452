"""Where every element's value is its own coordinate, a value that was only moved must equal its tag."""

import numpy as np
import pytest

from gate.invariants.asserting import watch

KERNEL = """
__global__ void kernel(unsigned *out, const {kind} *x) {{
  // klineage: tag x[e]
  int i = threadIdx.x;
  __shared__ {kind} tile[256];
  tile[i] = x[i];
  __syncthreads();
  {moves}
  // klineage: assert tag(v).e == v
  out[i] = v;
}}
"""
BYTES = {
    "a byte of a word": "unsigned w = ((const unsigned *)x)[i % 64]; unsigned char v = w >> i % 4 * 8;",
    "a byte by a fixed shift": "unsigned w = ((const unsigned *)x)[i % 64]; unsigned char v = w >> 16;",
    "a byte of a permuted word": (
        "unsigned w = __byte_perm(((const unsigned *)x)[i % 32], ((const unsigned *)x)[i % 32 + 32], 0x7214);"
        "unsigned char v = w >> 8;"
    ),
    "a byte by a permutation of each thread": (
        "unsigned w = __byte_perm(((const unsigned *)tile)[i % 64], 0, 0x4440 | i % 4); unsigned char v = w;"
    ),
    "a byte of a vector": "uint4 q = ((const uint4 *)tile)[i % 16]; unsigned char v = q.z >> 24;",
    "a byte of a word that was put together": (
        "unsigned w = tile[i] | tile[i ^ 5] << 8 | tile[i ^ 9] << 24; unsigned char v = w >> 24;"
    ),
    "a byte that was masked": "unsigned w = ((unsigned *)tile)[i % 64] & 0x00ff0000; unsigned char v = w >> 16;",
    "a byte of a word that was turned": (
        "unsigned w = ((unsigned *)tile)[i % 64]; w = __funnelshift_l(w, w, 8); unsigned char v = w;"
    ),
    "a byte of another lane": (
        "unsigned w = __shfl_xor_sync(~0u, ((unsigned *)tile)[i % 64], 3); unsigned char v = w >> 8;"
    ),
    "a byte of a wide word": "unsigned long long w = ((unsigned long long *)tile)[i % 32]; unsigned char v = w >> 40;",
    "a byte of local memory": (
        "unsigned char far[32]; for (int k = 0; k < 32; ++k) far[k] = tile[(i + 7 * k) % 256];"
        "unsigned char v = far[i * 5 % 32];"
    ),
    "a field": (
        'unsigned w = ((unsigned *)tile)[i % 64]; asm("bfe.u32 %0, %0, %1, 8;" : "+r"(w) : "r"(i % 4 * 8));'
        "unsigned char v = w;"
    ),
    "a field that was put in": (
        'unsigned w = ((unsigned *)tile)[i % 64]; asm("bfi.b32 %0, %1, %0, 8, 8;" : "+r"(w) : "r"((unsigned)tile[i]));'
        "unsigned char v = w >> (i % 2 ? 8 : 16);"
    ),
    "what a table of three lets through": (
        "unsigned w = ((unsigned *)tile)[i % 64], u = ((unsigned *)tile)[i / 4];"
        'asm("lop3.b32 %0, %0, %1, 0x00ff0000, 0xd8;" : "+r"(w) : "r"(u)); unsigned char v = w >> (i % 2 ? 16 : 8);'
    ),
    "one of two": "unsigned char a = tile[i], b = tile[255 - i], v = i % 3 ? a : b;",
    "one of two paths": "unsigned char v = tile[i]; if (i % 5 == 2) { v = x[255 - i]; tile[i] = v; } v = tile[i];",
}
HALVES = {
    "a half of a word": "unsigned w = ((const unsigned *)x)[i % 128]; unsigned short v = w >> 16;",
    "a half that was packed": (
        "unsigned w = (unsigned)tile[i] << 16 | tile[i ^ 3]; unsigned short v = __byte_perm(w, 0, 0x4432);"
    ),
    "a half of a vector through shared memory": (
        "uint2 q = ((const uint2 *)x)[i % 64]; __syncthreads(); ((uint2 *)tile)[i % 64] = q; __syncthreads();"
        "unsigned short v = tile[(i * 3) % 256];"
    ),
    "the greater halves of a scan": (
        "unsigned short v = tile[i]; for (int by = 1; by < 32; by *= 2) {"
        "unsigned w = __shfl_up_sync(~0u, (unsigned)v, by); if (i % 32 >= by) v = w; }"
    ),
}
CASES = [
    pytest.param(kind, moves, id=name)
    for kind, table in (("unsigned char", BYTES), ("unsigned short", HALVES))
    for name, moves in table.items()
]


@pytest.mark.parametrize(("kind", "moves"), CASES)
def test_a_moved_value_has_the_tag_that_it_came_with(kind, moves):
    cells = np.uint8 if kind == "unsigned char" else np.uint16
    arguments = {"out": np.zeros(256, np.uint32), "x": np.arange(256).astype(cells)}
    (assertion,) = watch(KERNEL.format(kind=kind, moves=moves), arguments, 1, 256, quiet=False).asserted
    assert assertion.compared
    assert (assertion.untagged, assertion.violated) == (0, 0)
