"""How tags go between registers and memory: loads, stores, atomics, and `cp.async`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from kernel_gate.emulated.access import Access, Located, access
from kernel_gate.emulated.instructions.load_store import is_kernel_parameter
from kernel_gate.emulated.operands import items
from kernel_gate.emulated.ptx.model import Integer
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.tags import registers
from kernel_gate.emulated.tags.keys import UNTAGGED, Index, Keys, joined
from kernel_gate.emulated.tags.shadows import Shadows, around
from kernel_gate.emulated.types import TYPES
from kernel_gate.emulated.watching import Wrap
from kernel_gate.emulated.wave import Wave

Look = Callable[[Wave, Located, Keys | None, int], None]
"""What an assertion looks at: where a store goes, the tags of what it writes, and how many bytes each thread writes."""


def load(shadows: Shadows, site: Site) -> Wrap | None:
    """`ld`, `ldu`."""
    target = site.operand(0)
    if not shadows.follows(target):
        return None
    if site.has("const") or (site.has("param") and is_kernel_parameter(site, site.operand(1))):
        return registers.clear(shadows, site)
    written = items(target)
    where = replace(access(site, 1, "read", site.type, len(written)), counted=False)
    lanes = shadows.lanes(site.type.size)

    def watch(wave: Wave) -> Iterator[None]:
        # Before the step: it may overwrite the register that its address is in.
        tags = read(shadows, wave, where)
        yield
        for position, item in enumerate(written):
            part = None if tags is None else tags[:, position * lanes : (position + 1) * lanes]
            shadows.put(wave, site, item, part)

    return around(shadows, watch)


def read(shadows: Shadows, wave: Wave, where: Access) -> Keys | None:
    """(width, lanes, active threads): the tags of what the active threads would read."""
    threads = wave.index
    parts: list[tuple[Index, Keys]] = []

    def do(inner: Wave, at: Located) -> None:
        tags = shadows.load(inner, at, where.nbytes, where.number)
        if tags is not None:
            parts.append((inner.index, tags))

    where.perform(wave, do)
    if not parts or parts[0][0] is threads:
        return parts[0][1] if parts else None
    keys = np.full((*parts[0][1].shape[:2], len(threads)), UNTAGGED, np.int64)
    for index, tags in parts:
        keys[..., np.searchsorted(threads, index)] = tags
    return keys


def store(shadows: Shadows, site: Site, look: Look | None) -> Wrap | None:
    """`st`; `look`: what an assertion of its line asks for."""
    source = site.operand(1)
    where = replace(access(site, 0, "read", site.type, len(items(source))), counted=False)

    def watch(wave: Wave) -> Iterator[None]:
        yield
        write(shadows, wave, where, shadows.group(wave, source, site.type.size), look)

    return around(shadows, watch)


def write(shadows: Shadows, wave: Wave, where: Access, tags: Keys | None, look: Look | None = None) -> None:
    """The active threads have written data with these tags."""
    threads = wave.index

    def do(inner: Wave, at: Located) -> None:
        own = tags
        if tags is not None and inner.index is not threads:
            own = tags[..., np.searchsorted(threads, inner.index)]
        shadows.store(inner, at, own, where.nbytes)
        if look is not None:
            look(inner, at, own, where.nbytes)

    where.perform(wave, do)


def atomic(shadows: Shadows, site: Site, look: Look | None) -> Wrap | None:
    """`atom`, `red`: what is added joins what stands there; what is exchanged replaces it."""
    returns = int(site.parts[0] == "atom")
    operands = items(site.operand(returns + 1))
    results = items(site.operand(0)) if returns else ()
    where = replace(access(site, returns, "read", site.type, len(operands)), counted=False)
    replaces, lanes = site.has("exch"), shadows.lanes(site.type.size)
    extra = site.instruction.operands[returns + 2 :]

    def watch(wave: Wave) -> Iterator[None]:
        tags = shadows.group(wave, site.operand(returns + 1), site.type.size)
        tags = joined([tags, *(shadows.get(wave, operand, site.type.size) for operand in extra)])
        before = read(shadows, wave, where) if any(shadows.follows(item) for item in results) else None

        def do(inner: Wave, at: Located) -> None:
            own = tags
            if tags is not None and len(inner.index) != tags.shape[2]:
                own = tags[..., np.searchsorted(wave_index, inner.index)]
            if replaces:
                shadows.store(inner, at, own, where.nbytes)
            else:
                shadows.join(inner, at, own, where.nbytes, where.number)
            if look is not None:
                look(inner, at, own, where.nbytes)

        wave_index = wave.index
        where.perform(wave, do)
        yield
        for position, item in enumerate(results):
            part = None if before is None else before[:, position * lanes : (position + 1) * lanes]
            shadows.put(wave, site, item, part)

    return around(shadows, watch)


def copy(shadows: Shadows, site: Site) -> Wrap | None:
    """`cp.async`: tags arrive with its issue; reading them before the wait is a race, which others report."""
    size = site.operand(2)
    if not isinstance(size, Integer):
        return None
    element = TYPES["b8"]
    to = replace(access(site, 0, "read", element, size.value), space="shared", counted=False)
    source = replace(access(site, 1, "read", element, size.value), space="global", counted=False)
    has_size = site.operand_count > 3 and not (site.has("L2::cache_hint") and site.operand_count == 4)
    source_size = site.read(3, TYPES["u32"]) if has_size else None

    def copied(wave: Wave) -> Keys | None:
        if source_size is None:
            return read(shadows, wave, source)
        lengths = np.minimum(wave.spread(source_size(wave)).astype(np.int64), size.value)
        outer, everyone = wave.active, wave.index
        shape = shadows.coding.width, shadows.lanes(size.value), len(everyone)
        tags = np.full(shape, UNTAGGED, np.int64)
        for length in np.unique(lengths):
            here = np.flatnonzero(lengths == length)
            wave.active = everyone[here]
            part = read(shadows, wave, replace(source, vector=int(length))) if length else None
            if part is not None:
                tags[:, : part.shape[1], here] = part
        wave.active = outer
        return tags

    def watch(wave: Wave) -> Iterator[None]:
        tags = copied(wave)
        yield
        write(shadows, wave, to, tags)

    return around(shadows, watch)
