"""`--remote`: on which other machine a verdict is made."""

from __future__ import annotations

import click

remote_option = click.option(
    "--cluster",
    "--remote",
    "cluster",
    metavar="WHERE",
    help="Another machine judges: ssh://[USER@]HOST[:PORT][/PATH/TO/klineage] with the same version, or a Dask cluster "
    "(tcp://host:port, local or slurm). Both programs and the workload are sent, nothing else.",
)
"""The value arrives as `cluster`, for `kernel_gate.fleet.elsewhere`."""
