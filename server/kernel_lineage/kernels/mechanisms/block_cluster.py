"""Blocks of a cluster that read each other's shared memory or receive one copy together."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, validity
from kernel_lineage.kernels.mechanisms.seeing import in_assembly, seen, seen_on
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.units import in_units, joined, of_kernel

_CALLS = (
    "this_cluster",
    "map_shared_rank",
    "cluster_arrive",
    "cluster_wait",
    "cluster_sync",
    "cluster_arrive_relaxed",
    "__cluster_dims__",
)
_PTX = re.compile(r"barrier\.cluster|mapa\.|\.multicast::cluster|ld\.shared::cluster|st\.async")


def _on_kernel(kernel: Kernel) -> Iterator[Site]:
    if "cluster_dims" in kernel.attributes:
        size = kernel.attributes["cluster_dims"]
        yield seen_on(kernel, f"__cluster_dims__({size})", blocks=size if size.isdigit() else "set")
    for launch in kernel.launches:
        size = launch.options.get("num_ctas", "1")
        if size != "1":
            yield seen_on(kernel, f"num_ctas is {size}", blocks=size if size.isdigit() else "set")


def _in_unit(unit: Unit) -> Iterator[Site]:
    for call in unit.calls:
        if call.name in _CALLS:
            yield seen(call.node, f"{call.qualified} works on a cluster of blocks")
    for _, node in in_assembly(unit, _PTX):
        yield seen(node, "inline PTX works on a cluster of blocks")
    for node in unit.of("template_type"):
        if "MULTICAST" in text_of(node):
            yield seen(node, "one copy goes to all blocks of a cluster")


MECHANISM = Mechanism(
    title="Block cluster",
    direction=Direction.DATA_REUSE,
    summary="Lets a few neighbouring blocks share what each has loaded, so that memory is read once for all of them.",
    looks_for="`__cluster_dims__`, `this_cluster`, cluster barriers, multicast copies and distributed shared memory; "
    "in Triton `num_ctas`.",
    detect=joined(of_kernel(_on_kernel, *Language), in_units(_in_unit)),
    conditions=(
        validity("device.compute_capability >= (9, 0)", "hardware", "Clusters came with Hopper."),
        validity("launch.grid.x % 2 == 0", "shape", "The grid holds whole clusters."),
    ),
)
