"""The counters of ncu that stand beside ours, and how ours are added up to mean the same.

ncu's names: `l1tex__t` is the tag stage of the L1 cache, where a warp's access to global memory is one *request* and
each 32 bytes that it touches one *sector*. `l1tex__data_pipe_lsu_wavefronts_mem_shared` are passes of the data stage
over shared memory, one for each set of banks that can be served together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Quantity:
    """One number that both count."""

    name: str
    metric: str
    space: str
    """The space of the emulated counts: `global` or `shared`."""
    what: str
    """`requests`, `sectors` or `wavefronts`."""
    opcodes: tuple[str, ...]
    """Whose counts are added up."""
    judged: bool = True
    """Whether agreement is claimed; else both numbers are only shown."""


_TAG = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
_DATA = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
_READS = ("ld", "ldu", "cp")
"""An H200's ncu counts what `cp.async` reads among the loads."""
QUANTITIES = (
    Quantity("global load requests", _TAG.format("requests", "ld"), "global", "requests", _READS),
    Quantity("global load sectors", _TAG.format("sectors", "ld"), "global", "sectors", _READS),
    Quantity("global store requests", _TAG.format("requests", "st"), "global", "requests", ("st",)),
    Quantity("global store sectors", _TAG.format("sectors", "st"), "global", "sectors", ("st",)),
    Quantity("shared load wavefronts", _DATA.format("ld"), "shared", "wavefronts", ("ld", "ldmatrix")),
    Quantity("shared store wavefronts", _DATA.format("st"), "shared", "wavefronts", ("st", "stmatrix")),
    Quantity(
        "global reduction requests", _TAG.format("requests", "red"), "global", "requests", ("red",), False
    ),
    Quantity("global reduction sectors", _TAG.format("sectors", "red"), "global", "sectors", ("red",), False),
    Quantity(
        "global atomic requests", _TAG.format("requests", "atom"), "global", "requests", ("atom",), False
    ),
    Quantity(
        "shared atomic wavefronts", _DATA.format("atom"), "shared", "wavefronts", ("atom", "red"), False
    ),
)
_BESIDE = (
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
    "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts_cache_access.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum",
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed.sum",
    *(
        f"smsp__inst_executed_pipe_{pipe}.sum"
        for pipe in ("alu", "fma", "fp16", "fp64", "lsu", "xu", "adu", "cbu", "uniform", "tensor", "tex")
    ),
    "smsp__inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_st.sum",
    "smsp__inst_executed_op_global_ld.sum",
    "smsp__inst_executed_op_global_st.sum",
    "smsp__inst_executed_op_ldsm.sum",
)
"""Kept raw: they explain a difference."""
METRICS = (*(quantity.metric for quantity in QUANTITIES), *_BESIDE)


def emulated_counts(result: Any) -> dict[str, int]:
    """What the emulated device counted of each quantity in a launch, and its instructions by class."""
    rows: Mapping[str, Any] = result.counts
    counts = {
        q.name: sum(row[q.what] for row in rows[q.space]["lines"] if row["op"] in q.opcodes)
        for q in QUANTITIES
    }
    copies = [row for row in rows["global"]["lines"] if row["op"] == "cp"]
    counts["copied global sectors"] = sum(row["sectors"] for row in copies)
    classes = result.counted.total.classes if result.counted is not None else {}
    return counts | {f"instructions: {name}": count for name, count in sorted(classes.items())}
