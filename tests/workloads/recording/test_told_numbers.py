"""Numbers that callers in Python give to parameters."""

from __future__ import annotations

import pytest

from kernel_lineage.workloads.recording.told_numbers import is_setting, told_numbers


def test_defaults_and_keywords_tell_a_number(tmp_path):
    (tmp_path / "ops.py").write_text(
        "def project(x, near: float = 0.01, far=1e10, *, tile: Optional[int] = 16): ...\n"
    )
    (tmp_path / "test_ops.py").write_text("project(x, near=0.01, far=100.0)\nproject(x, far=100.0)\n")

    assert told_numbers(["near", "far", "tile", "other"], tmp_path) == {
        "near": 0.01,
        "far": 100.0,
        "tile": 16.0,
    }


@pytest.mark.parametrize(
    "text",
    [
        "f(near=2 * x)",
        "f(a.near=1)",
        "(near == 3)",
        "f(linear=4)",
        "f(near=size)",
        "f(near=2**8)",
        "near = 3\n",
        "f(near=1e999)",
    ],
)
def test_what_is_no_number_of_that_name_tells_none(tmp_path, text):
    (tmp_path / "ops.py").write_text(text)

    assert told_numbers(["near"], tmp_path) == {}


def test_hidden_folders_and_other_files_are_not_read(tmp_path):
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "ops.py").write_text("near = 1")
    (tmp_path / "ops.txt").write_text("near = 1")

    assert told_numbers(["near"], tmp_path) == {}


def test_a_large_whole_number_is_a_size():
    assert [is_setting(n) for n in (16.0, 64.0, 1920.0, 0.5, -1.0)] == [True, True, False, False, False]
