"""Functions that make and use block pointers and tensor descriptors, and loads and stores of all kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kernel_gate.expr.terms import ZERO
from kernel_lineage.code.integers import operated
from kernel_lineage.code.values import Int
from kernel_lineage.proofs.triton.called import Called
from kernel_lineage.proofs.triton.memory import load, store
from kernel_lineage.proofs.triton.scope import shown
from kernel_lineage.proofs.triton.values import BlockPointer, Other, Pointers, Tuple, Value, why


def _make_window(called: Called) -> Value:
    """`tl.make_block_ptr` and `tl.make_tensor_descriptor`."""
    descriptor = called.name.endswith("make_tensor_descriptor")
    names = (
        ("base", "shape", "strides", "block_shape")
        if descriptor
        else ("base", "shape", "strides", "offsets", "block_shape", "order")
    )
    arguments = called.arguments(names)
    base = arguments.get("base")
    parts = [_integers(called, arguments.get(name)) for name in ("shape", "strides", "block_shape")]
    offsets = _integers(called, arguments.get("offsets")) if not descriptor else None
    if not isinstance(base, Pointers) or base.shape or any(part is None for part in parts):
        return Other(
            f"{called.scope.site(called.node).named}: {why(base) if base is not None else 'no base'}"
        )
    shape, strides, block = (part or () for part in parts)
    at = offsets if offsets is not None else tuple(Int(ZERO) for _ in block)
    if not len(shape) == len(strides) == len(block) == len(at):
        return Other(f"{called.scope.site(called.node).named} of different ranks")
    return BlockPointer(base.pointer, shape, strides, at, tuple(b.term for b in block), descriptor)


def _integers(called: Called, value: Value | None) -> tuple[Int, ...] | None:
    if not isinstance(value, Tuple):
        return None
    return tuple(called.at.tile(called.node, item).value for item in value.items)


def _advance(called: Called) -> Value:
    place, by = called.argument(0, "base"), _integers(called, called.argument(1, "offsets"))
    if not isinstance(place, BlockPointer) or by is None or len(by) != len(place.offsets):
        return Other(why(place) if place is not None else "")
    site = called.scope.site(called.node)
    return replace(
        place, offsets=tuple(operated(site, "+", a, b) for a, b in zip(place.offsets, by, strict=True))
    )


def _described(called: Called) -> Value:
    """`tl.load_tensor_descriptor(d, offsets)`, or `d.load(offsets)`."""
    place = called.listed[0] if called.listed else Other()
    offsets = _integers(called, called.argument(1, "offsets"))
    if not isinstance(place, BlockPointer) or offsets is None or len(offsets) != len(place.offsets):
        called.scope.problem(
            called.node, f"`{shown(called.node)}`: {why(place) or 'its window is not known'}"
        )
        return Other(why(place))
    window = replace(place, offsets=offsets)
    access = store if called.name.startswith("store") else load
    return access(called.at, called.node, window, {})


def _plain(called: Called) -> Value:
    """`tl.load(…)` and `tl.store(…)`, of pointers and of windows."""
    place = called.argument(0, "pointer")
    if isinstance(place, BlockPointer) and place.descriptor:
        return _described(called)
    access, names = (store, ("value", "mask")) if called.name == "store" else (load, ("mask", "other"))
    arguments = called.arguments(("pointer", *names, "boundary_check"))
    return access(called.at, called.node, place if place is not None else Other(), arguments)


FUNCTIONS: dict[str, Callable[[Called], Value]] = {
    "make_block_ptr": _make_window,
    "make_tensor_descriptor": _make_window,
    "_experimental_make_tensor_descriptor": _make_window,
    "advance": _advance,
    "load": _plain,
    "store": _plain,
    "load_tensor_descriptor": _described,
    "store_tensor_descriptor": _described,
}
