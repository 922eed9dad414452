"""Loads and stores with a cache hint become plain ones: `__ldcs(p)` is `*p`, `__stcs(p, v)` is `*p = v`."""

from __future__ import annotations

from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.candidate import Edit
from kernel_lineage.rewrite.simplifications.functions import calls_replaced, functions_rewritten
from kernel_lineage.rewrite.simplifications.model import Simplification

_LOADS = ("__ldg", "__ldca", "__ldcg", "__ldcs", "__ldlu", "__ldcv")
_STORES = ("__stwb", "__stcg", "__stcs", "__stwt")


def _simplify(kernel: Kernel) -> tuple[Edit, ...]:
    return functions_rewritten(
        kernel, lambda text: calls_replaced(text, "|".join((*_LOADS, *_STORES)), _plain)
    )


def _plain(name: str, arguments: list[str]) -> str | None:
    if name in _LOADS and len(arguments) == 1:
        return f"(*({arguments[0]}))"
    if name in _STORES and len(arguments) == 2:
        return f"(*({arguments[0]}) = {arguments[1]})"
    return None


SIMPLIFICATION = Simplification(
    title="cache hints taken off loads and stores",
    weakens="cache_hints",
    languages=frozenset({Language.CUDA}),
    simplify=_simplify,
)
