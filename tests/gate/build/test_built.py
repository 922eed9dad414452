"""An image that a shape needs later."""

from __future__ import annotations

import pytest

from gate.programs import affine
from kernel_gate.build.errors import BuildError
from kernel_gate.build.unit import Unit
from kernel_gate.built import Built
from kernel_gate.deadline import TimeSpentError, ends_within
from kernel_gate.devices.base import Image
from kernel_gate.launching import LaunchError
from kernel_gate.reasons import Reason


def refused(_unit: Unit) -> Image:
    raise BuildError("affine: compiling took longer than 0.1 s", code=Reason.COMPILER_LIMIT)


def test_a_deadline_that_ends_its_compilation_says_nothing_of_the_program() -> None:
    built, unit = Built(affine(), {}, refused), Unit(entry="affine")
    with ends_within(0), pytest.raises(TimeSpentError, match="took longer"):
        built.image(unit, {"n": 8})
    with pytest.raises(LaunchError, match="does not build for n 8"):
        built.image(unit, {"n": 8})
