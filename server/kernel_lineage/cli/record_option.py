"""`--record/--no-record` of the commands that draft a workload."""

from __future__ import annotations

import click

record_option = click.option(
    "--record/--no-record",
    default=True,
    show_default=True,
    help="Where reading leaves a drafted workload open, build and run the host code, contained, without a GPU.",
)
