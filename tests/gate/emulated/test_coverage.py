"""What the device says of PTX that it knows in part, or that is no PTX at all."""

import pytest

from kernel_gate.devices.base import DeviceError
from kernel_gate.devices.emulated import EmulatedDevice
from kernel_gate.devices.image import Image
from kernel_gate.emulated.coverage import cover
from kernel_gate.emulated.ptx.model import PtxError

HEAD = ".version 8.8\n.target sm_80\n.address_size 64\n"
GOOD = HEAD + ".visible .entry kernel(.param .u64 p) { .reg .b32 %r<3>; mov.u32 %r1, %tid.x; BODY ret; }"


def test_unknown_opcodes_are_counted_by_name():
    kernels = cover(GOOD.replace("BODY", "frob.u32 %r2, %r1; frob.u32 %r2, %r1; add.u32 %r2, %r1, 1;"))
    assert [(k.kernel, k.decoded, dict(k.unsupported)) for k in kernels] == [
        ("kernel", False, {"frob.u32": 2})
    ]


def test_an_unknown_opcode_faults_only_when_a_thread_reaches_it():
    body = ".reg .pred p; setp.gt.u32 p, %r1, LIMIT; @p frob.u32 %r2, %r1;"
    device = EmulatedDevice()
    for limit, kinds in (("31", []), ("30", ["unsupported"])):
        kernel = device.load(Image("kernel", GOOD.replace("BODY", body.replace("LIMIT", limit))))
        done = kernel.launch((1, 1, 1), (32, 1, 1), 0, [device.allocate(4, "p", 4)])
        assert [f.kind for f in done.faults] == kinds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not ptx",
        GOOD.replace("BODY", "add.u32 %r1 %r2;"),
        GOOD.replace("BODY", "bra nowhere;"),
        GOOD.replace("BODY", ".reg .f128 %q;"),
        GOOD.replace("BODY", "add.u32 \x00;"),
        GOOD[:-8],
        GOOD.replace("kernel", "other"),
        GOOD.replace("BODY", "brx.idx %r1, nothing;"),
        GOOD.replace("BODY", "mov.u32 %r1, 0f12;"),
        GOOD.replace("BODY", "@ ;"),
        HEAD + ".global .align 4 .b8 x[10] = {1, 2, ;",
        HEAD + ".visible .entry kernel(.param .u64 p",
    ],
)
def test_broken_ptx_is_refused_with_a_message(text):
    with pytest.raises(DeviceError, match="cannot read this image"):
        EmulatedDevice().load(Image("kernel", text))


def test_a_cut_file_is_refused_wherever_it_is_cut():
    text = GOOD.replace("BODY", "st.global.u32 [%r1+4], {%r2};")
    for end in range(len(text) - 1):
        with pytest.raises((PtxError, DeviceError)):
            EmulatedDevice().load(Image("kernel", text[:end]))
