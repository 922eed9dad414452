"""The draft that host code of a test gives a kernel."""

from __future__ import annotations

from pathlib import Path

from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.following.draft import followed_drafts
from kernel_lineage.workloads.following.unit import unit_of
from kernel_lineage.workloads.model import Draft


def first_draft(folder: Path, source: str, kernel: str = "scale") -> Draft:
    """The first draft of a kernel of a text, which is written into the folder."""
    path = folder / f"{kernel}.cu"
    path.write_text(source)
    target = target_of(path, kernel)
    return next(followed_drafts(target, unit_of(source), path.name, target))
