"""Headers are found where a build would look for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.headers import Headers, standard_of

SETUP = """
import os
here = os.path.dirname(__file__)
CUDAExtension("x", ["csrc/k.cu"], include_dirs=[os.path.join(here, "parts", "deep", "headers"), "plain/inc"])
"""
CMAKE = "target_include_directories(x PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/parts/deep/headers)\n"


@pytest.mark.parametrize(
    ("build", "text", "header"),
    [
        ("setup.py", SETUP, "parts/deep/headers/lib/a.h"),
        ("setup.py", SETUP, "plain/inc/lib/a.h"),
        ("CMakeLists.txt", CMAKE, "parts/deep/headers/lib/a.h"),
        ("Makefile", "nvcc -I$(ROOT)/parts/deep/headers -o x csrc/k.cu\n", "parts/deep/headers/lib/a.h"),
        ("README.md", "", "csrc/third_party/vectors/lib/a.h"),
        ("README.md", "", "extern/vectors/include/lib/a.h"),
        (
            ".gitmodules",
            '[submodule "v"]\n\tpath = some/where/vectors\n',
            "some/where/vectors/include/lib/a.h",
        ),
    ],
)
def test_a_header_is_found_where_the_build_says(tmp_path: Path, build: str, text: str, header: str) -> None:
    (tmp_path / build).write_text(text)
    (tmp_path / "csrc").mkdir()
    (tmp_path / header).parent.mkdir(parents=True)
    (tmp_path / header).write_text("")

    assert Headers(tmp_path).at(tmp_path / "csrc", "lib/a.h") == tmp_path / header


def test_the_header_beside_a_file_comes_before_all_others(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(SETUP)
    for folder in ("csrc", "plain/inc"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.h").write_text("")

    assert Headers(tmp_path).at(tmp_path / "csrc", "a.h") == tmp_path / "csrc" / "a.h"


def test_nothing_outside_of_the_root_is_a_header(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "a.h").write_text("")
    (root / "setup.py").write_text('include_dirs=["../secret"]')

    assert Headers(root).at(root, "a.h") is None


@pytest.mark.parametrize(
    ("build", "text", "standard"),
    [
        ("setup.py", 'extra_compile_args={"nvcc": ["-O3", "-std=c++20"]}', "c++20"),
        ("CMakeLists.txt", "set(CMAKE_CUDA_STANDARD 20)", "c++20"),
        ("setup.py", 'extra_compile_args={"cxx": ["-std=c++14"]}', "c++17"),
        ("README.md", "-std=c++20", "c++17"),
    ],
)
def test_the_version_of_the_language_is_that_of_the_build(
    tmp_path: Path, build: str, text: str, standard: str
) -> None:
    (tmp_path / build).write_text(text)
    (tmp_path / "csrc").mkdir()

    assert standard_of(tmp_path / "csrc" / "k.cu", tmp_path) == standard
