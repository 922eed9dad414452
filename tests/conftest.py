"""Every test does the same on every machine: generated cases are drawn alike, and none may fail for being slow."""

import gc
import re
from collections.abc import Generator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from kernel_gate import building, options
from kernel_gate.build.kept_images import KeptImages
from longer import listed_as_long

_TOP = Path(__file__).parent.parent
_LONG = listed_as_long()
_FILES_OF_LONG = {one.partition("::")[0] for one in _LONG}
NAMED_BY = {"long": re.compile(r"mark\.long|\bfirst_now\("), "sets": re.compile(r"mark\.sets")}
"""Markers that few files have, and what stands in every file with a test of theirs."""


@cache
def names_marker(path: Path, marker: str) -> bool:
    listed = marker == "long" and str(path.relative_to(_TOP)) in _FILES_OF_LONG
    return listed or NAMED_BY[marker].search(path.read_text("utf-8")) is not None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`-m "long and …"` and `-m "sets and …"` import only the files that name the marker."""
    expression = config.option.markexpr
    marker = expression.partition(" and ")[0]
    if marker not in NAMED_BY or " or " in expression or collection_path.suffix != ".py":
        return None
    return None if names_marker(collection_path, marker) else True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that are listed as long are marked so; none is left out because its file does not name its marker."""
    for item in items:
        if item.nodeid in _LONG:
            item.add_marker("long")
        for marker in NAMED_BY:
            if item.get_closest_marker(marker) is not None and not names_marker(item.path, marker):
                raise pytest.UsageError(f"{item.nodeid} is marked `{marker}`, which its file does not name")


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
