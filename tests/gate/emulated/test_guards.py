"""Which predicates of a kernel its arguments decide, and what computes them."""

from kernel_gate.emulated.guards import Guards
from kernel_gate.emulated.program import decode
from kernel_gate.emulated.ptx.parser import parse

PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry kernel(.param .u32 n, .param .u32 m)
{{
    .reg .b32 %r<2100>; .reg .pred %p<4>;
    ld.param.u32 %r1, [n];
    ld.param.u32 %r2, [m];
    {code}
    @%p1 bra END;
    mov.u32 %r9, 1;
END:
    ret;
}}
"""


def guards_of(code: str) -> Guards:
    return Guards(decode(parse(PTX.format(code=code)), "kernel"))


def test_a_predicate_of_arguments_is_alike_for_all_threads_and_one_of_a_thread_is_not():
    (guard,) = guards_of("setp.lt.u32 %p1, %r1, %r2;").guards
    assert guard.uniform
    (guard,) = guards_of("mov.u32 %r3, %tid.x; add.u32 %r4, %r3, %r1; setp.lt.u32 %p1, %r4, %r2;").guards
    assert not guard.uniform


def test_a_register_that_is_computed_from_itself_tells_nothing():
    assert guards_of("LOOP: add.u32 %r3, %r3, %r1; setp.lt.u32 %p1, %r3, %r2; @%p1 bra LOOP;").guards == []
    code = "LOOP: add.u32 %r3, %r4, %r1; add.u32 %r4, %r3, %r2; setp.lt.u32 %p1, %r3, %r2; @%p1 bra LOOP;"
    assert guards_of(code).guards == []


def test_a_chain_of_thousands_of_instructions_is_followed():
    chain = " ".join(f"add.u32 %r{n + 1}, %r{n}, %r1;" for n in range(10, 2090))
    (guard,) = guards_of(f"mov.u32 %r10, %r1; {chain} setp.lt.u32 %p1, %r2090, %r2;").guards
    assert guard.uniform


def test_a_register_that_a_loop_uses_again_is_told_where_the_kernel_begins():
    begin = "mov.u32 %r4, %ctaid.x; mul.lo.u32 %r3, %r4, %r1; setp.ge.u32 %p1, %r3, %r2; @%p1 bra END;"
    loop = "LOOP: add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, %r2; @%p2 bra LOOP;"
    (guard,) = guards_of(f"{begin} {loop}").guards
    assert not guard.uniform
    assert guards_of(f"{loop} {begin}").guards == []
