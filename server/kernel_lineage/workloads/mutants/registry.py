"""All mutations: the modules beside this one that declare a `MUTATION`; and the mutants they make of a kernel."""

from __future__ import annotations

from functools import cache

from kernel_lineage.collected import declared_in
from kernel_lineage.kernels.edits import Edit, edited
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.workloads import mutants
from kernel_lineage.workloads.mutants.ground import ground_of
from kernel_lineage.workloads.mutants.model import Mutant, Mutation


@cache
def all_mutations() -> tuple[Mutation, ...]:
    """Every mutation, in the order of their ids."""
    return tuple(declared_in(mutants, "MUTATION", Mutation).values())


def mutants_of(kernel: Kernel) -> tuple[Mutant, ...]:
    """All mutants of a kernel, by kind and then in the order of the text; none of a kernel that does not parse.

    The device functions that the kernel reaches are mutated too. No two mutants have the same text.
    """
    ground = ground_of(kernel)
    if ground is None:
        return ()
    made: dict[bytes, Mutant] = {ground.data: _unchanged()}
    for mutation in all_mutations():
        lines: dict[int, int] = {}
        for edits in mutation.mutate(ground):
            source = edited(ground.data, edits)
            if source in made:
                continue
            line = min(e.span.first_line for e in edits)
            lines[line] = lines.get(line, 0) + 1
            number = f".{lines[line]}" if lines[line] > 1 else ""
            before, after = _changed_lines(ground.data, source, edits)
            made[source] = Mutant(
                f"{mutation.id}:{line}{number}",
                mutation.id,
                mutation.title,
                line,
                before,
                after,
                source,
                mutation.may_survive,
            )
    return tuple(made.values())[1:]


def _unchanged() -> Mutant:
    return Mutant("", "", "", 0, "", "", b"", "")


def _changed_lines(before: bytes, after: bytes, edits: tuple[Edit, ...]) -> tuple[str, str]:
    """The lines that the edits touch, before and after, without indentation."""
    first = min(e.span.first_line for e in edits) - 1
    last = max(e.span.last_line for e in edits)
    old, new = before.splitlines(), after.splitlines()
    grown = len(new) - len(old)
    return _joined(old[first:last]), _joined(new[first : last + grown])


def _joined(lines: list[bytes]) -> str:
    return "\n".join(line.decode("utf-8", "replace").strip() for line in lines)
