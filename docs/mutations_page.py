"""The page of all mutations, from their own files: docs/mutations.md."""

from __future__ import annotations

import difflib
import sys

from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.registry import all_mutations
from mutation_examples import MUTATES

_HEAD = """\
# Mutations

A workload proves that it can see a wrong kernel: the kernel is made wrong on purpose, in the ways below, and the gate's
check must notice each one. Mutants that it does not notice are shown, with the reason where one is known. The examples
are also the tests.
"""


def render() -> str:
    """The page as Markdown."""
    return "\n".join([_HEAD, *(_section(m) for m in all_mutations())])


def _section(mutation: Mutation) -> str:
    example = MUTATES[mutation.id][0]
    diff = difflib.unified_diff(example.before.splitlines(), example.after.splitlines(), lineterm="")
    changed = [line for line in list(diff)[2:] if line.startswith(("+", "-"))]
    text = (sys.modules[mutation.mutate.__module__].__doc__ or "").strip()
    survives = f"May survive: {mutation.may_survive}.\n" if mutation.may_survive else ""
    return (
        f"## `{mutation.id}`: {mutation.title}\n\n{text}\n\n```diff\n"
        + "\n".join(changed)
        + f"\n```\n\n{survives}"
    )
