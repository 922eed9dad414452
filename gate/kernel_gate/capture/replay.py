"""A recorded wrapper in the trusted process: asked of the compiler child, validated, and bound to our own buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from pydantic import ValidationError

from kernel_gate.build.compile import Limits, run_compiler
from kernel_gate.build.errors import BuildError
from kernel_gate.build.unit import Unit
from kernel_gate.capture.record import (
    Address,
    CaptureCase,
    CaptureRequest,
    Delegated,
    Number,
    Record,
    RecordedLaunch,
    RecordedMemset,
    TensorSpec,
)
from kernel_gate.devices.image import Image, image_from_json
from kernel_gate.dtypes import DTYPES
from kernel_gate.expressions import ExpressionError
from kernel_gate.launching import (
    ALLOCATORS_ALIGN,
    BoundLaunch,
    BoundMemset,
    BoundPointer,
    BoundProgram,
    LaunchError,
)
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.workload import Argument, Workload

_MOST_BLOCKS = (2**31 - 1, 65535, 65535)


def is_recorded(workload: Workload, program: Program) -> bool:
    """Whether a program is what its wrapper does, and not a launch that somebody wrote down."""
    return workload.wrapper is not None and program.launch is None and not program.steps


def record_wrapper(
    program: Program,
    workload: Workload,
    shapes: Sequence[Mapping[str, int]],
    arch: str,
    multiprocessors: int,
    *,
    want_cubin: bool,
    limits: Limits,
    allow_uncontained: bool,
) -> tuple[dict[Unit, Image], tuple[Record, ...]]:
    """Images and a record per shape. Raises `BuildError` and `CompilerMissing`."""
    wrapper = workload.wrapper
    if wrapper is None:
        raise BuildError("the workload has no [wrapper]")
    distinct = dict.fromkeys(tuple(dims.items()) for dims in shapes)
    asked = CaptureRequest(
        calls=wrapper.call,
        returns=wrapper.returns,
        configs=wrapper.configs,
        cases=tuple(_case(workload, dict(dims), wrapper.returns) for dims in distinct),
        want_cubin=want_cubin,
        multiprocessors=multiprocessors,
        capability=(int(arch.strip("sm_a")) // 10, int(arch.strip("sm_a")) % 10),
    )
    answer = run_compiler(
        program,
        arch,
        {"capture": asked.model_dump(mode="json")},
        limits=limits,
        allow_uncontained=allow_uncontained,
    )
    label = program.name or program.entry
    try:
        records = tuple(Record.model_validate(r) for r in answer["records"])
    except (KeyError, ValidationError) as error:
        raise BuildError(f"{label}: the recording cannot be read: {error}") from error
    failed = next((r for r in records if r.error), None)
    if failed is not None and all(r.error for r in records):
        code = Reason.UNSUPPORTED_PROGRAM if failed.unsupported else Reason.CANDIDATE_DOES_NOT_COMPILE
        raise BuildError(failed.error, code=code)
    images = {_unit(number): image_from_json(i) for number, i in enumerate(answer["images"])}
    return images, records


def delegated_calls(records: Sequence[Record]) -> list[Delegated]:
    """The library calls of all shapes, those that matter first."""
    calls = {(c.op, c.place, c.matters): c for r in records for c in r.delegated}
    return sorted(calls.values(), key=lambda c: not c.matters)


def _unit(number: int) -> Unit:
    return Unit(entry=f"image {number}")


def _case(workload: Workload, dims: Mapping[str, int], returns: Sequence[str]) -> CaptureCase:
    def spec(argument: Argument) -> TensorSpec:
        try:
            shape = workload.extents(argument, dims)
        except ExpressionError as error:
            raise BuildError(str(error), code=Reason.LAUNCH_NOT_COMPUTABLE) from error
        return TensorSpec(dtype=argument.dtype, shape=shape, align=argument.align)

    tensors = {a.name: spec(a) for a in workload.args if a.is_pointer}
    made = {a.name for a in workload.args if a.name in returns and a.kind == "output"}
    return CaptureCase(
        dims=dict(dims),
        tensors={name: s for name, s in tensors.items() if name not in made},
        outputs={name: s for name, s in tensors.items() if name in returns},
        scalars=workload.scalars(dims),
    )


def replayed(record: Record, images: Mapping[Unit, Image], workload: Workload, label: str) -> BoundProgram:
    """What a record says, bound to the workload's buffers and scratch. Raises `LaunchError`."""
    if record.error:
        raise LaunchError(record.error)
    scratch = tuple(
        Argument(name=b.name, kind="scratch", dtype=b.dtype, shape=(b.elements,), align=ALLOCATORS_ALIGN)
        for b in record.scratch
    )
    sizes = {a.name: int(np.prod(workload.extents(a, record.dims))) for a in workload.args if a.is_pointer}
    itemsizes = {a.name: DTYPES[a.dtype].itemsize for a in (*workload.args, *scratch)}
    sizes |= {b.name: b.elements for b in record.scratch}
    nbytes = {name: count * itemsizes[name] for name, count in sizes.items()}
    steps: list[BoundLaunch | BoundMemset] = []
    for step in record.steps:
        if isinstance(step, RecordedMemset):
            if step.offset + step.nbytes > nbytes.get(step.buffer, -1):
                raise LaunchError(f"{label}: zeros beyond the end of {step.buffer}")
            steps.append(BoundMemset(step.buffer, 0, step.offset, step.nbytes))
        else:
            steps.append(_launch(step, images, nbytes, label))
    if not any(isinstance(step, BoundLaunch) for step in steps):
        raise LaunchError(f"{label} launches no kernel")
    return BoundProgram(record.dims, tuple(steps), scratch, frozenset(record.returned))


def _launch(
    step: RecordedLaunch, images: Mapping[Unit, Image], nbytes: Mapping[str, int], label: str
) -> BoundLaunch:
    image = images.get(_unit(step.image))
    if image is None or image.block_threads is None:
        raise LaunchError(f"{label}: {step.entry} was not compiled")
    if any(not 1 <= extent <= most for extent, most in zip(step.grid, _MOST_BLOCKS, strict=True)):
        raise LaunchError(f"{label}: {step.entry}: a grid of {step.grid} is not one that a device takes")
    operands = {slot: _operand(step, o, nbytes, label) for slot, o in step.operands.items()}
    if image.parameters is None or not set(image.parameters) <= set(operands):
        raise LaunchError(f"{label}: {step.entry} was compiled for other arguments")
    threads = (image.block_threads, 1, 1)
    return BoundLaunch(step.entry, step.grid, threads, 0, tuple(operands), operands, _unit(step.image))


def _operand(
    step: RecordedLaunch, operand: Address | Number, nbytes: Mapping[str, int], label: str
) -> BoundPointer | np.generic:
    if isinstance(operand, Address):
        if operand.buffer not in nbytes:
            raise LaunchError(f"{label}: {step.entry} is given {operand.buffer}, which nobody allocates")
        return BoundPointer(operand.buffer, operand.offset)
    if operand.dtype not in DTYPES:
        raise LaunchError(f"{label}: {step.entry} is given a number of the unknown type {operand.dtype}")
    return DTYPES[operand.dtype].scalar(operand.value)
