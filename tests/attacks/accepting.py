"""`klineage` with a judge that accepts at once, for attacks on what follows a verdict: no GPU is there to give one."""

import sys


def _accepts(*_arguments: object, **_options: object) -> object:
    from kernel_gate.verdict import Outcome, Verdict

    verdict = Verdict(outcome=Outcome.ACCEPTED, reason="accepted by the attack", stages=[], inputs_hash="0")
    return lambda *_judged: verdict


try:
    from kernel_lineage.__main__ import start
    from kernel_lineage.rewrite import run

    run.judge_in_child = _accepts  # type: ignore[assignment]
    start()
except KeyboardInterrupt:  # while this script's own imports run
    sys.exit(130)
