"""What is offered next follows from what was seen: counts, verdicts of the gate, scope."""

from dataclasses import replace

from kernel_lineage.skills.graph.build import build
from kernel_lineage.skills.graph.document import graph_document, graph_of
from kernel_lineage.skills.graph.joined import joined
from kernel_lineage.skills.graph.model import Effect, Graph, Observation, Source
from kernel_lineage.skills.graph.rank import State, rank

NAIVE = State("cuda", frozenset())


def step(number: int, *added: str, after: tuple[str, ...] = (), **more: object) -> Observation:
    """A step that adds strategies to a kernel that has those of its history."""
    seen = Observation(f"t{number}", "cuda", frozenset(after), after, added)
    return replace(seen, **more)  # type: ignore[arg-type]


WARPS_THEN_VECTORS = [
    *(step(n, "warp_per_row") for n in range(6)),
    *(step(10 + n, "vectorised_access", after=("warp_per_row",)) for n in range(5)),
    *(step(20 + n, "loop_unroll", after=("shared_memory_tile",)) for n in range(5)),
]


def first(graph: Graph, state: State = NAIVE) -> str:
    return rank(graph, state)[0].strategy


def test_what_is_done_most_often_where_it_could_be_done_comes_first():
    assert first(build(WARPS_THEN_VECTORS)) == "warp_per_row"


def test_what_is_there_ranks_different_strategies_first():
    graph = build(WARPS_THEN_VECTORS)
    assert first(graph, State("cuda", frozenset({"warp_per_row"}))) == "vectorised_access"
    tiles = {r.strategy: r.score for r in rank(graph, State("cuda", frozenset({"shared_memory_tile"})))}
    assert tiles["loop_unroll"] > tiles["vectorised_access"]


def test_what_the_kernel_has_is_not_offered():
    state = State("cuda", frozenset({"warp_per_row"}))
    assert "warp_per_row" not in {r.strategy for r in rank(build(WARPS_THEN_VECTORS), state)}


def test_outcomes_move_the_order():
    before = build(WARPS_THEN_VECTORS)
    rejected = [step(30 + n, "warp_per_row", source=Source.OUTCOME, risks=("rejected",)) for n in range(6)]
    accepted = [step(40 + n, "cache_hints", source=Source.OUTCOME) for n in range(6)]
    after = build([*WARPS_THEN_VECTORS, *rejected, *accepted])
    assert first(before) == "warp_per_row"
    assert first(after) == "cache_hints"
    scores = [{r.strategy: r.score for r in rank(graph, NAIVE)} for graph in (before, after)]
    assert scores[1]["warp_per_row"] < scores[0]["warp_per_row"]


def test_a_step_that_was_taken_back_counts_little():
    held = build([*(step(n, "fast_math") for n in range(3)), *(step(5 + n, "launch_bounds") for n in range(3))])
    slower = build(
        [
            *(step(n, "fast_math", risks=("slower",)) for n in range(3)),
            *(step(5 + n, "launch_bounds") for n in range(3)),
        ]
    )
    assert first(held) == "fast_math"
    assert first(slower) == "launch_bounds"
    assert "3 taken back" in next(r.reason for r in rank(slower, NAIVE) if r.strategy == "fast_math")


def test_one_commit_over_many_kernels_is_one_decision():
    many = [step(n, "fast_math", alike="commit") for n in range(4)]
    two = [step(10 + n, "launch_bounds", alike=f"c{n}") for n in range(3)]
    assert first(build([*many, *two])) == "launch_bounds"


def test_a_measured_effect_counts_more_on_the_same_device():
    effect = Effect(1.8, "H200", "t0")
    graph = build([step(0, "fast_math", effect=effect), step(1, "launch_bounds")])
    here, there, nowhere = (
        rank(graph, replace(NAIVE, device=device))[0].score for device in ("H200", "L4", "")
    )
    assert here > there
    assert there == nowhere
    assert "1.80× on H200" in rank(graph, NAIVE)[0].reason


def test_another_language_counts_less():
    triton = [replace(step(n, "fast_math"), language="triton") for n in range(3)]
    assert first(build([*triton, *(step(5 + n, "launch_bounds") for n in range(2))])) == "launch_bounds"


def test_the_same_steps_in_any_order_give_the_same_bytes():
    documents = {
        graph_document(build(order), "r").model_dump_json(by_alias=True)
        for order in (WARPS_THEN_VECTORS, WARPS_THEN_VECTORS[::-1])
    }
    assert len(documents) == 1


def test_a_graph_survives_its_document():
    graph = build(WARPS_THEN_VECTORS)
    document = graph_document(graph, "r")
    again = graph_of(type(document).model_validate_json(document.model_dump_json(by_alias=True)))
    assert again == graph


def test_the_repository_at_hand_counts_more_than_elsewhere():
    own = build([step(n, "launch_bounds") for n in range(3)])
    elsewhere = build([step(n, "fast_math") for n in range(6)])
    assert first(joined(own, elsewhere)) == "launch_bounds"
    assert first(joined(elsewhere, own)) == "fast_math"
