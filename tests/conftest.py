"""Every test does the same on every machine: generated cases are drawn alike, and none may fail for being slow."""

import gc
from collections.abc import Generator

import pytest
from hypothesis import settings

from kernel_gate import building, options
from kernel_gate.build.kept_images import KeptImages

settings.register_profile("alike", derandomize=True, deadline=None)
settings.load_profile("alike")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Tests and modules stay until the end: no search for garbage needs to look through them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True, scope="session")
def _keep_nothing_of_the_users(tmp_path_factory):
    """What is kept of repositories lies in a folder of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KLINEAGE_KEEP_IN", str(tmp_path_factory.mktemp("kept")))
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True, scope="module")
def _nothing_built_before():
    """What a process has built is kept: a file of tests begins with nothing, whichever ran before in its process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "_KEPT", KeptImages())
        yield


@pytest.fixture
def nothing_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what building meets: nothing that another test has built stands in for it."""
    monkeypatch.setattr(building, "_KEPT", KeptImages())


@pytest.fixture(autouse=True)
def _one_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A verdict draws its seed; a test's verdict is the same each time."""
    monkeypatch.setattr(options, "drawn_seed", lambda: 91)
