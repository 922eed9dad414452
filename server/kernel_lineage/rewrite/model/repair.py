"""The model lane: ask, check the answer mechanically, gate the candidate; in up to three rounds, tell what was wrong.

Invariant: a candidate that is returned as accepted has an accepted verdict of exactly this candidate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from kernel_gate.verdict import Outcome, Verdict
from kernel_lineage.rewrite.candidate import Candidate, Edit
from kernel_lineage.rewrite.launch_site import LaunchError, check_expression, launch_edits
from kernel_lineage.rewrite.model.answer import AnswerError, ModelAnswer, parse_answer
from kernel_lineage.rewrite.model.boundaries import check_replacement
from kernel_lineage.rewrite.model.client import Answer, Message, ModelError
from kernel_lineage.rewrite.model.prompt import RewriteRequest, messages_for, repair_message

REPAIR_ROUNDS = 3
OnRound = Callable[[int, int], None]
"""Is told which question begins, counted from 1, and how many there are at most."""


def silent(_number: int, _most: int) -> None:
    """For who shows no progress."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """How the model lane ended: the last candidate with its verdict, or why there is none."""

    candidate: Candidate | None
    verdict: Verdict | None
    reason: str
    rounds: int


def candidate_of(request: RewriteRequest, answer: ModelAnswer, by: str) -> Candidate:
    """The candidate that an answer describes. Raises `AnswerError` when it reaches beyond its range."""
    kernel = request.kernel
    replacement = answer.replacement.rstrip()
    check_replacement(kernel, replacement)
    edits = [Edit(kernel.span, replacement)]
    fields = answer.launch.fields() if answer.launch else {}
    if fields:
        if request.launch is None:
            raise AnswerError("The answer changes a launch, but no launch site is known.")
        try:
            for name, expression in fields.items():
                check_expression(kernel, request.launch, name, expression)
            edits += launch_edits(kernel, request.launch, fields)
        except LaunchError as problem:
            raise AnswerError(str(problem)) from problem
    return Candidate(
        skill=request.skill.id,
        kernel=kernel.name,
        edits=tuple(sorted(edits, key=lambda e: e.span.start)),
        by=by,
        explanation=" ".join(answer.explanation.split()),
    )


def attempt(
    request: RewriteRequest,
    by: str,
    ask: Callable[[list[Message]], Answer],
    judge: Callable[[Candidate], Verdict | None],
    rounds: int = REPAIR_ROUNDS,
    on_round: OnRound = silent,
) -> Attempt:
    """Ask, and repair at most `rounds` times.

    `judge` gives None when there is nothing to gate with; then the first candidate is the answer.
    A `ModelError` of `ask` passes through in the first round; later, what came of the last answer is the result.
    """
    messages = messages_for(request)
    last: Attempt | None = None
    for number in range(1, rounds + 2):
        on_round(number, rounds + 1)
        try:
            text = ask(messages).text
        except ModelError as error:
            if last is None:
                raise
            return replace(last, reason=f"{last.reason} No further repair: {error}")
        try:
            answer = parse_answer(text, request.range_name)
            if answer.declined is not None:
                return Attempt(None, None, f"The model declined: {answer.declined}", number)
            candidate = candidate_of(request, answer, by)
        except AnswerError as problem:
            last = Attempt(None, None, str(problem), number)
            finding = str(problem)
        else:
            verdict = judge(candidate)
            if verdict is None:
                return Attempt(candidate, None, "Nothing could be gated.", number)
            last = Attempt(candidate, verdict, verdict.reason, number)
            if verdict.outcome is not Outcome.REJECTED:
                return last
            finding = findings(verdict)
        messages = [*messages, {"role": "assistant", "content": text}, repair_message(finding)]
    assert last is not None
    return last


def findings(verdict: Verdict) -> str:
    """The stages that failed, in a form that helps to repair: bounded, one block per stage."""
    lines = [verdict.reason]
    lines += [f"{stage.name}: {stage.reason}" for stage in verdict.stages if stage.status == "fail"]
    if verdict.speedup is not None:
        lines += [
            f"speed at {shape.dims}: {shape.median:.3f}x ({shape.low:.3f} … {shape.high:.3f}), {shape.state}"
            for shape in verdict.speedup.by_shape
        ]
    return "\n".join(dict.fromkeys(lines))[:6000]
