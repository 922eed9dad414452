"""Matrix products on the tensor cores."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_lineage.kernels.cuda_syntax import cuda_syntax
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, validity
from kernel_lineage.kernels.mechanisms.seeing import BOTH, first_type, seen, seen_in
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_syntax import triton_syntax

ID = "tensor_core"

_CALLS = ("mma_sync", "load_matrix_sync", "store_matrix_sync", "bmma_sync")
_PTX = ("mma.sync", "wgmma.", "wmma.", "tcgen05.mma", "ldmatrix", "mma.sp")
_LIBRARY = re.compile(
    r"\b(?:cute::)?(?:SM\d+_\w*MMA\w*|SM\d+_\d+x\d+x\d+_\w+|MMA_Atom|TiledMMA|TiledMma|make_tiled_mma|warpgroup_arrive|"
    r"GMMA::\w+|UMMA::\w+)|\bcutlass::(?:arch::OpClassTensorOp|gemm::warp::\w*Mma\w*|arch::Mma)\b|\bnvcuda::wmma\b"
)
"""The atoms of CuTe and CUTLASS that stand for matrix instructions."""


def _detect(kernel: Kernel) -> Iterator[Site]:
    syntax = cuda_syntax(kernel)
    if syntax is not None:
        for call in syntax.calls(*_CALLS):
            yield seen(ID, call.node, f"{call.qualified} works on matrix fragments", by="wmma")
        for unit in syntax.units:
            for code, node in unit.assembly:
                for instruction in _PTX:
                    if instruction in code:
                        kind = instruction.strip(".").partition(".")[0]
                        yield seen(ID, node, "inline PTX uses matrix instructions", by=kind)
                        break
            atom = first_type(unit, _LIBRARY)
            if atom is not None:
                yield seen(ID, atom[1], f"{atom[0][0]} stands for matrix instructions", by="library")
    python = triton_syntax(kernel)
    if python is not None:
        for triton_unit, triton_call in python.calls("dot", "dot_scaled"):
            if triton_call.of_language:
                said = f"{triton_call.qualified} multiplies tiles"
                yield seen_in(ID, triton_unit, triton_call.node, said, by=triton_call.name)


MECHANISM = Mechanism(
    id=ID,
    title="Tensor cores",
    direction=Direction.INSTRUCTION_THROUGHPUT,
    summary="Multiplies small matrices by one instruction per warp or warp group instead of one product per thread.",
    looks_for="`wmma` calls, `mma` and `wgmma` in inline PTX, `tl.dot`.",
    detect=_detect,
    languages=BOTH,
    conditions=(
        validity("device.compute_capability >= (7, 0)", "hardware", "Tensor cores came with it."),
        validity(
            "dtype(x) in (float16, bfloat16, int8, float32)",
            "data types",
            "Only some types have matrix instructions; float32 runs as TF32, with 10 bits.",
        ),
        validity("K % 16 == 0", "shape", "A fragment is 16 deep; the rest must be padded."),
    ),
)
