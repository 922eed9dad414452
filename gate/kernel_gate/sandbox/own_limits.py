"""Limits that a child sets for itself; the kernel keeps them for all that it starts."""

from __future__ import annotations

import resource

_CPU_SECONDS_MORE = 10


def limit(limits: dict[str, int]) -> None:
    """Memory, CPU seconds and bytes per file, for this process and those that it starts."""
    resource.setrlimit(resource.RLIMIT_AS, (limits["address_bytes"],) * 2)
    # The parent ends what takes too long, and says so; this is for a child whose parent is gone.
    resource.setrlimit(resource.RLIMIT_CPU, (limits["seconds"] + _CPU_SECONDS_MORE,) * 2)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits["output_bytes"],) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
