"""One block, or one Triton program, works on each row."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_mapping import Stride, is_contiguous, is_row_pitch, row_is_shared_by
from kernel_lineage.kernels.cuda_syntax import cuda_syntax
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import seen, seen_in
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.triton_syntax import TritonUnit, pointer_of, triton_syntax
from kernel_lineage.kernels.units import of_kernel

_OTHER_OWNERS = ("warp", "y", "slow")


def _detect(kernel: Kernel) -> Iterator[Site]:
    syntax = cuda_syntax(kernel)
    for unit in syntax.units if syntax is not None else ():
        for access in indexing(unit).accesses:
            form = access.index
            if (
                access.space != "global"
                or not access.reads
                or not is_row_pitch(form.get("block", 0))
                or not is_contiguous(access)
            ):
                continue
            owned = not any(
                is_row_pitch(form.get(axis, 0)) or form.get(axis) == "?" for axis in _OTHER_OWNERS
            )
            if owned and row_is_shared_by(unit, access, Stride.BLOCK, Stride.WARP):
                yield seen(access.node, f"a block strides along its row of {access.root}")
                return
    python = triton_syntax(kernel)
    if python is not None:
        yield from _detect_triton(python.entry, kernel)


def _detect_triton(unit: TritonUnit, kernel: Kernel) -> Iterator[Site]:
    constants = {p.name for p in kernel.parameters if p.constexpr}
    for call in unit.loads():
        form = unit.form(call.node.args[0])
        pitch = form.get("program", 0)
        if not isinstance(pitch, str) or pitch == "?" or form.get("arange", form.get("arange1")) != 1:
            continue
        if "arange0" not in form and not all(
            part in constants or part.isdigit() for part in pitch.split("*")
        ):
            yield seen_in(
                unit, call.node, f"a program works on its row of {pointer_of(form) or 'the tensor'}"
            )
            return


MECHANISM = Mechanism(
    title="Block per row",
    direction=Direction.PARALLEL_MAPPING,
    summary="Gives each row to one block (or program), whose threads read it side by side.",
    looks_for="Row offsets that move with the block's index, and loops that stride over the block's threads.",
    detect=of_kernel(_detect, *Language),
    conditions=(
        profit("C >= 1024", "shape", "Short rows leave most threads of a block without work."),
        validity("launch.block.x % 32 == 0", "shape", "Reductions of a row need whole warps."),
        profit("N >= device.sms", "hardware", "Fewer rows than processors leave some idle."),
    ),
)
