"""`klineage judge`: verdicts for another machine, which starts it over ssh."""

from __future__ import annotations

import click


@click.command()
def command() -> None:
    """Answer another machine, which sends programs with their workload on stdin and reads verdicts on stdout.

    `klineage apply --remote ssh://HOST` and the setting `klineage.remote` start this on HOST. It judges on the devices
    there, each kernel in a contained process, and ends with its connection.
    """
    from kernel_gate.fleet.answering import answer
    from kernel_gate.processes.seal import own_stdout

    answer(own_stdout())
