"""What a skill has gained on naive kernels, for the order in which candidates are tried."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

_UNMEASURED = 2.0
"""What a skill counts as that was never kept first nor judged: it is tried before what is known to gain little."""
_NEVER_FIRST = 1.1
"""What one counts as that was judged and never was the first to be kept."""


def expected_gain(skill: str, *, judged: bool) -> float:
    """The median speed-up where a skill's was the first step that was kept; else by what was counted of its work."""
    return _medians().get(skill, _NEVER_FIRST if judged else _UNMEASURED)


@cache
def _medians() -> dict[str, float]:
    text = files("kernel_lineage.rewrite.optimise").joinpath("gains.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    return {name: float(gain) for name, gain in (tables["counted"] | tables["median"]).items()}
