"""A shape near the callers' own, run once on a GPU when a candidate is right and fast: what is wrong with its outputs.

Small shapes end most loops after a round, and callers' sizes are often powers of two: a remainder of an unrolled loop
that is left out shows at neither.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from kernel_gate.devices.base import DeviceError
from kernel_gate.devices.timed import TimedDevice
from kernel_gate.launching import LaunchError
from kernel_gate.shapes import elements, is_valid
from kernel_gate.stages.after_timing import wrong_after_timing
from kernel_gate.stages.drawn_inputs import timed_case
from kernel_gate.stages.timed_programs import TimedPrograms
from kernel_gate.stages.timed_shape import Asked
from kernel_gate.timing.sampling import CANDIDATE, LaunchFailed
from kernel_gate.workload import Workload, WorkloadError

_LEAST = 64
"""Smaller extents stay: the edge of a filter, a number of groups."""
_DRAWS = 64


def near_callers(workload: Workload, seed: int) -> dict[str, int] | None:
    """A shape between half and all of the callers' largest one; None where promises leave none."""
    callers = max(workload.profile_dims, key=lambda d: elements(workload, d))
    drawn = random.Random(seed)
    free = [n for n, extent in callers.items() if extent >= _LEAST]
    for draw in range(_DRAWS if free else 0):
        # Half of the draws keep extents that promises may tie to others, all but one.
        chosen = free if draw % 2 == 0 else [drawn.choice(free)]
        dims = {n: drawn.randrange(e // 2, e) if n in chosen else e for n, e in callers.items()}
        if is_valid(workload, dims):
            return dims
    return None


def wrong_near_callers(device: TimedDevice, asked: Asked) -> tuple[str, Mapping[str, int] | None]:
    """What is wrong with the candidate at a shape near the callers', "" for nothing, and the shape that was run.

    None for a shape that the baseline does not take, or for which there are no inputs. Raises `LaunchFailed` where the
    candidate's launch fails.
    """
    dims = near_callers(asked.workload, asked.options.seed)
    if dims is None:
        return "", None
    case = timed_case(dims, asked.options.seed)
    both = asked.baseline, asked.candidate
    try:
        drawn = asked.inputs.of(dims)
        with TimedPrograms(
            device,
            *both,
            asked.workload,
            case,
            asked.options.seed,
            drawn,
            same_expression=asked.same_expression,
        ) as timed:
            wrong = wrong_after_timing(timed)
            # A grid that leaves out the rest of a division launches for multiples alone.
            return ("", None) if wrong and timed.leaves_elements() else (wrong, dims)
    except LaunchFailed as error:
        if error.program == CANDIDATE:
            raise
        return "", None
    except (LaunchError, DeviceError, WorkloadError, MemoryError):
        return "", None
