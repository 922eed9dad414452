"""Triton kernels that do what PyTorch works out between the launches of a host function: programs stand without torch.

An operation on elements is one program for each `ELEMENTS` of them; a reduction is one program for each result, and one
over a whole tensor is two launches. What such a kernel takes is not what torch takes: whoever times a program says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ELEMENTS = 512
"""Elements that a program has at once."""
_HEAD = (
    "import triton as torch_triton\nimport triton.language as torch_tl\n"
    "from triton.language.extra import libdevice as torch_libdevice\n\n\n"
)
_INDEX = "torch_tl.program_id(0).to(torch_tl.int64)"
_LOWEST = {"int64": str(-(1 << 63))}
_HIGHEST = {"int64": str((1 << 63) - 1)}
_FIRST = {"sum": "0", "mean": "0", "prod": "1"}
_JOINED = {
    "sum": "a + b",
    "mean": "a + b",
    "prod": "a * b",
    "amax": "torch_tl.where((a != a) | (a > b), a, b)",
    "amin": "torch_tl.where((a != a) | (a < b), a, b)",
}
REDUCTIONS = frozenset(_JOINED)


@dataclass(frozen=True, slots=True)
class Part:
    """One operand of an operation on elements, or its result."""

    index: str
    """Where its element lies, over `i` or over the places `i0`, `i1`, … of the element; "" for a number."""
    number: str = ""
    """A number as it is written; "" for one that the launch passes."""
    computed: str = ""
    """The type in which it is read; "" for that of the formula."""


def elementwise_kernel(
    entry: str,
    formula: str,
    parts: Sequence[Part],
    result: Part,
    computed: str,
    shape: Sequence[str],
    more: str,
) -> str:
    """The text of `entry(out, operands…, n, more…)`, which computes `formula` in the type `computed`.

    `shape` has the extents of the result as expressions over `more`, () where no index needs places; `more` are the
    names of further parameters, each with ", " in front.
    """
    parameters, reads = ["out"], []
    for at, part in enumerate(parts):
        if part.index:
            parameters.append(f"p{at}")
            kind = part.computed or computed
            loaded = f"torch_tl.load(p{at} + {part.index}, mask=m).to(torch_tl.{kind})"
        else:
            parameters += [] if part.number else [f"p{at}"]
            loaded = f"torch_tl.full([BLOCK], {part.number or f'p{at}'}, torch_tl.{computed})"
        reads.append(f"    a{at} = {loaded}\n")
    value = formula.format(*(f"a{at}" for at in range(len(parts))), tl="torch_tl", lib="torch_libdevice")
    return (
        f"{_HEAD}@torch_triton.jit\ndef {entry}({', '.join(parameters)}, n{more}, BLOCK: torch_tl.constexpr):\n"
        f"    i = {_INDEX} * BLOCK + torch_tl.arange(0, BLOCK)\n    m = i < n\n"
        f"{_places('i', shape)}{''.join(reads)}    value = {value}\n"
        f"    torch_tl.store(out + {result.index}, value.to(out.dtype.element_ty), mask=m)\n"
    )


def reduction_kernel(
    entry: str,
    name: str,
    kept: tuple[Sequence[str], str],
    gone: tuple[Sequence[str], str],
    computed: str,
    more: str,
) -> str:
    """The text of `entry(out, p0, extent, share, count, more…)`: program `b` reduces elements of result `b // share`,
    every `share`-th block of its `extent` ones; a mean is their sum over `count`.

    `kept` has the extents that are left, and where the elements of a result begin over their places `r0`, `r1`, …;
    `gone` those that are reduced, over `k0`, `k1`, ….
    """
    first = _FIRST.get(name) or (
        _LOWEST.get(computed, 'float("-inf")') if name == "amax" else _HIGHEST.get(computed, 'float("inf")')
    )
    value = "total / count" if name == "mean" else "total"
    return (
        f"{_HEAD}@torch_triton.jit\ndef {entry}_join(a, b):\n    return {_JOINED[name]}\n\n\n"
        f"@torch_triton.jit\ndef {entry}(out, p0, extent, share, count{more}, BLOCK: torch_tl.constexpr):\n"
        f"    b = {_INDEX}\n    r = b // share\n{_places('r', kept[0])}    base = {kept[1]}\n"
        f"    acc = torch_tl.full([BLOCK], {first}, torch_tl.{computed})\n"
        "    for start in range(b % share * BLOCK, extent, share * BLOCK):\n"
        "        k = start + torch_tl.arange(0, BLOCK)\n        m = k < extent\n"
        f"{_places('k', gone[0], '        ')}"
        f"        a = torch_tl.load(p0 + base + {gone[1]}, mask=m, other=0).to(torch_tl.{computed})\n"
        f"        acc = {entry}_join(acc, torch_tl.where(m, a, {first}))\n"
        f"    total = torch_tl.reduce(acc, 0, {entry}_join)\n    value = {value}\n"
        "    torch_tl.store(out + b, value.to(out.dtype.element_ty))\n"
    )


def _places(index: str, shape: Sequence[str], indent: str = "    ") -> str:
    """The places of an element in a row-major shape."""
    lines, inner = [], ""
    for axis in reversed(range(len(shape))):
        last = "" if axis == 0 else f" % {shape[axis]}"
        lines.append(f"{indent}{index}{axis} = {index}{inner}{last}\n")
        inner += f" // {shape[axis]}"
    return "".join(reversed(lines))
