"""The tail is missing: a loop's bound is rounded down to its step, a rounded-up quotient is rounded down.

Where every size is a multiple of the step, there is no tail.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import bare, text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.operations import binaries, calls, counted_loops, enclosed


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    divide = "/" if ground.cuda else "//"
    for loop in counted_loops(ground):
        if loop.step != "1":
            step = loop.step if loop.step.replace(".", "").isalnum() else f"({loop.step})"
            yield (replace_node(loop.bound, f"{enclosed(loop.bound)} {divide} {step} * {step}"),)
    for call in calls(ground, "cdiv", "ceil_div", "CEIL_DIV"):
        if len(call.arguments) == 2:
            first, second = map(enclosed, call.arguments)
            yield (replace_node(call.node, f"({first} {divide} {second})"),)
    for quotient in binaries(ground, divide):  # the sum of `n` and `d - 1`, divided by `d`
        numerator = bare(quotient.left)
        divisor = text_of(quotient.right)
        if numerator is not None and text_of(numerator).replace(" ", "").endswith(f"+{divisor}-1"):
            rounded = text_of(numerator).rpartition("+")[0].strip()
            yield (replace_node(quotient.node, f"({rounded}) {divide} {divisor}"),)


MUTATION = Mutation(
    title="tail missing",
    mutate=_mutate,
    may_survive="when every size is a multiple of the step there is no tail; promise that, or add such a size",
)
