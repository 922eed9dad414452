"""Which headers device code keeps, and what it needs in place of those that it loses."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

_HEADER = re.compile(rb"#[ \t]*include[ \t]*(?:<([^<>\n]+)>|\"([^\"\n]+)\")")
_TOOLKIT = re.compile(
    r"cooperative_groups(?:/.*|\.h)|cuda_(?:fp16|bf16|fp8|fp6|fp4)\.hp{0,2}|mma\.h|cuda_pipeline(?:_primitives)?\.h"
    r"|cuda_awbarrier(?:_primitives)?\.h|math_constants\.h|curand_[a-z_0-9]+\.h|curand\.h|cuda/.*|cub/(?!device/).*|nv/target"
    r"|device_atomic_functions\.h|sm_\d+_\w+\.h|crt/mma\.h|cccl/.*"
    r"|thrust/(?:functional|pair|tuple|type_traits/.*|iterator/.*)\.h"
)
_TORCH = re.compile(r"(?:.*/)?(?:torch|ATen|c10|THC|caffe2)/.+")
_OF_TORCH = re.compile(
    r"(?:at|c10|torch|caffe2|C10_\w+|CUDA_(?:1D_)?KERNEL_\w+|GPU_KERNEL_LOOP|WARP_(?:SHFL\w*|BALLOT|SYNC)|ACTIVE_MASK"
    r"|gpuAtomic\w+)\Z"
)
"""Names by which device code says that it needs what PyTorch's headers declare."""
TORCH_STAND_IN = "kernel_gate/pytorch.cuh"
"""The gate's own header with PyTorch's names for device code; it compiles where PyTorch's own headers cannot."""
_GIVES = {
    "cooperative_groups": re.compile(r"cooperative_groups\Z"),
    "cuda_fp16": re.compile(r"_*half|__h|__float2half|__low|__high|__hal"),
    "cuda_bf16": re.compile(r".*bfloat|.*bf16"),
    "cuda_fp8": re.compile(r".*fp8|.*e4m3|.*e5m2"),
    "mma": re.compile(r"nvcuda\Z|wmma\Z"),
    "curand": re.compile(r"curand"),
    "cub": re.compile(r"cub\Z"),
    "thrust": re.compile(r"thrust\Z"),
    "cuda_pipeline": re.compile(r"__pipeline|nvcuda"),
}
"""Header → names that say that it is needed. A header that is not here stays."""
_BROUGHT_BY_OTHERS = ("cuda_fp16", "cuda_bf16", "cuda_fp8")
"""Headers that host headers bring along (cuBLAS does), and that a slice needs by itself once those are gone."""
_STANDARD = {
    "cuda/std/type_traits": re.compile(
        r"bool_constant|integral_constant|true_type|false_type|enable_if|conditional|remove_|decay|is_|make_(?:un)?signed"
        r"|underlying_type|common_type|void_t|invoke_result|aligned_storage|alignment_of|extent|rank"
    ),
    "cuda/std/limits": re.compile(r"numeric_limits"),
    "cuda/std/utility": re.compile(
        r"pair|move|forward|swap|declval|exchange|(?:make_)?in(?:teger|dex)_sequence"
    ),
    "cuda/std/tuple": re.compile(r"(?:make_|forward_as_)?tie|(?:make_)?tuple|get\Z"),
    "cuda/std/complex": re.compile(r"complex\Z|conj\Z|real\Z|imag\Z|norm\Z|polar\Z"),
    "cuda/std/initializer_list": re.compile(r"initializer_list\Z"),
    "cuda/std/functional": re.compile(
        r"plus\Z|minus\Z|multiplies|divides|modulus|negate|less|greater|(?:not_)?equal_to|bit_(?:and|or|xor)|identity\Z"
    ),
    "cuda/std/optional": re.compile(r"optional\Z|nullopt|make_optional\Z"),
    "cuda/std/variant": re.compile(r"variant|visit\Z|monostate|holds_alternative|get_if"),
    "cuda/std/span": re.compile(r"span\Z"),
    "cuda/std/bit": re.compile(
        r"bit_cast|bit_width|bit_ceil|bit_floor|popcount|countl_|countr_|has_single_bit"
    ),
    "cuda/std/concepts": re.compile(
        r"same_as|convertible_to|derived_from|integral\Z|floating_point\Z|(?:un)?signed_integral\Z|invocable"
    ),
    "cuda/std/array": re.compile(r"array\Z"),
    "cuda/std/cstdint": re.compile(r"u?int\d+_t"),
    "cuda/std/cstddef": re.compile(r"size_t|ptrdiff_t|byte|nullptr_t"),
    "cuda/std/detail/libcxx/include/algorithm": re.compile(
        r"(?:min|max|clamp|swap|fill|copy|find|count|sort|lower_bound|upper_bound|transform|equal|reverse)(?:_\w+)?\Z"
    ),
    "cuda/std/cmath": re.compile(r"(?:abs|sqrt|exp|log|pow|floor|ceil|round|isnan|isinf|fma)\w*\Z"),
}
"""Header of libcu++ → the members of `std` that it stands in for; NVRTC has no standard library of its own."""
_OF_CUDA = frozenset({"fma", "fmod", "modf", "remainder", "remquo", "fdim", "erf", "erfc"})
"""Members of `std` that libcu++ lacks and that CUDA has outside of namespaces."""
_OF_THE_HOST = re.compile(
    r"[a-z_0-9]+|(?:std\w+|string|math|float|limits|assert|ctype|time|errno|signal|unistd|inttypes)\.h"
)


def header_name(directive: bytes) -> tuple[str, bool] | None:
    """The header that an `#include` names, and whether it is quoted; None when a macro names it."""
    named = _HEADER.search(directive)
    if named is None:
        return None
    quoted = named.group(2) is not None
    return (named.group(2) if quoted else named.group(1)).decode("utf-8", "replace"), quoted


def is_toolkit(header: str) -> bool:
    """Whether a header is one of the toolkit's for device code."""
    return _TOOLKIT.fullmatch(header) is not None


def is_hosts(header: str) -> bool:
    """Whether a header is one of the C or C++ library or of POSIX."""
    return _OF_THE_HOST.fullmatch(header) is not None


def is_torch(header: str) -> bool:
    """Whether a header is one of PyTorch's."""
    return _TORCH.fullmatch(header) is not None


def gives_one_of(header: str, names: Collection[str]) -> bool:
    """Whether a toolkit header gives something that is named: reading one costs the compiler up to a second."""
    for start, pattern in _GIVES.items():
        if header.startswith(start):
            return any(pattern.match(name) for name in names)
    return True


def stand_ins(included: Collection[str], names: Collection[str], of_std: Collection[str]) -> Iterator[str]:
    """The lines that bring what the host's headers would have: `names` are used, `of_std` behind `std::`."""
    if any(map(is_torch, included)) and any(map(_OF_TORCH.match, names)):
        yield f"#include <{TORCH_STAND_IN}>"
    for header in _BROUGHT_BY_OTHERS:
        if f"{header}.h" not in included and gives_one_of(header, names):
            yield f"#include <{header}.h>"
    needed = [
        header for header, pattern in _STANDARD.items() if any(pattern.match(member) for member in of_std)
    ]
    yield from (f"#include <{header}>" for header in needed)
    if needed:
        yield "namespace std { using namespace cuda::std; }"
    if own := sorted(_OF_CUDA.intersection(of_std)):
        yield f"namespace std {{ {' '.join(f'using ::{name};' for name in own)} }}"
