"""The fixed names of facts, with type, unit and source: the one place where a new one is added.

A dimension or a scalar argument is named by itself (`C`) and needs no entry here. Everything else that a condition may
speak of is in `FACT_NAMES`; the parser, the renderer and the documentation read the same table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernel_lineage.code import types
from kernel_lineage.code.types import dtype_bytes
from kernel_lineage.skills.conditions.fact_name import Argument, FactName, Type
from kernel_lineage.skills.conditions.facts import FactSource

_TENSOR = (Argument.TENSOR,)
_W, _L, _D = FactSource.WORKLOAD, FactSource.LAUNCH, FactSource.DEVICE

FACT_NAMES: Mapping[str, FactName] = {
    f.name: f
    for f in (
        FactName(
            "dtype",
            Type.DTYPE,
            "",
            FactSource.SYNTAX,
            "The element type of a tensor, or the type of a scalar, by NumPy's name.",
            "the data type of {0}",
            _TENSOR,
        ),
        FactName(
            "align",
            Type.NUMBER,
            "bytes",
            _W,
            "The largest power of two that is known to divide the tensor's address, and that of every row "
            "when the row's length in bytes is a multiple of it too.",
            "the alignment of {0}",
            _TENSOR,
            at_run_time=True,
        ),
        FactName(
            "stride",
            Type.NUMBER,
            "elements",
            _W,
            "The distance between neighbours along an axis of a tensor; axis 0 is the outermost.",
            "the stride of {0} along axis {1}",
            (Argument.TENSOR, Argument.AXIS),
        ),
        FactName(
            "contiguous",
            Type.TRUTH,
            "",
            _W,
            "Whether the tensor's elements lie one after another in row-major order, without gaps.",
            "{0} is contiguous",
            _TENSOR,
        ),
        FactName(
            "noalias",
            Type.TRUTH,
            "",
            FactSource.SYNTAX,
            "Whether no byte of one tensor is a byte of the other.",
            "{0} and {1} do not overlap",
            (Argument.TENSOR, Argument.TENSOR),
            symmetric=True,
        ),
        FactName(
            "exclusive",
            Type.TRUTH,
            "",
            FactSource.SYNTAX,
            "Whether no byte of the tensor can be reached through another pointer argument of the kernel.",
            "{0} is reached through no other argument",
            _TENSOR,
        ),
        FactName(
            "range",
            Type.INTERVAL,
            "",
            _W,
            "The lowest and the highest value in the tensor, or of the scalar; both are taken.",
            "every value of {0}",
            _TENSOR,
        ),
        FactName(
            "finite",
            Type.TRUTH,
            "",
            _W,
            "Whether no value of the tensor is NaN or an infinity.",
            "every value of {0} is finite",
            _TENSOR,
        ),
        FactName(
            "row_has_finite",
            Type.TRUTH,
            "",
            _W,
            "Whether every row of the tensor (last axis) has a finite value: false when a mask leaves a row of −inf.",
            "every row of {0} has a finite value",
            _TENSOR,
        ),
        FactName(
            "row_spread",
            Type.INTERVAL,
            "",
            _W,
            "Largest minus smallest finite value of a row (last axis): the least and the greatest over all rows.",
            "the spread of values in every row of {0}",
            _TENSOR,
        ),
        FactName(
            "row_lead",
            Type.INTERVAL,
            "",
            _W,
            "Largest minus second largest value of a row (last axis), least and greatest over all rows: where it is "
            "large, the row's softmax is close to 1 in one place.",
            "the lead of the largest value in every row of {0}",
            _TENSOR,
        ),
        FactName(
            "row_log_sum_exp",
            Type.INTERVAL,
            "",
            _W,
            "The logarithm of the sum of exp over a row (last axis) of finite values, least and greatest over all rows: "
            "where it is large, a sum of exponentials leaves its type, and where it is very small it comes to 0.",
            "the log-sum-exp of every row of {0}",
            _TENSOR,
        ),
        FactName(
            "row_lead_at",
            Type.INTERVAL,
            "",
            _W,
            "Of each row (last axis) of the first tensor, the value that the second tensor's index picks minus the largest "
            "other one, least and greatest over all rows: where it is large, the row's softmax is close to 1 at its target.",
            "the lead of the value that {1} picks in every row of {0}",
            (Argument.TENSOR, Argument.TENSOR),
        ),
        FactName(
            "elements",
            Type.NUMBER,
            "elements",
            _W,
            "The number of elements of the tensor.",
            "the number of elements of {0}",
            _TENSOR,
        ),
        *(
            FactName(
                f"launch.{what}.{axis}",
                Type.NUMBER,
                unit,
                _L,
                f"The launch's {what} size along {axis}.",
                f"the {what}'s size along {axis}",
                at_run_time=True,
            )
            for what, unit in (("block", "threads"), ("grid", "blocks"))
            for axis in "xyz"
        ),
        FactName(
            "launch.shared_bytes",
            Type.NUMBER,
            "bytes",
            _L,
            "Dynamic shared memory of the launch, per block.",
            "the launch's dynamic shared memory in bytes",
        ),
        FactName(
            "launch.num_warps",
            Type.NUMBER,
            "warps",
            _L,
            "Triton's `num_warps`: warps per program.",
            "the number of warps of a program",
        ),
        FactName(
            "launch.num_stages",
            Type.NUMBER,
            "stages",
            _L,
            "Triton's `num_stages`: depth of the software pipeline.",
            "the number of pipeline stages",
        ),
        FactName(
            "kernel.has",
            Type.TRUTH,
            "",
            FactSource.SYNTAX,
            "Whether a mechanism is seen in the kernel's source.",
            "the kernel uses {0}",
            (Argument.MECHANISM,),
        ),
        FactName(
            "kernel.registers",
            Type.NUMBER,
            "registers",
            FactSource.IMAGE,
            "Registers per thread of the compiled kernel.",
            "the kernel's registers per thread",
        ),
        FactName(
            "kernel.spills",
            Type.NUMBER,
            "bytes",
            FactSource.IMAGE,
            "Bytes per thread that the compiled kernel spills to local memory.",
            "the kernel's spilled bytes per thread",
        ),
        FactName(
            "kernel.shared_bytes",
            Type.NUMBER,
            "bytes",
            FactSource.IMAGE,
            "Static shared memory of the kernel, per block.",
            "the kernel's static shared memory in bytes",
        ),
        FactName(
            "device.compute_capability",
            Type.VERSION,
            "",
            _D,
            "Major and minor compute capability of the device.",
            "the device's compute capability",
        ),
        FactName(
            "device.name", Type.TEXT, "", _D, "The device's name as its driver tells it.", "the device's name"
        ),
        FactName(
            "device.shared_bytes_per_block",
            Type.NUMBER,
            "bytes",
            _D,
            "The most shared memory that one block can opt in to.",
            "the shared memory that a block can have on the device, in bytes",
        ),
        FactName(
            "device.sms",
            Type.NUMBER,
            "multiprocessors",
            _D,
            "The number of streaming multiprocessors.",
            "the device's number of multiprocessors",
        ),
        FactName(
            "toolchain.cuda",
            Type.VERSION,
            "",
            FactSource.TOOLCHAIN,
            "Version of the CUDA compiler.",
            "the version of the CUDA toolkit",
        ),
        FactName(
            "toolchain.triton",
            Type.VERSION,
            "",
            FactSource.TOOLCHAIN,
            "Version of Triton.",
            "the version of Triton",
        ),
        FactName(
            "profile.bound",
            Type.TEXT,
            "",
            FactSource.PROFILE,
            "What limits the kernel in the last profile.",
            "what limits the kernel",
            choices=("bandwidth", "compute", "latency", "launch"),
        ),
        FactName(
            "profile.bandwidth_share",
            Type.NUMBER,
            "of the peak, 0 to 1",
            FactSource.PROFILE,
            "Achieved share of the device's peak memory bandwidth in the last profile.",
            "the share of the peak memory bandwidth",
        ),
        FactName(
            "profile.compute_share",
            Type.NUMBER,
            "of the peak, 0 to 1",
            FactSource.PROFILE,
            "Achieved share of the device's peak arithmetic rate in the last profile.",
            "the share of the peak arithmetic rate",
        ),
        FactName(
            "profile.sectors_per_request",
            Type.NUMBER,
            "sectors of 32 bytes",
            FactSource.PROFILE,
            "Sectors that an access of a warp to global memory touches, from counts of executed addresses.",
            "the sectors per global request",
        ),
        FactName(
            "profile.wavefronts_per_request",
            Type.NUMBER,
            "wavefronts",
            FactSource.PROFILE,
            "Passes that an access of a warp to shared memory takes, from counts of executed addresses.",
            "the wavefronts per shared request",
        ),
        FactName(
            "profile.divergent_share",
            Type.NUMBER,
            "of the branches, 0 to 1",
            FactSource.PROFILE,
            "Share of a kernel's conditional branches that some threads of a warp take and others do not.",
            "the share of branches that diverge",
        ),
        FactName(
            "profile.occupancy",
            Type.NUMBER,
            "of the warp slots, 0 to 1",
            FactSource.PROFILE,
            "Share of a multiprocessor's warp slots that the launch can fill.",
            "the occupancy",
        ),
        FactName(
            "profile.occupancy_limit",
            Type.TEXT,
            "",
            FactSource.PROFILE,
            "What keeps more blocks from running at once.",
            "what limits the occupancy",
            choices=("warps", "blocks", "registers", "shared memory"),
        ),
    )
}

DTYPES: Mapping[str, int] = {
    name: dtype_bytes(name) for name in (*dict.fromkeys(types.DTYPES.values()), "complex64", "complex128")
}
"""The data types that a condition may name, and their size in bytes."""


def split_fact(name: str) -> tuple[str, tuple[str, ...]]:
    """`stride(x, 0)` → ("stride", ("x", "0")); a name without arguments gives an empty tuple."""
    head, _, rest = name.partition("(")
    return head, tuple(a.strip() for a in rest[:-1].split(",")) if rest else ()


def rename_fact(name: str, to: Mapping[str, str]) -> str:
    """The fact's name with all tensors and dimensions renamed at once: `noalias(a, b)` → `noalias(x, y)`.

    Names that `to` does not hold stay; dotted names (`launch.block.x`) and texts in quotes are never touched.
    """
    head, arguments = split_fact(name)
    if not arguments:
        return to.get(head, head)
    return f"{head}({', '.join(to.get(a, a) for a in arguments)})"


def declared(name: str) -> FactName | None:
    """The table's entry for a fact's name, with or without arguments; None for a dimension or scalar."""
    return FACT_NAMES.get(split_fact(name)[0])


def is_plain(name: str) -> bool:
    """Whether it can name a dimension, scalar or tensor: an identifier that is no data type."""
    return re.fullmatch(r"[A-Za-z_]\w*", name) is not None and name not in DTYPES


_HINTS: Mapping[FactSource, str] = {
    FactSource.SYNTAX: "the source does not tell it; state it in the workload",
    FactSource.LAUNCH: "no launch site fixes it; state it in the workload's [launch]",
    FactSource.WORKLOAD: "state it in the workload",
    FactSource.DEVICE: "no device is at hand",
    FactSource.TOOLCHAIN: "no toolchain is at hand",
    FactSource.IMAGE: "the kernel has not been compiled",
    FactSource.PROFILE: "the kernel has not been profiled",
    FactSource.STATED: "state it",
}


def hint(name: str) -> str:
    """Where a missing fact would be told."""
    declaration = declared(name)
    return _HINTS[declaration.source if declaration is not None else FactSource.WORKLOAD]
