# ruff: noqa: E501
"""Small differences of large terms, ranges of types, epsilons, and relations of extents."""

from .fresh import AT, each, ground
from .model import Ground


def pointwise(name: str, expression: str, *inputs: str, values: str = "") -> Ground:
    """`y[i]` of inputs of n floats; `values` as they all declare them."""
    declared = ", ".join(f"const float *{i}" for i in inputs)
    text = f"""__global__ void {name}(float *y, {declared}, int n) {{
    {AT}
    if (i < n) y[i] = {expression};
}}
"""
    args = [(i, "input", "float32", "n", *([values] if values else [])) for i in inputs]
    return ground(
        name, text, {"n": [90, 500]}, [("y", "output", "float32", "n"), *args, ("n", "scalar", "int32", "n")],
        "ceil_div(n, 128)", 128, {"n": 1 << 18},
    )  # fmt: skip


EXPM1 = pointwise("less_one", "expm1f(x[i])", "x")
LOG1P = pointwise("of_one_more", "log1pf(x[i])", "x", values="uniform(-0.9, 4)")
VERSINE = pointwise("versine", "2.0f * sinf(0.5f * x[i]) * sinf(0.5f * x[i])", "x")
HALF_ROOT = pointwise("half_root", "x[i] / (sqrtf(1.0f + x[i]) + 1.0f)", "x", values="uniform(0, 1)")
PLAIN = pointwise("plain_less_one", "expf(x[i]) - 1.0f", "x")
CANCELLED = (
    *each(EXPM1, ("an exponential less one", "small differences", (("expm1f(x[i])", "expf(x[i]) - 1.0f"),), (("expm1f(x[i])", "(float)expm1((double)x[i])"),))),
    *each(LOG1P, ("a logarithm of one more", "small differences", (("log1pf(x[i])", "logf(1.0f + x[i])"),), (("log1pf(x[i])", "(float)log1p((double)x[i])"),))),
    *each(VERSINE, ("one less a cosine", "small differences", (("2.0f * sinf(0.5f * x[i]) * sinf(0.5f * x[i])", "1.0f - cosf(x[i])"),), (("2.0f * sinf(0.5f * x[i]) * sinf(0.5f * x[i])", "-2.0f * sinf(0.5f * x[i]) * sinf(-0.5f * x[i])"),))),
    *each(HALF_ROOT, ("a root less one", "small differences", (("x[i] / (sqrtf(1.0f + x[i]) + 1.0f)", "sqrtf(1.0f + x[i]) - 1.0f"),), (("x[i] / (sqrtf(1.0f + x[i]) + 1.0f)", "(float)(x[i] / (sqrt(1.0 + x[i]) + 1.0))"),))),
    *each(PLAIN, ("one less than it was", "small differences", (("expf(x[i]) - 1.0f", "expf(x[i]) - 1.00001f"),), (("expf(x[i]) - 1.0f", "expm1f(x[i])"),))),
)  # fmt: skip
PAIRS = CANCELLED
