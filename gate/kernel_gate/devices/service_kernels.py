"""The gate's own kernels, beside those that it judges: they clear the L2 cache, fill time, compare memory, do nothing.

PTX of an early version, which every driver compiles itself: so that timing needs no compiler.
"""

from __future__ import annotations

WORD = 16
"""Bytes that `differ` compares at once."""

PTX = b"""
.version 7.0
.target sm_70
.address_size 64

// Read count 16-byte words. Reading leaves the cache full of clean lines; writing would leave dirty ones, whose
// write-back the next kernel would pay for.
.visible .entry read_all(.param .u64 data, .param .u64 count) {
    .reg .pred %p<3>;
    .reg .b32 %r<16>;
    .reg .b64 %d<8>;
    ld.param.u64 %d0, [data];
    ld.param.u64 %d1, [count];
    cvta.to.global.u64 %d2, %d0;
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %nctaid.x;
    mad.wide.u32 %d3, %r0, %r1, 0;
    cvt.u64.u32 %d4, %r2;
    add.u64 %d3, %d3, %d4;
    mul.wide.u32 %d5, %r1, %r3;
    mov.u32 %r4, 0;
AGAIN:
    setp.ge.u64 %p0, %d3, %d1;
    @%p0 bra DONE;
    shl.b64 %d6, %d3, 4;
    add.u64 %d6, %d2, %d6;
    ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%d6];
    or.b32 %r5, %r5, %r6;
    or.b32 %r7, %r7, %r8;
    or.b32 %r5, %r5, %r7;
    or.b32 %r4, %r4, %r5;
    add.u64 %d3, %d3, %d5;
    bra AGAIN;
DONE:
    // Never true, as the data are zeros; without a use the loads would be dropped.
    setp.eq.u32 %p1, %r4, 305419896;
    @%p1 st.global.u32 [%d2], %r4;
    ret;
}

// Run for a number of clock cycles without touching memory.
.visible .entry wait_cycles(.param .u64 cycles) {
    .reg .pred %p<2>;
    .reg .b64 %d<5>;
    ld.param.u64 %d0, [cycles];
    mov.u64 %d1, %clock64;
WAIT:
    mov.u64 %d2, %clock64;
    sub.u64 %d3, %d2, %d1;
    setp.lt.u64 %p0, %d3, %d0;
    @%p0 bra WAIT;
    ret;
}

// Store 1 to found when any of count 16-byte words differs.
.visible .entry differ(.param .u64 first, .param .u64 second, .param .u64 count, .param .u64 found) {
    .reg .pred %p<3>;
    .reg .b32 %r<16>;
    .reg .b64 %d<12>;
    ld.param.u64 %d0, [first];
    ld.param.u64 %d1, [second];
    ld.param.u64 %d2, [count];
    ld.param.u64 %d3, [found];
    cvta.to.global.u64 %d0, %d0;
    cvta.to.global.u64 %d1, %d1;
    cvta.to.global.u64 %d3, %d3;
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %nctaid.x;
    mul.wide.u32 %d4, %r0, %r1;
    cvt.u64.u32 %d5, %r2;
    add.u64 %d4, %d4, %d5;
    mul.wide.u32 %d6, %r1, %r3;
    mov.u32 %r4, 0;
FURTHER:
    setp.ge.u64 %p0, %d4, %d2;
    @%p0 bra COMPARED;
    shl.b64 %d7, %d4, 4;
    add.u64 %d8, %d0, %d7;
    add.u64 %d9, %d1, %d7;
    ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%d8];
    ld.global.v4.u32 {%r9, %r10, %r11, %r12}, [%d9];
    xor.b32 %r5, %r5, %r9;
    xor.b32 %r6, %r6, %r10;
    xor.b32 %r7, %r7, %r11;
    xor.b32 %r8, %r8, %r12;
    or.b32 %r5, %r5, %r6;
    or.b32 %r7, %r7, %r8;
    or.b32 %r5, %r5, %r7;
    or.b32 %r4, %r4, %r5;
    add.u64 %d4, %d4, %d6;
    bra FURTHER;
COMPARED:
    setp.ne.u32 %p1, %r4, 0;
    mov.u32 %r13, 1;
    @%p1 st.global.u32 [%d3], %r13;
    ret;
}

.visible .entry empty() {
    ret;
}
"""
