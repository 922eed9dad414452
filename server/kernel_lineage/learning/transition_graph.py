"""The transition graph of a repository: its mined lineages and the outcomes that are kept beside them."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from kernel_gate.files.reading import read_file
from kernel_lineage.history.mine import Progress, mine
from kernel_lineage.history.model import Lineage, Mined, Version
from kernel_lineage.kernels.reading import read
from kernel_lineage.learning.observed_steps import histories_of, observed_steps
from kernel_lineage.learning.replay.known import known_records
from kernel_lineage.rewrite.memory import remembered_facts
from kernel_lineage.skills.graph.build import build
from kernel_lineage.skills.graph.document import NextDocument, ranked_document
from kernel_lineage.skills.graph.joined import joined
from kernel_lineage.skills.graph.known import builtin_graph, keep_graph
from kernel_lineage.skills.graph.model import Effect, Graph, strategies_of
from kernel_lineage.skills.graph.outcomes import as_observations, outcomes_in
from kernel_lineage.skills.graph.rank import State, rank
from kernel_lineage.skills.graph.rules import Limits, limits_of


@dataclass(frozen=True, slots=True)
class RepositoryGraph:
    """The graph of one repository with what it was built from."""

    graph: Graph
    mined: Mined
    notes: tuple[str, ...]
    """What could not be read or kept."""


def graph_on(
    repository: Path,
    *,
    paths: tuple[str, ...] = (),
    progress: Progress | None = None,
    keep: bool = True,
) -> RepositoryGraph:
    """Mine a repository and build its graph, with the effects that replaying measured on this machine.

    It is kept for `applicable` and the editor. Raises `RepositoryError`.
    """
    mined = mine(repository, paths=paths, progress=progress)
    return graph_of_mined(mined, keep=keep and not paths)


def graph_of_mined(mined: Mined, *, keep: bool) -> RepositoryGraph:
    """The graph of what was mined; `keep` writes it where `applicable` and the editor look for it."""
    root = Path(mined.repository)
    outcomes, problems = outcomes_in(root)
    steps = observed_steps(mined.lineages, effects=_measured(root))
    graph = build([*steps, *as_observations(outcomes)])
    notes = list(problems)
    if keep and root.is_dir():
        try:
            keep_graph(root, graph)
        except (OSError, sqlite3.Error) as error:
            notes.append(f"The graph cannot be kept ({error}); it is built anew when it is needed.")
    return RepositoryGraph(graph, mined, tuple(notes))


def _measured(root: Path) -> dict[str, Effect]:
    records = known_records(root)
    return {
        transition: Effect(round(record.effect.median, 4), record.effect.device, transition)
        for transition, record in sorted(records.items())
        if record.effect is not None
    }


def next_for(found: RepositoryGraph, kernel: str, most: int = 8) -> list[NextDocument]:
    """What is offered next for the kernels of a name, as they are now."""
    everything = joined(found.graph, builtin_graph())
    root = Path(found.mined.repository)
    return [
        _next(everything, root, lineage, kernel, most)
        for lineage in found.mined.lineages
        if any(v.symbol == kernel for v in lineage.versions)
    ]


def _next(graph: Graph, root: Path, lineage: Lineage, kernel: str, most: int) -> NextDocument:
    now = [v for v in lineage.versions if v.symbol == kernel][-1]
    limits = _limits(root, now)
    factors = {strategy: limits.factor(strategy) for strategy in strategies_of(lineage.language.value)}
    ranked = rank(graph, State(lineage.language.value, now.mechanisms, factors=factors))
    can_pay_first = sorted(ranked, key=lambda r: bool(limits.not_now(r.strategy)))
    return NextDocument(
        path=now.path,
        kernel=kernel,
        language=lineage.language.value,
        history=histories_of(lineage)[now.id],
        strategies=tuple(ranked_document(r, limits.not_now(r.strategy)) for r in can_pay_first[:most]),
    )


def _limits(root: Path, version: Version) -> Limits:
    """What earlier runs of the gate showed of a kernel's limits, if its file still holds the text that was run."""
    try:
        kernel = read(read_file(root / version.path), version.language).kernel(version.symbol)
    except OSError:  # it is gone from the work tree
        return Limits()
    return Limits() if kernel is None else limits_of(remembered_facts(root, kernel))
