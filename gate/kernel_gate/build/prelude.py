"""What `nvcc` gives every file and NVRTC does not: the macros and small types of the C headers.

`cuda_runtime.h`, which nvcc includes by itself, brings `INFINITY`, `uint32_t` and the like through the host's
headers. NVRTC has none, so device code that nvcc takes would not compile. Values are those of IEEE 754 and C.
"""

from __future__ import annotations

from pathlib import Path

PRELUDE_NAME = "kernel_gate_prelude.h"

PRELUDE = """\
#pragma once
typedef signed char int8_t;
typedef signed short int16_t;
typedef signed int int32_t;
typedef signed long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef int64_t intptr_t;
typedef uint64_t uintptr_t;
typedef int64_t intmax_t;
typedef uint64_t uintmax_t;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#define INFINITY __int_as_float(0x7f800000)
#define HUGE_VALF INFINITY
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000ll)
#define NAN __int_as_float(0x7fffffff)
#define FLT_MAX 3.40282346638528859812e+38F
#define FLT_MIN 1.17549435082228750797e-38F
#define FLT_EPSILON 1.19209289550781250000e-7F
#define DBL_MAX 1.79769313486231570815e+308
#define DBL_MIN 2.22507385850720138309e-308
#define DBL_EPSILON 2.22044604925031308085e-16
#define CUDA_VERSION CUDART_VERSION
#define CHAR_BIT 8
#define CLOCKS_PER_SEC 1000000l
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295u
#define LLONG_MAX 9223372036854775807ll
#define LLONG_MIN (-LLONG_MAX - 1ll)
#define ULLONG_MAX 18446744073709551615ull
#define INT32_MAX INT_MAX
#define INT32_MIN INT_MIN
#define UINT32_MAX UINT_MAX
#define INT64_MAX LLONG_MAX
#define INT64_MIN LLONG_MIN
#define UINT64_MAX ULLONG_MAX
#define M_E 2.71828182845904523536
#define M_LN2 0.69314718055994530942
#define M_LOG2E 1.44269504088896340736
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_SQRT1_2 0.70710678118654752440
#define M_SQRT2 1.41421356237309504880
#define M_2_SQRTPI 1.12837916709551257390
"""

SHIMS: dict[str, str] = dict.fromkeys(
    (
        *(
            "assert.h",
            "cassert",
            "cfloat",
            "climits",
            "cmath",
            "cstddef",
            "cstdint",
            "cstdio",
            "cstdlib",
            "cstring",
        ),
        *("float.h", "limits.h", "math.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h"),
    ),
    f'#include "{PRELUDE_NAME}"\n',
)
"""Host headers that device code commonly names; what of them means something on a device is in the prelude."""

_CUB = (
    *(f"block/block_{what}" for what in (
        "adjacent_difference", "discontinuity", "exchange", "histogram", "load", "merge_sort", "radix_rank",
        "radix_sort", "reduce", "run_length_decode", "scan", "shuffle", "store",
    )),
    *(f"warp/warp_{what}" for what in ("exchange", "load", "merge_sort", "reduce", "scan", "store")),
    *(f"thread/thread_{what}" for what in ("load", "operators", "reduce", "scan", "search", "sort", "store")),
    *(f"iterator/{what}_iterator" for what in ("cache_modified_input", "cache_modified_output")),
    "util_ptx", "util_type",
)  # fmt: skip
SHIMS["cub/cub.cuh"] = "".join(
    f"#if __has_include(<cub/{name}.cuh>)\n#include <cub/{name}.cuh>\n#endif\n" for name in _CUB
)
"""All of CUB that device code calls: its algorithms over the whole device need the host's C++ library."""

TORCH = "kernel_gate/pytorch.cuh"
STAND_INS: dict[str, str] = {TORCH: (Path(__file__).parent / "stand_ins" / "pytorch.cuh").read_text("utf-8")}
"""Headers of the gate's own, for device code of libraries whose headers no device compiler takes by itself."""


def notes(source: str) -> tuple[str, ...]:
    """What a reader of a verdict should know of the headers that a source was compiled with."""
    if TORCH not in source:
        return ()
    return (
        "PyTorch's device types and functions are those of the gate's own header, not of PyTorch's headers",
    )
