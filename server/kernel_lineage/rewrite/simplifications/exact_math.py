"""Approximate functions are written as the exact ones: `__expf(x)` as `expf(x)`, `rsqrtf(x)` as `1.0f / sqrtf(x)`."""

from __future__ import annotations

from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.candidate import Edit
from kernel_lineage.rewrite.simplifications.functions import calls_replaced, functions_rewritten
from kernel_lineage.rewrite.simplifications.model import Simplification

_RENAMED = {
    "__expf": "expf",
    "__exp10f": "exp10f",
    "__logf": "logf",
    "__log2f": "log2f",
    "__log10f": "log10f",
    "__sinf": "sinf",
    "__cosf": "cosf",
    "__tanf": "tanf",
    "__powf": "powf",
}
_NAMES = "|".join([*_RENAMED, "rsqrtf", "__frsqrt_rn", "__fdividef"])


def _simplify(kernel: Kernel) -> tuple[Edit, ...]:
    return functions_rewritten(kernel, lambda text: calls_replaced(text, _NAMES, _exact))


def _exact(name: str, arguments: list[str]) -> str | None:
    if name in _RENAMED:
        return f"{_RENAMED[name]}({', '.join(arguments)})"
    if name == "__fdividef" and len(arguments) == 2:
        return f"(({arguments[0]}) / ({arguments[1]}))"
    return f"(1.0f / sqrtf({arguments[0]}))" if len(arguments) == 1 else None


SIMPLIFICATION = Simplification(
    title="approximate functions written as exact ones",
    weakens="fast_math",
    languages=frozenset({Language.CUDA}),
    simplify=_simplify,
)
