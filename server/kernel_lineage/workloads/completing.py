"""From a kernel to a workload that was tried: the draft, mended by what the kernel does when it is run."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.workloads.draft import draft_of, recorded_drafts
from kernel_lineage.workloads.files import Launcher, Target
from kernel_lineage.workloads.index_ranges import with_distinct_indices
from kernel_lineage.workloads.model import USUALLY_TAKEN, Draft, DraftArgument, Taken
from kernel_lineage.workloads.proof import Device, Proof, prove
from kernel_lineage.workloads.recording.recorder import Recorder
from kernel_lineage.workloads.row_pitches import with_separate_rows
from kernel_lineage.workloads.saved import folder_of
from kernel_lineage.workloads.sizes_that_run import with_pitches, with_sizes_that_run
from kernel_lineage.workloads.state import State

_TOO_MUCH_SHARED = re.compile(r"invalid launch: \d+ bytes of shared memory")
"""How a launch is refused that an autotuner leaves out: it takes another configuration."""
_HALF = "float16"
_ORDER_DECIDES = "when its blocks run in another order"
"""How it is said of a kernel beside itself that several blocks write to one element."""
_RACE = "race on "
_OUT_OF_BOUNDS = "out of bounds"
_NOT_WRITTEN = re.compile(r"\b(\w+)\[[^\]]*\] is not written")


@dataclass(slots=True)
class InTurn:
    """The drafts of a kernel or a launcher to be tried in turn, until the kernel does not fail beside itself.

    `answers` are a person's, by the name of a dim or an argument. With a `recorder`, host code is run where what it
    says leaves something open, or gives a workload that the kernel does not pass.
    """

    kernel: Target
    path: Path
    state: State
    answers: Mapping[str, str] = field(default_factory=dict)
    recorder: Recorder | None = None
    _tried: list[Draft] = field(default_factory=list)
    _taken: Taken = USUALLY_TAKEN
    _resized: bool = False
    _others: Iterator[Draft] | None = None

    def first(self) -> Draft:
        """What is tried first; something may be missing in it."""
        return self._read()

    def after(self, draft: Draft, reason: str, *, built: bool = True) -> Draft | None:
        """What to try after a draft with which the kernel fails beside itself, for this reason; None for nothing more.

        An output of which the kernel leaves elements alone is an inout: what is there before is kept and compared.
        """
        read = self.after_reading(draft, reason)
        if read is not None or isinstance(self.kernel, Launcher) or self._asks_for_too_much(reason):
            return read
        if built and not self._resized and self.kernel.language is Language.TRITON:
            self._resized = True
            larger = with_sizes_that_run(draft, self.kernel, self.path, self.state.root)
            if larger is not None:
                return larger
        if self._others is None:
            # What was read, or recorded first, does not run: what else was recorded is tried, and what passes is right.
            self._others = self._recorded(self.kernel)
        return next(filter(self._is_new, self._others), None)

    def after_reading(self, draft: Draft, reason: str) -> Draft | None:
        """The same as far as the code around the kernel tells it; no size is taken that its callers alone have."""
        self._tried.append(draft)
        left = left_alone(reason)
        if any(a.name == left and a.kind == "output" for a in draft.arguments):
            return as_inout(draft, left)
        if _ORDER_DECIDES in reason or _RACE in reason:
            rows = with_separate_rows(draft, reason)
            return rows or (with_distinct_indices(draft) if _ORDER_DECIDES in reason else None)
        if _OUT_OF_BOUNDS in reason and not isinstance(self.kernel, Launcher):
            return with_pitches(draft, self.kernel, self.path, self.state.root)
        return self._with_less_shared(draft) if self._asks_for_too_much(reason) else None

    def _is_new(self, other: Draft) -> bool:
        """Whether no draft was tried that runs the kernel in the same way, whatever tells how."""
        return all(other.workload() != tried.workload() for tried in self._tried)

    def _asks_for_too_much(self, reason: str) -> bool:
        is_triton = not isinstance(self.kernel, Launcher) and self.kernel.language is Language.TRITON
        return is_triton and _TOO_MUCH_SHARED.search(reason) is not None

    def _with_less_shared(self, draft: Draft) -> Draft | None:
        """What the autotuner would take next, then data of half the size where nothing tells its dtype."""
        taken = self._taken
        self._taken = replace(taken, configuration=taken.configuration + 1)
        other = self._read()
        if other in self._tried and draft.guesses_types and taken.floats != _HALF:
            self._taken = Taken(floats=_HALF)
            other = self._read()
        return None if other.missing or other in self._tried else other

    def _read(self) -> Draft:
        return draft_of(
            self.kernel,
            self.path,
            self.state,
            answers=self.answers,
            recorder=self.recorder,
            taken=self._taken,
        )

    def _recorded(self, kernel: Kernel) -> Iterator[Draft]:
        if self.recorder is not None:
            drafts, _ = recorded_drafts(kernel, self.path, self.state, self.recorder, answers=self.answers)
            yield from (draft for draft in drafts if not draft.missing)


def tried_draft(
    kernel: Target,
    path: Path,
    *,
    root: Path | None = None,
    device: Device = "emulated",
    per_kind: int = 2,
    kinds: Collection[str] | None = None,
    seconds: float = 20.0,
    jobs: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    answers: Mapping[str, str] = MappingProxyType({}),
    recorder: Recorder | None = None,
    draft: Draft | None = None,
) -> tuple[Draft, Proof | None]:
    """The draft of a kernel or a launcher and what it sees; no proof for a draft in which something is missing.

    `draft` is one that was made before. `root` is the folder below which headers and modules are read, by default the
    repository around `path`. For `answers` and `recorder` see `InTurn`. Raises as `prove` does.
    """
    state = State(root) if root is not None else State(folder_of(path))
    turn = InTurn(kernel, path, state, answers, recorder)

    def proved(draft: Draft) -> Proof:
        return prove(
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

    draft = draft or turn.first()
    if draft.missing:
        return draft, None
    tried = last = draft, proved(draft)
    while last[1].baseline and not last[1].cut:
        other = turn.after(last[0], last[1].baseline, built=last[1].built)
        if other is None:
            break
        last = other, proved(other)
        if not last[1].baseline or not other.recorded:
            tried = last
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
