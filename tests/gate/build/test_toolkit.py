"""Where headers come from, in installations that differ in what they bring."""

import pytest

from kernel_gate.build import toolkit


def _headers(root, *names):
    for name in names:
        path = root / "include" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return root


@pytest.fixture
def places(monkeypatch):
    def put(*roots):
        monkeypatch.setattr(toolkit, "_wheel_roots", lambda: list(roots))
        monkeypatch.setattr(toolkit, "_system_roots", list)

    return put


def test_a_complete_wheel_needs_nothing_else(tmp_path, places):
    wheel = _headers(tmp_path / "cu13", "cuda_fp16.h", "cuda/std/type_traits")
    places(wheel)
    assert toolkit.include_dirs() == (wheel / "include",)


def test_a_toolkit_keeps_cccl_in_a_folder_of_its_own(tmp_path, places):
    root = _headers(tmp_path / "cuda", "cuda_fp16.h", "cccl/cuda/std/type_traits")
    places(root)
    assert toolkit.include_dirs() == (root / "include", root / "include" / "cccl")


def test_a_wheel_without_cccl_takes_it_from_the_next_place_that_has_it(tmp_path, places):
    wheel = _headers(tmp_path / "cu13", "cuda_fp16.h")
    toolkit_root = _headers(tmp_path / "cuda", "cuda_fp16.h", "cccl/cuda/std/type_traits")
    places(wheel, toolkit_root)
    assert toolkit.include_dirs() == (wheel / "include", toolkit_root / "include" / "cccl")


def test_without_cccl_anywhere_the_rest_still_compiles(tmp_path, places):
    wheel = _headers(tmp_path / "cu13", "cuda_fp16.h")
    places(wheel)
    assert toolkit.include_dirs() == (wheel / "include",)
