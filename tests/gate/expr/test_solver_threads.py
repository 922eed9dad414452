"""Questions to Z3 from several threads at once: each has a state of its own."""

from concurrent.futures import ThreadPoolExecutor

from kernel_gate.expr.solver import Decision, decide
from kernel_gate.expr.terms import Num, Op, Var

N, C = Var("N"), Var("C")
INSIDE = [Op("<=", (Num(0), N)), Op("<", (N, C))]


def asked(number: int) -> Decision:
    claim = Op("<", (N, C)) if number % 2 else Op("<", (Op("*", (N, N)), Op("*", (C, Num(number + 1)))))
    return decide(INSIDE, claim, limit_ms=2000).decision


def test_threads_do_not_share_z3s_state() -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(asked, range(40)))
    assert set(answers[1::2]) == {Decision.PROVED}
    assert answers[::2] == [asked(number) for number in range(0, 40, 2)]
