"""Work of PyTorch that moves elements: parts that are joined, padded, repeated, or picked by their places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernel_lineage.workloads.triton.tensor_shapes import narrowed, with_axis
from kernel_lineage.workloads.triton.torch_formulas import KEPT
from kernel_lineage.workloads.triton.torch_work import (
    NotWorked,
    TorchWork,
    Work,
    broadcast_strides,
    computed_in,
)
from kernel_lineage.workloads.triton.values import Size, Tensor, is_number, product, strides_of, value_at


class TorchPlaces(TorchWork):
    """Makes work of calls that move elements."""

    def joined(self, name: str, bound: Mapping[str, object]) -> Tensor | None:
        """`cat` and `stack`: each tensor is copied to its part of the result."""
        tensors, axis = bound.get("tensors"), bound.get("dim", 0)
        if not isinstance(tensors, (tuple, list)) or not tensors or type(axis) is not int:
            return None
        parts = [self.checked(t, name) for t in tensors if isinstance(t, Tensor)]
        if len(parts) < len(tensors) or not all(t.shape for t in parts if name == "cat"):
            return None
        if name == "stack":
            parts = [_seen_with_axis(t, axis) for t in parts]
        shape = parts[0].shape or ()
        axis %= len(shape)
        for other in parts[1:]:
            if len(other.shape or ()) != len(shape):
                raise NotWorked(f"`{name}()` of tensors with other axes")
            for place, (one, two) in enumerate(zip(shape, other.shape or (), strict=True)):
                if place != axis:
                    self.same(one, two)
        total: int | Size = 0
        for part in parts:
            total = total + (part.shape or ())[axis]
        made = self._host.fresh((*shape[:axis], total, *shape[axis + 1 :]), self.promoted(parts))
        start: int | Size = 0
        for part in parts:
            extent = (part.shape or ())[axis]
            self.copied(part, narrowed(made, axis, start, extent), name)
            start = start + extent
        return made

    def padded(self, first: Tensor, bound: Mapping[str, object]) -> Tensor | None:
        """A tensor with a number around it."""
        pads, value = bound.get("pad"), bound.get("value")
        value = 0 if value is None else value
        if bound.get("mode", "constant") != "constant" or not is_number(value):
            return None
        shape = list(self.checked(first, "pad").shape or ())
        if not isinstance(pads, (tuple, list)) or len(pads) % 2 or len(pads) > 2 * len(shape):
            return None
        ends: list[tuple[int | Size, int | Size]] = [(0, 0)] * len(shape)
        for at in range(0, len(pads), 2):
            before, after = pads[at : at + 2]
            numbers = [value_at(p, self._host.sizes) for p in (before, after)]
            if any(not isinstance(n, int) or n < 0 for n in numbers):
                raise NotWorked("`pad()` that takes away")
            ends[len(shape) - 1 - at // 2] = before, after
        whole = tuple(extent + before + after for extent, (before, after) in zip(shape, ends, strict=True))
        made = self.copied(value, self._host.fresh(whole, first.dtype or ""), "pad")
        inside = made
        for axis, (before, _) in enumerate(ends):
            inside = narrowed(inside, axis, before, shape[axis])
        self.copied(first, inside, "pad")
        return made

    def repeated(self, first: Tensor, times: object, axis: object) -> Tensor | None:
        """Each element of an axis several times, one after the other."""
        if not isinstance(times, (int, Size)) or type(axis) is not int:
            return None
        shape, strides = self.checked(first, "repeat_interleave").shape or (), strides_of(first)
        axis %= len(shape)
        wide = (*shape[: axis + 1], times, *shape[axis + 1 :])
        steps = (*strides[: axis + 1], 0, *strides[axis + 1 :])
        memory = first.memory if first.memory is not None else product(shape)
        made = self._host.fresh((*shape[:axis], shape[axis] * times, *shape[axis + 1 :]), first.dtype or "")
        seen = replace(first, shape=wide, strides=steps, memory=memory)
        self.copied(seen, replace(made, shape=wide), "repeat_interleave")
        return made

    def picked(self, name: str, first: object, index: object, axis: object) -> Tensor | None:
        """The parts of a tensor along an axis at the places that another one holds."""
        if isinstance(index, tuple) and len(index) == 1:
            (index,) = index
        if not isinstance(first, Tensor) or not isinstance(index, Tensor) or type(axis) is not int:
            return None
        shape, places = self.checked(first, name).shape or (), self.checked(index, name).shape or ()
        if index.dtype not in ("int32", "int64") or not shape:
            return None
        axis %= len(shape)
        strides = strides_of(first)
        whole = (*shape[:axis], *places, *shape[axis + 1 :])
        memory = first.memory if first.memory is not None else product(shape)
        steps = (*strides[:axis], *[0] * len(places), *strides[axis + 1 :])
        seen = replace(first, shape=whole, strides=steps, memory=memory)
        at = broadcast_strides(index, places)
        steps = (*[0] * axis, *at, *[0] * (len(shape) - axis - 1))
        memory = index.memory if index.memory is not None else product(places)
        where = replace(index, shape=whole, strides=steps, memory=memory)
        made = self._host.fresh(whole, first.dtype or "")
        computed = computed_in(first.dtype)
        picks = strides[axis], shape[axis]
        self._host.does(Work(name, KEPT.replace("0", "1"), (where, seen), made, computed, picks=picks))
        return made


def _seen_with_axis(tensor: Tensor, axis: int) -> Tensor:
    return with_axis(tensor, axis if axis >= 0 else axis + len(tensor.shape or ()) + 1)


def reshaped_strides(
    tensor: Tensor, shape: Sequence[int | Size], sizes: Mapping[str, float]
) -> tuple[int | Size, ...] | None:
    """The strides of a tensor that is seen in another shape of as many elements; None where it has to be copied.

    `sizes` are such that nothing relates them.
    """
    own = [
        (e, s) for e, s in zip(tensor.shape or (), strides_of(tensor), strict=True) if value_at(e, sizes) != 1
    ]
    wanted = list(shape)
    strides: list[int | Size] = [1] * len(shape)
    at = len(wanted) - 1
    while own:
        extent, stride = own.pop()
        run, base = value_at(extent, sizes), stride
        outer: int | Size = extent
        while own and value_at(own[-1][1], sizes) == (value_at(outer, sizes) or 0) * (
            value_at(base, sizes) or 0
        ):
            outer = own.pop()[0] * outer
            run = value_at(outer, sizes)
        step: int | Size = base
        seen = 1
        while at >= 0 and (seen < (run or 0) or value_at(wanted[at], sizes) == 1):
            strides[at] = step
            step, seen = step * wanted[at], seen * int(value_at(wanted[at], sizes) or 0)
            at -= 1
        if seen != run:
            return None
    return tuple(strides)
