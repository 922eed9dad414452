"""How well the baseline computes a case, without an oracle: its outputs under rounding noise, on the emulated device.

Where it cancels, as in 1 + erf(x) far below zero, what is left is noise of its own, and a candidate that does better
differs by that noise. Where it does not, an output of 16 bits is nearly always rounded to the same number by every
program that computes as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from kernel_gate.built import Built, LoadedProgram
from kernel_gate.cases import Case
from kernel_gate.devices.base import DeviceError
from kernel_gate.devices.opening import open_quiet
from kernel_gate.dtypes import DTYPES, Array, DType
from kernel_gate.inputs import make_inputs
from kernel_gate.launching import LaunchError
from kernel_gate.shapes import elements, is_valid
from kernel_gate.stages.check_state import CheckState, argument_of
from kernel_gate.stages.reference import Reference
from kernel_gate.tolerance import Allowed, Errors, relative_errors, scale_of

_MOST_ELEMENTS = 1 << 18
_SECONDS = 5.0
_DRAWS = 3
_DRAWS_OF_FEW = 12
"""Where few elements are drawn for, in which draws may come to nothing."""
_FACTOR = 4.0
"""Another program may be unluckier than a few draws of the noise are."""
_JUMP = 2.0**-6
"""Relative; noise that does more has taken another side of a comparison, which excuses nothing, unless all of the
output is smaller than usual by this factor: then it can be noise altogether.
"""
_PART = 1 / 4
"""A share of the noise of an element: a candidate that differs by less has taken no other side of a comparison."""
_LEAST, _SHARE = 64, 1 / 8
"""Elements, and the share of them that must be rounded otherwise before that says something."""
_TIMES = 8.0
_ELEVEN_BITS = re.compile(r"\btanh\.approx")
"""As exact as a half on hardware, and more so on the emulated device: both must say the same of it."""
_COARSE = re.compile(r"\b(?:sin|cos)\.approx")


@dataclass(frozen=True, slots=True)
class OwnNoise:
    """What rounding noise does to one output."""

    errors: Errors
    share: float
    """The part of the elements that are other numbers of the output's type."""
    moved: Array | None = None
    """The largest relative change of each element."""

    def without_part(self, got: Array, want: Array, dtype: DType) -> Array:
        """An output in which elements are as expected that differ by a part of what noise does to them."""
        if self.moved is None or self.errors.worst <= _JUMP:
            return got
        have, near = dtype.wide(got), dtype.wide(dtype.stored(want))
        is_part = relative_errors(have, near, dtype.quantum) < _PART * self.moved
        is_part &= np.isfinite(have) & np.isfinite(near) & (self.moved > _JUMP)
        return np.where(is_part, dtype.stored(want), got)


def noise_of(run: CheckState, case: Case, inputs: Mapping[str, Array]) -> Mapping[str, OwnNoise]:
    """That of each float output of the baseline; empty where the emulated device cannot tell."""
    plain, noisy = _plain_and_noisy(run, run.baseline, case, inputs)
    noise: dict[str, OwnNoise] = {}
    for name, want in plain.items():
        dtype = DTYPES[argument_of(run.workload, name).dtype]
        if dtype.is_float:
            each = [relative_errors(dtype.wide(o[name]), dtype.wide(want), dtype.quantum) for o in noisy]
            moved: Array = np.max(each, axis=0)
            rms = max(float(np.sqrt(np.sum(np.square(e)) / max(1, e.size))) for e in each)
            share = max(rounded_otherwise(o[name], want, dtype) for o in noisy)
            noise[name] = OwnNoise(Errors(float(moved.max(initial=0.0)), rms), share, moved)
    return noise


def with_noise_beside_exact(
    run: CheckState, case: Case, name: str, got: Array, reference: Reference
) -> Array:
    """A candidate's output with what is expected where its own rounding noise covers the difference, if the baseline
    rounds off far less than on such inputs of another shape, as in rows of one element. Else nothing excuses it.
    """
    shape = _within_reach(run)
    other = replace(case, dims=shape, placed=())
    usual = _moved(run, run.baseline, other, make_inputs(run.workload, other), name)
    own = _moved(run, run.baseline, case, reference.inputs, name)
    if usual is None or own is None:
        return got
    # As a number, or beside what it is a part of: either may be small for itself.
    if not any(a.max(initial=0.0) > _FACTOR * b.max(initial=0.0) for a, b in zip(usual, own, strict=True)):
        return got
    theirs = _moved(run, run.candidate, case, reference.inputs, name, _DRAWS_OF_FEW)
    if theirs is None:
        return got
    dtype = DTYPES[argument_of(run.workload, name).dtype]
    expected = dtype.stored(reference.expected[name])
    with np.errstate(invalid="ignore", over="ignore"):
        covered = np.abs(dtype.wide(got) - dtype.wide(expected)) <= _FACTOR * theirs[0]
    return np.where(covered, expected, got)


def _within_reach(run: CheckState) -> Mapping[str, int]:
    """The largest shape that the workload names, halved as promises allow until its noise can be looked at."""
    shapes = list(run.workload.shapes())
    sizes = max(shapes, key=lambda dims: elements(run.workload, dims))
    left = set(sizes)
    while left and elements(run.workload, sizes) > _MOST_ELEMENTS:
        name = max(sorted(left), key=sizes.__getitem__)
        half = {**sizes, name: sizes[name] // 2}
        if half[name] > 1 and is_valid(run.workload, half):
            sizes = half
        else:
            left.discard(name)
    return sizes


def _moved(
    run: CheckState, built: Built, case: Case, inputs: Mapping[str, Array], name: str, draws: int = _DRAWS
) -> tuple[Array, Array] | None:
    """How far noise moves each element of an output, and that relative to it and its row; None where the emulated
    device cannot tell.
    """
    plain, noisy = _plain_and_noisy(run, built, case, inputs, draws)
    if name not in plain:
        return None
    dtype = DTYPES[argument_of(run.workload, name).dtype]
    want = dtype.wide(plain[name])
    with np.errstate(invalid="ignore", over="ignore"):
        far = np.max([np.abs(dtype.wide(o[name]) - want) for o in noisy], axis=0)
    relative = np.max([relative_errors(dtype.wide(o[name]), want, dtype.quantum) for o in noisy], axis=0)
    return np.where(np.isfinite(far), far, 0.0), relative


def _plain_and_noisy(
    run: CheckState, built: Built, case: Case, inputs: Mapping[str, Array], draws: int = _DRAWS
) -> tuple[Mapping[str, Array], list[Mapping[str, Array]]]:
    """A program's outputs, and those under rounding noise; none where the emulated device cannot tell."""
    if elements(run.workload, case.dims) > _MOST_ELEMENTS:
        return {}, []
    try:
        plain, *noisy = (_outputs(run, built, case, inputs, seed) for seed in (None, *range(draws)))
    except (LaunchError, DeviceError):
        return {}, []
    return plain, noisy


def _outputs(
    run: CheckState, built: Built, case: Case, inputs: Mapping[str, Array], seed: int | None
) -> Mapping[str, Array]:
    device = open_quiet(_SECONDS, noise=seed)
    try:
        loaded = LoadedProgram(device, built, case.applied(run.workload))
        with loaded.execution(case.dims, memory=case.memory) as execution:
            done = (
                run.theirs.run(device, case.setting, execution, inputs, 0)
                if built is run.baseline
                else execution.run(inputs, 0)
            )
        if done.faults:
            raise DeviceError(done.faults[0].message)
        return done.outputs
    finally:
        device.close()


def rounded_otherwise(got: Array, expected: Array, dtype: DType) -> float:
    """The share of elements that are not the number of the type that is nearest to the expected one."""
    want = dtype.wide(dtype.stored(expected))
    have = dtype.wide(got)
    return float(np.mean(np.isfinite(have) & np.isfinite(want) & (have != want))) if got.size else 0.0


def with_noise(allowed: Allowed, noise: OwnNoise, expected: Array, usual: float) -> Allowed:
    """The limits where the baseline's own noise is larger; the same where the noise is a jump.

    `usual`: the scale of the output's rows on inputs as declared.
    """
    worst, rms = _FACTOR * noise.errors.worst, _FACTOR * noise.errors.rms
    jumps = noise.errors.worst > _JUMP and float(scale_of(expected).max(initial=0.0)) > _JUMP * usual
    if jumps or (worst <= allowed.worst and rms <= allowed.rms):
        return allowed
    why = f"{worst:.1e}: {_FACTOR:g} × what rounding noise does to the baseline"
    return Allowed(max(worst, allowed.worst), max(rms, allowed.rms), why)


def rounds_in_between(run: CheckState, case: Case, name: str, got: Array, reference: Reference) -> str | None:
    """What to say of an output of 16 bits of which far more is rounded otherwise than the baseline's noise explains."""
    dtype = DTYPES[argument_of(run.workload, name).dtype]
    # Noise of coarse arithmetic is not all seen, as in products of tensor cores; a tolerance can be the caller's word.
    decided = run.arithmetic is not None or run.workload.tolerance.relative is not None
    if decided or not dtype.is_float or dtype.itemsize != 2 or got.size < _LEAST:
        return None
    if run.candidate.uses(_ELEVEN_BITS):
        return None
    share = rounded_otherwise(got, reference.expected[name], dtype)
    if share <= _SHARE:
        return None
    noise = noise_of(run, case, reference.inputs).get(name)
    if noise is None or share <= _TIMES * noise.share:
        return None
    return (
        f"{name} is rounded in between: {share:.0%} of it are other numbers of {dtype.name} than the baseline's, "
        f"whose own rounding noise changes {noise.share:.1%}"
    )


def loses_more(run: CheckState, case: Case, reference: Reference) -> str | None:
    """What to say of a candidate in whose outputs rounding noise grows far more than in the baseline's.

    Another order of a sum may do that; who asks knows that the baseline puts back what its sums and products round off.
    Looked at is the element that suffers most, beside itself alone: a sum of few terms may be as small as its errors.
    """
    if run.workload.tolerance.relative is not None:
        return None
    theirs = _most_changed(run, run.candidate, case, reference.inputs)
    for name, own in _most_changed(run, run.baseline, case, reference.inputs).items():
        if theirs.get(name, 0.0) > _TIMES * own:
            return (
                f"{name} loses what its sums round off, which the baseline puts back: rounding noise changes it by "
                f"{theirs[name]:.1e}, the baseline's by {own:.1e}"
            )
    return None


def _most_changed(
    run: CheckState, built: Built, case: Case, inputs: Mapping[str, Array]
) -> Mapping[str, float]:
    """The largest relative change of an element of each float output of a program by rounding noise."""
    plain, noisy = _plain_and_noisy(run, built, case, inputs)
    changed = {}
    for name, want in plain.items():
        dtype = DTYPES[argument_of(run.workload, name).dtype]
        if dtype.is_float:
            wide = dtype.wide(want)
            sure = np.isfinite(wide) & (np.abs(wide) > dtype.smallest_normal)
            moved = [np.abs(dtype.wide(o[name]) - wide)[sure] / np.abs(wide[sure]) for o in noisy]
            changed[name] = max(float(m.max(initial=0.0)) for m in moved)
    return changed


def is_coarser(run: CheckState) -> bool:
    """Whether the candidate computes sines by the hardware's instruction, whose error grows with the angle, where the
    baseline does not. That it is no worse than an error in the inputs excuses it no longer.
    """
    return run.candidate.uses(_COARSE) and not run.baseline.uses(_COARSE)
