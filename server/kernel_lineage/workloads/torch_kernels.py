"""Kernels that do what PyTorch works out between the launches of a host function: programs stand without torch.

An operation on elements is one thread for each; a reduction is one block for each result, and one over a whole tensor
is two launches. What such a kernel takes is not what torch takes: whoever times a program says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernel_gate.dtypes import DTYPES
from kernel_lineage.workloads.following.values import NotFollowed

THREADS = 256
MOST_BLOCKS = 256
"""Blocks of the first launch of a reduction over a whole tensor."""
_TYPES = {
    "float64": "double", "float32": "float", "float16": "__half", "bfloat16": "__nv_bfloat16", "int64": "long long",
    "int32": "int", "int16": "short", "int8": "signed char", "uint8": "unsigned char", "bool": "bool",
}  # fmt: skip
_READ = {"float16": "__half2float({0})", "bfloat16": "__bfloat162float({0})"}
_WRITTEN = {"float16": "__float2half({0})", "bfloat16": "__float2bfloat16({0})"}
_HEADERS = {"float16": "#include <cuda_fp16.h>\n", "bfloat16": "#include <cuda_bf16.h>\n"}
_INDEX = "const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;"


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of an operation on elements."""

    dtype: str
    is_tensor: bool = True
    places: tuple[int, ...] | None = None
    """The extents of the result that it has, in its own order; it has 1 for each of the others. None: all of them."""
    is_strided: bool = False
    """Whether it has elements from one to the next along each extent, instead of lying row by row."""


def computed_in(dtype: str) -> str:
    """The type that torch computes an element type in. Raises `NotFollowed` for one without arithmetic here."""
    if dtype not in _TYPES:
        raise NotFollowed(f"torch's work on {dtype}")
    if not DTYPES[dtype].is_float:
        return "int64"
    return "float64" if dtype == "float64" else "float32"


def elementwise_kernel(
    entry: str, formula: str, operands: Sequence[Operand], result: str, computed: str, rank: int
) -> str:
    """The text of `entry(operands…, result, elements, extents…, strides…)`: the extents of the result, `rank` of them,
    where an operand does not have all in their order, and the strides of each operand that has some.
    """
    parameters, reads = [], []
    for at, operand in enumerate(operands):
        kind = _TYPES[operand.dtype]
        parameters.append(f"const {kind}* p{at}" if operand.is_tensor else f"{kind} p{at}")
        value = f"p{at}[{_index_of(operand, at, rank)}]" if operand.is_tensor else f"p{at}"
        value = _READ.get(operand.dtype, "{0}").format(value)
        reads.append(f"    const {_TYPES[computed]} a{at} = ({_TYPES[computed]})({value});\n")
    parameters += [f"{_TYPES[result]}* out", "long long n"]
    if any(operand.places is not None for operand in operands):
        parameters += [f"long long d{at}" for at in range(rank)]
    for at, operand in enumerate(operands):
        parameters += [f"long long s{at}_{place}" for place in (operand.places or ()) if operand.is_strided]
    ends = "" if computed == "float64" else "f"
    value = formula.format(*(f"a{at}" for at in range(len(operands))), f=ends)
    written = _WRITTEN.get(result, f"({_TYPES[result]})({{0}})").format(value)
    return (
        f"{_headers([*(o.dtype for o in operands), result])}"
        f"__global__ void {entry}({', '.join(parameters)}) {{\n    {_INDEX}\n    if (i >= n) return;\n"
        f"{''.join(reads)}    out[i] = {written};\n}}\n"
    )


def _index_of(operand: Operand, at: int, rank: int) -> str:
    """Where an operand, by its number, has its element for element `i` of the result."""
    if operand.places is None:
        return "i"
    index = "0"
    for place in operand.places:
        inner = "".join(f" / d{later}" for later in range(place + 1, rank))
        digit = f"i{inner} % d{place}"
        index = (
            f"{index} + {digit} * s{at}_{place}" if operand.is_strided else f"({index}) * d{place} + {digit}"
        )
    return index


_FIRST = {
    "float32": {"amax": "__int_as_float(0xff800000)", "amin": "__int_as_float(0x7f800000)"},
    "float64": {
        "amax": "__longlong_as_double(0xfff0000000000000LL)",
        "amin": "__longlong_as_double(0x7ff0000000000000LL)",
    },
    "int64": {"amax": "-9223372036854775807LL - 1", "amin": "9223372036854775807LL"},
}
"""What a reduction begins with, where it is not 0."""
_JOINED = {
    "sum": "{0} + {1}",
    "mean": "{0} + {1}",
    "amax": "({0} != {0} || {0} > {1}) ? {0} : {1}",
    "amin": "({0} != {0} || {0} < {1}) ? {0} : {1}",
}


def reduction_kernel(entry: str, name: str, read: str, result: str, computed: str) -> str:
    """The text of `entry(in, out, extent, step, share, count)`: block `b` reduces the elements of result `b / share`,
    every `share`-th part of the `extent` ones that lie `step` apart; a mean is their sum over `count`.
    """
    kind = _TYPES[computed]
    first = _FIRST[computed].get(name, "0")
    element = _READ.get(read, "{0}").format("row[k * step]")
    value = "part[0] / count" if name == "mean" else "part[0]"
    written = _WRITTEN.get(result, f"({_TYPES[result]})({{0}})").format(value)
    joined = _JOINED[name]
    return (
        f"{_headers([read, result])}"
        f"__global__ void {entry}(const {_TYPES[read]}* in, {_TYPES[result]}* out, long long extent, long long step, "
        f"long long share, long long count) {{\n"
        f"    __shared__ {kind} part[{THREADS}];\n"
        f"    const long long at = blockIdx.x / share;\n"
        f"    const {_TYPES[read]}* row = in + (at / step) * extent * step + at % step;\n"
        f"    {kind} a = {first};\n"
        f"    for (long long k = blockIdx.x % share * {THREADS} + threadIdx.x; k < extent; k += share * {THREADS}) {{\n"
        f"        const {kind} b = ({kind})({element});\n        a = {joined.format('a', 'b')};\n    }}\n"
        f"    part[threadIdx.x] = a;\n    __syncthreads();\n"
        f"    for (int half = {THREADS // 2}; half > 0; half /= 2) {{\n"
        f"        if (threadIdx.x < half) {{\n"
        f"            const {kind} b = part[threadIdx.x + half];\n"
        f"            part[threadIdx.x] = {joined.format('part[threadIdx.x]', 'b')};\n        }}\n"
        f"        __syncthreads();\n    }}\n"
        f"    if (threadIdx.x == 0) out[blockIdx.x] = {written};\n}}\n"
    )


def _headers(dtypes: Sequence[str]) -> str:
    return "".join(dict.fromkeys(_HEADERS[dtype] for dtype in dtypes if dtype in _HEADERS))
