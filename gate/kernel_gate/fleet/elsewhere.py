"""Where verdicts are made when it is not here: one machine behind `ssh://`, or the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kernel_gate.fleet.over_ssh import SCHEME, SshPool
from kernel_gate.fleet.pool import Pool


@contextmanager
def elsewhere(address: str, workers: int | None = None) -> Iterator[Pool]:
    """`ssh://…` as `over_ssh.Host` reads it; `tcp://host:8786`, `local` or `slurm`. Raises `ClusterError`."""
    if address.startswith(SCHEME):
        with SshPool(address) as machine:
            yield machine
        return
    from kernel_gate.fleet.on_dask import cluster_pool

    with cluster_pool(address, workers) as cluster:
        yield cluster
