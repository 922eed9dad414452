"""Floors are certain, shares are told with where they come from."""

import pytest

from gate.programs import workload
from kernel_gate.devices.peaks import float32_flops_per_second, most_flops_per_second
from kernel_gate.stages.roofline import work_of
from kernel_gate.workload import WorkloadError

H200 = {
    "l2_bytes": 60 << 20, "peak_bytes_per_second": 4.8e12, "peak_flops_per_second": 67e12,
    "most_flops_per_second": 2e15,
}  # fmt: skip
LARGE = {"N": 16384, "C": 16384}
BYTES = 4 * 16384 * 16384


def test_what_is_written_beyond_the_cache_is_the_floor():
    work = work_of(workload(), LARGE, H200)
    assert work.floor_us == pytest.approx(0.95 * (BYTES - (60 << 20)) / 4.8e12 * 1e6)
    assert (work.bytes, work.bytes_from, work.flops) == (2 * BYTES, "arguments", None)


def test_small_outputs_may_stay_in_the_cache():
    assert work_of(workload(), {"N": 32, "C": 32}, H200).floor_us == 0


def test_declared_work_raises_the_floor_and_gives_shares():
    declared = workload('\n[work]\nbytes = "8 * N * C"\nflops = "2 * N * C"\n')
    work = work_of(declared, LARGE, H200)
    assert work.bytes_from == "declared"
    assert work.floor_us == pytest.approx(0.95 * (2 * BYTES - (60 << 20)) / 4.8e12 * 1e6)
    shares = work.against(baseline_us=2 * BYTES / 2.4e12 * 1e6, candidate_us=2 * BYTES / 3.6e12 * 1e6)
    assert shares["bandwidth_share"] == pytest.approx({"baseline": 0.5, "candidate": 0.75})
    assert shares["flop_share"]["candidate"] == pytest.approx(2 * BYTES / 4 / (2 * BYTES / 3.6e12) / 67e12)


def test_many_operations_are_a_floor_at_the_fastest_unit():
    counted = workload('\n[work]\nflops = "2.0e6 * N * C"\n')
    assert work_of(counted, LARGE, H200).floor_us == pytest.approx(0.95 * 2e6 * 16384**2 / 2e15 * 1e6)


COUNTED = {
    "at": {"dims": {"N": 3, "C": 70}, "read_bytes": 860, "written_bytes": 840, "flops": 420},
    "terms": {"read_bytes": {"N*C": 4, "1": 20}, "written_bytes": {"N*C": 4}, "flops": {"N*C": 2}},
}


def test_counts_that_carry_over_stand_for_what_nobody_declared():
    work = work_of(workload(), LARGE, H200, COUNTED)
    assert (work.bytes_from, work.flops_from, work.counted_at) == ("counted", "counted", "")
    assert (work.bytes, work.flops) == (2 * BYTES + 20, BYTES / 2)
    assert work.floor_us == pytest.approx(0.95 * (2 * BYTES + 20 - (60 << 20)) / 4.8e12 * 1e6)
    shares = work.against(1000.0, 500.0)
    assert (shares["bytes_from"], shares["flops_from"]) == ("counted", "counted")


def test_what_is_declared_comes_before_what_was_counted():
    declared = workload('\n[work]\nbytes = "8 * N * C"\nflops = "3 * N * C"\n')
    work = work_of(declared, LARGE, H200, COUNTED)
    assert (work.bytes, work.bytes_from, work.flops_from) == (2 * BYTES, "declared", "declared")


def test_counts_that_do_not_carry_over_say_where_they_were_made():
    work = work_of(workload(), LARGE, H200, {**COUNTED, "terms": {}})
    assert (work.bytes_from, work.flops, work.flops_from) == ("arguments", None, "not known")
    assert work.against(1.0, 1.0)["counted_at"] == "N=3, C=70"
    assert work_of(workload(), LARGE, H200, {"unavailable": "why"}).counted_at == ""


def test_work_that_cannot_be_computed_is_refused():
    with pytest.raises(WorkloadError, match="K"):
        workload('\n[work]\nbytes = "8 * N * K"\n')


def test_peaks_are_those_of_the_data_sheets():
    assert float32_flops_per_second((9, 0), 132, 1_980_000) == pytest.approx(66.9e12, rel=0.01)
    assert most_flops_per_second((9, 0), 132, 1_830_000) == pytest.approx(1979e12, rel=0.01)
    assert most_flops_per_second((8, 0), 108, 1_410_000) == pytest.approx(624e12, rel=0.01)
    assert float32_flops_per_second((99, 0), 1, 1) is None
