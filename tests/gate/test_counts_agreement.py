"""The comparison of counts with ncu's: launches recorded, ncu's page read, both side by side."""

import pytest

from benchmarks.counted_metrics import METRICS, QUANTITIES
from benchmarks.counted_tables import agree, page
from benchmarks.counts_agreement import Counted, counted, run_emulated, run_ncu
from benchmarks.ncu import CountersUnavailable, known_metrics
from executable_files import write_executable

NAMES = ("coalesced", "stride 8", "transpose, tile of 32", "ldmatrix, rows of 80 bytes")
EXPLAINED = [m for m in METRICS if "ldgsts" not in m]
GLOBAL, SHARED = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", QUANTITIES[4].metric
COUNTED = [
    {GLOBAL: "2,048"},
    {GLOBAL: "16,000"},
    {GLOBAL: "2048", SHARED: "15,000"},
    {GLOBAL: "2048", SHARED: "2048"},
]
"""What a tool that stands in for ncu says of each kernel."""


@pytest.fixture(scope="module")
def cases() -> list[Counted]:
    return [case for case in counted(None) if case.name in NAMES]


def stand_in(tmp_path, rows):
    """A tool that knows most counters and prints a page, as ncu prints it."""
    header = ['"ID"', '"Kernel Name"', *(f'"{m}"' for m in EXPLAINED)]
    table = [header, ['""'] * len(header)]
    table += [
        [f'"{n}"', '"kernel"', *(f'"{row.get(m, "0")}"' for m in EXPLAINED)] for n, row in enumerate(rows)
    ]
    (tmp_path / "page.csv").write_text("==PROF== Connected\n" + "\n".join(",".join(r) for r in table) + "\n")
    (tmp_path / "known.txt").write_text("\n".join(f"{m.removesuffix('.sum')}   Counter" for m in EXPLAINED))
    tool = tmp_path / "ncu"
    write_executable(
        tool,
        f"#!/bin/sh\ncase $1 in --query-metrics) cat {tmp_path}/known.txt;; *) cat {tmp_path}/page.csv;; esac\n",
    )


def test_counts_of_both_stand_side_by_side(monkeypatch, tmp_path, cases):
    stand_in(tmp_path, COUNTED)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    measured = run_ncu(cases, tmp_path)
    assert measured["launches"] == 4
    assert [row["name"] for row in measured["kernels"]] == list(NAMES)
    assert measured["kernels"][1]["metrics"][GLOBAL] == 16_000
    assert all("ldgsts" in name for name in measured["unknown_metrics"]) and measured["unknown_metrics"]
    text = page(run_emulated(cases), measured)
    assert "| global load sectors | 4 | 3 | yes |" in text
    assert "| shared load wavefronts | 2 | 1 | yes |" in text
    assert "16384 / 16000 ≠" in text and "16384 / 15000 ≠" in text and "2048 / 2048" in text


def test_kernels_that_ncu_did_not_measure_are_named(cases):
    text = page(run_emulated(cases[:2]), {"device": "gh100", "date": "", "kernels": []})
    assert "Not measured by ncu: coalesced, stride 8." in text


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [(100, 100, True), (102, 100, True), (103, 100, False), (97, 100, False), (0, 0, True), (1, 0, False)],
)
def test_two_counts_agree_within_two_percent(ours, theirs, same):
    assert agree(ours, theirs) is same


def test_a_padded_tile_has_no_bank_conflicts_and_one_without_has_32_ways():
    tiles = run_emulated([case for case in counted(None) if "tile" in case.name])
    counts_by_name = {row["name"]: row["counts"] for row in tiles["kernels"]}
    loads = {name: counts["shared load wavefronts"] for name, counts in counts_by_name.items()}
    assert loads == {"transpose, tile of 32": 16384, "transpose, tile of 33": 512}


def test_metrics_that_an_ncu_does_not_know_are_left_out(tmp_path):
    tool = tmp_path / "ncu"
    write_executable(tool, "#!/bin/sh\necho 'Device GH100'\necho 'known__thing     Counter   things'\n")
    asked = ["known__thing.sum", "unknown__thing.sum"]
    assert known_metrics(tool, asked, "gh100") == ["known__thing.sum"]
    write_executable(tool, "#!/bin/sh\necho 'no such chip'; exit 1\n")
    with pytest.raises(CountersUnavailable, match="no such chip"):
        known_metrics(tool, asked, "gh100")
