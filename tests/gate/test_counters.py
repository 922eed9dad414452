"""Hardware counters: what ncu's raw page says, and what is said when there is none."""

import pytest

from gate.programs import affine, workload
from kernel_gate.stages import ncu as module
from kernel_gate.stages.build import build
from kernel_gate.stages.counters import METRICS, counters, read_counters
from kernel_gate.stages.ncu import CountersUnavailable, known_metrics

VALUES = {
    "gpu__time_duration.sum": "12,345",
    "dram__bytes_read.sum": "1,000,000",
    "lts__t_sector_hit_rate.pct": "37.5",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "4,096",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": "1,024",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": "32",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": "1",
    "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum": "10",
    "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum": "5",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": "100",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio": "7.5",
    "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio": "1.5",
}


def page(*names: str) -> str:
    header = ['"ID"', '"Kernel Name"', *(f'"{m}"' for m in METRICS)]
    rows = [
        [f'"{number}"', f'"{name}"', *(f'"{VALUES.get(m, "")}"' for m in METRICS)]
        for number, name in enumerate(names)
    ]
    units = ['""'] * len(header)
    lines = ["==PROF== Connected to process 7", *(",".join(row) for row in (header, units, *rows))]
    return "\n".join(lines) + "\n"


def test_a_launch_is_told_in_the_fields_terms():
    (found,) = read_counters(page("affine(float *, const float *, int)"))
    assert found["entry"] == "affine"
    assert (found["duration_ns"], found["dram_read_bytes"]) == (12345, 1e6)
    assert (found["sectors_per_load_request"], found["sectors_per_store_request"]) == (4, 32)
    assert found["float32_flop"] == 10 + 5 + 200
    assert found["stalls"] == {"long_scoreboard": 7.5, "wait": 1.5}
    assert found["dram_written_bytes"] is None


def test_a_page_without_launches_is_refused():
    with pytest.raises(CountersUnavailable, match="no counters"):
        read_counters("==ERROR== something\n")


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("", "ncu was not found"),
        ("echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission'; exit 1", "administrator"),
        ("echo 'no device'; exit 9", "ncu failed: no device"),
    ],
)
def test_what_is_missing_is_said(monkeypatch, tmp_path, script, says):
    if script:
        tool = tmp_path / "ncu"
        tool.write_text(f"#!/bin/sh\n{script}\n")
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(module, "toolkit_roots", list)
    found = recorded()
    assert found["status"] == "unavailable"
    assert says in found["reason"]


def test_launches_of_both_programs_are_told_apart(monkeypatch, tmp_path):
    tool = tmp_path / "ncu"
    (tmp_path / "page.csv").write_text(page("affine(float *)", "affine(float *)"))
    tool.write_text(f"#!/bin/sh\ncat {tmp_path}/page.csv\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = recorded()
    assert (found["status"], len(found["baseline"]), len(found["candidate"])) == ("pass", 1, 1)


def test_the_replay_is_told_where_its_only_recording_is_and_whose_it_is(monkeypatch, tmp_path):
    tool = tmp_path / "ncu"
    tool.write_text(
        "#!/bin/sh\n"
        "for last; do folder=$whose; whose=$before; before=$last; done\n"
        'test "$last" = once && kill -0 "$whose" || exit 6\n'
        'test "$(cat "$folder/asked.txt")" = "$folder" && test -s "$folder/plan.json" || exit 7\n'
        f"cat {tmp_path}/page.csv\n"
    )
    (tmp_path / "page.csv").write_text(page("affine(float *)", "affine(float *)"))
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert recorded()["status"] == "pass"


def test_metrics_that_an_ncu_does_not_know_are_left_out(tmp_path):
    tool = tmp_path / "ncu"
    tool.write_text("#!/bin/sh\necho 'Device GH100'\necho 'known__thing     Counter   things'\n")
    tool.chmod(0o755)
    asked = ["known__thing.sum", "unknown__thing.sum"]
    assert known_metrics(tool, asked, "gh100") == ["known__thing.sum"]
    tool.write_text("#!/bin/sh\necho 'no such chip'; exit 1\n")
    with pytest.raises(CountersUnavailable, match="no such chip"):
        known_metrics(tool, asked, "gh100")


def recorded() -> dict:
    asked, dims = workload(), {"N": 3, "C": 32}
    built = build(affine(), affine("1.0f", "1.00f"), asked, [dims], arch="sm_90", want_cubin=True)
    assert built.baseline and built.candidate
    return counters(built.baseline, built.candidate, asked, dims, 1)
