"""The draft of a workload: what a kernel's file, and the repository around it, tell of how the kernel is run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.drafting.checked_sizes import with_checked_sizes
from kernel_lineage.rewrite.drafting.cuda.draft import draft_from_site
from kernel_lineage.rewrite.drafting.measured import with_measured_shapes
from kernel_lineage.rewrite.drafting.model import Draft, DraftArgument
from kernel_lineage.rewrite.drafting.state import Site, State
from kernel_lineage.rewrite.drafting.triton.draft import triton_drafts
from kernel_lineage.rewrite.workloads import folder_of


def draft_of(kernel: Kernel, path: Path, state: State | None = None, *, measure: bool = True) -> Draft:
    """The draft of a kernel of a file. Never raises: what is not told is missing.

    `state` is the repository, by default the one around `path`; nothing outside of it is read. With `measure`, shapes
    and sizes that no code tells are found by running the kernel on the emulated device, which takes seconds.
    """
    state = state or State(folder_of(path))
    drafts = list(_drafts(kernel, path, state))
    if not drafts:
        return _nothing(kernel, path)
    best = min(drafts, key=lambda d: (len(d.missing), len(d.chosen)))
    if measure:
        best = with_measured_shapes(best, kernel, path, state.root)
    return with_checked_sizes(best)


def _drafts(kernel: Kernel, path: Path, state: State) -> Iterator[Draft]:
    if kernel.language is Language.TRITON:
        yield from triton_drafts(kernel, path, state.modules)
        return
    sites = [Site(launch, kernel.source, path) for launch in kernel.launches if kernel.source is not None]
    for site in sites or state.launches_elsewhere(kernel.name):
        yield draft_from_site(kernel, path, site, state.root)


def _nothing(kernel: Kernel, path: Path) -> Draft:
    given = [p for p in kernel.parameters if not p.constexpr]
    arguments = tuple(DraftArgument(p.name, "input" if p.pointer else "scalar", p.dtype) for p in given)
    why = f"{kernel.name} is not launched in {path.name}: grid, block and sizes"
    return Draft(kernel.name, kernel.language, path.name, {}, {}, arguments, missing=(why,))
