"""A drafted step on plain values: none that is huge, infinite or no number, of which a draft promises nothing."""

from __future__ import annotations

from dataclasses import replace

from kernel_gate.dtype_names import FLOAT_NAMES
from kernel_lineage.learning.replay.preparing import Prepared

_PLAIN = "uniform(-2, 2)"


def on_plain_values(prepared: Prepared) -> Prepared | None:
    """The same with buffers of numbers between -2 and 2 where any numbers were drawn; None where there is none."""
    workload = prepared.step.workload
    free = [a for a in workload.args if a.is_pointer and a.has_free_values and a.dtype in FLOAT_NAMES]
    names = [a.name for a in free if a.kind in ("input", "inout")]
    if not prepared.drafted or not names:
        return None
    args = tuple(a.model_copy(update={"values": _PLAIN}) if a.name in names else a for a in workload.args)
    plain = workload.model_copy(update={"args": args})
    note = f"{', '.join(names)} hold{'s' if len(names) == 1 else ''} numbers from -2 to 2"
    return replace(prepared, step=replace(prepared.step, workload=plain), said=(*prepared.said, note))
