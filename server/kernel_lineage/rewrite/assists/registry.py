"""All assists: the modules beside this one that declare an `ASSIST`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from kernel_lineage.collected import declared_in
from kernel_lineage.rewrite import assists
from kernel_lineage.rewrite.assists.model import Assist


@cache
def all_assists() -> Mapping[str, Assist]:
    """Every assist by its id, in the order of ids."""
    return declared_in(assists, "ASSIST", Assist)


def assist_for(skill: str) -> Assist | None:
    """The assist that carries a skill over, if there is one."""
    return next((a for a in all_assists().values() if a.skill == skill), None)
