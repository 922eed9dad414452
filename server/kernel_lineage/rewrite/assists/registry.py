"""All assists: the modules beside this one that declare an `ASSIST`."""

from __future__ import annotations

from functools import cache

from kernel_lineage.collected import declared_in
from kernel_lineage.rewrite import assists
from kernel_lineage.rewrite.assists.model import Assist


@cache
def all_assists() -> tuple[Assist, ...]:
    """Every assist, in the order of their ids."""
    return declared_in(assists, "ASSIST", Assist)


def assist_of(identity: str) -> Assist | None:
    """The assist of that id, if there is one."""
    return next((a for a in all_assists() if a.id == identity), None)


def assist_for(skill: str) -> Assist | None:
    """The assist that carries a skill over, if there is one."""
    return next((a for a in all_assists() if a.skill == skill), None)
