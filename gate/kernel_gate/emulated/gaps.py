"""What of PTX the emulated device does not execute, by name, and why. A thread that reaches it ends the launch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gap:
    """Some instructions that are not known."""

    names: str
    """As the page shows them."""
    why: str
    examples: tuple[str, ...]
    """Instructions over registers `f`, `r`, `rd`, `h`, `b`, `p` 1 to 4: a test asks that each is still unknown."""


_HOST = "a texture or surface is made by the host's code, which the gate does not run"
_CLUSTER = "copies to several blocks of a cluster at once are not done; copies to one block, and its own, are"
_LATER = "needs an architecture after sm_90"
_TO_SHARED = "shared::cluster.global.mbarrier::complete_tx::bytes"
_FOUR = "{f1, f2, f3, f4}"
GAPS = (
    Gap(
        "`tex`, `tld4`, `txq`, `istypep`",
        _HOST,
        (
            "tex.2d.v4.f32.f32 {f1, f2, f3, f4}, [rd1, {f1, f2}]",
            "tld4.r.2d.v4.f32.f32 {f1, f2, f3, f4}, [rd1, {f1, f2}]",
            "txq.width.b32 r1, [rd1]",
            "istypep.texref p1, rd1",
        ),
    ),
    Gap(
        "`suld`, `sust`, `sured`, `suq`",
        _HOST,
        (
            "suld.b.1d.b32.trap r1, [rd1, {r2}]",
            "sust.b.1d.b32.trap [rd1, {r2}], r1",
            "sured.b.add.1d.u32.trap [rd1, {r2}], r1",
        ),
    ),
    Gap(
        "`st.async`, `red.async`",
        "no kernel of the repositories that were surveyed has one",
        (
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [r1], r2, [r3]",
            "red.async.relaxed.cluster.global.mbarrier::complete_tx::bytes.shared::cluster.inc.u32 [r1], r2, [r3]",
        ),
    ),
    Gap(
        "`cp.async.bulk….multicast::cluster`",
        _CLUSTER,
        (
            f"cp.async.bulk.{_TO_SHARED}.multicast::cluster [r1], [rd1], r2, [r3], h1",
            f"cp.async.bulk.tensor.1d.{_TO_SHARED}.multicast::cluster [r1], [rd1, {{r2}}], [r3], h1",
        ),
    ),
    Gap(
        "`cp.async.bulk.tensor….im2col`",
        "tensors are copied in tiles only",
        (f"cp.async.bulk.tensor.3d.im2col.{_TO_SHARED} [r1], [rd1, {{r2, r2, r2}}], [r3], {{h1}}",),
    ),
    Gap(
        "`multimem`",
        "addresses that stand for several devices are not modelled",
        ("multimem.ld_reduce.global.add.f32 f1, [rd1]",),
    ),
    Gap(
        "`mma.sp`, `wgmma….sp`",
        "products with structured sparsity are not computed",
        (
            f"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {_FOUR}, {{r1, r2}}, {{r3, r4}}, {_FOUR}, r1, 0",
            "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {f1, f2, f3, f4}, rd1, rd2, r1, 0, 1, 1, 1, 0, 0",
        ),
    ),
    Gap(
        "`tcgen05`, `clusterlaunchcontrol`, block-scaled `mma`, `ld` and `st` of `b128`",
        _LATER,
        (
            "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [r1], 32",
            "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [r1], [r2]",
            "ld.global.b128 {rd1, rd2}, [rd1]",
        ),
    ),
    Gap(
        "`add`, `sub`, `fma` of two types; `cvt` to 4 and 6 bits, to `ue8m0` and with random rounding",
        _LATER,
        (
            "add.f32.f16 f1, h1, f2",
            "fma.rn.f32.f16 f1, h1, h2, f2",
            "cvt.rn.satfinite.e2m1x2.f32 b1, f1, f2",
            "cvt.rn.satfinite.e2m3x2.f32 h1, f1, f2",
            "cvt.rz.satfinite.ue8m0x2.f32 h1, f1, f2",
        ),
    ),
    Gap(
        "`vmad` of mixed or narrow operands",
        "no compiler has been seen to write it",
        ("vmad.s32.s32.u32 r1, r2, r3, r4",),
    ),
    Gap(
        "`malloc` and `free` on the device, `cudaLaunchDevice`, recursion beyond the stack",
        "calls of the device's runtime other than `printf` and `assert` end the launch",
        (),
    ),
)
