"""What the check makes of the answer whether both programs compute the same expression (`stages.algebra`).

The tolerance allows for another order of sums. A candidate that computes the same expression in another order may use
more of it than a single unlucky launch of the baseline has shown. One that computes another expression has no claim to
it: on a small case it must agree to within a few roundings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kernel_gate.cases import ALLOCATED, Case
from kernel_gate.dtypes import DTYPES, Array
from kernel_gate.shapes import elements
from kernel_gate.stages.algebra import Algebra, Answer
from kernel_gate.stages.check_state import CheckState
from kernel_gate.verdict import Stage

_CASES = 2


def reordered(run: CheckState, case: Case, inputs: Mapping[str, Array]) -> bool:
    """Whether the candidate computes what the baseline does on a case, in another order at most."""
    if run.expressions is None:
        return False
    answer = run.expressions.compare(case, inputs)
    run.algebra.append(answer)
    return answer.answer is Answer.SAME


def cases_to_ask(run: CheckState) -> list[Case]:
    """The smallest cases that passed, each of a shape of its own; a ragged or hidden one is among them."""
    if run.expressions is None or not any(
        DTYPES[a.dtype].is_float for a in run.workload.args if a.kind in {"output", "inout"}
    ):
        return []
    plain = [case for case in run.passed if case.memory == ALLOCATED and elements(run.workload, case.dims)]
    plain.sort(key=lambda case: (elements(run.workload, case.dims), not case.required))
    named = next((case for case in plain if case.required), None)
    rest = (case for case in plain if named is None or case.dims != named.dims)
    larger = next((c for c in rest if named is None or _larger(run, c, named)), None)
    return [case for case in (named, larger) if case is not None][:_CASES]


def _larger(run: CheckState, case: Case, than: Case) -> bool:
    return elements(run.workload, case.dims) > elements(run.workload, than.dims)


def same_expression(stages: Iterable[Stage]) -> bool:
    """Whether the check's evidence says that both programs compute the same expression, on every case asked."""
    answers = [a for stage in stages if stage.name == "check" for a in stage.details.get("algebra", ())]
    return bool(answers) and all(answer["answer"] == Answer.SAME for answer in answers)


def said_of(answers: list[Algebra]) -> str:
    """The answers in a few words, for the stage's reason; "" when nothing was asked or nothing is known."""
    other = next((a for a in answers if a.answer is Answer.OTHER), None)
    if other is not None:
        share = f"{other.different} of {other.elements} elements"
        return f"; {other.why} than the baseline's ({share}), within the tolerance"
    if any(a.answer is Answer.SAME for a in answers) and not any(a.answer is Answer.OPEN for a in answers):
        return "; the same expression as the baseline's"
    return ""
