"""Packages that an installer laid out by symbolic links are there for a contained process as well."""

import sys
import sysconfig
from pathlib import Path

import pytest

from kernel_gate.sandbox.containment import readable


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The interpreter's folder of packages."""
    folder = tmp_path / "env" / "site-packages"
    folder.mkdir(parents=True)
    monkeypatch.setattr(sysconfig, "get_path", lambda *_arguments, **_named: str(folder))
    return folder


def _package(folder: Path) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "bin" / "tool").write_text("")
    return folder


def test_each_step_to_a_linked_package_may_be_read(packages: Path, tmp_path: Path) -> None:
    target = _package(tmp_path / "store" / "triton")
    (tmp_path / "current").symlink_to("store/triton")
    (packages / "triton").symlink_to("../../current")
    assert {tmp_path / "current", target} <= set(readable())


@pytest.mark.parametrize("name", ["triton", "nvidia/nvrtc"])
def test_a_package_whose_files_are_links_may_be_read_whole(packages: Path, tmp_path: Path, name: str) -> None:
    target = _package(tmp_path / "store" / name)
    (packages / name).mkdir(parents=True)
    for file in ("__init__.py", "bin"):
        (packages / name / file).symlink_to(target / file)
    assert target in readable()


def test_a_link_in_a_folder_that_is_not_the_interpreters_own_opens_nothing(
    packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = _package(tmp_path / "secret")
    stranger = tmp_path / "repository"
    stranger.mkdir()
    (stranger / "helper").symlink_to(secret)
    monkeypatch.setattr(sys, "path", [*sys.path, str(stranger)])
    assert stranger in readable()
    assert secret not in readable()


def test_links_that_go_in_circles_end(packages: Path) -> None:
    (packages / "one").symlink_to("two")
    (packages / "two").symlink_to("one")
    assert readable()
