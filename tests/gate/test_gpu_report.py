"""How the tests on a GPU are run and reported, on tests of one's own."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
_spec = importlib.util.spec_from_file_location("gpu_tests", TESTS / "gpu.py")
gpu = importlib.util.module_from_spec(_spec)
sys.modules["gpu_tests"] = gpu
_spec.loader.exec_module(gpu)

OWN = """
import pytest

pytestmark = pytest.mark.gpu

def test_right(): pass

@pytest.mark.alone
def test_wrong(): assert 1 == 2, "one | is not two"

@pytest.mark.skip(reason="no ncu")
def test_skipped(): pass
"""


@pytest.fixture
def junit(tmp_path):
    """JUnit of tests of one's own, made with the project's settings."""
    (tmp_path / "test_own.py").write_text(OWN)
    made = tmp_path / "own.xml"
    settings = ["-c", str(TESTS.parent / "pyproject.toml"), "--rootdir", str(tmp_path), "-p", "no:xdist"]
    command = [sys.executable, "-m", "pytest", *settings, "-m", "gpu", f"--junit-xml={made}", str(tmp_path)]
    subprocess.run(command, capture_output=True, check=False)
    return made


def test_what_ran_is_read_and_reported(junit):
    cases = gpu.cases_of(junit)
    assert {c.name.rpartition("::")[2]: c.outcome for c in cases} == {
        "test_right": "passed", "test_wrong": "failed", "test_skipped": "skipped",
    }  # fmt: skip
    text = gpu.report("make test-gpu", ["NVIDIA X, 1.2"], {"shared": (3.0, 1, cases), "alone": (0.0, 5, [])})
    assert "**FAILED**: 1 passed, 1 failed, 1 skipped." in text
    assert "one | is not two" in text and "no ncu" in text and "- NVIDIA X, 1.2" in text


@pytest.mark.parametrize(
    ("status", "count", "right"), [(0, 1, True), (5, 1, True), (0, 0, False), (2, 1, False), (-9, 1, False)]
)
def test_only_tests_that_ran_to_the_end_are_a_pass(status, count, right):
    cases = [gpu.Case("a", 1.0, "passed")] * count
    assert ("**Passed**" in gpu.report("x", [], {"shared": (1.0, status, cases)})) == right


def test_a_run_that_wrote_nothing_has_no_tests(tmp_path):
    assert gpu.cases_of(tmp_path / "none.xml") == []


def test_the_files_are_found_by_their_marker_and_nothing_else_is_imported():
    files = {path.relative_to(TESTS).as_posix() for path in gpu.files_with_gpu_tests()}
    assert {"gate/test_cuda.py", "gate/test_cuda_sanitize.py"} <= files
    assert "gate/test_timing.py" not in files
    assert [gpu.at_once(cores) for cores in (1, 4, 16, 128)] == [1, 2, 6, 6]
