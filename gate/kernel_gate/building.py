"""One program to the images that its launches need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernel_gate.build.compile import Limits, compile_program
from kernel_gate.build.kept_images import KeptImages
from kernel_gate.build.unit import Unit
from kernel_gate.built import Built
from kernel_gate.cases import Case
from kernel_gate.devices.image import Image
from kernel_gate.launching import units_for
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.workload import Workload

_KEPT = KeptImages()


def build_program(
    program: Program,
    workload: Workload,
    shapes: Sequence[Mapping[str, int]],
    *,
    arch: str,
    want_cubin: bool = False,
    options: GateOptions = GateOptions(),  # noqa: B008 - frozen
    cases: Sequence[Case] = (),
) -> Built:
    """A program with the images that these shapes and cases need. Raises `BuildError` and `CompilerMissing`."""

    def made(units: Sequence[Unit]) -> dict[Unit, Image]:
        return images_of(program, arch, units, want_cubin=want_cubin, options=options)

    images = made(units_for(workload, program, shapes, cases))
    return Built(program, images, build=lambda unit: made([unit])[unit])


def images_of(
    program: Program,
    arch: str,
    units: Sequence[Unit],
    *,
    want_cubin: bool = False,
    options: GateOptions = GateOptions(),  # noqa: B008 - frozen
) -> dict[Unit, Image]:
    """One image per unit; those that this process has built before are not built again.

    Raises `BuildError` and `CompilerMissing`.
    """
    limits = Limits(seconds=options.build_seconds)
    uncontained = options.allow_uncontained

    def compiled(missing: Sequence[Unit]) -> dict[Unit, Image]:
        return compile_program(
            program, arch, missing, want_cubin=want_cubin, limits=limits, allow_uncontained=uncontained
        )

    return _KEPT.of(program, arch, want_cubin, units, compiled)
