"""Matrix products on the tensor cores."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, validity
from kernel_lineage.kernels.mechanisms.seeing import first_type, seen, seen_in
from kernel_lineage.kernels.triton_syntax import TritonUnit
from kernel_lineage.kernels.units import in_units

_CALLS = ("mma_sync", "load_matrix_sync", "store_matrix_sync", "bmma_sync")
_PTX = ("mma.sync", "wgmma.", "wmma.", "tcgen05.mma", "ldmatrix", "mma.sp")
_LIBRARY = re.compile(
    r"\b(?:cute::)?(?:SM\d+_\w*MMA\w*|SM\d+_\d+x\d+x\d+_\w+|MMA_Atom|TiledMMA|TiledMma|make_tiled_mma|warpgroup_arrive|"
    r"GMMA::\w+|UMMA::\w+)|\bcutlass::(?:arch::OpClassTensorOp|gemm::warp::\w*Mma\w*|arch::Mma)\b|\bnvcuda::wmma\b"
)
"""The atoms of CuTe and CUTLASS that stand for matrix instructions."""


def _detect_cuda(unit: Unit) -> Iterator[Site]:
    for call in unit.calls:
        if call.name in _CALLS:
            yield seen(call.node, f"{call.qualified} works on matrix fragments", by="wmma")
    for code, node in unit.assembly:
        instruction = next((i for i in _PTX if i in code), None)
        if instruction is not None:
            kind = instruction.strip(".").partition(".")[0]
            yield seen(node, "inline PTX uses matrix instructions", by=kind)
    atom = first_type(unit, _LIBRARY)
    if atom is not None:
        yield seen(atom[1], f"{atom[0][0]} stands for matrix instructions", by="library")


def _detect_triton(unit: TritonUnit) -> Iterator[Site]:
    for call in unit.called("dot", "dot_scaled"):
        if call.of_language:
            yield seen_in(unit, call.node, f"{call.qualified} multiplies tiles", by=call.name)


MECHANISM = Mechanism(
    title="Tensor cores",
    direction=Direction.INSTRUCTION_THROUGHPUT,
    summary="Multiplies small matrices by one instruction per warp or warp group instead of one product per thread.",
    looks_for="`wmma` calls, `mma` and `wgmma` in inline PTX, `tl.dot`.",
    detect=in_units(_detect_cuda, _detect_triton),
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
