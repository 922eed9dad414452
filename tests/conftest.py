"""Every test does the same on every machine: generated cases are drawn alike, and none may fail for being slow."""

import pytest
from hypothesis import settings

from kernel_gate import options

settings.register_profile("alike", derandomize=True, deadline=None)
settings.load_profile("alike")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share a fixture of their module run in one process: the fixture is made once (`--dist loadgroup`)."""
    for item in items:
        shared = getattr(item, "_fixtureinfo", None)
        definitions = shared.name2fixturedefs.values() if shared is not None else ()
        if any(made.scope == "module" for several in definitions for made in several):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


@pytest.fixture(autouse=True, scope="session")
def _keep_nothing_of_the_users(tmp_path_factory):
    """What is kept of repositories lies in a folder of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KLINEAGE_KEEP_IN", str(tmp_path_factory.mktemp("kept")))
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True)
def _one_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A verdict draws its seed; a test's verdict is the same each time."""
    monkeypatch.setattr(options, "drawn_seed", lambda: 91)
