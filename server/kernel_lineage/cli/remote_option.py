"""`--remote`: on which other machine a verdict is made."""

from __future__ import annotations

import click

remote_option = click.option(
    "--remote",
    metavar="WHERE",
    help="Another machine judges: ssh://[USER@]HOST[:PORT][/PATH/TO/klineage] with the same version. Both programs and "
    "the workload are sent, nothing else.",
)
