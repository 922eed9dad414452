"""What is offered next follows from what was seen: counts, verdicts of the gate, scope."""

from dataclasses import replace

from kernel_lineage.skills.ranking.counts import Counts, Effect, Observation, counted, joined
from kernel_lineage.skills.ranking.rank import State, rank

NAIVE = State("cuda", frozenset())


def step(number: int, *added: str, after: tuple[str, ...] = (), **more: object) -> Observation:
    """A step that adds strategies to a kernel that has some."""
    seen = Observation(f"t{number}", "cuda", frozenset(after), added)
    return replace(seen, **more)  # type: ignore[arg-type]


WARPS_THEN_VECTORS = [
    *(step(n, "warp_per_row") for n in range(6)),
    *(step(10 + n, "vectorised_access", after=("warp_per_row",)) for n in range(5)),
    *(step(20 + n, "loop_unroll", after=("shared_memory_tile",)) for n in range(5)),
]


def first(counts: Counts, state: State = NAIVE) -> str:
    return rank(counts, state)[0].strategy


def test_what_is_done_most_often_where_it_could_be_done_comes_first():
    assert first(counted(WARPS_THEN_VECTORS)) == "warp_per_row"


def test_what_could_be_done_more_often_than_it_was_comes_later():
    counts = counted(
        [*WARPS_THEN_VECTORS, *(step(30 + n, "cache_hints", after=("loop_unroll",)) for n in range(4))]
    )
    scores = {r.strategy: r.score for r in rank(counts, NAIVE)}
    assert scores["warp_per_row"] > scores["loop_unroll"] > scores["cache_hints"]


def test_what_the_kernel_has_is_not_offered():
    state = State("cuda", frozenset({"warp_per_row"}))
    assert "warp_per_row" not in {r.strategy for r in rank(counted(WARPS_THEN_VECTORS), state)}


def test_outcomes_move_the_order():
    before = counted(WARPS_THEN_VECTORS)
    rejected = [step(30 + n, "warp_per_row", judged=True, risks=("rejected",)) for n in range(6)]
    accepted = [step(40 + n, "cache_hints", judged=True) for n in range(6)]
    after = counted([*WARPS_THEN_VECTORS, *rejected, *accepted])
    assert first(before) == "warp_per_row"
    assert first(after) == "cache_hints"
    scores = [{r.strategy: r.score for r in rank(counts, NAIVE)} for counts in (before, after)]
    assert scores[1]["warp_per_row"] < scores[0]["warp_per_row"]


def test_a_step_that_was_taken_back_counts_little():
    held = counted(
        [*(step(n, "fast_math") for n in range(3)), *(step(5 + n, "launch_bounds") for n in range(3))]
    )
    slower = counted(
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
    assert first(counted([*many, *two])) == "launch_bounds"


def test_a_measured_effect_counts_more_on_the_same_device():
    effect = Effect(speedup=1.8, device="H200")
    counts = counted([step(0, "fast_math", effect=effect), step(1, "launch_bounds")])
    here, there, nowhere = (
        rank(counts, replace(NAIVE, device=device))[0].score for device in ("H200", "L4", "")
    )
    assert here > there
    assert there == nowhere
    assert "1.80× on H200" in rank(counts, NAIVE)[0].reason


def test_another_language_counts_less():
    triton = [replace(step(n, "fast_math"), language="triton") for n in range(3)]
    assert first(counted([*triton, *(step(5 + n, "launch_bounds") for n in range(2))])) == "launch_bounds"


def test_the_same_steps_in_any_order_give_the_same_bytes():
    documents = {counted(order).model_dump_json() for order in (WARPS_THEN_VECTORS, WARPS_THEN_VECTORS[::-1])}
    assert len(documents) == 1


def test_counts_survive_being_kept():
    counts = counted(WARPS_THEN_VECTORS)
    assert Counts.model_validate_json(counts.model_dump_json()) == counts


def test_the_repository_at_hand_counts_more_than_elsewhere():
    own = counted([step(n, "launch_bounds") for n in range(3)])
    elsewhere = counted([step(n, "fast_math") for n in range(6)])
    assert first(joined(own, elsewhere)) == "launch_bounds"
    assert first(joined(elsewhere, own)) == "fast_math"
