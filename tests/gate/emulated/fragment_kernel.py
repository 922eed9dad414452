"""One instruction of whole warps: fragments are loaded, the instruction runs, its result is stored."""

import numpy as np

from kernel_gate.devices.emulated import EmulatedDevice
from kernel_gate.devices.image import Image


def _text(opcode: str, counts: dict[str, int], sizes: dict[str, int], guard: str) -> str:
    lines = [
        ".version 9.0", ".target sm_90", ".address_size 64",
        ".visible .entry kernel(" + ", ".join(f".param .u64 p{n}" for n in counts) + ") {",
        ".reg .pred less; .reg .b64 at, base; .reg .b32 t, n;",
        "mov.u32 t, %tid.x; mov.u32 n, %ntid.x; setp.lt.u32 less, t, 16;",
    ]  # fmt: skip
    body: list[str] = []
    for name, count in counts.items():
        bits = 8 * sizes[name]
        lines.append(f".reg .b{bits} {name}<{count}>;")
        lines.append(f"ld.param.u64 base, [p{name}];")
        for i in range(count):
            place = f"mad.lo.u32 r, n, {i}, t; mad.wide.u32 at, r, {sizes[name]}, base;"
            if name == "d":
                body.append(f"{place} st.global.b{bits} [at], d{i};")
            else:
                lines.append(f"{place} ld.global.b{bits} {name}{i}, [at];")
    groups = ["{" + ", ".join(f"{n}{i}" for i in range(c)) + "}" for n, c in counts.items()]
    lines.append(f"{guard}{opcode} {', '.join(groups)};")
    lines.append("ld.param.u64 base, [pd];")
    lines.insert(5, ".reg .b32 r;")
    return "\n".join([*lines, *body, "ret;", "}"])


def run_fragments(opcode: str, *fragments: np.ndarray, guard: str = "") -> np.ndarray:
    """(registers, threads) words of `d` after `opcode d, a, b, c`; `d` has the shape of the last fragment."""
    arrays = dict(zip("dabc", (np.zeros_like(fragments[-1]), *fragments), strict=False))
    counts, sizes = ({n: f(a) for n, a in arrays.items()} for f in (len, lambda a: a.itemsize))
    device = EmulatedDevice("sm_90")
    kernel = device.load(Image("kernel", _text(opcode, counts, sizes, guard)))
    assert kernel.unsupported == {}
    buffers = []
    for name, array in arrays.items():
        buffers.append(device.allocate(array.nbytes, name, array.itemsize))
        buffers[-1].write(array)
    done = kernel.launch((1, 1, 1), (fragments[0].shape[1], 1, 1), 0, buffers)
    assert done.faults == (), done.faults
    return buffers[0].read().view(arrays["d"].dtype).reshape(arrays["d"].shape)
