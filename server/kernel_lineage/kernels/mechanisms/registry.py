"""All mechanisms, collected from the files beside this one: a new file is a new mechanism."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache

from kernel_lineage.collected import declared_in
from kernel_lineage.kernels import mechanisms as package
from kernel_lineage.kernels.mechanisms.model import Mechanism, Occurrence, Parameters, Site
from kernel_lineage.kernels.source import Kernel


@cache
def mechanisms() -> Mapping[str, Mechanism]:
    """Every mechanism by its id, in the order of ids."""
    return declared_in(package, "MECHANISM", Mechanism)


def title_of(mechanism: str) -> str:
    """The title of a mechanism in small letters, for a sentence. One that nobody declares is a learned one's id."""
    entry = mechanisms().get(mechanism)
    return entry.title.lower() if entry is not None else mechanism.replace("_", " ")


def mechanisms_of(kernel: Kernel) -> tuple[Site, ...]:
    """Where each mechanism is seen in a kernel, the functions it reaches and its launches, in the order of the file.

    Deeply nested code can exhaust a detector's recursion; that mechanism is then not seen, the others are.
    """
    sites: list[Site] = []
    for mechanism in mechanisms().values():
        if kernel.language in mechanism.languages:
            try:
                sites += (replace(site, mechanism=mechanism.id) for site in mechanism.detect(kernel))
            except RecursionError:
                continue
    return tuple(
        sorted(set(sites), key=lambda site: (site.span, site.mechanism, site.detail, site.parameters))
    )


def occurrences(sites: Iterable[Site]) -> tuple[Occurrence, ...]:
    """Sites put together by what they do: one occurrence for each mechanism, array and set of parameters, sorted."""
    places: dict[tuple[str, str, Parameters, bool], set[tuple[int, int, str]]] = {}
    for site in sites:
        key = (site.mechanism, site.root, site.parameters, site.certain)
        places.setdefault(key, set()).add((site.span.start, site.span.first_line, site.detail))
    return tuple(
        Occurrence(mechanism, root, parameters, tuple(line for _, line, _ in sorted(at)), certain)
        for (mechanism, root, parameters, certain), at in sorted(places.items())
    )
