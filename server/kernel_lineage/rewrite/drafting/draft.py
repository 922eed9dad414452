"""The draft of a workload: what a kernel's file, and the repository around it, tell of how the kernel is run."""

from __future__ import annotations

from pathlib import Path

from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.drafting.checked_sizes import with_checked_sizes
from kernel_lineage.rewrite.drafting.cuda_draft import draft_from_launch
from kernel_lineage.rewrite.drafting.model import Draft, DraftArgument
from kernel_lineage.rewrite.drafting.triton.draft import triton_drafts
from kernel_lineage.rewrite.drafting.triton.modules import Modules
from kernel_lineage.rewrite.workloads import folder_of


def draft_of(kernel: Kernel, path: Path, modules: Modules | None = None) -> Draft:
    """The draft of a kernel of a file. Never raises: what is not told is missing.

    `modules` are those of the repository, by default the one around `path`; nothing outside of its folder is read.
    """
    modules = modules or Modules(folder_of(path).resolve())
    if kernel.language is Language.CUDA:
        drafts = [draft_from_launch(kernel, path, launch, modules.folder) for launch in kernel.launches]
    else:
        drafts = list(triton_drafts(kernel, path, modules))
    if not drafts:
        return _nothing(kernel, path)
    return with_checked_sizes(min(drafts, key=lambda d: len(d.missing)))


def _nothing(kernel: Kernel, path: Path) -> Draft:
    given = [p for p in kernel.parameters if not p.constexpr]
    arguments = tuple(DraftArgument(p.name, "input" if p.pointer else "scalar", p.dtype) for p in given)
    why = f"{kernel.name} is not launched in {path.name}: grid, block and sizes"
    return Draft(kernel.name, kernel.language, path.name, {}, {}, arguments, missing=(why,))
