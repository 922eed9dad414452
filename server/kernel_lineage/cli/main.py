"""The `klineage` command: finds the commands in `commands/` and imports one only when it is used."""

from __future__ import annotations

import importlib
import pkgutil

import click

from kernel_lineage.cli import commands


class _LazyGroup(click.Group):
    """Commands are the modules of `commands`; `skills_cmd.py` would be a bug, `skills.py` is the command `skills`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(m.name for m in pkgutil.iter_modules(commands.__path__) if not m.name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"{commands.__name__}.{cmd_name}").command
        return command


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="kernel-lineage", prog_name="klineage")
def main() -> None:
    """Mine the lineages of GPU kernels, see when each optimisation is sound, change code only through the gate."""
