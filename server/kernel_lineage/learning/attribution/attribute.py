"""A step → its parts, each with its own before → after, effect and mechanisms, and how they depend on each other."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.request import GateRequest
from kernel_gate.verdict import SpeedState, Speedup, Verdict
from kernel_lineage.kernels.mechanisms.model import Direction
from kernel_lineage.kernels.mechanisms.registry import mechanisms, mechanisms_of
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.attribution.edits import Edits, UnsplittableError, edits_between
from kernel_lineage.learning.attribution.effect import Effect, effect_of
from kernel_lineage.learning.attribution.search import OutOfTrialsError, parts
from kernel_lineage.learning.steps import Judge, Step
from kernel_lineage.learning.version_checks import VersionState, state_of

TRIALS = 60
"""States that are tried for one step."""
OPTIONS = GateOptions(hidden=False, need="not_slower", check_seconds=30.0, profile_seconds=1.0)
"""A state is right when it is right on the workload as it is; where else it is right is for probes to find."""


@dataclass(frozen=True, slots=True)
class Part:
    """One atomic change: it works where it stands, and nothing of it can be left out."""

    before: Program
    after: Program
    launch: bool
    """Whether it changes how the program is launched."""
    added_mechanisms: tuple[str, ...]
    removed_mechanisms: tuple[str, ...]
    effect: Effect
    alone: VersionState
    """Whether it is right without the parts before it."""
    alone_effect: Effect | None
    """What it changes then; None when it is not right then, or is the first part."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """What a step consists of."""

    parts: tuple[Part, ...]
    """Those of which something is to be seen, in an order in which every state is right; empty when the step could not
    be split."""
    reason: str = ""
    """Why it was not split, or not further: then its last part, or all of it, may do several things."""
    trials: int = 0
    """States that were judged on the way."""
    interactions: tuple[str, ...] = ()
    """How parts depend on each other, a sentence each."""


@dataclass
class _Trials:
    """The states of a step: each is judged once."""

    step: Step
    edits: Edits
    judge: Judge
    device: Literal["auto", "cuda", "emulated"]
    most: int
    until: float
    """On the clock of `time.monotonic`."""
    whole: Speedup | None
    """The step's effect, where it was measured already."""
    states: dict[frozenset[int], VersionState] = field(default_factory=dict)
    verdicts: dict[tuple[frozenset[int], frozenset[int], str], Verdict] = field(default_factory=dict)
    exhausted: bool = False

    def state(self, chosen: frozenset[int]) -> VersionState:
        if chosen not in self.states:
            if len(self.states) >= self.most or time.monotonic() > self.until:
                self.exhausted = True
                raise OutOfTrialsError
            # Whether a state is right needs no GPU: its time is measured for the parts alone.
            verdict = self.judged(frozenset(), chosen, "emulated")
            state, _ = state_of(verdict)
            if state is VersionState.UNKNOWN and _built(verdict) and self.device != "emulated":
                state, _ = state_of(self.judged(frozenset(), chosen, self.device))
            self.states[chosen] = state
        return self.states[chosen]

    def works(self, chosen: frozenset[int]) -> bool:
        return self.state(chosen) is VersionState.RIGHT

    def judged(
        self, before: frozenset[int], after: frozenset[int], device: Literal["auto", "cuda", "emulated"]
    ) -> Verdict:
        place = before, after, device
        if place not in self.verdicts:
            one, other = self.edits.program(before), self.edits.program(after)
            request = GateRequest.of(one, other, self.step.workload, device=device, options=OPTIONS)
            self.verdicts[place] = self.judge(request)
        return self.verdicts[place]

    def effect(
        self, before: frozenset[int], after: frozenset[int], *, changes: bool, adds: bool = False
    ) -> Effect:
        """What an addition changes; only one that `changes` the mechanisms is worth a GPU's time.

        One that `adds` a mechanism is timed however late it is: without its time it teaches nothing.
        """
        if self.whole is not None and not before and after == self.edits.all:
            return Effect(self.whole, ())
        late = not adds and time.monotonic() > self.until
        device = self.device if changes and not late else "emulated"
        return effect_of(self.judged(before, after, device))


def attribute(
    step: Step,
    judge: Judge,
    *,
    device: Literal["auto", "cuda", "emulated"] = "auto",
    trials: int = TRIALS,
    seconds: float = math.inf,
    whole: Speedup | None = None,
) -> Attribution:
    """Split a step whose two states agree on the workload as it is.

    Rightness is judged on the emulated device, effects on `device`; `whole` is that of the step, where it is known.
    What is not tried after `seconds` stays together. Raises `DeviceError` when the device is missing.
    """
    try:
        edits = edits_between(step.before, step.after)
    except UnsplittableError as error:
        return Attribution((), str(error))
    tried = _Trials(step, edits, judge, device, trials, time.monotonic() + seconds, whole)
    chosen = _with_their_users(list(parts(edits.all, edits.with_needs, tried.works, edits.idle)), tried)
    pieces = _with_launch_mechanisms(
        [_part(tried, frozenset().union(*chosen[:k]), addition) for k, addition in enumerate(chosen)], step
    )
    telling = [k for k, part in enumerate(pieces) if _shows(part)] or [len(pieces) - 1]
    if tried.exhausted and telling[-1] != len(pieces) - 1:
        telling.append(len(pieces) - 1)  # the rest that was not split, whatever it shows
    pieces, chosen = [pieces[k] for k in telling], [chosen[k] for k in telling]
    return Attribution(
        tuple(pieces),
        f"not split further: {len(tried.states)} states were tried" if tried.exhausted else "",
        len(tried.states),
        tuple(_interactions(tried, pieces, chosen)),
    )


def _shows(part: Part) -> bool:
    """Whether something is to be seen of a part: a mechanism, another launch, counts or a time."""
    mechanisms = part.added_mechanisms or part.removed_mechanisms
    return bool(mechanisms or part.launch or part.effect.speedup is not None or part.effect.counts)


def _with_their_users(chosen: Sequence[frozenset[int]], tried: _Trials) -> list[frozenset[int]]:
    """The parts, with those that only declare something joined with the first part that uses it."""
    order = list(chosen)
    for declaring in chosen:
        if declaring not in order or any(tried.edits.edits[n].launch for n in declaring):
            continue
        at = order.index(declaring)
        user = next((p for p in order[at + 1 :] if declaring <= tried.edits.with_needs(p)), None)
        if user is None or not _idle(tried, frozenset().union(*order[:at]), declaring):
            continue
        joined = [declaring | p if p == user else p for p in order if p != declaring]
        states = [frozenset().union(*joined[: k + 1]) for k in range(at, len(joined) - 1)]
        try:
            if all(tried.works(state) for state in states):
                order = joined
        except OutOfTrialsError:
            break
    return order


def _idle(tried: _Trials, done: frozenset[int], addition: frozenset[int]) -> bool:
    """Whether nothing comes of an addition yet: no mechanism, or one that the running kernel shows nothing of."""
    edits = tried.edits
    if _mechanisms(edits.program(done)) == _mechanisms(edits.program(done | addition)):
        return True
    counted = effect_of(tried.judged(done, done | addition, "emulated"))
    return counted.speedup is None and not counted.counts


def _part(tried: _Trials, done: frozenset[int], addition: frozenset[int]) -> Part:
    edits = tried.edits
    before, after = edits.program(done), edits.program(done | addition)
    had, has = _mechanisms(before), _mechanisms(after)
    alone, alone_effect = VersionState.RIGHT, None
    if done:
        alone, alone_effect = _alone(tried, addition, has != had)
    return Part(
        before=before,
        after=after,
        launch=any(edits.edits[n].launch for n in addition),
        added_mechanisms=tuple(sorted(has - had)),
        removed_mechanisms=tuple(sorted(had - has)),
        effect=tried.effect(done, done | addition, changes=has != had, adds=bool(has - had)),
        alone=alone,
        alone_effect=alone_effect,
    )


def _alone(tried: _Trials, addition: frozenset[int], mechanisms: bool) -> tuple[VersionState, Effect | None]:
    """A part made on the earliest state: as far as it can be made without others."""
    if tried.edits.with_needs(addition) != addition:
        return VersionState.UNKNOWN, None
    try:
        state = tried.state(addition)
    except OutOfTrialsError:
        return VersionState.UNKNOWN, None
    if state is not VersionState.RIGHT:
        return state, None
    return state, tried.effect(frozenset(), addition, changes=mechanisms)


def _interactions(tried: _Trials, pieces: Sequence[Part], chosen: Sequence[frozenset[int]]) -> list[str]:
    sentences = []
    for k, (part, addition) in enumerate(zip(pieces, chosen, strict=True)):
        needed = tried.edits.with_needs(addition) - addition
        which = [str(j + 1) for j in range(k) if chosen[j] & needed]
        if which:
            sentences.append(f"part {k + 1} uses what part {' and '.join(which)} declares")
        elif k and part.alone is not VersionState.RIGHT:
            how = "is wrong" if part.alone is VersionState.WRONG else "does not run"
            sentences.append(f"part {k + 1} {how} without the parts before it")
        elif part.alone_effect is not None and part.effect.speedup is not None:
            alone, after = part.alone_effect.state, part.effect.state
            if after is SpeedState.FAST and alone in (SpeedState.SAME, SpeedState.SLOW):
                sentences.append(
                    f"part {k + 1} pays only after the parts before it: alone {part.alone_effect}"
                )
            elif alone is SpeedState.FAST and after in (SpeedState.SAME, SpeedState.SLOW):
                sentences.append(
                    f"part {k + 1} pays only without the parts before it: alone {part.alone_effect}"
                )
    return sentences


def _built(verdict: Verdict) -> bool:
    build = verdict.stage("build")
    return build is not None and build.status == "pass"


def _mechanisms(program: Program) -> set[str]:
    """The mechanisms that are seen in a program's kernels."""
    source = read(program.source.encode(), Language(program.language))
    return {site.mechanism for kernel in source.kernels for site in mechanisms_of(kernel)}


def _with_launch_mechanisms(pieces: Sequence[Part], step: Step) -> list[Part]:
    """A mechanism of the step that no text shows is the launch's, when it is one of launching."""
    seen = {name for part in pieces for name in part.added_mechanisms}
    by_id = mechanisms()
    hidden = [
        m for m in step.mechanisms if m not in seen and m in by_id and by_id[m].direction is Direction.LAUNCH
    ]
    return [_with(part, hidden) if part.launch and hidden else part for part in pieces]


def _with(part: Part, names: Sequence[str]) -> Part:
    return replace(part, added_mechanisms=tuple(sorted({*part.added_mechanisms, *names})))
