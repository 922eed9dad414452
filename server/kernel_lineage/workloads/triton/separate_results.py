"""Results of a host function that are parts of one buffer, each as a buffer of its own: what it made together, as
`r, z = torch.empty(2, n).unbind(0)`, is what another function makes one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise

from kernel_gate.expressions import Number, evaluate_int
from kernel_gate.program import LaunchStep, MemsetStep, Operand, Pointer
from kernel_lineage.code.types import dtype_bytes
from kernel_lineage.workloads.triton.values import Tensor, packed, product, strides_of, value_at

Steps = tuple[LaunchStep | MemsetStep, ...]
_Parts = dict[int, Tensor]
"""Elements before a part → the part, in a buffer of its own."""


def separate_parts(
    buffers: Mapping[str, Tensor],
    returned: Iterable[object],
    used: Iterable[Tensor],
    sizes: Mapping[str, Number],
) -> dict[str, _Parts]:
    """Buffer → its parts, where a function returns some and launches with nothing but parts that lie apart.

    `used` are the tensors that are launched with. Each part is row-major.
    """
    results = [t for t in returned if isinstance(t, Tensor) and t.buffer.startswith("#")]
    parts: dict[str, _Parts] = {}
    for buffer in {t.buffer: t for t in results}:
        whole = buffers[buffer]
        spans: dict[tuple[int, int], Tensor] = {}
        for tensor in (t for t in (*results, *used) if t.buffer == buffer):
            span = _span(tensor, whole, sizes)
            if span is None:
                break
            spans.setdefault(span, tensor)
        else:
            ordered = sorted(spans)
            if len(ordered) > 1 and all(end <= begin for (_, end), (begin, _) in pairwise(ordered)):
                names = [f"{buffer}.{number}" for number in range(len(ordered))]
                parts[buffer] = {
                    begin: replace(packed(spans[begin, end]), buffer=name, name="", cleared=whole.cleared)
                    for (begin, end), name in zip(ordered, names, strict=True)
                }
    return parts


def _span(tensor: Tensor, whole: Tensor, sizes: Mapping[str, Number]) -> tuple[int, int] | None:
    """The elements of a buffer before a tensor's first one and its last one; None where others lie between."""
    lengths = [
        value_at(t.memory if t.memory is not None else product(t.shape or ()), sizes) for t in (whole, tensor)
    ]
    count = value_at(product(tensor.shape or ()), sizes)
    extents = [value_at(extent, sizes) for extent in tensor.shape or ()]
    own, plain = ([value_at(s, sizes) for s in strides_of(t)] for t in (tensor, packed(tensor)))
    is_dense = all(e == 1 or a == b for e, a, b in zip(extents, own, plain, strict=True))
    whole_length, length = lengths
    if not (isinstance(whole_length, int) and isinstance(length, int) and isinstance(count, int)):
        return None
    is_somewhere = tensor.memory is None and length != whole_length
    if tensor.dtype != whole.dtype or not is_dense or not count or is_somewhere:
        return None
    return whole_length - length, whole_length - length + count


class Separated:
    """What a function came to, with the parts in the place of their buffers."""

    def __init__(self, parts: Mapping[str, _Parts], whole: Mapping[str, Tensor], sizes: Mapping[str, Number]):
        self._parts, self._whole, self._sizes = parts, whole, sizes

    def value(self, value: object) -> object:
        """A tensor in its part; the values of tuples and lists."""
        if isinstance(value, (tuple, list)):
            return type(value)(map(self.value, value))
        if not isinstance(value, Tensor) or value.buffer not in self._parts:
            return value
        span = _span(value, self._whole[value.buffer], self._sizes)
        part = self._parts[value.buffer].get(span[0]) if span is not None else None
        is_part = part is not None and span is not None and span[1] - span[0] == self._count(part)
        return replace(packed(value), buffer=part.buffer) if part is not None and is_part else value

    def _count(self, tensor: Tensor) -> object:
        return value_at(product(tensor.shape or ()), self._sizes)

    def buffers(self) -> dict[str, Tensor]:
        """All buffers, those of the parts among them."""
        kept = {name: t for name, t in self._whole.items() if name not in self._parts}
        return kept | {t.buffer: t for of in self._parts.values() for t in of.values()}

    def steps(self, steps: Iterable[LaunchStep | MemsetStep]) -> Steps:
        """The steps with the parts; a buffer that is cleared is cleared part by part."""
        made: list[LaunchStep | MemsetStep] = []
        for step in steps:
            if isinstance(step, LaunchStep):
                made.append(replace(step, arguments=tuple(map(self._word, step.arguments))))
            else:
                own = self._parts.get(step.buffer)
                made += [replace(step, buffer=t.buffer) for t in own.values()] if own is not None else [step]
        return tuple(made)

    def _word(self, word: Operand) -> Operand:
        buffer, offset = (word.buffer, word.offset) if isinstance(word, Pointer) else (word, "0")
        if not isinstance(buffer, str) or buffer not in self._parts:
            return word
        nbytes = dtype_bytes(self._whole[buffer].dtype or "")
        return self._parts[buffer][evaluate_int(offset, self._sizes) // nbytes].buffer
