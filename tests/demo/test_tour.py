"""`klineage demo`, as a person runs it: one run, looked at from all sides."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernel_lineage.cli.main import main

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "out"
    result = CliRunner().invoke(main, ["demo", str(folder), "--device", "emulated", "--json"])
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout), result.stderr


def test_three_versions_are_wrong_each_with_a_counterexample(ran):
    document, _ = ran
    wrong = {v["kernel"]: v["reason"] for v in document["versions"] if v["state"] == "wrong"}
    assert set(wrong) == {"rmsnorm_forward", "reduce_sum", "row_softmax"}
    assert "C 258" in wrong["rmsnorm_forward"]
    assert all(v["state"] != "unknown" for v in document["versions"])
    assert len(document["versions"]) >= 20


def test_the_condition_of_the_vectorised_loads_is_learned(ran):
    document, _ = ran
    learned = {item["condition"]["expr"]: item for item in document["learned"]}
    assert learned["C % 4 == 0"]["mechanisms"] == ["vectorised_access"]
    assert learned["C % 4 == 0"]["condition"]["origin"] == "later fix"


def test_probing_the_step_itself_finds_the_same_condition(ran):
    document, _ = ran
    conditions = {c["expr"]: c for part in document["studied"]["parts"] for c in part["conditions"]}
    assert conditions["C % 4 == 0"]["origin"] == "probe"
    assert "seed" in conditions["C % 4 == 0"]["evidence"]
    # A counterexample to an alignment is at a size with which nothing else is wrong.
    aligned = [conditions[expr]["evidence"] for expr in conditions if expr.startswith("align(")]
    assert aligned
    assert all(int(re.search(r"C (\d+)", condition)[1]) % 4 == 0 for condition in aligned)


def test_without_a_gpu_the_candidate_is_kept_and_nothing_is_changed(ran):
    document, _ = ran
    applied = document["applied"]
    assert applied["outcome"] == "inconclusive"
    assert "not profiled" in applied["reason"]
    assert Path(applied["patch"]).is_file()
    source = (Path(document["repository"]) / "kernels/activation.cu").read_text()
    assert "float4" not in source


def test_the_report_holds_what_was_said(ran):
    document, _ = ran
    page = Path(document["report"]).read_text()
    assert "C % 4 == 0" in page
    assert "vectorised-row-access" in page


def test_it_says_what_to_type_next(ran):
    _, output = ran
    assert "klineage mine /path/to/repo" in output


def test_somebody_s_folder_is_wrong_use(tmp_path):
    (tmp_path / "mine.cu").write_text("")
    result = CliRunner().invoke(main, ["demo", str(tmp_path)])
    assert result.exit_code == 2
    assert "not empty" in result.stderr
