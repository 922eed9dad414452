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


def build_program(
    program: Program,
    workload: Workload,
    shapes: Sequence[Mapping[str, int]],
    *,
    arch: str,
    want_cubin: bool = False,
    options: GateOptions = GateOptions(),  # noqa: B008 - frozen
    kept: KeptImages | None = None,
    cases: Sequence[Case] = (),
) -> Built:
    """A program with the images that these shapes and cases need. Raises `BuildError` and `CompilerMissing`.

    `kept` holds what was built before.
    """
    limits = Limits(seconds=options.build_seconds)
    uncontained = options.allow_uncontained

    def compiled(missing: Sequence[Unit]) -> dict[Unit, Image]:
        return compile_program(
            program, arch, missing, want_cubin=want_cubin, limits=limits, allow_uncontained=uncontained
        )

    def images_of(units: Sequence[Unit]) -> dict[Unit, Image]:
        return compiled(units) if kept is None else kept.of(program, arch, want_cubin, units, compiled)

    made = images_of(units_for(workload, program, shapes, cases))
    return Built(program, made, build=lambda unit: images_of([unit])[unit])
