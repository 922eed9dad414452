"""The mathematical functions of CUDA's device library: each knows its arguments, and no thread, block or grid.

Source: the CUDA Math API reference; `cmath` of C++ for the names in `std`.
"""

from __future__ import annotations

import re

_OF_FLOATS = frozenset(
    {
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos", "cosh", "cospi",
        "cyl_bessel_i0", "cyl_bessel_i1", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp", "exp10", "exp2", "expm1",
        "fabs", "fdim", "fdivide", "floor", "fma", "fmax", "fmin", "fmod", "hypot", "j0", "j1", "jn", "ldexp", "lgamma",
        "log", "log10", "log1p", "log2", "logb", "nearbyint", "nextafter", "norm3d", "norm4d", "normcdf", "normcdfinv",
        "pow", "rcbrt", "remainder", "rhypot", "rint", "rnorm3d", "rnorm4d", "round", "rsqrt", "scalbln", "scalbn",
        "sin", "sinh", "sinpi", "sqrt", "tan", "tanh", "tgamma", "trunc", "y0", "y1", "yn",
    }
)  # fmt: skip
"""Functions of `double` that give one; with an `f` behind the name, of `float`."""
SINGLE = frozenset(f"{name}f" for name in _OF_FLOATS)
"""Functions that give a `float`."""
_TO_WHOLE = frozenset({"ilogb", "llrint", "llround", "lrint", "lround"})
_OF_ANY = frozenset({"abs", "labs", "llabs", "max", "min", "isfinite", "isinf", "isnan", "signbit"})
_OF_HALF = frozenset(
    f"{kind}{name}"
    for kind in ("h", "h2")
    for name in ("ceil", "cos", "exp", "exp10", "exp2", "floor", "log", "log10", "log2", "rcp", "rint", "rsqrt", "sin",
                 "sqrt", "tanh", "trunc")
)  # fmt: skip
_ALSO_WRITING = frozenset({"frexp", "modf", "remquo", "sincos", "sincospi"})
"""Functions that write a second result through a pointer."""
_WRITING = _ALSO_WRITING | {f"{name}f" for name in _ALSO_WRITING} | {"__sincosf"}
_VALUES = _OF_FLOATS | SINGLE | _TO_WHOLE | {f"{name}f" for name in _TO_WHOLE} | _OF_ANY | _OF_HALF
_IN_STD = re.compile(r"(?:::)?(?:(?:cuda::)?std::)?(\w+)")


def _own_name(function: str) -> str:
    """A function's name without `std::` before it; "" for one of another namespace."""
    match = _IN_STD.fullmatch(function)
    return match[1] if match is not None else ""


def is_math(function: str) -> bool:
    """Whether a function, as a call writes it, is one of the device library's mathematical functions."""
    return _own_name(function) in _VALUES | _WRITING


def writes_a_result(function: str) -> bool:
    """Whether such a function writes a result through a pointer, as `sincosf(x, &sine, &cosine)` does."""
    return _own_name(function) in _WRITING
