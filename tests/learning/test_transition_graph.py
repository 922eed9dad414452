"""The graph of a repository: from its lineages and the outcomes kept beside them, and what is offered next."""

import hashlib
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner

from history.repositories import Step, make_repository
from history.test_lineages import KERNEL, WARP
from kernel_lineage.cli.main import main
from kernel_lineage.learning.transition_graph import graph_on, next_for
from kernel_lineage.skills.graph.document import GraphDocument
from kernel_lineage.skills.graph.known import builtin_graph, known_graph
from kernel_lineage.skills.graph.model import START
from kernel_lineage.skills.graph.outcomes import Outcome, keep_outcome, outcomes_in

NAIVE = KERNEL.replace("row_sum", "sum")
WARPS = WARP.format(name="sum")
HINTED = WARPS.replace("inp[row * C + c]", "__ldcs(&inp[row * C + c])")
OUTCOME = Outcome(
    skill="launch-bounds",
    mechanism="launch_bounds",
    path="sum.cu",
    kernel="sum",
    language="cuda",
    before=("warp_shuffle",),
    parent="a" * 64,
    candidate="b" * 64,
    workload="c" * 64,
    by="assist",
    outcome="accepted",
    code="",
    reason="faster",
    device="H200",
    speedup=1.2,
    date="2026-01-01",
)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    make_repository(
        tmp_path,
        [
            Step("begin", {"sum.cu": NAIVE}),
            Step("a warp per row", {"sum.cu": WARPS}),
            Step("hint", {"sum.cu": HINTED}),
        ],
    )
    return tmp_path


def test_edges_are_what_came_after_what(repository: Path):
    found = graph_on(repository)
    first, second = found.mined.lineages[0].transitions
    edges = found.graph.edges
    assert edges[START, "warp_shuffle"].transitions == (first.id,)
    assert edges["warp_shuffle", "cache_hints"].transitions == (second.id,)
    assert found.graph.strategies["cache_hints"].direction == "memory access"


def test_a_kept_outcome_is_a_step_with_its_effect(repository: Path):
    keep_outcome(repository, OUTCOME)
    graph = graph_on(repository).graph
    assert graph.sources == {"mined": 2, "outcome": 1}
    (effect,) = graph.strategies["launch_bounds"].effects
    assert (effect.speedup, effect.device, effect.transition) == (1.2, "H200", OUTCOME.id)


def test_the_same_outcome_is_kept_once_and_a_damaged_one_is_named(tmp_path: Path):
    path = keep_outcome(tmp_path, OUTCOME)
    assert keep_outcome(tmp_path, OUTCOME) == path
    (path.parent / "broken.json").write_text("{}")
    outcomes, problems = outcomes_in(tmp_path)
    assert outcomes == (OUTCOME,)
    assert "broken.json" in problems[0]


def test_what_was_built_is_what_others_rank_by(repository: Path):
    without = known_graph(repository)
    assert without.graph is builtin_graph()
    assert "klineage graph" in without.note
    found = graph_on(repository)
    known = known_graph(repository)
    assert known.note == ""
    assert known.graph.observations == builtin_graph().observations + found.graph.observations


def test_mining_keeps_it_when_asked(repository: Path):
    assert CliRunner().invoke(main, ["mine", str(repository)]).exit_code == 0
    assert known_graph(repository).graph is builtin_graph()
    assert CliRunner().invoke(main, ["mine", str(repository), "--graph"]).exit_code == 0
    assert known_graph(repository).graph.observations > builtin_graph().observations


def test_what_is_next_for_a_kernel_is_not_what_came_to_it(repository: Path):
    (offered,) = next_for(graph_on(repository), "sum")
    assert offered.history[-1] == "cache_hints"
    assert not {s.strategy for s in offered.strategies} & set(offered.history)
    assert all(s.reason for s in offered.strategies)


def test_what_a_run_showed_of_its_limits_comes_last_and_says_so(repository: Path):
    parent = hashlib.sha256(HINTED.strip().encode()).hexdigest()
    limits = {"profile.bound": "launch"}
    keep_outcome(repository, OUTCOME.model_copy(update={"parent": parent, "profile": limits}))
    (offered,) = next_for(graph_on(repository), "sum", most=40)
    vetoed = [bool(s.not_now) for s in offered.strategies]
    assert True in vetoed
    assert vetoed == sorted(vetoed)


def test_the_command_prints_its_document_and_draws(repository: Path):
    def run(*arguments: str) -> str:
        result = CliRunner().invoke(main, ["graph", str(repository), *arguments])
        assert result.exit_code == 0, result.output
        return result.stdout

    document = GraphDocument.model_validate_json(run("--json", "--kernel", "sum"))
    assert document.version == 1
    assert document.next[0].kernel == "sum"
    assert json.loads(run("--json"))["edges"][0]["from"] == START
    drawing = ET.fromstring(run("--svg"))
    assert drawing.tag.endswith("svg")
    assert "warp_shuffle" in run("--dot")
    assert "cache_hints" in run()


def test_a_kernel_that_no_lineage_holds_is_said(repository: Path):
    result = CliRunner().invoke(main, ["graph", str(repository), "--kernel", "nothing"])
    assert result.exit_code == 1
    assert "nothing" in result.stderr


def test_no_repository_is_wrong_use(tmp_path: Path):
    assert CliRunner().invoke(main, ["graph", str(tmp_path)]).exit_code == 2
