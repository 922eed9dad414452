"""Every test does the same on every machine: generated cases are drawn alike, and none may fail for being slow."""

import pytest
from hypothesis import settings

from kernel_gate import options

settings.register_profile("alike", derandomize=True, deadline=None)
settings.load_profile("alike")


@pytest.fixture(autouse=True)
def _one_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A verdict draws its seed; a test's verdict is the same each time."""
    monkeypatch.setattr(options, "drawn_seed", lambda: 91)
