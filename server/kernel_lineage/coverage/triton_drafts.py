"""A signature for a Triton kernel that nobody has run: types and constants from its launch sites, defaults and names.

A draft only has to compile: it decides which instructions come out, so several are tried, the likeliest first.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kernel_gate.build.unit import Unit
from kernel_lineage.kernels.source import Kernel, Parameter

_INTEGERS = re.compile(
    r"idx|ind(ex|ices|ptr)|seqlen|cu_|offset|target|label|ids?\b|_ids?_|mask|lock|count|lens?\b|position|token|map|perm",
    re.IGNORECASE,
)
_FLOATS = re.compile(
    r"eps|scale|alpha|beta|gamma|lr\b|temperature|softcap|smooth|weight|prob|^p$|factor|decay|lse_square|clamp|limit|loss",
    re.IGNORECASE,
)
_SMALL = re.compile(r"num_|n_|^N_|GROUP|STAGES|_ORDER|^NG$|^NS$|^NT$|^N[CKVDB]$|NUM", re.IGNORECASE)
_TILE = re.compile(r"block|^B[A-Z]{1,2}\d?$|tile|^BLK", re.IGNORECASE)
_FLAG = re.compile(
    r"^(USE|HAS|IS|STORE|RETURN|APPLY|COMPUTE|SAVE|ENABLE|WITH|DO|IN|ADD|LOAD|OUTPUT|INPUT|CAUSAL|REVERSE|SKIP|ALLOW|NEED|"
    r"NORM|SAFE|FUSE|GATE|REDUCE|INPLACE|INTERLEAVED|ELEMENTWISE)(_|$)|(_FLAG|_FIRST|_ONLY|ENABLED)$|_is_|^is_|^has_|^use_",
    re.IGNORECASE,
)  # fmt: skip
_CONFIG = re.compile(r"['\"](\w+)['\"]\s*:\s*(\d+)")
_LOOSE_MOST = 12


def drafts(kernel: Kernel, sites: Sequence[Mapping[str, str]]) -> Iterator[Unit]:
    """Units to try, the likeliest first; then with one more parameter taken for integers, as indices are."""
    site = dict(sites[0]) if sites else {}
    for pointers, size, flags in (
        ("bf16", 64, None),
        ("fp32", 64, None),
        ("fp32", 16, None),
        ("bf16", 32, True),
        ("fp32", 32, False),
        ("fp32", 4, False),
    ):
        yield _unit(kernel, site, pointers, size, flags)
    loose = [p for p in kernel.parameters if not p.constexpr and not _type(p, "fp32").endswith("i32")]
    for parameter in loose[:_LOOSE_MOST]:
        yield _unit(kernel, site, "fp32", 64, None, integers=(parameter.name,))
    yield _unit(kernel, site, "i32", 64, None)


def _unit(
    kernel: Kernel,
    site: Mapping[str, str],
    pointers: str,
    size: int,
    flags: bool | None,
    integers: Sequence[str] = (),
) -> Unit:
    config = {k: int(v) for k, v in reversed(_CONFIG.findall(kernel.attributes.get("autotune", "")))}
    constants = {p.name: _constant(p, site, config, size, flags) for p in kernel.parameters if p.constexpr}
    arguments = tuple(
        (p.name, ("*i32" if p.pointer else "i32") if p.name in integers else _type(p, pointers))
        for p in kernel.parameters
        if not p.constexpr
    )
    return Unit(
        tuple(constants.items()),
        num_warps=_literal(site.get("num_warps")) or config.get("num_warps", 4),
        num_stages=_literal(site.get("num_stages")) or config.get("num_stages", 3),
        arguments=arguments,
        divisible=tuple(name for name, kind in arguments if kind.startswith("*")),
    )


def _type(parameter: Parameter, pointers: str) -> str:
    if parameter.pointer:
        return "*i32" if _INTEGERS.search(parameter.name) else f"*{pointers}"
    default = _python(parameter.default)
    if isinstance(default, bool):
        return "i1"
    if isinstance(default, float) or "float" in parameter.type:
        return "fp32"
    if isinstance(default, int) or "int" in parameter.type:
        return "i32"
    return "fp32" if _FLOATS.search(parameter.name) and "stride" not in parameter.name else "i32"


def _constant(
    parameter: Parameter, site: Mapping[str, str], config: Mapping[str, int], size: int, flags: bool | None
) -> Any:
    """A value for a `tl.constexpr` parameter."""
    name = parameter.name
    written = _python(site.get(name))
    if isinstance(written, (bool, int, float, str)):
        return written
    if name in config:
        return min(config[name], size) if config[name] > size else config[name]
    default = _python(parameter.default)
    if isinstance(default, (bool, int, float, str)) and flags is None:
        return default
    if "bool" in parameter.type or _FLAG.search(name):
        return bool(flags)
    if "dtype" in name.lower() or name.endswith("_type"):
        return _dtype()
    if _TILE.search(name):
        return size
    if _SMALL.search(name):
        return 4
    if _FLOATS.search(name) and name.islower():
        return 1.0
    text = site.get(name, "")
    if re.search(r"\b(?:not|is|in|and|or|==|!=)\b|[<>]=?|==", text):
        return bool(flags)
    return size


def _dtype() -> Any:
    import triton.language as tl

    return tl.float32


def _python(text: str | None) -> Any:
    """A literal as written, or None when the text is no literal."""
    try:
        return ast.literal_eval(text) if text else None
    except (ValueError, SyntaxError):
        return None


def _literal(text: str | None) -> int | None:
    value = _python(text)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
