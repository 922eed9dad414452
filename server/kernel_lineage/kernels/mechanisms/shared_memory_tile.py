"""A tile of global memory staged in shared memory, from where the block's threads read it again."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import Call, bare, contains, field_of, text_of
from kernel_lineage.kernels.cuda_indexing import Access, Indexing, indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.bank_conflict_padding import extents_without_pad
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import seen
from kernel_lineage.kernels.units import in_units

_COPIES = ("memcpy_async", "__pipeline_memcpy_async", "cp_async")


def staged(unit: Unit) -> Iterator[tuple[Access, Access]]:
    """Each store into shared memory whose value comes straight from global memory: the store and the load."""
    reach = indexing(unit)
    loads = [a for a in reach.accesses if a.reads and a.space == "global"]
    if not loads:
        return
    for access in reach.accesses:
        if access.space == "shared" and access.writes:
            source = _origin(reach, unit.values_of_targets.get(access.node.id))
            load = next((a for a in loads if source is not None and contains(source, a.node)), None)
            if load is not None:
                yield access, load


def _origin(reach: Indexing, value: Node | None) -> Node | None:
    """The expression that a stored value comes from: itself, or what its variable was given, for a member too."""
    value = bare(value)
    while value is not None and value.type == "field_expression":
        value = field_of(value, "argument")
    if value is not None and value.type == "identifier":
        name = text_of(value)
        values = [v.value for v in reach.unit.variables if v.name == name and v.value is not None]
        return values[-1] if values else value
    return value


def _copied(unit: Unit) -> Iterator[tuple[Call, str, str]]:
    """Asynchronous copies from global into shared memory: the call, the shared array and the global one."""
    reach = indexing(unit)
    for name in _COPIES:
        for call in unit.calls_by_name.get(name, ()):
            roots = {reach.space_of(root): root for a in call.arguments if (root := reach.place(a).root)}
            if "shared" in roots and "global" in roots:
                yield call, roots["shared"], roots["global"]


def _array(access: Access) -> str:
    """The array that a store names: of dynamic shared memory the part that a pointer was given."""
    node: Node | None = access.node
    while node is not None and node.type != "identifier":
        node = field_of(node, "argument")
    return text_of(node) or access.root


def _detect_in(unit: Unit) -> Iterator[Site]:
    tiles: set[str] = set()
    sizes = {v.name: extents_without_pad(unit, v.sizes) for v in unit.shared_variables}
    # An array that is added to in place gathers results: its first elements come from memory, but it is no tile.
    gathered = {_array(a) for a in indexing(unit).accesses if a.space == "shared" and a.reads and a.writes}
    for store, load in staged(unit):
        name = _array(store)
        if name not in tiles | gathered:
            tiles.add(name)
            note = f"{name} holds a tile of {load.root}"
            yield seen(store.node, note, name, extents=sizes.get(name))
    for copy, tile, root in _copied(unit):
        if tile not in tiles:
            tiles.add(tile)
            yield seen(copy.node, f"{tile} holds a tile of {root}", tile, extents=sizes.get(tile))
    planes = {v.name: v for v in unit.variables if v.shared and len(v.sizes) >= 2 and v.name not in tiles}
    spoken = [a for call in unit.calls for a in call.arguments] if planes else []
    for name, variable in planes.items():
        handed = any(indexing(unit).place(a).root == name for a in spoken if a.type != "number_literal")
        if handed or any(a.root == name and a.writes for a in indexing(unit).accesses):
            yield seen(variable.node, f"{name} is a shared tile", name, extents=sizes.get(name))


MECHANISM = Mechanism(
    title="Shared-memory tile",
    direction=Direction.DATA_REUSE,
    summary="Loads a tile once per block into shared memory, from where its threads reuse it.",
    looks_for="Stores and asynchronous copies of global elements into `__shared__` arrays, in a device function that "
    "is handed them too, and shared arrays of two dimensions.",
    detect=in_units(_detect_in),
    conditions=(
        validity("launch.shared_bytes <= device.shared_bytes_per_block", "hardware", "The tile must fit."),
        validity("launch.block.x % 32 == 0", "pipeline", "All threads must reach the barrier."),
        profit('profile.bound == "bandwidth"', "pipeline", "Reuse pays where memory is the limit."),
    ),
)
