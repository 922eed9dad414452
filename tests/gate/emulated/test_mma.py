"""`mma.sync` of every shape and type: fragments are filled by the PTX ISA's own formulas and compared with NumPy."""

import numpy as np
import pytest

from gate.emulated.fragment_kernel import run_fragments
from kernel_gate.emulated.matrices.elements import ELEMENTS

RNG = np.random.default_rng(3)
LANE = np.arange(32)
GROUP, THREAD = LANE // 4, LANE % 4


def place_of_a(m: int, k: int, per: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """(row, column) of aᵢ for each i: 9.7.14.5, "groupID for aᵢ where …", one case after the other."""
    span, count = 4 * per, m * k // 32
    places = []
    for i in range(count):
        register, inner = divmod(i, per)
        if m == 8:
            places.append((GROUP, THREAD * per + inner + register * span))
        else:
            row = GROUP if register % 2 == 0 else GROUP + 8
            places.append((row, THREAD * per + inner + (span if register in (2, 3) else 0) + register // 4 * 2 * span
                          + (span if register in (6, 7) else 0)))  # fmt: skip
    return places


def place_of_b(k: int, per: int) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(THREAD * per + i % per + i // per * 4 * per, GROUP) for i in range(k * 8 // 32)]


def place_of_c(m: int) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(GROUP + (8 if i >= 2 else 0), THREAD * 2 + (i & 1)) for i in range(m * 8 // 32)]


def encode(values: np.ndarray, kind: str) -> np.ndarray:
    """Values that the type holds exactly, as cells."""
    if kind in ("f16", "f64", "s8", "u8", "s32", "f32"):
        return values.astype(
            {"f16": "f2", "f64": "f8", "s8": "i1", "u8": "u1", "s32": "i4", "f32": "f4"}[kind]
        )
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if kind == "tf32":
        return values.astype(np.float32).view(np.uint32)
    if kind in ("s4", "u4", "b1"):
        return values.astype(np.int8).view(np.uint8) & (15 if kind != "b1" else 1)
    table = ELEMENTS[kind].open(np.arange(256, dtype=np.uint8))
    return np.array([np.flatnonzero(table == v)[0] for v in values.ravel()], np.uint8).reshape(values.shape)


def pack(cells: np.ndarray, bits: int) -> np.ndarray:
    """(elements, 32) cells → (registers, 32) words."""
    if bits >= 8:
        flat = np.ascontiguousarray(cells.T)
        return np.ascontiguousarray(flat.view(np.uint64 if bits == 64 else np.uint32).T)
    per = 32 // bits
    words = cells.astype(np.uint32).reshape(-1, per, 32) << (np.arange(per, dtype=np.uint32) * bits)[:, None]
    return np.bitwise_or.reduce(words, axis=1)


def numbers(shape: tuple[int, int], kind: str) -> np.ndarray:
    if kind == "b1":
        return RNG.integers(0, 2, shape)
    if kind in ("u4", "u8"):
        return RNG.integers(0, 16 if kind == "u4" else 256, shape)
    if kind in ("s4", "s8"):
        return RNG.integers(-8 if kind == "s4" else -128, 8 if kind == "s4" else 128, shape)
    return RNG.integers(-8, 8, shape) / 4.0


CASES = [
    *((f"m16n8k{k}", t, t, c) for k in (8, 16) for t in ("f16",) for c in ("f16", "f32")),
    *((f"m16n8k{k}", "bf16", "bf16", "f32") for k in (8, 16)),
    *((f"m16n8k{k}", "tf32", "tf32", "f32") for k in (4, 8)),
    ("m8n8k4", "f64", "f64", "f64"), *((f"m16n8k{k}", "f64", "f64", "f64") for k in (4, 8, 16)),
    *((s, a, b, "s32") for s in ("m8n8k16", "m16n8k16", "m16n8k32") for a in ("s8", "u8") for b in ("s8", "u8")),
    *((s, a, b, "s32") for s in ("m8n8k32", "m16n8k32", "m16n8k64") for a, b in (("s4", "s4"), ("u4", "s4"))),
    *((s, "b1", "b1", "s32") for s in ("m8n8k128", "m16n8k128", "m16n8k256")),
    *((f"m16n8k{k}", a, b, c) for k in (16, 32) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")
      for c in ("f16", "f32")),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "a", "b", "c"), CASES, ids=lambda v: v)
def test_a_product_of_one_warp(shape, a, b, c):
    m, k = int(shape[1:].split("n")[0]), int(shape.split("k")[1])
    bits = ELEMENTS[a].bits
    per = (64 if a == "f64" else 32) // bits
    x, y, z = numbers((m, k), a), numbers((k, 8), b), np.round(numbers((m, 8), "s8"))
    of_a = pack(np.stack([encode(x, a)[place] for place in place_of_a(m, k, per)]), bits)
    of_b = pack(np.stack([encode(y, b)[place] for place in place_of_b(k, per)]), bits)
    c_bits = {"f16": 16, "f32": 32, "s32": 32, "f64": 64}[c]
    of_c = pack(np.stack([encode(z, c)[place] for place in place_of_c(m)]), c_bits)
    suffix = ".xor.popc" if a == "b1" else ""
    got = run_fragments(f"mma.sync.aligned.{shape}.row.col.{c}.{a}.{b}.{c}{suffix}", of_a, of_b, of_c)
    got = np.ascontiguousarray(got.T).view({"f16": "f2", "f32": "f4", "s32": "i4", "f64": "f8"}[c]).T
    if a == "b1":
        expected = (x[:, :, None] != y[None]).sum(1) + z
    else:
        expected = x @ y + z
    for i, place in enumerate(place_of_c(m)):
        np.testing.assert_array_equal(got[i], expected[place].astype(got.dtype))


def test_integers_wrap_or_saturate():
    x = pack(np.full((16, 32), 127, np.int8).view(np.uint8), 8)
    y = pack(np.full((8, 32), 127, np.int8).view(np.uint8), 8)
    z = np.full((4, 32), 2**31 - 5, np.uint32)
    opcode = "mma.sync.aligned.m16n8k32.row.col{}.s32.s8.s8.s32"
    assert (run_fragments(opcode.format(""), x, y, z).view(np.int32) < 0).all()
    assert (run_fragments(opcode.format(".satfinite"), x, y, z) == 2**31 - 1).all()


def test_a_sum_is_rounded_once():
    """2048 + 1 is no half; 2048 + 16 ones is."""
    ones = int(np.float16(1).view(np.uint16)) * 0x10001
    a, b = np.full((4, 32), ones, np.uint32), np.full((2, 32), ones, np.uint32)
    c = np.full((2, 32), int(np.float16(2048).view(np.uint16)) * 0x10001, np.uint32)
    got = run_fragments("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", a, b, c).view(np.float16)
    assert (got == 2064).all()


@pytest.mark.parametrize("layouts", ["row.col", "row.row", "col.col", "col.row"])
@pytest.mark.parametrize("c", ["f16", "f32"])
def test_the_four_products_of_volta(layouts, c):
    """9.7.14.5.1: quads q and q + 4 of a warp compute product q."""
    high, quad, t = (LANE >= 16) * 4, LANE // 4 % 4, LANE % 4
    la, lb = layouts.split(".")
    x, y, z = (numbers((4, *s), "f16") for s in ((8, 4), (4, 8), (8, 8)))
    of_a = [(t + high, i) if la == "row" else (i + high, t) for i in range(4)]
    of_b = [(t, i + high) if lb == "row" else (i, t + high) for i in range(4)]
    if c == "f16":
        of_c = [(t + high, i) for i in range(8)]
    else:
        of_c = [((t & 1) + (i & 2) + high, (i & 4) + (t & 2) + (i & 1)) for i in range(8)]

    def fragment(values, places, kind):
        return pack(
            np.stack([encode(values, kind)[quad, r, s] for r, s in places]), 16 if kind == "f16" else 32
        )

    opcode = f"mma.sync.aligned.m8n8k4.{layouts}.{c}.f16.f16.{c}"
    got = run_fragments(opcode, fragment(x, of_a, "f16"), fragment(y, of_b, "f16"), fragment(z, of_c, c))
    got = np.ascontiguousarray(got.T).view("f2" if c == "f16" else "f4").T
    expected = x @ y + z
    for i, (r, s) in enumerate(of_c):
        np.testing.assert_array_equal(got[i], expected[quad, r, s].astype(got.dtype))


def test_what_is_not_supported_is_named():
    from kernel_gate.devices.emulated import EmulatedDevice
    from kernel_gate.devices.image import Image

    text = """.version 8.8 .target sm_90 .address_size 64
.visible .entry kernel() { .reg .b32 %r<16>;
mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%r8,%r9,%r10,%r11},
  {%r0,%r1,%r2,%r3}, %r12, 0x0;
ret; }"""
    kernel = EmulatedDevice().load(Image("kernel", text))
    assert list(kernel.unsupported) == ["mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"]


def test_a_product_in_divergent_code_is_a_fault():
    x, y, z = np.zeros((4, 32), np.uint32), np.zeros((2, 32), np.uint32), np.zeros((4, 32), np.uint32)
    with pytest.raises(AssertionError, match="needs all 32 lanes"):
        run_fragments("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", x, y, z, guard="@less ")
