"""From a kernel to a workload that was tried: the draft, mended by what the kernel does when it is run."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.draft import draft_of, recorded_drafts
from kernel_lineage.workloads.files import Launcher, Target
from kernel_lineage.workloads.model import Draft, DraftArgument
from kernel_lineage.workloads.proof import Device, Proof, prove
from kernel_lineage.workloads.recording.recorder import Recorder
from kernel_lineage.workloads.saved import folder_of
from kernel_lineage.workloads.sizes_that_run import with_sizes_that_run
from kernel_lineage.workloads.state import State

_NOT_WRITTEN = re.compile(r"\b(\w+)\[[^\]]*\] is not written")


def tried_draft(
    kernel: Target,
    path: Path,
    *,
    root: Path | None = None,
    device: Device = "emulated",
    per_kind: int = 2,
    kinds: Collection[str] | None = None,
    seconds: float = 20.0,
    jobs: int = 2,
    on_progress: Callable[[int, int], None] | None = None,
    answers: Mapping[str, str] = MappingProxyType({}),
    recorder: Recorder | None = None,
    draft: Draft | None = None,
) -> tuple[Draft, Proof | None]:
    """The draft of a kernel or a launcher and what it sees; no proof for a draft in which something is missing.

    `draft` is one that was made before. `root` is the folder below which headers and modules are read, by default the
    repository around `path`. `answers` are a person's, by the name of a dim or an argument. With a `recorder`, host
    code is run where what it says leaves something open, or gives a workload that the kernel does not pass. An output
    of which the kernel leaves elements alone is an inout: what is there before is kept and compared. Raises as
    `prove` does.
    """
    state = State(root) if root is not None else State(folder_of(path))

    def proved(draft: Draft) -> tuple[Draft, Proof]:
        proof = Proof("")
        for _ in draft.arguments:
            proof = prove(
                kernel,
                path,
                draft.workload(),
                root=root,
                device=device,
                per_kind=per_kind,
                kinds=kinds,
                seconds=seconds,
                jobs=jobs,
                on_progress=on_progress,
            )
            left = left_alone(proof.baseline)
            if not left:
                break
            draft = as_inout(draft, left)
        return draft, proof

    if draft is None:
        draft = draft_of(kernel, path, state, answers=answers, recorder=recorder)
    if draft.missing:
        return draft, None
    tried = proved(draft)
    fails = tried[1].built and tried[1].baseline
    if fails and not isinstance(kernel, Launcher) and kernel.language is Language.TRITON:
        larger = with_sizes_that_run(tried[0], kernel, path, state.root)
        tried = proved(larger) if larger is not None else tried
    if not tried[1].baseline or tried[1].cut or recorder is None or isinstance(kernel, Launcher):
        return tried
    # What was read, or recorded first, does not run: what else was recorded is tried, and what passes is right.
    for other in recorded_drafts(kernel, path, state, recorder, answers=answers)[0]:
        if not other.missing and other != draft:
            again = proved(other)
            if not again[1].baseline:
                return again
    return tried


def left_alone(reason: str) -> str:
    """The output of which a kernel beside itself does not write every element; "" where that is not what is wrong."""
    match = _NOT_WRITTEN.search(reason)
    return match[1] if match is not None else ""


def as_inout(draft: Draft, name: str) -> Draft:
    """The draft with an output whose elements are partly left alone: what is there before is compared too."""
    arguments = tuple(_kept(a) if a.name == name else a for a in draft.arguments)
    note = f"{name} is not written everywhere by the kernel, so what it leaves alone is compared too"
    return replace(draft, arguments=arguments, assumed=(*draft.assumed, note))


def _kept(argument: DraftArgument) -> DraftArgument:
    """An output as an inout; one of whole numbers gets a range."""
    whole = argument.dtype is not None and "float" not in argument.dtype
    return replace(argument, kind="inout", values=argument.values or ("integers(0, 8)" if whole else ""))
