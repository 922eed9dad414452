"""The range of an index that no code tells, where all shapes are known: the largest one that stays in bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kernel_gate.build.kept_images import KeptImages
from kernel_gate.footprint import FootprintError, footprints
from kernel_gate.workload import WorkloadError
from kernel_lineage.workloads.chosen_sizes import plans
from kernel_lineage.workloads.files import Target, data_of
from kernel_lineage.workloads.model import UNRANGED, Draft
from kernel_lineage.workloads.programs import ProgramError, program_from_file
from kernel_lineage.workloads.promises import fitted_sizes


def with_ranges_in_bounds(draft: Draft, kernel: Target, path: Path, root: Path) -> Draft:
    """The draft whose indices have values below a dim: the largest with which the kernel stays in its buffers.

    The kernel is run on the emulated device, each index at its largest value. An index for which no dim will do keeps
    being without a range.
    """
    wanted = [m.removeprefix(UNRANGED) for m in draft.missing if m.startswith(UNRANGED)]
    if any(not m.startswith(UNRANGED) for m in draft.missing):
        return draft
    first = next(iter(plans(draft.dims, draft.chosen, draft.told)))
    sizes = fitted_sizes(first.tried, draft.promises)
    for name in wanted:
        below = _below(draft, name, sizes, kernel, path, root)
        if below is None:
            continue
        said = (
            f"{name} is taken to hold numbers below {below}: with larger ones the kernel leaves its buffers"
        )
        missing = tuple(m for m in draft.missing if m != f"{UNRANGED}{name}")
        draft = _ranged(
            replace(draft, assumed=(*draft.assumed, said), missing=missing), name, f"integers(0, {below})"
        )
    return draft


def _ranged(draft: Draft, name: str, values: str) -> Draft:
    return replace(
        draft, arguments=tuple(replace(a, values=values) if a.name == name else a for a in draft.arguments)
    )


def _below(
    draft: Draft, name: str, sizes: Mapping[str, int], kernel: Target, path: Path, root: Path
) -> str | None:
    kept = KeptImages()
    extents = {e for a in draft.arguments if a.name != name for e in a.shape or ()}
    dims = sorted((d for d in sizes if d in extents), key=lambda d: -sizes[d])
    for dim in dims:
        tried = _ranged(replace(draft, dims=sizes, checked=sizes), name, f"integers({dim} - 1, {dim})")
        others = [m.removeprefix(UNRANGED) for m in draft.missing if m != f"{UNRANGED}{name}"]
        for other in others:
            tried = _ranged(tried, other, "integers(0, 1)")
        try:
            workload = replace(tried, missing=()).workload()
            program = program_from_file(path, kernel.name, workload, data=data_of(kernel), root=root)
            list(footprints(program, workload, [dict(sizes)], kept=kept))
        except (FootprintError, ProgramError, WorkloadError):
            continue
        return dim
    return None
