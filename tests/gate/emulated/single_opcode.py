"""One instruction on one thread per case: operands are loaded, the instruction runs, its result is stored."""

from __future__ import annotations

import numpy as np

from kernel_gate.devices.emulated import EmulatedDevice
from kernel_gate.devices.image import Image
from kernel_gate.emulated.types import TYPES

_REGISTER = {1: "b16", 2: "b16", 4: "b32", 8: "b64"}
RNG = np.random.default_rng(11)


def ptx(instruction: str, result: str, operands: tuple[str, ...]) -> str:
    """A kernel around an instruction over `d` (the result) and `a`, `b`, `c` (its operands)."""
    names = "abc"[: len(operands)]
    lines = [
        ".version 8.8", ".target sm_80", ".address_size 64",
        ".visible .entry kernel(" + ", ".join(f".param .u64 p{n}" for n in ("d", *names)) + ") {",
        ".reg .pred p, q; .reg .b64 %tid, %at, %base; .reg .b32 %t; .reg .b32 %one;",
        *(f".reg .{_REGISTER[TYPES[k].size]} {n};" for n, k in zip(("d", *names), (result, *operands), strict=True)),
        "mov.u32 %t, %tid.x; cvt.u64.u32 %tid, %t; mov.u32 %one, 1;",
    ]  # fmt: skip
    for name, kind in zip(names, operands, strict=True):
        size = TYPES[kind].size
        lines += [
            f"ld.param.u64 %base, [p{name}]; mad.lo.u64 %at, %tid, {size}, %base;",
            f"ld.global.b{8 * size} {name}, [%at];",
        ]
    size = TYPES[result].size
    lines += [
        f"{instruction};",
        f"ld.param.u64 %base, [pd]; mad.lo.u64 %at, %tid, {size}, %base; st.global.b{8 * size} [%at], d; ret;",
        "}",
    ]
    return "\n".join(lines)


def run(instruction: str, result: str, operands: dict[str, np.ndarray]) -> np.ndarray:
    """The results of an instruction for operands given by type name; NumPy holds bf16 and packed types as bits."""
    kinds = tuple(name.split(":")[0] for name in operands)
    device = EmulatedDevice()
    kernel = device.load(Image("kernel", ptx(instruction, result, kinds)))
    assert kernel.unsupported == {}
    arrays = [v.astype(TYPES[k].dtype) for k, v in zip(kinds, operands.values(), strict=True)]
    out = np.zeros(len(arrays[0]), TYPES[result].raw)
    buffers = []
    for name, array in zip("dabc", (out, *arrays), strict=False):
        buffers.append(device.allocate(array.nbytes, name, array.itemsize))
        buffers[-1].write(array)
    done = kernel.launch((1, 1, 1), (len(out), 1, 1), 0, buffers)
    assert done.faults == ()
    return buffers[0].read().view(TYPES[result].dtype)


def values(kind: str, count: int = 200) -> np.ndarray:
    """Interesting values of a type first, then random ones."""
    dtype = TYPES[kind].dtype
    if kind == "bf16":
        return (values("f32", count).view(np.uint32) >> 16).astype(np.uint16)
    if dtype.kind == "f":
        info = np.finfo(dtype)
        edges = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            1.5,
            2.5,
            -2.5,
            np.inf,
            -np.inf,
            np.nan,
            info.max,
            info.tiny,
            info.eps,
        ]
        edges += [info.smallest_subnormal, -info.smallest_subnormal, 3.0, 100.25]
        wide = RNG.normal(size=count - len(edges)) * 2.0 ** RNG.integers(-12, 12, count - len(edges))
        return np.array([*edges, *wide]).astype(dtype)
    info = np.iinfo(dtype)
    edges = [0, 1, 2, 3, 5, 7, 31, 32, 33, 63, info.max, info.max - 1, info.min, info.min + 1]
    drawn = RNG.integers(info.min, info.max, count - len(edges), dtype=dtype, endpoint=True)
    return np.concatenate([np.array(edges, dtype), drawn])


def shuffled(kind: str, count: int = 200) -> np.ndarray:
    """The same kind of values in another order."""
    return RNG.permutation(values(kind, count))
